//! Tests which folders looptax trusts.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::thread;

use looptax_host::own;
use rustix::process::Uid;
use rustix::thread::set_thread_res_uid;
use tempfile::tempdir;

use crate::world::{STRANGER, World};

#[test]
fn our_own_folder_is_made_for_us_alone() {
    let scratch = tempdir().unwrap();
    let path = scratch.path().join("a/b");
    assert!(own::folder(&path).is_err());
    own::make_folder(&path).unwrap();
    own::make_folder(&path).unwrap();
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    assert!(own::folder(&path).is_err());
}

#[test]
fn a_file_that_others_may_write_is_not_ours() {
    let scratch = tempdir().unwrap();
    fs::write(scratch.path().join("file"), "text").unwrap();
    let folder = own::folder(scratch.path()).unwrap();
    assert_eq!(folder.read_own("file", 10).unwrap(), b"text");
    assert!(folder.read_own("file", 3).is_err());
    fs::set_permissions(scratch.path().join("file"), fs::Permissions::from_mode(0o666)).unwrap();
    assert!(folder.read_own("file", 10).is_err());
    symlink("file", scratch.path().join("link")).unwrap();
    assert!(folder.open_or_create_own("link").is_err());
}

#[test]
fn a_stranger_s_folder_is_not_believed_and_nothing_is_made_there() {
    let Some(world) = World::new() else { return };
    assert!(own::make_folder(&world.at("hers/data/looptax")).is_err());
    assert!(own::folder(&world.at("hers")).is_err());
    assert!(!own::is_fit(&world.at("hers/data/looptax")));
    assert!(own::is_fit(&world.at("secret/data/looptax")));
    // The other user may exchange root's folder in her folder for another folder of root.
    fs::create_dir_all(world.at("hers/roots")).unwrap();
    assert!(own::folder(&world.at("hers/roots")).is_err());
    world.her_link(world.at("secret"), "hers/link");
    assert!(own::folder(&world.at("hers/link")).is_err());
    world.write("secret/file", "text", 0o600);
    world.own_by("secret/file", STRANGER);
    let folder = own::folder(&world.at("secret")).unwrap();
    assert!(folder.read_own("file", 10).is_err());
}

#[test]
fn what_root_has_noted_is_believed_by_others_who_may_read_it() {
    let Some(world) = World::new() else { return };
    fs::create_dir(world.at("roots")).unwrap();
    world.write("roots/file", "text", 0o644);
    let (root, roots) = (world.at("."), world.at("roots"));
    let hers = world.at("hers/own");
    let as_another = move || {
        let stranger = Uid::from_raw(STRANGER);
        set_thread_res_uid(stranger, stranger, stranger).unwrap();
        let folder = own::folder(&roots).unwrap();
        assert_eq!(folder.read_own("file", 10).unwrap(), b"text");
        assert!(own::make_folder(&roots).is_err());
        own::make_folder(&hers).unwrap();
        own::folder(&root).unwrap();
    };
    // The change of user applies only to one thread.
    thread::spawn(as_another).join().unwrap();
    // Root does not trust the other user's folder.
    assert!(own::folder(&world.at("hers/own")).is_err());
}
