//! Tests where results are written.

use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::Path;

use looptax_host::output::{Existing, Output};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::tempdir;

use crate::world::World;

fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let output = Output::find(path)?;
    if output.is_stream() {
        return output.open_stream()?.write_all(text.as_bytes());
    }
    let begun = output.begin(None)?;
    begun.file().write_all(text.as_bytes())?;
    begun.finish(Existing::Replace)
}

#[test]
fn a_result_is_there_whole_and_leaves_nothing_beside_it() {
    let scratch = tempdir().unwrap();
    let at = |path: &str| scratch.path().join(path);
    write(&at("result"), "one").unwrap();
    write(&at("result"), "two").unwrap();
    assert_eq!(fs::read(at("result")).unwrap(), b"two");
    let begun_and_left = Output::find(&at("result")).unwrap();
    drop(begun_and_left.begin(None).unwrap());
    let output = Output::find(&at("result")).unwrap();
    assert!(output.is_there());
    let kept = output.begin(None).unwrap().finish(Existing::Keep).unwrap_err();
    assert_eq!(kept.kind(), std::io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
    assert!(Output::find(scratch.path()).is_err());
    assert!(Output::find(&at("missing/result")).is_err());
}

#[test]
fn our_own_link_stays_a_link() {
    let scratch = tempdir().unwrap();
    let at = |path: &str| scratch.path().join(path);
    fs::create_dir(at("kept")).unwrap();
    symlink("kept/result", at("link")).unwrap();
    // A link that leads to no file is a mistake.
    assert!(write(&at("link"), "text").is_err());
    fs::write(at("kept/result"), "").unwrap();
    write(&at("link"), "text").unwrap();
    assert!(at("link").is_symlink());
    assert_eq!(fs::read(at("kept/result")).unwrap(), b"text");
}

#[test]
fn a_stranger_s_link_is_replaced_and_not_followed() {
    let Some(world) = World::new() else { return };
    world.her_link(world.at("secret/victim"), "hers/result");
    write(&world.at("hers/result"), "text").unwrap();
    assert!(world.is_victim_well());
    assert_eq!(fs::read(world.at("hers/result")).unwrap(), b"text");
    assert!(!world.at("hers/result").is_symlink());
    world.her_link(world.at("secret"), "hers/way");
    assert!(write(&world.at("hers/way/victim"), "text").is_err());
    assert!(world.is_victim_well());
}

#[test]
fn a_stranger_s_pipe_is_replaced_and_a_device_of_ours_is_written_to() {
    let Some(world) = World::new() else { return };
    mknodat(CWD, world.at("hers/pipe"), FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
    write(&world.at("hers/pipe"), "text").unwrap();
    assert_eq!(fs::read(world.at("hers/pipe")).unwrap(), b"text");
    let null = Output::find(Path::new("/dev/null")).unwrap();
    assert!(null.is_stream());
    write(Path::new("/dev/null"), "text").unwrap();
    assert!(Output::find(Path::new("/dev/stdout")).unwrap().is_stream());
}

#[test]
fn a_hard_link_to_a_file_of_root_s_is_not_written_through() {
    let Some(world) = World::new() else { return };
    fs::hard_link(world.at("secret/victim"), world.at("hers/result")).unwrap();
    write(&world.at("hers/result"), "text").unwrap();
    assert!(world.is_victim_well());
}
