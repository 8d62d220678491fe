//! A comparison as a part of another command: the same way from arguments to record, without a view.
//!
//! Called by `replay` and `find --measure`.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use clap::Parser;
use looptax_failure::Failure;
use looptax_record::Record;
use looptax_store::{Existing, Saver};

use super::{empty_record, measure_all, parts};
use crate::alone::Claim;
use crate::args::{Cli, CompareArgs};
use crate::arms::Machine;
use crate::measure::Sink;
use crate::signals::stop_flag;
use crate::terminal::Terminal;
use crate::terminal::stage::Stage;

/// What a comparison left.
pub(crate) struct Measured {
    /// Without comparisons where nothing was measured.
    pub(crate) record: Record,
    /// What ended it early, or kept it from being saved.
    pub(crate) failure: Option<Failure>,
}

/// Where a comparison's record goes, and what it says of itself.
pub(crate) struct Named<'a> {
    /// Added to the run's name, which has the time to the second alone.
    pub(crate) suffix: &'a str,
    /// The command line that does the same.
    pub(crate) command: Vec<String>,
    /// A file there is replaced; `None`: not saved.
    pub(crate) path: Option<&'a Path>,
    /// What has not begun by then is left out.
    pub(crate) deadline: Option<Instant>,
}

/// Measures what these arguments ask for, as `compare` would.
///
/// # Errors
/// Those of arguments that do not go together, and of a place that cannot be written; whatever happens
/// later stands beside the record.
pub(crate) fn measured(
    args: &CompareArgs,
    named: Named<'_>,
    terminal: Terminal,
    stop: &AtomicBool,
) -> Result<Measured, Failure> {
    let mut asked = parts::asked(args)?;
    for (_, settings) in &mut asked.all {
        settings.deadline = named.deadline;
    }
    let settings = &asked.all[0].1;
    let machine = Machine::make(settings);
    let parts = parts::planned(&asked, &machine)?;
    let mut record = empty_record(settings);
    record.command = named.command;
    record.id.push_str(named.suffix);
    record.problems.extend(parts.not_measured());
    let saver = named.path.map(|path| Saver::new(path, Existing::Replace));
    let mut sink = Sink::new(record, saver.transpose()?);
    let done = measure_all(&parts.all, machine, &mut sink, Stage::line(terminal), stop);
    let saved = sink.finish();
    let kept = sink.check_samples();
    Ok(Measured {
        record: sink.record,
        failure: done.and(saved).and(kept).err(),
    })
}

/// What the built-in echo server shows in ten seconds: one connection, both ends on one core. Nothing
/// is shown or saved.
pub(crate) fn echo_in_ten_seconds(terminal: Terminal) -> Result<Record, Failure> {
    const LINE: [&str; 8] = [
        "looptax",
        "echo",
        "-c",
        "1",
        "--placement",
        "same",
        "--fixed",
        "10s",
    ];
    let args = Cli::try_parse_from(LINE).map_err(Failure::new)?.compare;
    let _alone = Claim::take(terminal);
    let stop = stop_flag()?;
    let named = Named {
        suffix: "",
        command: LINE.map(str::to_owned).to_vec(),
        path: None,
        deadline: None,
    };
    let Measured { record, failure } = measured(&args, named, terminal, &stop)?;
    failure.map_or(Ok(record), Err)
}
