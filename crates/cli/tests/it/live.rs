//! `--live` on a separate terminal: the key `q` ends the run, the data measured so far stays, and the terminal is
//! restored.

use std::ffi::{CStr, CString};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::process::{Child, Command};

use looptax_testkit::runner::send;
use looptax_testkit::scratch::Scratch;
use rustix::fs::{Mode, OFlags};
use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Termios, Winsize, tcgetattr, tcsetwinsize};
use serde_json::Value;

use crate::fixture::{compare, exe, saved};

const OPEN: &str = "\u{1b}[?1049h";
/// A word in the chart, which is drawn when two epochs have ended.
const MEASURING: &str = "loses)";
const CLOSE: &str = "\u{1b}[?1049l";

struct OnTerminal {
    master: File,
    name: CString,
    before: Termios,
    child: Child,
    seen: String,
}

fn open(name: &CStr) -> File {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let terminal = rustix::fs::open(name, flags, Mode::empty()).unwrap();
    terminal.into()
}

impl OnTerminal {
    fn start(scratch: &Scratch, args: &[&str]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let terminal = open(&name);
        let size = Winsize { ws_row: 30, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&terminal, size).unwrap();
        let before = tcgetattr(&terminal).unwrap();
        // With `--ctty` this terminal becomes the controlling terminal, from which looptax reads keys.
        let child = Command::new("setsid")
            .arg("--ctty")
            .arg(exe())
            .args(["compare", "-o", "r.json", "--live"])
            .args(args)
            .current_dir(scratch.work())
            .env("TMPDIR", scratch.tmp())
            .env("XDG_DATA_HOME", scratch.tmp())
            .env("LC_ALL", "C.UTF-8")
            .env("TERM", "xterm-256color")
            .stdin(open(&name))
            .stdout(File::create(scratch.file("stdout")).unwrap())
            .stderr(terminal)
            .spawn()
            .unwrap();
        Self { master: master.into(), name, before, child, seen: String::new() }
    }

    /// Reads what looptax draws until it contains `word`.
    #[track_caller]
    fn read_until(&mut self, word: &str) {
        let mut bytes = [0; 4096];
        while !self.seen.contains(word) {
            // An error means that looptax has ended: no process has the terminal open any more.
            let n = self.master.read(&mut bytes).unwrap_or(0);
            assert!(n > 0, "it ended without {word:?}: {}", self.seen);
            self.seen.push_str(&String::from_utf8_lossy(&bytes[..n]));
        }
    }

    /// Checks that looptax ends with this exit code, closes its screen and restores the terminal.
    #[track_caller]
    fn check_end(mut self, code: i32) {
        self.read_until(CLOSE);
        let status = self.child.wait().unwrap();
        assert_eq!(status.code(), Some(code), "{status}: {}", self.rest());
        assert!(self.seen.contains(OPEN), "{}", self.seen);
        let after = tcgetattr(open(&self.name)).unwrap();
        assert_eq!(after.local_modes, self.before.local_modes);
        assert_eq!(format!("{:?}", after.special_codes), format!("{:?}", self.before.special_codes));
    }

    /// Returns the last output of looptax.
    fn rest(&mut self) -> String {
        let mut bytes = Vec::new();
        // looptax has ended, so reading ends with an error, because no process has the terminal open.
        self.master.read_to_end(&mut bytes).ok();
        format!("{}{}", self.seen, String::from_utf8_lossy(&bytes))
    }
}

const LONG: [&str; 10] = ["echo", "-c", "1", "--fixed", "1000", "--slice-ms", "10", "--warm-up", "0s", "--no-history"];

#[track_caller]
fn check_kept(scratch: &Scratch) {
    let table = fs::read_to_string(scratch.file("stdout")).unwrap();
    assert!(table.contains("interrupted: "), "{table}");
    assert!(table.contains("record: r.json"), "{table}");
    let record = saved(scratch);
    assert_eq!(record["interrupted"], Value::Bool(true));
    let epochs = record["comparisons"][0]["raw"]["epochs"].as_array();
    assert!(epochs.is_some_and(|epochs| !epochs.is_empty()));
}

#[test]
fn the_key_ends_the_run_and_keeps_what_it_has() {
    let scratch = Scratch::new();
    let mut run = OnTerminal::start(&scratch, &LONG);
    run.read_until(MEASURING);
    run.master.write_all(b"xq").unwrap();
    run.check_end(130);
    check_kept(&scratch);
}

#[test]
fn ctrl_c_is_heard_too() {
    let scratch = Scratch::new();
    let mut run = OnTerminal::start(&scratch, &LONG);
    run.read_until(MEASURING);
    run.master.write_all(b"\x03").unwrap();
    run.check_end(130);
    check_kept(&scratch);
}

#[test]
fn a_run_that_fails_gives_the_terminal_back_before_it_says_why() {
    let scratch = Scratch::new();
    let mut run = OnTerminal::start(&scratch, &["redis://127.0.0.1:1", "--yes", "--socket", "/nowhere"]);
    run.read_until("error: ");
    let (drawn, said) = run.seen.split_once(CLOSE).unwrap();
    assert!(!drawn.contains("error: "), "{drawn}");
    assert!(said.contains("error: "), "{said}");
    run.check_end(2);
}

#[test]
fn killed_by_a_signal_it_ends_in_order() {
    let scratch = Scratch::new();
    let mut run = OnTerminal::start(&scratch, &LONG);
    run.read_until(MEASURING);
    // setsid executes looptax in its own process, so this is the process id of looptax.
    send(run.child.id(), Signal::TERM);
    run.check_end(130);
    check_kept(&scratch);
}

#[test]
fn without_a_terminal_it_says_so() {
    let scratch = Scratch::new();
    let run = compare(&scratch).args(["echo", "--live"]).run();
    run.expect_error(2, &["--live needs a terminal"]);
    scratch.check_nothing_left();
}
