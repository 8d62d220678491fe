//! The files on disk after a save that succeeded and after a save that failed.

use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::path::Path;

use looptax_model::failure::Explain;
use looptax_store::{Existing, Saver, StoreError, load, save, save_for_all};

use crate::record;

/// The names of the files in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_saved_record_is_read_back_and_nothing_else_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    save(&record("first"), &path, Existing::Keep).unwrap();
    assert_eq!(load(&path).unwrap(), record("first"));
    assert_eq!(names(folder.path()), ["a.json"]);
    assert!(fs::read_to_string(&path).unwrap().ends_with("}\n"));
}

#[test]
fn others_may_read_a_record_as_the_umask_allows() {
    let folder = tempfile::tempdir().unwrap();
    let [path, plain] = ["a.json", "plain"].map(|name| folder.path().join(name));
    save(&record("first"), &path, Existing::Keep).unwrap();
    fs::File::create(&plain).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    assert_eq!(mode(&path), mode(&plain));
}

/// The umask belongs to the whole process, so tests of programs use another umask: see the tests of `find` and
/// `compare`.
#[test]
fn all_may_read_what_is_saved_for_all_also_where_the_file_before_it_was_closed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.prom");
    for _ in 0..2 {
        save_for_all(b"text", &path).unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o644);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    }
    assert_eq!(names(folder.path()), ["a.prom"]);
}

#[test]
fn a_file_that_is_there_stays_unless_told_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    fs::write(&path, "precious").unwrap();
    let error = save(&record("first"), &path, Existing::Keep).unwrap_err();
    assert!(matches!(error, StoreError::AlreadyExists { .. }), "{error:?}");
    assert!(Saver::new(&path, Existing::Keep).is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    save(&record("first"), &path, Existing::Replace).unwrap();
    assert_eq!(load(&path).unwrap().id, "first");
}

#[test]
fn a_file_that_appeared_during_the_run_stays_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    let mut saver = Saver::new(&path, Existing::Keep).unwrap();
    fs::write(&path, "precious").unwrap();
    let error = saver.save(&mut record("first")).unwrap_err();
    assert!(matches!(error, StoreError::AlreadyExists { .. }), "{error:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "precious");
    assert_eq!(names(folder.path()), ["a.json"]);
}

#[test]
fn each_save_replaces_the_one_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.json");
    let mut saver = Saver::new(&path, Existing::Keep).unwrap();
    assert_eq!(names(folder.path()), Vec::<String>::new(), "no file before the first save");
    for id in ["first", "second", "third"] {
        saver.save(&mut record(id)).unwrap();
        assert_eq!(load(&path).unwrap().id, id);
    }
    assert_eq!(names(folder.path()), ["a.json"]);
}

#[test]
fn a_link_stays_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let [real, link] = ["real.json", "link.json"].map(|name| folder.path().join(name));
    fs::write(&real, "old").unwrap();
    symlink(&real, &link).unwrap();
    save(&record("first"), &link, Existing::Replace).unwrap();
    assert!(link.is_symlink());
    assert_eq!(load(&real).unwrap().id, "first");
}

#[test]
fn a_full_disk_is_named_and_the_device_stays() {
    let full = Path::new("/dev/full");
    let error = save(&record("first"), full, Existing::Replace).unwrap_err();
    assert!(matches!(error, StoreError::WriteFile { .. }), "{error:?}");
    assert!(error.hint().unwrap().contains("the disk is full"));
    assert!(fs::metadata(full).unwrap().file_type().is_char_device());
}

#[track_caller]
fn check_refused_at_once(path: &Path, message: &str, hint: &str) {
    let error = Saver::new(path, Existing::Replace).unwrap_err();
    assert!(error.to_string().contains(message), "{error}");
    assert!(error.hint().is_some_and(|found| found.contains(hint)), "{error:?}");
}

#[test]
fn a_place_that_cannot_be_is_refused_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    check_refused_at_once(folder.path(), "cannot create", "this is a folder");
    check_refused_at_once(&folder.path().join("no/a.json"), "no/a.json", "create the folder first");
    let link = folder.path().join("dangling.json");
    symlink("nowhere", &link).unwrap();
    check_refused_at_once(&link, "dangling.json", "create the folder first");
    assert_eq!(names(folder.path()), ["dangling.json"]);
}
