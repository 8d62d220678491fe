//! Tests attacks by an application's user, who owns the folder and makes paths lead root to files of other users.

use std::fs;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};

use looptax_model::record::{FileHolds, SwitchStanding};
use looptax_switch::{End, Kept, Original, SwitchError, list, open};
use looptax_testkit::skips::skip;
use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::kept::{House, edited};

/// A uid that no account has.
const STRANGER: u32 = 47_001;
const OLD: &str = "* * * * * root id\nhost=tcp\n";
const NEW: &str = "* * * * * root id\nhost=/s\n";

/// A test environment in which another user owns the application's folder, and a file of root outside that folder.
struct Scene {
    house: House,
    path: PathBuf,
    victim: PathBuf,
}

fn give(path: &Path) {
    lchown(path, Some(STRANGER), Some(STRANGER)).unwrap();
}

impl Scene {
    fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skip("only root can make a folder of another user's");
            return None;
        }
        let house = House::new();
        let path = house.write("a.env", OLD);
        let victim = house.root.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        fs::set_permissions(&victim, fs::Permissions::from_mode(0o600)).unwrap();
        let scene = Self { house, path, victim };
        give(&scene.path);
        give(scene.path.parent().unwrap());
        Some(scene)
    }

    /// Carries out a switch; returns its name.
    fn moved(&self) -> String {
        let edits = [edited(&self.path, NEW)];
        let mut work = self.house.plan(&edits);
        work.write(&edits).unwrap();
        work.end(End::Moved).unwrap();
        work.id().to_owned()
    }

    /// Plans a switch and stops before anything is written, as if looptax was killed; returns the switch's name.
    fn begun(&self) -> String {
        let work = self.house.plan(&[edited(&self.path, NEW)]);
        work.id().to_owned()
    }

    fn lead_to_victim(&self) {
        fs::rename(&self.path, self.path.with_extension("mine")).unwrap();
        symlink(&self.victim, &self.path).unwrap();
        give(&self.path);
    }

    #[track_caller]
    fn check_victim(&self) {
        let mode = fs::metadata(&self.victim).unwrap().permissions().mode();
        assert_eq!(fs::read(&self.victim).unwrap(), b"precious");
        assert_eq!(mode & 0o777, 0o600);
    }

    fn undo(&self, id: &str) -> Result<(), SwitchError> {
        open(&self.house.kept, id)?.put_back("asked", End::Undone)
    }
}

#[test]
fn undo_does_not_follow_a_link_in_the_file_s_place() {
    let Some(scene) = Scene::new() else { return };
    let id = scene.moved();
    scene.lead_to_victim();
    let error = scene.undo(&id).unwrap_err();
    assert!(matches!(error, SwitchError::Foreign { .. }), "{error}");
    scene.check_victim();
    let (known, _) = list(&scene.house.kept).unwrap();
    assert_eq!(known[0].files[0].holds, FileHolds::Foreign);
    // When the user's own file is back in its place, the undo works.
    fs::rename(scene.path.with_extension("mine"), &scene.path).unwrap();
    scene.undo(&id).unwrap();
    assert_eq!(fs::read_to_string(&scene.path).unwrap(), OLD);
}

#[test]
fn finish_does_not_follow_a_link_in_the_file_s_place() {
    let Some(scene) = Scene::new() else { return };
    let id = scene.begun();
    scene.lead_to_victim();
    let error = open(&scene.house.kept, &id).unwrap().finish().unwrap_err();
    assert!(matches!(error, SwitchError::Foreign { .. }), "{error}");
    scene.check_victim();
}

#[test]
fn a_link_or_another_folder_in_the_folder_s_place_is_refused() {
    let Some(scene) = Scene::new() else { return };
    let id = scene.moved();
    let folder = scene.path.parent().unwrap().to_owned();
    let other = scene.house.root.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("a.env"), NEW).unwrap();
    let mine = scene.house.root.path().join("mine");
    fs::rename(&folder, &mine).unwrap();
    symlink(&other, &folder).unwrap();
    let error = scene.undo(&id).unwrap_err();
    assert!(matches!(error, SwitchError::Foreign { .. }), "{error}");
    fs::remove_file(&folder).unwrap();
    fs::rename(&other, &folder).unwrap();
    let error = scene.undo(&id).unwrap_err();
    assert!(matches!(error, SwitchError::Foreign { .. }), "{error}");
    assert_eq!(fs::read_to_string(folder.join("a.env")).unwrap(), NEW);
}

#[test]
fn a_hard_link_to_a_file_of_root_s_is_not_replaced() {
    let Some(scene) = Scene::new() else { return };
    let id = scene.moved();
    fs::remove_file(&scene.path).unwrap();
    fs::set_permissions(&scene.victim, fs::Permissions::from_mode(0o4755)).unwrap();
    fs::hard_link(&scene.victim, &scene.path).unwrap();
    let error = scene.undo(&id).unwrap_err();
    assert!(matches!(error, SwitchError::Foreign { .. }), "{error}");
    fs::set_permissions(&scene.victim, fs::Permissions::from_mode(0o600)).unwrap();
    scene.check_victim();
}

#[test]
fn a_link_of_hers_to_a_file_of_root_s_is_not_planned() {
    let Some(scene) = Scene::new() else { return };
    scene.lead_to_victim();
    assert!(matches!(Original::read(&scene.path), Err(SwitchError::Read { .. })));
    // looptax plans a switch of a link to the user's own file, and reports the link.
    fs::remove_file(&scene.path).unwrap();
    symlink("a.mine", &scene.path).unwrap();
    give(&scene.path);
    let original = Original::read(&scene.path).unwrap();
    assert_eq!(original.links().len(), 1);
    assert_eq!(original.path(), scene.path.with_extension("mine"));
}

#[test]
fn file_and_link_exchanged_all_the_time_lead_nowhere() {
    let Some(scene) = Scene::new() else { return };
    let link = scene.path.with_extension("link");
    symlink(&scene.victim, &link).unwrap();
    give(&link);
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                // The exchange fails if one of the two is missing for an instant while root writes.
                let _done = renameat_with(CWD, &scene.path, CWD, &link, RenameFlags::EXCHANGE);
            }
        });
        for _ in 0..200 {
            let Ok(original) = Original::read(&scene.path) else {
                continue;
            };
            let edits = [looptax_switch::Edited { original, new: NEW.into() }];
            let mut work = scene.house.plan(&edits);
            if work.write(&edits).is_ok() {
                let _refused_or_done = work.put_back("asked", End::Undone);
            }
            scene.check_victim();
        }
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    scene.check_victim();
}

#[test]
fn a_journal_of_another_user_s_is_not_believed() {
    let Some(scene) = Scene::new() else { return };
    let id = scene.moved();
    let data = scene.house.root.path().join("data");
    let believed = |id: &str| open(&Kept::in_data_folder(&data), id).map(|it| it.standing());
    assert_eq!(believed(&id).unwrap(), SwitchStanding::Moved);
    let journal = data.join("switches").join(&id).join("journal");
    give(&journal);
    assert!(believed(&id).is_err());
    lchown(&journal, Some(0), Some(0)).unwrap();
    give(&data);
    assert!(believed(&id).is_err());
    assert!(list(&Kept::in_data_folder(&data)).is_err());
}

#[test]
fn names_in_a_journal_are_names() {
    let house = House::new();
    let path = house.write("a.env", "a");
    let id = house.plan(&[edited(&path, "b")]).id().to_owned();
    let journal = house.root.path().join("data/switches").join(&id).join("journal");
    let text = fs::read_to_string(&journal).unwrap();
    let mut words = text.split('"');
    let staged = words.find(|it| it.starts_with(".a.env.looptax-")).unwrap().to_owned();
    for wrong in ["../x", "/etc/x", "", "..", "a/b"] {
        fs::write(&journal, text.replace(&staged, wrong)).unwrap();
        let error = open(&house.kept, &id).unwrap_err();
        assert!(matches!(error, SwitchError::Unreadable { .. }), "{error}");
    }
    let shown = path.to_string_lossy();
    for wrong in ["relative", "/a/../b", "/"] {
        fs::write(&journal, text.replace(&*shown, wrong)).unwrap();
        assert!(open(&house.kept, &id).is_err());
    }
}
