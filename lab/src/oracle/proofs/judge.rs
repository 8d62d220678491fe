//! Compares the application's real results, from its own log, with looptax's report.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::draw::{AFTER, Actor, Machine, OverSocket, Reads};

/// How many seconds the application has to be on the socket before looptax must have noticed it. Covers the quiet time
/// of a proof, the time between two counts, and a slow machine.
const SEEN_AFTER_S: f64 = 5.0;
/// For this many seconds, connections that were already being opened are not counted as errors.
const SLACK_S: f64 = 0.3;

/// One attempt of a worker.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Attempt {
    /// Time on the monotonic clock, in seconds.
    pub(super) at: f64,
    pub(super) pid: u32,
    pub(super) is_tcp: bool,
    pub(super) is_ok: bool,
    pub(super) why: Option<String>,
}

pub(super) fn attempts(log: &Path) -> Result<Vec<Attempt>> {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines = text.lines().map(|it| serde_json::from_str(it).with_context(|| format!("`{it}` in a log")));
    lines.collect()
}

/// The end of looptax: its exit code, its output, and the file.
#[derive(Debug, Clone)]
pub(super) struct Ended {
    pub(super) code: Option<i32>,
    pub(super) said: String,
    pub(super) began: f64,
    /// Time when looptax had ended, in seconds.
    pub(super) at: f64,
    /// Whether the file has its old content.
    pub(super) is_as_before: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Outcome {
    Proved,
    PutBack,
    Kept,
    /// looptax wrote nothing.
    Untouched,
}

#[derive(Debug)]
pub(super) struct Verdict {
    pub(super) outcome: Outcome,
    /// Descriptions of the violations.
    pub(super) wrong: Vec<String>,
    /// Whether the application was on the socket long enough and worked, and can be distinguished from the other
    /// programs.
    pub(super) is_moved: bool,
}

/// Whether the application uses TCP soon after the old file has come back.
pub(super) fn has_to_return(machine: &Machine) -> bool {
    let application = &machine.application;
    let hangs = matches!(application.over_socket, OverSocket::Dies | OverSocket::Hangs);
    // An application that reads its file late may do so only after its log has ended.
    let is_late = application.reads == Reads::Late && application.late > AFTER;
    let is_alive = !hangs && application.reads != Reads::Never && !is_late;
    is_alive && application.every.as_secs() <= 5 && application.after.is_none()
}

/// Whether the application got an answer over TCP at looptax's end or later.
pub(super) fn is_back(ended: &Ended, all: &[Attempt]) -> bool {
    all.iter().any(|it| it.at > ended.at - 2.0 && it.is_tcp && it.is_ok)
}

/// Compares looptax's report with what happened.
pub(super) fn judge(machine: &Machine, ended: &Ended, all: &[Attempt]) -> Verdict {
    let is_proved = ended.code == Some(0);
    let wrote = ended.said.contains("to undo the switch");
    let outcome = match () {
        () if is_proved => Outcome::Proved,
        () if !wrote => Outcome::Untouched,
        () if ended.is_as_before => Outcome::PutBack,
        () => Outcome::Kept,
    };
    let during = || all.iter().filter(|it| it.at > ended.began && it.at <= ended.at);
    let over_socket = || during().filter(|it| !it.is_tcp);
    let first = over_socket().find(|it| it.is_ok).map(|it| it.at);
    // The last attempt of each worker.
    let last: BTreeMap<u32, &Attempt> = during().map(|it| (it.pid, it)).collect();
    let mut wrong = Vec::new();
    match outcome {
        Outcome::Proved => {
            if first.is_none() {
                wrong.push("proved, but the application never got an answer over the socket".to_owned());
            }
            let late = { all.iter() }.filter(|it| it.is_tcp && it.at > ended.at - 1.0).count();
            if late > 0 {
                wrong.push(format!("proved, but {late} attempts over TCP came in its last second or later"));
            }
            let is_failing = |it: &&&Attempt| !it.is_ok && !it.is_tcp && it.at > ended.at - 2.0;
            let failing: Vec<_> = last.values().filter(is_failing).collect();
            if let Some(it) = failing.first() {
                wrong.push(format!("proved, but a worker fails over the socket: {:?}", it.why));
            }
        }
        Outcome::Kept => {
            if !machine.keeps {
                wrong.push("kept without a proof, although this was not requested".to_owned());
            }
            let n_bad = over_socket().filter(|it| !it.is_ok).count();
            // The server reports refused logins to looptax, but not whose they are; it does not report an attempt that
            // never connects.
            let is_refused = |it: &Actor| it.over_socket == OverSocket::Refused;
            let are_others = machine.others.iter().any(|it| is_refused(it) && !it.is_over_tcp);
            if n_bad > 0 && is_refused(&machine.application) && !are_others && first.is_none() {
                wrong.push(format!("{n_bad} attempts over the socket failed, but the file was kept"));
            }
        }
        Outcome::PutBack => {
            if has_to_return(machine) && !is_back(ended, all) {
                wrong.push("put back, but the application did not return to TCP".to_owned());
            }
        }
        Outcome::Untouched => {
            if !ended.is_as_before {
                wrong.push("looptax reported that nothing was written, but the file has changed".to_owned());
            }
        }
    }
    // The application may have returned to TCP before looptax ends.
    let last_good = over_socket().filter(|it| it.is_ok).map(|it| it.at).fold(0.0, f64::max);
    let is_clean = |first: f64| {
        let mut after = during().filter(|it| it.at > first + SLACK_S && it.at < last_good);
        after.all(|it| it.is_ok && !it.is_tcp)
    };
    // A worker that sleeps the whole time still has its connection from before the switch.
    let n_workers = { over_socket() }.filter(|it| it.is_ok).map(|it| it.pid).collect::<BTreeSet<u32>>().len();
    let are_all = n_workers >= machine.application.n_workers as usize;
    let is_moved = are_all
        && !machine.has_alike()
        && first.is_some_and(|first| last_good - first > SEEN_AFTER_S && is_clean(first));
    Verdict { outcome, wrong, is_moved }
}
