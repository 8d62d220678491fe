//! A disk is really full while a record and the history are written: the result is printed, existing files stay
//! complete, and everything works again once there is free space.

use std::fs::{self, File};
use std::io::{ErrorKind, Read, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use looptax_testkit::runner::{Finished, Looptax};
use looptax_testkit::scratch::Scratch;
use serde_json::Value;

use crate::fixture::{Alive, exe, is_root, is_there};
use crate::fleet::has_number;

/// The size of the disk: several times as much as these tests write.
const DISK: &str = "size=4m";
/// More than two records of six epochs, and far less than the latencies of many requests.
const ROOM_FOR_A_RECORD: usize = 128 << 10;

/// One connection, and the shortest slices that are allowed.
const SHORT: [&str; 4] = ["-c", "1", "--slice-ms", "10"];

/// A separate disk in memory; only programs in its mount namespace see it.
struct Disk {
    // This process has to end before its folder is removed.
    holder: Alive,
    scratch: Scratch,
}

impl Disk {
    /// Makes the disk; `None` if the tests may not mount one.
    fn new() -> Option<Self> {
        if !is_root() || !is_there("unshare") || !is_there("nsenter") {
            return None;
        }
        let scratch = Scratch::new();
        let script = format!("mount -t tmpfs -o {DISK} none . && echo up && exec sleep 600");
        let mut holder = Alive::spawn(
            Command::new("unshare")
                .args(["--mount", "sh", "-c", &script])
                .current_dir(scratch.work())
                .stdout(Stdio::piped()),
        );
        let mut up = [0; 3];
        let output = holder.0.stdout.as_mut().unwrap();
        output.read_exact(&mut up).unwrap();
        Some(Self { holder, scratch })
    }

    /// Returns the path of a file on the disk, as seen from outside of the mount namespace.
    fn file(&self, name: &str) -> PathBuf {
        let root = PathBuf::from(format!("/proc/{}/root", self.holder.0.id()));
        root.join(self.scratch.file(name).strip_prefix("/").unwrap())
    }

    fn run(&self, args: &[&str]) -> Finished {
        Looptax::new("nsenter", &self.scratch)
            .args(["--target", &self.holder.0.id().to_string(), "--mount"])
            .args([exe()])
            .args(args.iter().copied())
            .env("XDG_DATA_HOME", self.scratch.file("data"))
            .run()
    }

    /// Makes a short run whose record is written to `name`.
    fn measure(&self, name: &str, more: &[&str]) -> Finished {
        let path = self.scratch.file(name);
        let mut args = vec!["compare", "echo", "--placement", "same"];
        // These options leave out `-q`, and those that `more` sets.
        args.extend(["--fixed", "6", "--warm-up", "0s"]);
        args.extend(["-o", path.to_str().unwrap()]);
        args.extend(more);
        self.run(&args)
    }

    /// Fills the disk except for this many bytes.
    fn fill_but(&self, left_bytes: usize) {
        let held = vec![1; left_bytes];
        let room = self.file("room");
        let reserve = File::create(&room).and_then(|mut file| file.write_all(&held));
        reserve.unwrap();
        let mut ballast = File::create(self.file("ballast")).unwrap();
        let full = loop {
            if let Err(error) = ballast.write_all(&[1; 4096]) {
                break error.kind();
            }
        };
        assert_eq!(full, ErrorKind::StorageFull);
        fs::remove_file(room).unwrap();
    }

    fn free(&self) {
        fs::remove_file(self.file("ballast")).unwrap();
    }

    /// Returns the records of the runs in the history, the newest first.
    #[track_caller]
    fn remembered(&self) -> Vec<String> {
        let run = self.run(&["show", "--json"]);
        run.expect_code(0);
        let runs: Value = serde_json::from_str(&run.stdout).unwrap();
        let paths = runs.as_array().unwrap().iter().map(|it| it["path"].as_str());
        let name = |path: Option<&str>| path.unwrap().rsplit('/').next().unwrap().to_owned();
        paths.map(name).collect()
    }

    /// Returns the record in `name` as `show` reads it.
    #[track_caller]
    fn analyzed(&self, name: &str) -> Value {
        let path = self.scratch.file(name);
        let run = self.run(&["show", path.to_str().unwrap(), "--json"]);
        run.expect_code(0);
        serde_json::from_str(&run.stdout).unwrap()
    }
}

/// Expects that the printed result contains a table.
#[track_caller]
fn check_printed(run: &Finished) {
    if !run.stdout.contains("tax (tcp vs unix)") {
        run.fail("the result is not printed");
    }
}

fn has_latencies(record: &Value) -> bool {
    let epochs = record["comparisons"][0]["raw"]["epochs"].as_array().unwrap();
    epochs.iter().all(|epoch| epoch["samples"][0].is_object())
}

#[test]
fn a_full_disk_costs_neither_the_result_nor_the_history() {
    let Some(disk) = Disk::new() else { return };
    disk.measure("a.json", &SHORT).expect_code(0);
    disk.fill_but(0);
    let run = disk.measure("b.json", &SHORT);
    run.expect_error(2, &["cannot write `", "b.json`", "No space left", "free some space", "the record is at"]);
    check_printed(&run);
    let (_, spare) = run.stdout.split_once("record: ").unwrap();
    let spare = fs::read(spare.trim_end()).unwrap();
    assert!(has_latencies(&serde_json::from_slice(&spare).unwrap()));
    if !run.stderr.contains("not in the history") {
        run.fail("nothing is said of the history");
    }
    assert!(!disk.file("b.json").exists());
    assert_eq!(disk.remembered(), ["a.json"]);

    disk.free();
    disk.measure("b.json", &SHORT).expect_code(0);
    assert_eq!(disk.remembered(), ["b.json", "a.json"]);
    for name in ["a.json", "b.json"] {
        assert!(has_latencies(&disk.analyzed(name)));
    }
}

#[test]
fn latencies_make_room_for_their_record() {
    let Some(disk) = Disk::new() else { return };
    // tmpfs counts its free pages per processor. It may not find a free page although another processor still has some.
    disk.fill_but(2 * ROOM_FOR_A_RECORD);
    // Long slices and many connections give latencies of many sizes, also on a slow machine.
    let many = ["-c", "32", "--client", "event", "--slice-ms", "500"];
    let run = disk.measure("a.json", &many);
    run.expect_error(2, &["the record is saved, but not the latencies", "No space left", "free some space"]);
    check_printed(&run);
    let record = disk.analyzed("a.json");
    assert!(!has_latencies(&record));
    let comparison = &record["comparisons"][0];
    assert_eq!(comparison["raw"]["epochs"].as_array().unwrap().len(), 6);
}

#[test]
fn a_copy_that_cannot_be_written_costs_no_result() {
    let Some(disk) = Disk::new() else { return };
    disk.fill_but(0);
    let record = disk.scratch.tmp().join("r.json");
    let copy = disk.scratch.file("copy.json");
    let copy = format!("--json={}", copy.display());
    let copy = [&*copy, "--no-history"];
    let run = disk.measure(record.to_str().unwrap(), &[&SHORT[..], &copy].concat());
    run.expect_error(2, &["copy.json`", "No space left", "free some space"]);
    check_printed(&run);
    assert!(record.exists());
}

/// The kernel's signal for a file that is too large would have ended looptax without a message.
#[test]
fn r19_a_file_that_may_not_grow_is_an_error_and_leaves_no_half() {
    let scratch = Scratch::new();
    let echo = "compare echo --placement same -c 1 --fixed 6 -q --warm-up 0s --no-history -o r.json";
    let command = format!("ulimit -f 2; exec {} {echo} --slice-ms 10", exe().display());
    let run = Looptax::new("/bin/sh", &scratch).args(["-c", &command]).run();
    run.expect_error(2, &["cannot write", "r.json", "`ulimit -f`"]);
    assert!(run.stdout.contains("tcp"), "{}", run.stdout);
    let left: Vec<_> = fs::read_dir(scratch.work()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_full_disk_keeps_no_report_from_its_collector_and_loses_none_that_waits() {
    let Some(disk) = Disk::new() else { return };
    if !has_number() {
        return;
    }
    let spool = disk.scratch.file("spool");
    let report = |to: &str| {
        let spool = spool.to_str().unwrap();
        disk.run(&["fleet", "send", to, "--spool", spool])
    };
    let away = "postgres://u@127.0.0.1:1/x";
    let waiting = || fs::read_dir(disk.file("spool")).unwrap().count();
    // This folder is not on the disk.
    let collected = disk.scratch.tmp().join("collected");
    let collected = collected.to_str().unwrap();
    report(collected).expect_code(0);
    disk.fill_but(0);
    let run = report(collected);
    run.expect_code(0);
    assert!(run.stdout.contains("1 report "), "{}", run.stdout);
    assert!(run.words().contains("without saving it first"), "{}", run.stdout);
    let words = ["cannot be reached", "No space left", "this report is lost"];
    report(away).expect_error(2, &words);
    assert_eq!(waiting(), 1, "the records that were told of");

    disk.free();
    report(away).expect_error(2, &["cannot be reached", "keeps the report"]);
    assert_eq!(waiting(), 2);
    disk.fill_but(0);
    report(away).expect_error(2, &words);
    assert_eq!(waiting(), 2);
    let run = report(collected);
    run.expect_code(0);
    assert!(run.stdout.contains("2 reports"), "{}", run.stdout);
    assert_eq!(waiting(), 1);
    assert_eq!(fs::read_dir(collected).unwrap().count(), 4);
}
