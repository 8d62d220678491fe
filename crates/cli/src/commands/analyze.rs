//! `analyze`: a saved record judged again, from its raw counts and samples.

use std::path::Path;

use looptax_analysis::remedies;
use looptax_failure::Failure;
use looptax_record::{Record, SamplesAt, Verdict};
use looptax_report::terminal as report;
use looptax_store::{Existing, SamplesReader, save};

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
        .writes("--json", args.json.as_deref())?;
    formats::announce(&args.formats, outputs)?;
    let samples = open_samples(&record, &path)?;
    let mut problem = None;
    let mut read = |at: &SamplesAt| match samples.as_ref().map(|reader| reader.read(at)) {
        Some(Ok(samples)) => samples,
        Some(Err(error)) => {
            problem.get_or_insert(error);
            Vec::new()
        }
        None => Vec::new(),
    };
    for comparison in &mut record.comparisons {
        looptax_analysis::judge_again(comparison, &mut read);
    }
    looptax_analysis::compare_slice_lengths(&mut record.comparisons);
    if let Some(first) = record.remedies.first() {
        record.remedies = remedies::rank_remedies(&record.comparisons, &first.today);
    }
    if let Some(error) = problem {
        return Err(error.into());
    }
    show(args, &record, &path, terminal)?;
    let is_invalid = record
        .comparisons
        .iter()
        .flat_map(|it| &it.tax)
        .any(|tax| tax.verdict == Verdict::Invalid);
    Ok(if is_invalid {
        Exit::Invalid
    } else {
        Exit::Done
    })
}

/// The latencies beside the record, where it has any.
fn open_samples(record: &Record, path: &Path) -> Result<Option<SamplesReader>, Failure> {
    let Some(file) = &record.samples else {
        return Ok(None);
    };
    let samples = path.with_file_name(&file.name);
    Ok(Some(SamplesReader::open(&samples)?))
}

fn show(
    args: &AnalyzeArgs,
    record: &Record,
    place: &Path,
    terminal: Terminal,
) -> Result<(), Failure> {
    match &args.json {
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
    terminal::data(&report::compare(record, place.to_str(), terminal.style()))?;
    Ok(())
}
