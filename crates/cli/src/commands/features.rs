//! `--version --verbose`: tries each kernel feature that looptax uses, to see whether this machine has it. Prints what
//! each missing feature means for looptax.
//!
//! The list is meant for old kernels and for bug reports; it does not depend on the kernel's version number. The last
//! trial moves this process into separate namespaces, so this process must do nothing else after that trial.

use std::error::Error;
use std::fmt::Write as _;
use std::net::{Ipv6Addr, TcpListener};

use looptax_bench::path::{Host, Network, has_nft};
use looptax_redirect::{Features, Obstacle, Switches, probe};

use crate::failure::{Exit, Failure};
use crate::terminal;

struct Row {
    feature: &'static str,
    /// Why the feature is missing; `None` if the kernel has it.
    obstacle: Option<String>,
    without: &'static str,
}

/// Prints version, kernel and table.
pub(crate) fn run() -> Result<Exit, Failure> {
    let kernel = rustix::system::uname();
    let mut rows = supervisor_rows(probe(Switches::default()));
    rows.push(row(
        "IPv6 loopback",
        TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).err().map(|it| it.to_string()),
        "no arm `tcp6`",
    ));
    rows.push(row("the program nft", (!has_nft()).then(|| "not installed".to_owned()), "no arm `nat`"));
    rows.push(row(
        "separate network namespaces",
        Network::enter(&[Host::Plain]).err().map(|it| told(&it)),
        "no arms `bridge`, `nat`, `proxy`, no `--from-namespace`",
    ));
    terminal::words_as_data(&format!(
        "looptax {}\n{} {} {}\n\n{}",
        env!("CARGO_PKG_VERSION"),
        kernel.sysname().to_string_lossy(),
        kernel.release().to_string_lossy(),
        kernel.machine().to_string_lossy(),
        table(&rows)
    ))?;
    Ok(Exit::Done)
}

/// Returns the features that the supervisor of `run` and of the arm `redirect` uses.
fn supervisor_rows(found: Result<Features, Obstacle>) -> Vec<Row> {
    let (features, obstacle) = match found {
        Ok(features) => (Some(features), None),
        Err(obstacle) => (None, Some(told(&obstacle))),
    };
    let mut rows = vec![row(
        "answering another program's calls (seccomp)",
        obstacle,
        "`run` leaves the program on TCP, and the arm `redirect` is not available",
    )];
    let Some(features) = features else {
        return rows;
    };
    let parts = [
        (
            "a filter without no_new_privs",
            !features.needs_no_new_privileges,
            "under `run`, sudo and similar programs cannot gain rights",
        ),
        (
            "calls that only a fatal signal interrupts (5.19)",
            features.has_wait_killable,
            "a signal may end a call that looptax is moving; the call starts again",
        ),
        (
            "waking a process on the caller's core (6.6)",
            features.has_sync_wake_up,
            "`connect` under `run` takes longer",
        ),
        (
            "process descriptors for single threads (6.9)",
            features.has_thread_pidfd,
            "a thread with a separate descriptor table stays on TCP",
        ),
        (
            "process descriptors that show the process's user (6.13)",
            features.has_pidfd_info,
            "looptax reads /proc instead, which is slower",
        ),
        ("unique process numbers (pidfs)", features.has_pidfs, "looptax compares start times instead"),
        (
            "cookies of network namespaces (5.14)",
            features.has_netns_cookie,
            "looptax reads /proc instead, which is slower",
        ),
        ("comparing open files (kcmp)", features.has_kcmp, "looptax compares inodes in /proc instead"),
    ];
    let missing = |is_there: bool| (!is_there).then(String::new);
    rows.extend(parts.map(|(feature, is_there, without)| row(feature, missing(is_there), without)));
    rows
}

fn row(feature: &'static str, obstacle: Option<String>, without: &'static str) -> Row {
    Row { feature, obstacle, without }
}

/// Returns the text of an error and its causes, in one line.
fn told(error: &(dyn Error + 'static)) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let _ = write!(words, ": {error}");
        cause = error.source();
    }
    words
}

fn table(rows: &[Row]) -> String {
    let width = { rows.iter() }.map(|row| row.feature.len()).max();
    let width = width.unwrap_or_default();
    let mut text = format!("{:width$}  here  without it\n", "feature");
    for row in rows {
        let here = if row.obstacle.is_none() { "yes" } else { "no" };
        let without = row.obstacle.as_ref().map_or("", |_| row.without);
        let line = format!("{:width$}  {here:4}  {without}", row.feature);
        let _ = writeln!(text, "{}", line.trim_end());
        if let Some(why) = row.obstacle.as_ref().filter(|why| !why.is_empty()) {
            let _ = writeln!(text, "{:width$}        here: {why}", "");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn a_kernel_without_answers_to_calls_is_told_with_the_cause_and_in_one_row() {
        let error = io::Error::from_raw_os_error(libc::ENOSYS);
        let rows = supervisor_rows(Err(Obstacle::NoNotification(error)));
        let text = table(&rows);
        assert_eq!(rows.len(), 1);
        assert!(text.contains("no    `run` leaves the program on TCP"), "{text}");
        assert!(text.contains("(seccomp user notification): Function not implemented"), "{text}");
    }
}
