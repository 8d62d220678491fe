//! Tests which properties a file keeps when it is replaced, and which properties it has again after an undo.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use looptax_model::record::{FileHolds, FileRemarkCode, SwitchStanding};
use looptax_switch::{Commands, Edited, End, Kept, Named, Order, Original, Unproved, Work, list, open, remarks};
use tempfile::TempDir;

/// The name of each switch in these tests.
pub(crate) const NAMED: Named<'static> = Named { day: "20261123", at: "2026-11-23T12:00:00Z", title: "an app" };

/// A folder for an application and a data folder; both are removed when this value is dropped.
pub(crate) struct House {
    pub(crate) root: TempDir,
    pub(crate) kept: Kept,
    commands: Commands,
}

impl House {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().expect("a scratch folder");
        let kept = Kept::in_data_folder(&root.path().join("data"));
        fs::create_dir(root.path().join("app")).expect("a folder");
        let commands = Commands::default();
        Self { root, kept, commands }
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> std::path::PathBuf {
        let path = self.root.path().join("app").join(name);
        fs::write(&path, text).expect("a file");
        path
    }

    pub(crate) fn plan(&self, edited: &[Edited]) -> Work {
        Work::plan(&self.kept, NAMED, edited).expect("a plan")
    }

    /// Returns an order to switch these files, without tests, reload or page.
    pub(crate) fn order<'a>(&'a self, edited: &'a [Edited], stop: &'a AtomicBool) -> Order<'a> {
        Order {
            kept: &self.kept,
            named: NAMED,
            edited,
            commands: &self.commands,
            page: None,
            bursts: &[],
            by_hand: None,
            within: Duration::from_secs(1),
            unproved: Unproved::Stays,
            stop,
        }
    }

    /// Returns the names in the application's folder.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.root.path().join("app")).expect("a folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("text"));
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }
}

pub(crate) fn edited(path: &Path, new: &str) -> Edited {
    Edited { original: Original::read(path).expect("a file"), new: new.into() }
}

/// Returns an access list in the kernel's format: version 2, then the tag, rights and id of each entry.
fn access_list(entries: &[(u16, u16, i32)]) -> Vec<u8> {
    let mut bytes = 2_u32.to_le_bytes().to_vec();
    for (tag, rights, id) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(rights.to_le_bytes());
        bytes.extend(id.to_le_bytes());
    }
    bytes
}

#[test]
fn owner_mode_access_list_and_attributes_stay_and_the_old_bytes_come_back() {
    let house = House::new();
    let path = house.write("wp-config.php", "old");
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        chown(&path, Some(33), Some(4)).unwrap();
    }
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    let file = fs::File::open(&path).unwrap();
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::fsetxattr(&file, "user.note", b"mine", flags).unwrap();
    // The access list that setfacl writes for a second user who may read.
    let acl = access_list(&[(1, 6, -1), (2, 4, 1234), (4, 4, -1), (16, 4, -1), (32, 0, -1)]);
    rustix::fs::fsetxattr(&file, "system.posix_acl_access", &acl, flags).unwrap();
    let before = fs::metadata(&path).unwrap();

    let mut work = house.plan(&[edited(&path, "new")]);
    work.write(&[edited(&path, "new")]).unwrap();
    let check = |text: &str| {
        let now = fs::metadata(&path).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        assert_eq!((now.uid(), now.gid(), now.mode()), (before.uid(), before.gid(), before.mode()));
        let attribute = |name: &str| {
            let mut value = vec![0; 100];
            let n_bytes = rustix::fs::getxattr(&path, name, &mut value[..]).unwrap();
            value.truncate(n_bytes);
            value
        };
        assert_eq!(attribute("user.note"), b"mine");
        assert_eq!(attribute("system.posix_acl_access"), acl);
        assert_eq!(house.names(), ["wp-config.php"]);
    };
    work.end(End::Moved).unwrap();
    drop(work);
    check("new");
    assert_ne!(fs::metadata(&path).unwrap().ino(), before.ino());

    open(&house.kept, "20261123-1").unwrap().put_back("wanted", End::Undone).unwrap();
    check("old");
    let (known, unread) = list(&house.kept).unwrap();
    assert!(unread.is_empty());
    assert_eq!(known[0].standing, SwitchStanding::Undone);
    let files = known[0].files.iter();
    let files: Vec<_> = files.map(|it| (&*it.path, it.holds)).collect();
    assert_eq!(files, [(path.to_str().unwrap(), FileHolds::Old)]);
}

#[test]
fn a_folders_default_access_list_gives_the_new_file_nothing() {
    let house = House::new();
    let path = house.write("a.ini", "old");
    let folder = path.parent().unwrap();
    let acl = access_list(&[(1, 7, -1), (2, 7, 1234), (4, 5, -1), (16, 7, -1), (32, 0, -1)]);
    let flags = rustix::fs::XattrFlags::empty();
    rustix::fs::setxattr(folder, "system.posix_acl_default", &acl, flags).unwrap();
    let edits = [edited(&path, "new")];
    house.plan(&edits).write(&edits).unwrap();
    let mut value = [0; 100];
    let found = rustix::fs::getxattr(&path, "system.posix_acl_access", &mut value[..]);
    assert_eq!(found, Err(rustix::io::Errno::NODATA));
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
}

#[test]
fn what_is_kept_is_for_its_user_alone() {
    let house = House::new();
    let path = house.write("a.env", "DB_PASSWORD=secret");
    drop(house.plan(&[edited(&path, "new")]));
    let switches = house.root.path().join("data/switches");
    let folder = switches.join("20261123-1");
    for (path, mode) in [(&switches, 0o700), (&folder, 0o700), (&folder.join("0.old"), 0o600)] {
        assert_eq!(fs::metadata(path).unwrap().mode() & 0o777, mode, "{}", path.display());
    }
    assert!(!fs::read_to_string(folder.join("journal")).unwrap().contains("secret"));
}

#[test]
fn a_link_is_followed_and_stays_a_link() {
    let house = House::new();
    let path = house.write("real.env", "old");
    let link = path.with_file_name("link.env");
    symlink("real.env", &link).unwrap();
    let edits = [edited(&link, "new")];
    let real = fs::canonicalize(&path).unwrap();
    let found = remarks(&link, &edits[0].original);
    let words = format!("the path contains a symbolic link; looptax writes the file {}", real.display());
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].code, &found[0].words), (FileRemarkCode::Link, &words));
    // A path that leads through the parent folder is not a link.
    let above = real.parent().unwrap().join("..").join(real.parent().unwrap().file_name().unwrap()).join("real.env");
    assert_eq!(remarks(&above, &Original::read(&above).unwrap()).len(), 0);
    house.plan(&edits).write(&edits).unwrap();
    assert_eq!(fs::read_link(&link).unwrap(), Path::new("real.env"));
    assert_eq!(fs::read_to_string(&path).unwrap(), "new");
}

#[test]
fn who_else_writes_a_file_is_told() {
    let house = House::new();
    let path = house.write("a.ini", "; This file is Managed by Puppet\nhost = 127.0.0.1\n");
    fs::hard_link(&path, path.with_file_name("b.ini")).unwrap();
    fs::create_dir(house.root.path().join("app/.git")).unwrap();
    let found = remarks(&path, &Original::read(&path).unwrap());
    let tree = fs::canonicalize(house.root.path().join("app")).unwrap();
    let expected = [
        (FileRemarkCode::OtherNames, "1 other names", true),
        (FileRemarkCode::Managed, "Puppet writes this file", true),
        (FileRemarkCode::GitTree, tree.to_str().unwrap(), false),
    ];
    assert_eq!(found.len(), expected.len());
    for (found, (code, words, wants_a_word)) in found.iter().zip(expected) {
        assert_eq!((found.code, found.wants_a_word), (code, wants_a_word));
        assert!(found.words.contains(words), "{found:?}");
    }
    assert_eq!(OsStr::new("a.ini"), path.file_name().unwrap());
}

#[test]
fn what_is_no_file_of_people_is_refused() {
    let house = House::new();
    let words = |path: &Path| Original::read(path).unwrap_err().to_string();
    let folder = house.root.path().join("app");
    assert!(words(&folder).ends_with("is not an ordinary file"));
    assert!(words(Path::new("/dev/null")).ends_with("is not an ordinary file"));
    assert!(words(&folder.join("none")).starts_with("cannot read"));
    let large = house.write("large", &"x".repeat((1 << 20) + 1));
    assert!(words(&large).starts_with("cannot read"));
}
