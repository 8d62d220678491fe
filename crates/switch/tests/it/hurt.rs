//! Tests with disks that are full or read-only, and folders of another user: nothing changes, no file is left over, and
//! a switch that was started can be finished later. Needs root for the mounts, which only this test sees.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use looptax_model::record::{FileHolds, StepCode, SwitchOutcome, SwitchStanding};
use looptax_switch::{Commands, End, Kept, Line, Order, Original, SwitchError, Watches, Work, carry_out, list, open};
use looptax_testkit::programs;
use looptax_testkit::skips::skip;
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change, mount_remount};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::kept::{House, NAMED, edited};
use crate::killed::back_and_forth;

/// Runs `work` in a thread whose mounts other processes do not see; prints a message if that is not possible.
fn with_own_mounts(work: impl FnOnce() + Send + 'static) {
    if !rustix::process::geteuid().is_root() {
        skip("needs root");
        return;
    }
    let thread = std::thread::spawn(|| {
        let flags = UnshareFlags::NEWNS | UnshareFlags::FS;
        // SAFETY: no descriptor or signal handler of this thread depends on its mounts or its working folder.
        unsafe { unshare_unsafe(flags) }.expect("root may have mounts of its own");
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change("/", private).expect("they can be one's own");
        work();
    });
    thread.join().expect("what is asserted holds");
}

/// Mounts a small disk at a path.
fn mount_disk(path: &Path, n_bytes: usize) {
    let options = std::ffi::CString::new(format!("size={n_bytes}")).expect("no zero in it");
    mount("none", path, "tmpfs", MountFlags::empty(), options.as_c_str()).expect("a disk");
}

fn remount(path: &Path, flags: MountFlags) {
    mount_remount(path, MountFlags::BIND | flags, "").expect("it is mounted");
}

#[test]
fn a_full_disk_changes_nothing_and_leaves_nothing() {
    with_own_mounts(|| {
        let house = House::new();
        let folder = house.root.path().join("app");
        mount_disk(&folder, 256 << 10);
        let paths = ["a.env", "b.env"].map(|name| house.write(name, &"old".repeat(10_000)));
        // There is enough space for the new version of the first file, but not for that of the second file.
        fs::write(folder.join("full"), vec![0; 150 << 10]).unwrap();
        let edits = [edited(&paths[0], "new"), edited(&paths[1], &"new".repeat(40_000))];
        let mut work = house.plan(&edits);
        let error = work.write(&edits).unwrap_err();
        assert!(matches!(&error, SwitchError::Stage { path, .. } if path.ends_with("b.env")), "{error}");
        for path in &paths {
            assert_eq!(fs::read_to_string(path).unwrap(), "old".repeat(10_000));
        }
        assert_eq!(house.names(), ["a.env", "b.env", "full"]);
        assert_eq!(work.standing(), SwitchStanding::PutBack);
    });
}

#[test]
fn a_disk_that_is_full_after_the_writing_does_not_keep_the_old_files_away() {
    with_own_mounts(|| {
        let house = House::new();
        let folder = house.root.path().join("app");
        mount_disk(&folder, 256 << 10);
        let paths = ["a.env", "b.env"].map(|name| house.write(name, &"old".repeat(10_000)));
        let edits = [edited(&paths[0], &"new".repeat(20_000)), edited(&paths[1], "new")];
        let inode = |path: &Path| fs::metadata(path).unwrap().ino();
        let before = [inode(&paths[0]), inode(&paths[1])];
        let fill = format!("cat /dev/zero > {}; exit 7", folder.join("full").display());
        let stop = AtomicBool::new(false);
        let commands = Commands { reloads: vec![Line::from(&*fill)], ..Commands::default() };
        let order = Order { commands: &commands, ..house.order(&edits, &stop) };
        let carried = carry_out(&order, &mut Watches::default(), &mut |_| {}).unwrap();
        assert_eq!(carried.outcome, SwitchOutcome::PutBack);
        for path in &paths {
            assert_eq!(fs::read_to_string(path).unwrap(), "old".repeat(10_000));
        }
        assert_eq!([inode(&paths[0]), inode(&paths[1])], before);
        assert_eq!(house.names(), ["a.env", "b.env", "full"]);
    });
}

#[test]
fn a_full_disk_for_the_journal_keeps_the_file_and_the_plan_away() {
    with_own_mounts(|| {
        let house = House::new();
        let path = house.write("a.env", &"old".repeat(10_000));
        let data = house.root.path().join("small");
        fs::create_dir(&data).unwrap();
        mount_disk(&data, 16 << 10);
        let kept = Kept::in_data_folder(&data);
        let edits = [edited(&path, "new")];
        let error = Work::plan(&kept, NAMED, &edits).unwrap_err();
        assert!(matches!(error, SwitchError::Journal { .. }), "{error}");
        assert_eq!(fs::read_dir(data.join("switches")).unwrap().count(), 0);
        assert_eq!(fs::read_to_string(&path).unwrap(), "old".repeat(10_000));
    });
}

#[test]
fn a_disk_that_became_read_only_is_told_and_the_way_back_stays_open() {
    with_own_mounts(|| {
        let house = House::new();
        let folder = house.root.path().join("app");
        mount_disk(&folder, 1 << 20);
        let path = house.write("a.env", "old");
        let edits = [edited(&path, "new")];
        let mut work = house.plan(&edits);
        remount(&folder, MountFlags::RDONLY);
        let error = work.write(&edits).unwrap_err();
        assert!(matches!(error, SwitchError::Stage { .. }), "{error}");
        drop(work);
        remount(&folder, MountFlags::empty());
        let mut work = house.plan(&edits);
        work.write(&edits).unwrap();
        remount(&folder, MountFlags::RDONLY);
        work.put_back("it did not work", End::PutBack).unwrap_err();
        drop(work);
        // A program that another test starts at this moment holds the journal's lock until it executes its own file.
        let last = || {
            let shown = || list(&house.kept).unwrap().0.pop().unwrap();
            let is_free = || shown().standing != SwitchStanding::UnderWay;
            (0..100).any(|_| {
                is_free() || {
                    std::thread::sleep(std::time::Duration::from_millis(10));
                    false
                }
            });
            shown()
        };
        assert_eq!((last().standing, last().files[0].holds), (SwitchStanding::Interrupted, FileHolds::New));
        remount(&folder, MountFlags::empty());
        open(&house.kept, &last().id).unwrap().put_back("again", End::PutBack).unwrap();
        assert_eq!((last().standing, last().files[0].holds), (SwitchStanding::PutBack, FileHolds::Old));
        assert_eq!(Original::read(&path).unwrap().bytes(), b"old");
    });
}

#[test]
fn who_may_not_write_the_folder_is_told_and_changes_nothing() {
    if !rustix::process::geteuid().is_root() {
        skip("needs root");
        return;
    }
    let house = House::new();
    let paths = [house.write("a.env", "old"), house.write("b.env", "old")];
    let data = house.root.path().join("data");
    fs::create_dir(&data).unwrap();
    for (path, mode) in [(house.root.path(), 0o755), (&data, 0o777), (&paths[0], 0o777)] {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }
    let program = house.root.path().join("program");
    programs::copy(back_and_forth(), &program);
    let output = Command::new(&program).arg(&data).args(&paths).uid(65534).gid(65534).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(words.contains("the folder does not accept a new file"), "{words}");
    assert_eq!(house.names(), ["a.env", "b.env"]);
    assert!(paths.iter().all(|path| fs::read_to_string(path).unwrap() == "old"));
}

/// Returns a test environment whose journal is on a disk of 64 KiB.
fn with_a_small_journal() -> House {
    let mut house = House::new();
    let data = house.root.path().join("small");
    fs::create_dir(&data).expect("a folder");
    mount_disk(&data, 64 << 10);
    house.kept = Kept::in_data_folder(&data);
    house
}

#[test]
fn a_disk_that_is_full_after_the_writing_brings_the_old_file_back() {
    with_own_mounts(|| {
        let house = with_a_small_journal();
        let path = house.write("a.env", "old");
        let edits = [edited(&path, "new")];
        // There is enough space for the plan, but not for a journal line with this command.
        let reload = format!("true {}", "x".repeat(80 << 10));
        let stop = AtomicBool::new(false);
        let commands = Commands { reloads: vec![Line::from(&*reload)], ..Commands::default() };
        let order = Order { commands: &commands, ..house.order(&edits, &stop) };
        let mut steps = Vec::new();
        let carried = carry_out(&order, &mut Watches::default(), &mut |step| {
            steps.push(step);
        })
        .unwrap();
        assert_eq!(carried.outcome, SwitchOutcome::PutBack, "{steps:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        let failed = steps.iter().find(|it| it.code == StepCode::FilesNotWritten);
        let words = &failed.unwrap().words;
        assert!(words.contains("cannot write the journal"), "{steps:?}");
    });
}

#[test]
fn old_files_that_are_back_without_a_word_in_the_journal_are_said_to_be_back() {
    with_own_mounts(|| {
        let house = with_a_small_journal();
        let path = house.write("a.env", "old");
        let edits = [edited(&path, "new")];
        let mut work = house.plan(&edits);
        work.write(&edits).unwrap();
        let why = "x".repeat(80 << 10);
        let error = work.put_back(&why, End::PutBack).unwrap_err();
        assert!(matches!(error, SwitchError::Unnoted { .. }), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        drop(work);
        // When there is space again, the journal records that the files are back, and nothing else has to be done.
        let id = list(&house.kept).unwrap().0.pop().unwrap().id;
        open(&house.kept, &id).unwrap().put_back("again", End::Undone).unwrap();
        let standing = list(&house.kept).unwrap().0.pop().unwrap().standing;
        assert_eq!(standing, SwitchStanding::Undone);
    });
}
