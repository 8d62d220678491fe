//! A record in the small formats: Markdown, CSV, OpenMetrics, JSON for benchmark actions.

use std::path::Path;

use looptax_failure::Failure;
use looptax_record::Record;
use looptax_report as report;
use looptax_store::{Existing, save_text};

use crate::args::FormatArgs;
use crate::outputs::Outputs;
use crate::terminal;

/// Writes the formats that were asked for. True when one of them took the place of the table on stdout.
///
/// # Errors
/// A file cannot be written.
pub(crate) fn write(args: &FormatArgs, record: &Record) -> Result<bool, Failure> {
    let wanted: [(&Option<_>, &dyn Fn() -> String); 4] = [
        (&args.md, &|| report::markdown(record)),
        (&args.csv, &|| report::csv(&[record])),
        (&args.openmetrics, &|| report::openmetrics(record)),
        (&args.benchmark_json, &|| report::benchmark_json(record)),
    ];
    let mut has_printed = false;
    for (path, text) in wanted {
        let Some(path) = path else { continue };
        if is_stdout(path) {
            terminal::data(&text())?;
            has_printed = true;
        } else {
            save_text(&text(), path, Existing::Replace)?;
        }
    }
    Ok(has_printed)
}

/// Adds the files of the formats to those that a command writes, before anything is done.
///
/// # Errors
/// See [`Outputs::writes`].
pub(crate) fn announce(args: &FormatArgs, outputs: Outputs) -> Result<Outputs, Failure> {
    outputs
        .writes("--md", args.md.as_deref())?
        .writes("--csv", args.csv.as_deref())?
        .writes("--openmetrics", args.openmetrics.as_deref())?
        .writes("--benchmark-json", args.benchmark_json.as_deref())
}

fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}
