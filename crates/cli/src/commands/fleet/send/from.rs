//! `fleet send --from`: sends reports that were collected before. The reports stay in their folder, so none of them can
//! be lost.

use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use looptax_fleet::{Access, Batch, Collector, Destination, FleetError, Gathered, to_lines};
use looptax_host::read;
use looptax_model::failure::Failure;
use looptax_model::record::Reported;

use super::delivery;
use crate::args::SendArgs;
use crate::failure::Exit;
use crate::terminal;

const MOST_ROWS: usize = 10_000;
/// Name at most this many files that are not reports.
const MOST_TOLD: u64 = 5;
/// The file extension of reports in a folder.
const ENDING: &str = "jsonl";

const HINT: &str = "after --from, write a file of JSON lines, a folder with such files (.jsonl), or -";

/// The result of sending, and the exit code: [`Exit::No`] if a file was not a report, or was refused.
pub(super) type Sent = (Reported, Exit);

pub(super) fn run(args: &SendArgs, source: &Path, destination: &Destination, access: &Access) -> Result<Sent, Failure> {
    let reported = Reported { collector: destination.to_string(), ..Reported::default() };
    let collector = if args.dry_run {
        None
    } else {
        let opened = delivery::open(destination, access);
        Some(opened.map_err(|error| broken_off(error, &reported))?)
    };
    let mut sending = Sending { collector, group: Vec::new(), n_rows: 0, n_bad: 0, reported };
    for file in files(source)? {
        sending.send_file(&file)?;
    }
    sending.flush()?;
    if sending.n_bad > MOST_TOLD {
        let more = sending.n_bad - MOST_TOLD;
        sending.reported.notes.push(format!("left out too: {more} more files or reports"));
    }
    let exit = if sending.n_bad == 0 { Exit::Done } else { Exit::No };
    Ok((sending.reported, exit))
}

struct Sending {
    /// `None` with `--dry-run`, which sends nothing.
    collector: Option<Collector>,
    group: Vec<Batch>,
    n_rows: usize,
    n_bad: u64,
    reported: Reported,
}

impl Sending {
    fn send_file(&mut self, path: &Path) -> Result<(), Failure> {
        let lines = match lines(path) {
            Ok(lines) => lines,
            Err(error) => {
                self.leave_out(&format!("{error:#}"));
                return Ok(());
            }
        };
        for batch in Gathered::new(lines, path.to_owned()) {
            match batch {
                Ok(batch) => self.take(batch)?,
                Err(error @ (FleetError::NoReport { .. } | FleetError::Take { .. })) => {
                    self.leave_out(&format!("{}: {error}", path.display()));
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn take(&mut self, batch: Batch) -> Result<(), Failure> {
        if self.collector.is_none() {
            terminal::data(&to_lines(&batch))?;
            return Ok(());
        }
        self.n_rows += delivery::n_rows_of(&batch);
        self.group.push(batch);
        if self.n_rows >= MOST_ROWS {
            self.flush()?;
        }
        Ok(())
    }

    /// Sends the group. If the collector refuses the group, sends each report separately, so that one bad report does
    /// not affect the others.
    fn flush(&mut self) -> Result<(), Failure> {
        let group = std::mem::take(&mut self.group);
        self.n_rows = 0;
        let Some(collector) = self.collector.as_mut().filter(|_| !group.is_empty()) else {
            return Ok(());
        };
        match collector.send(&group) {
            Ok(()) => {
                delivery::count(&mut self.reported, &group);
                return Ok(());
            }
            Err(error) if group.len() > 1 && error.is_of_rows() => {}
            Err(error) => return Err(broken_off(error, &self.reported)),
        }
        for batch in group {
            let Some(collector) = &mut self.collector else {
                return Ok(());
            };
            match collector.send(std::slice::from_ref(&batch)) {
                Ok(()) => delivery::count(&mut self.reported, &[batch]),
                Err(error) if error.is_of_rows() => {
                    self.leave_out(&format!("report {}: {error}", batch.report_id));
                }
                Err(error) => return Err(broken_off(error, &self.reported)),
            }
        }
        Ok(())
    }

    fn leave_out(&mut self, why: &str) {
        self.n_bad += 1;
        if self.n_bad <= MOST_TOLD {
            self.reported.notes.push(format!("left out: {why}"));
        }
    }
}

fn broken_off(error: FleetError, reported: &Reported) -> Failure {
    let words = match reported.reports {
        0 => "run the same command again to send the reports".to_owned(),
        n => {
            format!(
                "{n} reports arrived before this failure; run the same command again to send the other reports: \
                each report counts only once"
            )
        }
    };
    let failure = Failure::from(error);
    let hint = match failure.hint() {
        Some(hint) => format!("{hint}; {words}"),
        None => words,
    };
    failure.with_hint(hint)
}

/// Returns the file itself, or the report files in a folder, ordered by the time when they were written. Skips entries
/// that are not files, and files that were removed in the meantime.
fn files(source: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !read::is_folder(source) {
        return Ok(vec![source.to_owned()]);
    }
    let failed = |error: io::Error| Failure::new(format!("cannot list `{}`: {error}", source.display()));
    let mut dated = Vec::new();
    for path in read::list(source).map_err(failed)? {
        let is_report = path.extension().is_some_and(|it| it == ENDING) && read::is_file(&path);
        if is_report && let Ok(Some(stat)) = read::look(&path) {
            dated.push(((stat.st_mtime, stat.st_mtime_nsec), path));
        }
    }
    dated.sort();
    Ok(dated.into_iter().map(|(_, path)| path).collect())
}

fn lines(path: &Path) -> Result<Box<dyn BufRead>, Failure> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(io::stdin().lock()));
    }
    let file =
        read::open(path).map_err(|error| Failure::usage(format!("cannot read `{}`: {error}", path.display()), HINT))?;
    Ok(Box::new(BufReader::new(file)))
}
