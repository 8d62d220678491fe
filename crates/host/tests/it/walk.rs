//! Tests which links are followed, and where a path leads.

use std::fs;
use std::os::unix::fs::symlink;

use looptax_host::{Folder, Links, Refusal, Walk, refusal};
use rustix::fs::{Mode, OFlags};
use tempfile::tempdir;

use crate::world::{STRANGER, World};

#[test]
fn a_path_leads_where_the_kernel_leads_it() {
    let scratch = tempdir().unwrap();
    let root = scratch.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("a/b/c")).unwrap();
    fs::write(root.join("a/b/c/file"), "").unwrap();
    symlink("../b/c", root.join("a/b/relative")).unwrap();
    symlink(root.join("a/b"), root.join("absolute")).unwrap();
    symlink("absolute/relative/file", root.join("far")).unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    let check = |path: &str| {
        let path = root.join(path);
        let walked = Walk::following(Links::All).to(&path).unwrap();
        assert_eq!(walked.path(), path.canonicalize().unwrap(), "{}", path.display());
        assert!(walked.last.is_some());
    };
    check("a/b/c/file");
    check("a/./b//c/../c/file");
    check("a/b/relative/../c/file");
    check("a/b/relative/file");
    check("absolute/c/");
    check("absolute/relative/..");
    check("far");
    check("..");
    let missing = Walk::following(Links::All).to(&root.join("dangling")).unwrap();
    assert!(missing.last.is_none());
    assert_eq!(missing.path(), root.join("nowhere"));
    assert_eq!(missing.links.len(), 1);
    let deeper = Walk::following(Links::All).to(&root.join("dangling/x"));
    assert_eq!(deeper.unwrap_err().kind(), std::io::ErrorKind::NotFound);
    let through_file = Walk::following(Links::All).to(&root.join("a/b/c/file/x"));
    assert_eq!(through_file.unwrap_err().kind(), std::io::ErrorKind::NotADirectory);
}

#[test]
fn the_root_folder_and_the_current_one_are_reached() {
    for path in ["/", "/..", "/tmp/.."] {
        let walked = Walk::following(Links::All).to(path.as_ref()).unwrap();
        assert_eq!(walked.path().as_os_str(), "/");
    }
    let here = Walk::following(Links::All).to(".".as_ref()).unwrap();
    assert_eq!(here.path(), std::env::current_dir().unwrap().canonicalize().unwrap());
}

#[test]
fn a_ring_of_links_ends() {
    let scratch = tempdir().unwrap();
    symlink("two", scratch.path().join("one")).unwrap();
    symlink("one", scratch.path().join("two")).unwrap();
    let failed = Walk::following(Links::All).to(&scratch.path().join("one")).unwrap_err();
    assert_eq!(failed.raw_os_error(), Some(rustix::io::Errno::LOOP.raw_os_error()));
}

#[test]
fn a_stranger_s_link_is_not_followed_where_only_trusted_ones_are() {
    let Some(world) = World::new() else { return };
    world.her_link(world.at("secret"), "hers/way");
    let failed = Walk::following(Links::Trusted).to(&world.at("hers/way/victim")).unwrap_err();
    let expected = Refusal::Link { at: world.at("hers/way"), owner: STRANGER };
    assert_eq!(refusal(&failed), Some(&expected));
    // A link of root in the other user's folder may be any link of root that she has moved into it.
    symlink(world.at("secret"), world.at("hers/roots")).unwrap();
    assert!(Walk::following(Links::Trusted).to(&world.at("hers/roots/victim")).is_err());
    // She may also exchange a folder of root that is in her folder.
    fs::create_dir(world.at("hers/sub")).unwrap();
    symlink(world.at("secret"), world.at("hers/sub/way")).unwrap();
    assert!(Walk::following(Links::Trusted).to(&world.at("hers/sub/way/victim")).is_err());
    symlink(world.at("secret"), world.at("way")).unwrap();
    assert!(Walk::following(Links::Trusted).to(&world.at("way/victim")).is_ok());
}

#[test]
fn in_a_sticky_folder_only_our_own_links_are_followed() {
    use std::os::unix::fs::PermissionsExt;
    let Some(world) = World::new() else { return };
    fs::create_dir(world.at("tmp")).unwrap();
    fs::set_permissions(world.at("tmp"), fs::Permissions::from_mode(0o1777)).unwrap();
    symlink(world.at("secret"), world.at("tmp/ours")).unwrap();
    world.her_link(world.at("secret"), "tmp/hers");
    let walk = Walk::following(Links::Trusted);
    assert!(walk.to(&world.at("tmp/ours/victim")).is_ok());
    assert!(walk.to(&world.at("tmp/hers/victim")).is_err());
    // Other users cannot write in the caller's own folder in `/tmp`.
    fs::create_dir(world.at("tmp/folder")).unwrap();
    let folder = Folder::open(&world.at("tmp/folder")).unwrap();
    assert_eq!(folder.stranger(), None);
    assert!(Folder::open(&world.at("tmp")).unwrap().stranger().is_some());
    fs::set_permissions(world.at("tmp"), fs::Permissions::from_mode(0o777)).unwrap();
    assert!(walk.to(&world.at("tmp/ours/victim")).is_err());
    assert!(Folder::open(&world.at("tmp/folder")).unwrap().stranger().is_some());
}

#[test]
fn a_held_folder_stays_the_one_that_was_opened() {
    let scratch = tempdir().unwrap();
    let at = |path: &str| scratch.path().join(path);
    fs::create_dir(at("one")).unwrap();
    fs::create_dir(at("two")).unwrap();
    fs::write(at("two/file"), "other").unwrap();
    let held = Folder::following(Links::All, &at("one")).unwrap();
    fs::rename(at("one"), at("three")).unwrap();
    symlink(at("two"), at("one")).unwrap();
    assert!(held.look("file").unwrap().is_none());
    held.create("file", 0o600).unwrap();
    assert_eq!(fs::read(at("two/file")).unwrap(), b"other");
    assert!(at("three/file").exists());
}

#[test]
fn a_name_is_one_component() {
    let scratch = tempdir().unwrap();
    let folder = Folder::following(Links::All, scratch.path()).unwrap();
    for name in ["", ".", "..", "a/b", "../x", "/etc/passwd", "a\0b"] {
        assert!(folder.create(name, 0o600).is_err(), "{name:?}");
        assert!(folder.remove(name).is_err(), "{name:?}");
        assert!(folder.rename("x", name).is_err(), "{name:?}");
        assert!(folder.remove_all(name).is_err(), "{name:?}");
    }
}

#[test]
fn a_tree_is_removed_without_following_its_links() {
    let scratch = tempdir().unwrap();
    let at = |path: &str| scratch.path().join(path);
    fs::create_dir_all(at("tree/a/b")).unwrap();
    fs::create_dir(at("kept")).unwrap();
    fs::write(at("kept/file"), "").unwrap();
    fs::write(at("tree/a/b/file"), "").unwrap();
    symlink(at("kept"), at("tree/a/link")).unwrap();
    let folder = Folder::following(Links::All, scratch.path()).unwrap();
    folder.remove_all("tree").unwrap();
    assert!(!at("tree").exists() && at("kept/file").exists());
}

#[test]
fn links_stay_under_another_root() {
    let scratch = tempdir().unwrap();
    let at = |path: &str| scratch.path().join(path);
    fs::create_dir(at("run")).unwrap();
    fs::write(at("run/x"), "").unwrap();
    symlink("/run", at("link")).unwrap();
    let root = rustix::fs::open(scratch.path(), OFlags::PATH, Mode::empty()).unwrap();
    let mut walk = Walk::following(Links::All);
    walk.root = Some(&root);
    let found = walk.to("/link/x".as_ref()).unwrap().last.unwrap();
    let expected = rustix::fs::stat(at("run/x")).unwrap();
    assert_eq!((found.stat.st_dev, found.stat.st_ino), (expected.st_dev, expected.st_ino));
    assert!(walk.to("/../../proc/version".as_ref()).is_err());
}
