//! The report of this machine: the results of `find`, and the records that were in no earlier report.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use jiff::Timestamp;
use looptax_experiment::host;
use looptax_fleet::sent::Sender;
use looptax_fleet::{Batch, FallenClient, Names, Seen, Spool, host_id};
use looptax_host::eyes::Loaded;
use looptax_host::read;
use looptax_model::failure::Failure;
use looptax_model::record::{PastRun, Record};

use crate::args::{RecordsWord, SendArgs};
use crate::commands::find;
use crate::commands::fleet::place;
use crate::earlier_runs::{Judged, latest_runs};

/// Search at most this many runs for records that were not reported yet.
const MOST_RUNS: u32 = 1_000;
/// Minimum number of bytes in a key; a shorter key could be guessed.
const LEAST_KEY_BYTES: usize = 16;
/// Maximum number of verdicts in one report; the next report contains the rest.
const MOST_VERDICTS: usize = 1_000;

/// A report, and what to remember once it is kept.
pub(super) struct Report {
    pub(super) batch: Batch,
    /// The ids of the records that count as reported after this report is kept; `None` with `--records none`.
    pub(super) told: Option<HashSet<String>>,
    /// The parts of the machine in which clients may be missing.
    pub(super) unseen: Vec<&'static str>,
}

/// Makes the report of this machine; `None` if a signal stops it.
pub(super) fn look(
    args: &SendArgs,
    eyes: Option<Loaded>,
    spool: &Spool,
    stop: &AtomicBool,
) -> Result<Option<Report>, Failure> {
    let names = match &args.key_file {
        Some(path) => Names::hashed(&place::key_in(path, LEAST_KEY_BYTES)?),
        None => Names::default(),
    };
    let machine_id = read::text(Path::new("/etc/machine-id"), 4096).unwrap_or_default();
    let host_id = host_id(&machine_id).ok_or_else(|| {
        Failure::usage(
            "this machine has no identifier: /etc/machine-id is missing or empty",
            "create one with `systemd-machine-id-setup` or `dbus-uuidgen > /etc/machine-id`; in a container, mount the \
             host's file",
        )
    })?;
    let host_id = names.number(&host_id);
    let (records, told) = records(args.records, spool)?;
    let Some(looked) = find::look(eyes, stop)? else {
        return Ok(None);
    };
    let sender = Sender {
        report_id: format!("{:032x}", u128::from_ne_bytes(place::random())),
        host_id,
        at_ms: Timestamp::now().as_millisecond(),
    };
    let fallen = looked.fallen.iter().map(|it| FallenClient { pid: it.pid, server_pid: it.server_pid });
    let fallen: Vec<FallenClient> = fallen.collect();
    let uname = rustix::system::uname();
    let seen = Seen {
        name: &uname.nodename().to_string_lossy(),
        machine: &host(),
        found: &looked.found,
        fallen: &fallen,
        records: &records,
    };
    let batch = Batch::new(&sender, seen, &names);
    Ok(Some(Report { batch, told, unseen: looked.found.unseen() }))
}

/// Returns the records to report, the oldest first. Also returns the ids of all records that count as reported after
/// the report is kept.
fn records(which: RecordsWord, spool: &Spool) -> Result<(Vec<Record>, Option<HashSet<String>>), Failure> {
    if which == RecordsWord::None {
        return Ok((Vec::new(), None));
    }
    let runs = latest_runs(MOST_RUNS);
    // With `--records all`, no record counts as reported at first. Records that do not fit into this report are in the
    // next reports.
    let mut told = match which {
        RecordsWord::All => HashSet::new(),
        _ => spool.told_records()?,
    };
    // Runs that are no longer in the history need not be remembered.
    told.retain(|id| runs.iter().any(|run| run.id == *id));
    let is_wanted = |run: &&PastRun| !told.contains(&run.id);
    let (mut records, mut n_verdicts) = (Vec::new(), 0);
    for run in runs.iter().rev().filter(is_wanted) {
        // A record without a file is not reported, and does not count as reported either, because the file may come
        // back.
        let path = run.path.as_deref().map(PathBuf::from);
        let Some(Judged { record, .. }) = path.and_then(|path| Judged::load(path).ok()) else {
            continue;
        };
        let taxes = record.comparisons.iter().map(|it| it.tax.len());
        n_verdicts += taxes.sum::<usize>();
        if n_verdicts > MOST_VERDICTS && !records.is_empty() {
            break;
        }
        if record.id == run.id {
            records.push(record);
        }
    }
    let ids: Vec<String> = records.iter().map(|it: &Record| it.id.clone()).collect();
    told.extend(ids);
    Ok((records, Some(told)))
}
