//! Tests how files are read for looptax itself, and on behalf of another process.

use std::fs;
use std::path::Path;

use looptax_host::{View, Viewer, read};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::tempdir;

use crate::world::{STRANGER, World};

#[test]
fn only_ordinary_files_of_a_bounded_size_are_read() {
    let scratch = tempdir().unwrap();
    let at = |path: &str| scratch.path().join(path);
    fs::write(at("file"), "text").unwrap();
    mknodat(CWD, at("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    assert_eq!(read::read(&at("file"), 4).unwrap(), b"text");
    assert_eq!(read::read(&at("file"), 3).unwrap_err().kind(), std::io::ErrorKind::FileTooLarge);
    // A pipe without a writer: reading it must not wait.
    assert!(read::read(&at("pipe"), 4).is_err());
    assert!(read::read(scratch.path(), 4).is_err());
    assert!(read::read(Path::new("/dev/zero"), 4).is_err());
    assert!(read::read(Path::new("/"), 4).is_err());
    assert_eq!(read::read(&at("none"), 4).unwrap_err().kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn absence_is_only_what_the_kernel_calls_so() {
    let scratch = tempdir().unwrap();
    let at = |path: &str| scratch.path().join(path);
    assert!(!read::may_exist(&at("none")) && !read::exists(&at("none")));
    std::os::unix::fs::symlink("ring", at("ring")).unwrap();
    assert!(read::may_exist(&at("ring")) && !read::exists(&at("ring")));
}

#[test]
fn a_process_s_file_is_read_as_far_as_its_user_could() {
    let Some(world) = World::new() else { return };
    let viewer = |uid| Viewer { uid, gid: uid, groups: Vec::new() };
    let of = |uid| View::of_process(std::process::id(), viewer(uid)).unwrap();
    let victim = world.at("secret/victim");
    assert_eq!(of(0).read(&victim, 100).unwrap(), b"precious");
    assert!(of(STRANGER).read(&victim, 100).is_err());
    assert!(of(STRANGER).look(&victim).is_err());
    world.her_link(&victim, "hers/my.cnf");
    assert!(of(STRANGER).read(&world.at("hers/my.cnf"), 100).is_err());
    world.write("hers/file", "text", 0o600);
    assert!(of(STRANGER).read(&world.at("hers/file"), 100).is_err());
    world.give("hers/file");
    assert_eq!(of(STRANGER).read(&world.at("hers/file"), 100).unwrap(), b"text");
    assert!(of(STRANGER).look(&world.at("hers/none")).unwrap().is_none());
    let in_group = Viewer { uid: 47_002, gid: 47_002, groups: vec![STRANGER] };
    let view = View::of_process(std::process::id(), in_group).unwrap();
    assert!(view.read(&world.at("hers/file"), 100).is_err());
    world.write("hers/file", "text", 0o640);
    assert_eq!(view.read(&world.at("hers/file"), 100).unwrap(), b"text");
}
