//! From the spool to the collector: the oldest first, each removed when the collector has said that it has it.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use looptax_failure::Failure;
use looptax_fleet::{Access, Batch, Collector, Destination, FleetError, Spool};
use looptax_record::Reported;

use super::this_machine::Report;

/// Reports of one send: their rows, at most, and their files.
const MOST_ROWS: usize = 10_000;
/// Before a collector that was away is tried again, once: it may just be starting anew.
const BEFORE_ANOTHER_TRY: Duration = Duration::from_secs(1);

/// Keeps a report, where there is no room after what waits was sent; then remembers which records it tells of. Gives what was
/// sent for that.
pub(super) fn keep(
    spool: &Spool,
    report: &Report,
    destination: &Destination,
    access: &Access,
) -> Result<Reported, Failure> {
    let mut before = Reported::default();
    match spool.keep(&report.batch) {
        Err(full @ FleetError::Full { .. }) => {
            before = waiting(spool, destination, access).map_err(|away| {
                let hint = away.hint().unwrap_or_default().to_owned();
                away.with_hint(format!("{hint}. {full}: this look is lost"))
            })?;
            spool.keep(&report.batch)?;
        }
        kept => kept?,
    }
    if let Some(told) = &report.told {
        spool.set_told_records(told.iter().map(String::as_str))?;
    }
    Ok(before)
}

/// Sends all that waits.
pub(super) fn waiting(
    spool: &Spool,
    destination: &Destination,
    access: &Access,
) -> Result<Reported, Failure> {
    let mut reported = Reported {
        collector: destination.to_string(),
        ..Reported::default()
    };
    let sent = send_all(spool, destination, access, &mut reported);
    reported.waiting = spool.waiting()?.len() as u64;
    let n_broken = spool.n_broken()?;
    if n_broken > 0 {
        reported.notes.push(format!(
            "{n_broken} files of the spool are no reports: they lie there as *.broken, and can be removed"
        ));
    }
    match sent {
        Ok(()) => Ok(reported),
        Err(error) => Err(kept(error, &reported)),
    }
}

fn send_all(
    spool: &Spool,
    destination: &Destination,
    access: &Access,
    reported: &mut Reported,
) -> Result<(), FleetError> {
    let mut collector = open(destination, access)?;
    let mut files = spool.waiting()?.into_iter().peekable();
    while files.peek().is_some() {
        let (paths, batches) = group(spool, &mut files)?;
        collector.send(&batches)?;
        for path in &paths {
            spool.remove(path)?;
        }
        count(reported, &batches);
    }
    Ok(())
}

/// The collector, which gets a second chance.
pub(super) fn open(destination: &Destination, access: &Access) -> Result<Collector, FleetError> {
    match Collector::open(destination, access) {
        Err(error) if error.is_away() => {
            thread::sleep(BEFORE_ANOTHER_TRY);
            Collector::open(destination, access)
        }
        opened => opened,
    }
}

/// The next reports that one send takes. What is no report is put aside and passed over.
fn group(
    spool: &Spool,
    files: &mut impl Iterator<Item = PathBuf>,
) -> Result<(Vec<PathBuf>, Vec<Batch>), FleetError> {
    let (mut paths, mut batches, mut n_rows) = (Vec::new(), Vec::new(), 0);
    for path in files {
        let Some(waiting) = spool.read(&path)? else {
            continue;
        };
        n_rows += n_rows_of(&waiting.batch);
        paths.push(waiting.path);
        batches.push(waiting.batch);
        if n_rows >= MOST_ROWS {
            break;
        }
    }
    Ok((paths, batches))
}

/// Prints a report; nothing waits.
pub(super) fn print(
    batch: &Batch,
    destination: &Destination,
    access: &Access,
) -> Result<Reported, Failure> {
    let batches = std::slice::from_ref(batch);
    open(destination, access)?.send(batches)?;
    let mut reported = Reported {
        collector: destination.to_string(),
        ..Reported::default()
    };
    count(&mut reported, batches);
    Ok(reported)
}

/// Rows of a report.
pub(super) fn n_rows_of(batch: &Batch) -> usize {
    batch.rows.iter().map(Vec::len).sum()
}

/// Two sends as one.
pub(super) fn together(before: &Reported, mut now: Reported) -> Reported {
    now.reports += before.reports;
    now.findings += before.findings;
    now.verdicts += before.verdicts;
    now
}

/// Adds what arrived.
pub(super) fn count(reported: &mut Reported, batches: &[Batch]) {
    reported.reports += batches.len() as u64;
    for batch in batches {
        reported.findings += batch.rows[0].len() as u64;
        reported.verdicts += batch.rows[1].len() as u64;
    }
}

/// What to do where reports wait on.
fn kept(error: FleetError, reported: &Reported) -> Failure {
    let failure = Failure::from(error);
    let words = match reported.waiting {
        0 => return failure,
        1 => "the report is kept and waits".to_owned(),
        n => format!("{n} reports are kept and wait"),
    };
    let first = match failure.hint() {
        Some(hint) => format!("{hint}; "),
        None => String::new(),
    };
    failure.with_hint(format!(
        "{first}{words}: the next `looptax report-to` sends them"
    ))
}
