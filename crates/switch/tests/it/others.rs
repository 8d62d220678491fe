//! What somebody else wrote meanwhile stays, and of several files all are new or none.

use std::fs;

use looptax_switch::{End, Lies, Standing, SwitchError, list, open};

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
    assert!(matches!(
        work.write(&edits),
        Err(SwitchError::Changed { .. })
    ));
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");

    let path = house.write("b.env", "b");
    let edits = [edited(&path, "new")];
    let mut work = house.plan(&edits);
    fs::remove_file(&path).unwrap();
    assert!(work.write(&edits).is_err());
    assert_eq!(house.names(), ["a.env"]);
}

#[test]
fn undo_of_a_file_that_was_written_since_touches_none() {
    let house = House::new();
    let paths = [house.write("a.env", "a"), house.write("b.env", "b")];
    let edits = paths.clone().map(|path| edited(&path, "new"));
    let mut work = house.plan(&edits);
    work.write(&edits).unwrap();
    work.end(End::Moved).unwrap();
    let id = work.id().to_owned();
    assert!(matches!(
        open(&house.kept, &id),
        Err(SwitchError::Busy { .. })
    ));
    drop(work);
    fs::write(&paths[0], "theirs").unwrap();
    let error = open(&house.kept, &id)
        .unwrap()
        .put_back("wanted", End::Undone)
        .unwrap_err();
    assert!(
        matches!(&error, SwitchError::Changed { path } if path.ends_with("a.env")),
        "{error}"
    );
    let switch = &list(&house.kept).unwrap().0[0];
    let lies: Vec<Lies> = switch.files.iter().map(|it| it.1).collect();
    assert_eq!(lies, [Lies::Other, Lies::New]);
    assert_eq!(switch.standing, Standing::Ended(End::Moved));
}

#[test]
fn names_of_switches_lead_nowhere_else() {
    let house = House::new();
    for id in ["", "..", "../../etc", "20261123-9"] {
        assert!(
            matches!(open(&house.kept, id), Err(SwitchError::Unknown { .. })),
            "{id}"
        );
    }
}
