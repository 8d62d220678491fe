//! A comparison as a part of another command: measured and recorded in the same way as by `compare`, but not shown.
//!
//! Called by `reproduce` and `find --measure`.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use looptax_bench::Placement;
use looptax_model::dsn::Kind;
use looptax_model::failure::Failure;
use looptax_model::record::Record;
use looptax_store::{Existing, Saver};

use super::parts::Asked;
use super::{empty_record, measure_all, parts};
use crate::arms::Machine;
use crate::measure::RecordWriter;
use crate::observer::Observer;
use crate::spec::target::TargetSpec;
use crate::spec::{Effort, Experiment, new_seed};
use crate::target::ask_nobody;

pub struct Measured {
    /// The record; it has no comparisons if nothing was measured.
    pub record: Record,
    /// The failure that ended the measurement early, or that prevented saving the record.
    pub failure: Option<Failure>,
}

/// The name, command line and path of a comparison's record.
pub struct Named<'a> {
    /// A suffix for the run's id: without it, two comparisons that begin in the same second would have the same id.
    pub suffix: &'a str,
    /// The command line that makes the same comparison.
    pub command: Vec<String>,
    /// The path of the record; an existing file is replaced. With `None` the record is not saved.
    pub path: Option<&'a Path>,
}

/// Measures experiments that differ only in their workloads, in the same way as `compare`.
///
/// # Errors
/// The experiments do not fit together, or the path cannot be written. Any later failure is returned with the record.
pub fn measured(
    experiments: Vec<Experiment>,
    named: Named<'_>,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<Measured, Failure> {
    for experiment in &experiments {
        experiment.check()?;
    }
    let asked = Asked::workloads(experiments);
    let settings = &asked.all[0].1;
    let machine = Machine::make(settings);
    let parts = parts::planned(&asked, &machine)?;
    let mut record = empty_record(settings);
    record.command = named.command;
    record.id.push_str(named.suffix);
    record.problems.extend(parts.not_measured());
    let saver = named.path.map(|path| Saver::new(path, Existing::Replace));
    let mut writer = RecordWriter::new(record, saver.transpose()?);
    let done = measure_all(&parts.all, (machine, ask_nobody), &mut writer, observer, stop);
    let saved = writer.finish();
    let kept = writer.check_samples();
    Ok(Measured { record: writer.record, failure: done.and(saved).and(kept).err() })
}

/// Measures the built-in echo server for ten seconds: one connection, both ends on one core. Shows and saves nothing.
///
/// # Errors
/// The failure that ended the measurement.
pub fn echo_in_ten_seconds(observer: &mut dyn Observer, stop: &AtomicBool) -> Result<Record, Failure> {
    let echo = Experiment {
        connections: Some(vec![1]),
        placements: Some(vec![Placement::Same]),
        effort: Effort::Time(Duration::from_secs(10)),
        ..Experiment::new(TargetSpec::Private(Kind::Echo), new_seed()?)
    };
    let named = Named { suffix: "", command: echo.command(), path: None };
    let Measured { record, failure } = measured(vec![echo], named, observer, stop)?;
    failure.map_or(Ok(record), Err)
}
