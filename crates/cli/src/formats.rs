//! A record in the small formats: Markdown, CSV, OpenMetrics, JSON for benchmark actions.

use std::fmt::Write;
use std::path::Path;

use looptax_failure::Failure;
use looptax_record::{Comparison, Record};
use looptax_report as report;
use looptax_store::{Existing, save_text, unpack_stacks};

use crate::args::FormatArgs;
use crate::outputs::Outputs;
use crate::terminal;

/// Writes the formats that were asked for. True when one of them took the place of the table on stdout.
///
/// # Errors
/// A file cannot be written.
pub(crate) fn write(args: &FormatArgs, record: &Record) -> Result<bool, Failure> {
    let folded = args.folded.as_ref().map(|_| folded(record)).transpose()?;
    let wanted: [(&Option<_>, &dyn Fn() -> String); 5] = [
        (&args.folded, &|| folded.clone().unwrap_or_default()),
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
        .writes("--benchmark-json", args.benchmark_json.as_deref())?
        .writes("--folded", args.folded.as_deref())
}

/// The call chains of a record; the comparison stands first where there are several.
///
/// # Errors
/// The record has none, or they cannot be read.
fn folded(record: &Record) -> Result<String, Failure> {
    let is_sampled = |it: &&Comparison| !it.why.is_empty();
    let sampled: Vec<&Comparison> = record.comparisons.iter().filter(is_sampled).collect();
    if sampled.is_empty() && !record.interrupted {
        return Err(Failure::usage(
            "--folded: the record holds no call chains",
            "`looptax why TARGET` takes them",
        ));
    }
    let mut text = String::new();
    for comparison in &sampled {
        let case = match sampled[..] {
            [_] => String::new(),
            _ => format!(
                "{} {} {};",
                comparison.target.kind, comparison.workload.name, comparison.connections
            ),
        };
        let mut seen = Vec::new();
        for why in &comparison.why {
            let stacks = unpack_stacks(&why.stacks)?;
            for (side, arm_idx) in why.pair.into_iter().enumerate() {
                // The baseline is in each pair; its first one stands for it.
                if seen.contains(&arm_idx) {
                    continue;
                }
                seen.push(arm_idx);
                let arm = comparison
                    .arms
                    .get(arm_idx as usize)
                    .map_or("", |it| &it.name);
                let thousands = why.stacks.requests[side] as f64 / 1e3;
                for stack in stacks.iter().filter(|it| it.ns[side] > 0) {
                    let ns = stack.ns[side] as f64 / thousands.max(f64::MIN_POSITIVE);
                    let _ = writeln!(text, "{case}{arm};{} {ns:.0}", stack.folded);
                }
            }
        }
    }
    Ok(text)
}

fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}
