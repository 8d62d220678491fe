//! Tests that another program's changes are kept, and that either all files of a switch are new or none.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use looptax_model::record::{FileHolds, StepCode, SwitchOutcome, SwitchStanding};
use looptax_switch::{
    Commands, Edited, End, Line, Order, Original, SwitchError, Watches, carry_out, list, open, remarks,
};

use crate::kept::{House, edited};

#[test]
fn a_file_that_changed_since_it_was_read_stays_and_so_do_the_others() {
    let house = House::new();
    let paths = [house.write("a.env", "a"), house.write("b.env", "b")];
    let edits = paths.clone().map(|path| edited(&path, "new"));
    let mut work = house.plan(&edits);
    fs::write(&paths[1], "theirs").unwrap();
    let error = work.write(&edits).unwrap_err();
    assert!(matches!(&error, SwitchError::Changed { .. }), "{error}");
    assert_eq!(fs::read_to_string(&paths[0]).unwrap(), "a");
    assert_eq!(fs::read_to_string(&paths[1]).unwrap(), "theirs");
    assert_eq!(house.names(), ["a.env", "b.env"]);
}

#[test]
fn a_file_that_was_replaced_or_removed_since_is_not_written() {
    let house = House::new();
    let path = house.write("a.env", "a");
    let edits = [edited(&path, "new")];
    let mut work = house.plan(&edits);
    fs::rename(house.write("theirs", "theirs"), &path).unwrap();
    assert!(matches!(work.write(&edits), Err(SwitchError::Changed { .. })));
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");

    let path = house.write("b.env", "b");
    let edits = [edited(&path, "new")];
    let mut work = house.plan(&edits);
    fs::remove_file(&path).unwrap();
    assert!(work.write(&edits).is_err());
    assert_eq!(house.names(), ["a.env"]);
}

#[test]
fn undo_of_a_file_whose_lines_somebody_wrote_anew_touches_none() {
    let house = House::new();
    let paths = [house.write("a.env", "a"), house.write("b.env", "b")];
    let edits = paths.clone().map(|path| edited(&path, "new"));
    let mut work = house.plan(&edits);
    work.write(&edits).unwrap();
    work.end(End::Moved).unwrap();
    let id = work.id().to_owned();
    assert!(matches!(open(&house.kept, &id), Err(SwitchError::Busy { .. })));
    drop(work);
    fs::write(&paths[0], "theirs").unwrap();
    let error = open(&house.kept, &id).unwrap().put_back("wanted", End::Undone).unwrap_err();
    assert!(matches!(&error, SwitchError::Rewritten { path, .. } if path.ends_with("a.env")), "{error}");
    let switch = &list(&house.kept).unwrap().0[0];
    let lies: Vec<FileHolds> = switch.files.iter().map(|it| it.holds).collect();
    assert_eq!(lies, [FileHolds::Other, FileHolds::New]);
    assert_eq!(switch.standing, SwitchStanding::Moved);
}

/// Returns a new file in a folder that does not exist yet, and an existing file that is changed together with it.
fn with_a_new_file(house: &House) -> (PathBuf, [Edited; 2]) {
    let unit = house.write("app.service", "old");
    fs::set_permissions(&unit, Permissions::from_mode(0o640)).expect("it is the test's own");
    let path = house.root.path().join("app/app.service.d/50-looptax.conf");
    let made = Edited {
        original: Original::absent(&path, &Original::read(&unit).expect("it is the test's own"))
            .expect("it is the test's own"),
        new: b"[Service]\n".to_vec(),
    };
    (path, [made, edited(&unit, "new")])
}

#[test]
fn a_file_that_was_not_there_is_made_like_its_neighbour_and_goes_again() {
    let house = House::new();
    let (path, edits) = with_a_new_file(&house);
    assert!(edits[0].original.is_absent());
    assert!(remarks(&path, &edits[0].original).is_empty());
    let mut work = house.plan(&edits);
    assert!(!path.parent().unwrap().exists());
    work.write(&edits).unwrap();
    let made = fs::metadata(&path).unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"[Service]\n");
    assert_eq!(made.mode() & 0o777, 0o640);
    let files = |house: &House| -> Vec<FileHolds> {
        let switch = list(&house.kept).unwrap().0.remove(0);
        switch.files.iter().map(|it| it.holds).collect()
    };
    assert_eq!(files(&house), [FileHolds::New, FileHolds::New]);
    work.end(End::Moved).unwrap();
    drop(work);
    open(&house.kept, "20261123-1").unwrap().put_back("wanted", End::Undone).unwrap();
    assert_eq!(house.names(), ["app.service"]);
    assert_eq!(files(&house), [FileHolds::Old, FileHolds::Old]);
}

#[test]
fn a_file_that_somebody_made_or_changed_meanwhile_stays() {
    let house = House::new();
    let (path, edits) = with_a_new_file(&house);
    let mut work = house.plan(&edits);
    fs::create_dir(path.parent().unwrap()).unwrap();
    fs::write(&path, "").unwrap();
    let error = work.write(&edits).unwrap_err();
    assert!(matches!(&error, SwitchError::Exists { .. }), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"");
    assert_eq!(fs::read_to_string(edits[1].original.path()).unwrap(), "old");
    let again = Original::absent(&path, &edits[1].original).unwrap_err();
    assert!(matches!(again, SwitchError::Exists { .. }), "{again}");
    drop(work);

    let house = House::new();
    let (path, edits) = with_a_new_file(&house);
    let mut work = house.plan(&edits);
    work.write(&edits).unwrap();
    fs::write(&path, "theirs").unwrap();
    let error = work.put_back("wanted", End::Undone).unwrap_err();
    assert!(matches!(&error, SwitchError::Changed { .. }), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
    assert_eq!(fs::read_to_string(edits[1].original.path()).unwrap(), "new");
    // looptax does not remove the folder while it contains other files.
    fs::write(&path, "[Service]\n").unwrap();
    fs::write(path.with_file_name("60.conf"), "theirs").unwrap();
    work.put_back("wanted", End::Undone).unwrap();
    assert!(!path.exists() && path.with_file_name("60.conf").exists());
}

#[test]
fn undo_of_a_file_that_somebody_added_to_keeps_what_they_added() {
    let house = House::new();
    let path = house.write("a.env", "A=1\nHOST=tcp\nB=2\n");
    let edits = [edited(&path, "A=1\nHOST=/s\nB=2\n")];
    let mut work = house.plan(&edits);
    work.write(&edits).unwrap();
    fs::write(&path, "A=1\nHOST=/s\nB=2\nC=3\n").unwrap();
    work.put_back("wanted", End::PutBack).unwrap();
    assert_eq!(work.shared(), std::slice::from_ref(&path));
    let now = fs::read_to_string(&path).unwrap();
    assert_eq!(now, "A=1\nHOST=tcp\nB=2\nC=3\n");
    assert_eq!(house.names(), ["a.env"]);
    assert_eq!(work.standing(), SwitchStanding::PutBack);
}

#[test]
fn names_of_switches_lead_nowhere_else() {
    let house = House::new();
    for id in ["", "..", "../../etc", "20261123-9"] {
        assert!(matches!(open(&house.kept, id), Err(SwitchError::Unknown { .. })), "{id}");
    }
}

#[test]
fn files_that_their_test_refuses_are_back_before_anything_reads_them() {
    let house = House::new();
    let path = house.write("a.env", "old");
    let edits = [edited(&path, "new")];
    let read = house.root.path().join("read");
    let reload = format!("cp {} {}", path.display(), read.display());
    let commands = Commands {
        tests: vec![Line::from("echo a wrong pool; exit 78")],
        reloads: vec![Line::from(&*reload)],
        ..Commands::default()
    };
    let stop = AtomicBool::new(false);
    let order = Order { commands: &commands, ..house.order(&edits, &stop) };
    let mut steps = Vec::new();
    let carried = carry_out(&order, &mut Watches::default(), &mut |step| {
        // At this point the reload must not have run.
        if step.code == StepCode::FilesPutBack {
            assert!(!read.exists(), "somebody has read it");
        }
        steps.push(step);
    });
    assert_eq!(carried.unwrap().outcome, SwitchOutcome::PutBack);
    assert!(steps.iter().any(|it| it.words.contains("a wrong pool")), "{steps:?}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
}
