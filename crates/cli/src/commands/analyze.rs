//! `analyze`: a saved record judged again, from its raw counts and samples.

use std::path::Path;

use looptax_analysis::remedies;
use looptax_failure::Failure;
use looptax_record::{Record, Samples};
use looptax_report::terminal as report;
use looptax_store::{Existing, save, take_in_samples, unpack};

use crate::args::AnalyzeArgs;
use crate::earlier_runs::record_of;
use crate::failure::Exit;
use crate::formats;
use crate::outputs::Outputs;
use crate::terminal::{self, Terminal};

/// Runs `analyze`.
pub(crate) fn run(args: &AnalyzeArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let (mut record, path) = record_of(&args.record)?;
    let outputs = Outputs::default()
        .reads(&path)
        .writes("--json", args.json.path())?;
    formats::announce(&args.formats, outputs)?;
    take_in_samples(&mut record, &path)?;
    let mut problem = None;
    let mut read = |samples: &Samples| {
        unpack(samples).unwrap_or_else(|error| {
            problem.get_or_insert(error);
            Vec::new()
        })
    };
    for comparison in &mut record.comparisons {
        looptax_analysis::judge_again(comparison, record.method_version, &mut read);
    }
    looptax_analysis::compare_slice_lengths(&mut record.comparisons);
    looptax_analysis::add_trial_bill(&mut record.comparisons);
    if let Some(first) = record.remedies.first() {
        record.remedies = remedies::rank_remedies(&record.comparisons, &first.today);
    }
    if let Some(error) = problem {
        return Err(error.into());
    }
    show(args, &record, &path, terminal)?;
    Ok(Exit::for_record(&record))
}

fn show(
    args: &AnalyzeArgs,
    record: &Record,
    place: &Path,
    terminal: Terminal,
) -> Result<(), Failure> {
    match args.json.path() {
        Some(path) if path.as_os_str() == "-" => {
            terminal::json(record)?;
            return Ok(());
        }
        Some(path) => save(record, path, Existing::Replace)?,
        None => {}
    }
    if formats::write(&args.formats, record)? {
        return Ok(());
    }
    let beside = args.detail.beside(place.to_str());
    terminal::data(&report::compare(record, beside, terminal.style()))?;
    Ok(())
}
