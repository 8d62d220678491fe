//! A record in the small formats: Markdown, CSV, OpenMetrics, JSON for the benchmark actions of GitHub.

use std::path::{Path, PathBuf};

use looptax_model::failure::Failure;
use looptax_model::record::Record;
use looptax_report as report;
use looptax_store::{Existing, StoreError, save_bytes, save_for_all};

use crate::args::FormatArgs;
use crate::chains::chains;
use crate::outputs::Outputs;
use crate::terminal;

/// The function that writes a format's file.
type Save = fn(&[u8], &Path) -> Result<(), StoreError>;
/// A format's file, its contents, and the function that writes it.
type Format<'a> = (&'a Option<PathBuf>, &'a dyn Fn() -> Vec<u8>, Save);

/// Writes the requested formats. Returns true if one of them was printed to stdout in place of the table.
///
/// # Errors
/// If a file cannot be written.
pub(crate) fn write(args: &FormatArgs, record: &Record) -> Result<bool, Failure> {
    let (mut folded, mut pprof) = (String::new(), Vec::new());
    if args.folded.is_some() {
        folded = report::folded(&chains(record, "--folded")?);
    }
    if args.pprof.is_some() {
        pprof = report::pprof(&chains(record, "--pprof")?)?;
    }
    let save: Save = |bytes, path| save_bytes(bytes, path, Existing::Replace);
    let wanted: [Format<'_>; 6] = [
        (&args.folded, &|| folded.clone().into_bytes(), save),
        (&args.pprof, &|| pprof.clone(), save),
        (&args.md, &|| report::markdown(record).into_bytes(), save),
        (&args.csv, &|| report::csv(&[record]).into_bytes(), save),
        (
            &args.openmetrics,
            &|| report::openmetrics(record).into_bytes(),
            // The node exporter runs as a separate user, so all users may read this file.
            save_for_all,
        ),
        (&args.benchmark_json, &|| report::benchmark_json(record).into_bytes(), save),
    ];
    let mut has_printed = false;
    for (path, bytes, save) in wanted {
        let Some(path) = path else { continue };
        if is_stdout(path) {
            terminal::bytes_as_data(&bytes())?;
            has_printed = true;
        } else {
            save(&bytes(), path)?;
        }
    }
    Ok(has_printed)
}

/// Adds the files of the requested formats to the list of files that a command will write. Call this before the command
/// does anything.
///
/// # Errors
/// See [`Outputs::writes`].
pub(crate) fn announce(args: &FormatArgs, outputs: Outputs) -> Result<Outputs, Failure> {
    outputs
        .writes("--md", args.md.as_deref())?
        .writes("--csv", args.csv.as_deref())?
        .writes("--openmetrics", args.openmetrics.as_deref())?
        .writes("--benchmark-json", args.benchmark_json.as_deref())?
        .writes("--folded", args.folded.as_deref())?
        .writes("--pprof", args.pprof.as_deref())
}

fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}
