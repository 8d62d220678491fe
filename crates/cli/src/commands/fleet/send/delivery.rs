//! Sends the reports in the spool to the collector, the oldest first. Each report is removed when the collector has
//! confirmed it.

use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use looptax_fleet::{Access, Batch, Collector, Destination, FleetError, Spool};
use looptax_model::failure::Failure;
use looptax_model::record::Reported;

use super::this_machine::Report;
use crate::signals::end_at_once;

/// Maximum number of rows of reports that are sent together.
const MOST_ROWS: usize = 10_000;
/// Pause before the second and last attempt to reach a collector, which may just be restarting.
const BEFORE_ANOTHER_TRY: Duration = Duration::from_secs(1);

/// Keeps a report in the spool, and remembers which records the report contains. If the spool or its disk is full,
/// sends the waiting reports first. If there is still no space afterwards, sends the report without keeping it. Returns
/// what was sent.
pub(super) fn keep(
    spool: &Spool,
    report: &Report,
    destination: &Destination,
    access: &Access,
) -> Result<Reported, Failure> {
    let Err(unkept) = keep_and_remember(spool, report) else {
        return Ok(Reported::default());
    };
    // From now on a signal ends looptax immediately: the waiting reports stay in the spool, and this report is lost.
    end_at_once();
    let unkept = looptax_model::failure::with_causes(&unkept);
    let lost = |error: Failure| {
        let hint = error.hint().unwrap_or_default().to_owned();
        error.with_hint(format!("{hint}. {unkept}: this report is lost"))
    };
    let mut sent = waiting(spool, destination, access).map_err(lost)?;
    if keep_and_remember(spool, report).is_err() {
        let batches = std::slice::from_ref(&report.batch);
        let arrived = open(destination, access).and_then(|mut it| it.send(batches));
        arrived.map_err(|error| lost(error.into()))?;
        count(&mut sent, batches);
        sent.notes.push(format!("{unkept}: looptax sent this report without saving it first"));
    }
    Ok(sent)
}

fn keep_and_remember(spool: &Spool, report: &Report) -> Result<(), FleetError> {
    spool.keep(&report.batch)?;
    if let Some(told) = &report.told {
        // If this call fails, the next report contains the same records again, and the collector counts them once.
        let _ = spool.set_told_records(told.iter().map(String::as_str));
    }
    Ok(())
}

pub(super) fn waiting(spool: &Spool, destination: &Destination, access: &Access) -> Result<Reported, Failure> {
    let mut reported = Reported { collector: destination.to_string(), ..Reported::default() };
    let sent = send_all(spool, destination, access, &mut reported);
    reported.waiting = spool.waiting()?.len() as u64;
    let n_broken = spool.n_broken()?;
    if n_broken > 0 {
        reported.notes.push(format!(
            "{n_broken} files in the spool are not reports: looptax renamed these files to *.broken; you can remove \
            them"
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
        match collector.send(&batches) {
            Err(error) if error.is_of_rows() => {
                for (path, batch) in paths.iter().zip(batches) {
                    send_alone(spool, &mut collector, (path, batch), reported)?;
                }
                continue;
            }
            sent => sent?,
        }
        for path in &paths {
            spool.remove(path)?;
        }
        count(reported, &batches);
    }
    Ok(())
}

/// Sends a single report of a group that the collector refused. If the collector refuses this report too, the report is
/// put aside, so that it does not block the other reports.
fn send_alone(
    spool: &Spool,
    collector: &mut Collector,
    (path, batch): (&Path, Batch),
    reported: &mut Reported,
) -> Result<(), FleetError> {
    match collector.send(std::slice::from_ref(&batch)) {
        Ok(()) => {
            spool.remove(path)?;
            count(reported, &[batch]);
            Ok(())
        }
        Err(error) if error.is_of_rows() => {
            let aside = spool.put_refused_aside(path)?;
            let aside = aside.display();
            let words = format!("the collector rejected a report, which is now in {aside}: {error}");
            reported.notes.push(words);
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Opens the connection to the collector; if the collector cannot be reached, tries a second time.
pub(super) fn open(destination: &Destination, access: &Access) -> Result<Collector, FleetError> {
    match Collector::open(destination, access) {
        Err(error) if error.is_away() => {
            thread::sleep(BEFORE_ANOTHER_TRY);
            Collector::open(destination, access)
        }
        opened => opened,
    }
}

/// Returns the next reports to send together. A file that is not a report is renamed and skipped.
fn group(spool: &Spool, files: &mut impl Iterator<Item = PathBuf>) -> Result<(Vec<PathBuf>, Vec<Batch>), FleetError> {
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

/// Sends a report to the destination `-`, which prints it. No report to this destination waits in the spool.
pub(super) fn print(batch: &Batch, destination: &Destination, access: &Access) -> Result<Reported, Failure> {
    let batches = std::slice::from_ref(batch);
    open(destination, access)?.send(batches)?;
    let mut reported = Reported { collector: destination.to_string(), ..Reported::default() };
    count(&mut reported, batches);
    Ok(reported)
}

pub(super) fn n_rows_of(batch: &Batch) -> usize {
    batch.rows.iter().map(Vec::len).sum()
}

pub(super) fn together(before: &Reported, mut now: Reported) -> Reported {
    now.reports += before.reports;
    now.findings += before.findings;
    now.verdicts += before.verdicts;
    now.notes.splice(..0, before.notes.iter().cloned());
    now
}

pub(super) fn count(reported: &mut Reported, batches: &[Batch]) {
    reported.reports += batches.len() as u64;
    for batch in batches {
        reported.findings += batch.rows[0].len() as u64;
        reported.verdicts += batch.rows[1].len() as u64;
    }
}

/// Returns the failure about reports that still wait, with the next step.
fn kept(error: FleetError, reported: &Reported) -> Failure {
    let failure = Failure::from(error);
    let words = match reported.waiting {
        0 => return failure,
        1 => "looptax keeps the report to send it later".to_owned(),
        n => format!("looptax keeps {n} reports to send them later"),
    };
    let first = match failure.hint() {
        Some(hint) => format!("{hint}; "),
        None => String::new(),
    };
    failure.with_hint(format!("{first}{words}, with the next `looptax fleet send`"))
}
