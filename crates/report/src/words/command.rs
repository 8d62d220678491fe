//! The figures of whole commands: run time, and CPU time of the command and of its server, by arm.
//!
//! There is only one comparison, with several figures, so views transpose the table.

use looptax_model::record::{Arm, CommandLine, Commands, Comparison, Estimate, Figure, Tax};

use super::row::{is_usable, tax_words, tone, verdict_words, versus};
use super::tone::Tone;
use crate::format::{Text, counted, run_time};

/// The cells about what one arm costs, compared with the baseline.
#[derive(Debug)]
pub(crate) struct CommandTable {
    pub(crate) arms: Vec<String>,
    pub(crate) tax_header: String,
    pub(crate) rows: Vec<CommandRow>,
}

/// One figure of both arms, and their difference.
#[derive(Debug)]
pub(crate) struct CommandRow {
    pub(crate) label: &'static str,
    pub(crate) arms: Vec<String>,
    pub(crate) tax: String,
    pub(crate) difference: String,
    pub(crate) verdict: Option<(String, Tone)>,
}

/// Returns a table for each arm that was compared with the baseline.
pub(crate) fn tables(comparison: &Comparison, text: Text) -> Vec<CommandTable> {
    let names = comparison.arms.iter().map(|arm| text.clean(&arm.name));
    let names: Vec<String> = names.collect();
    let table = |tax: &Tax| CommandTable {
        arms: names.clone(),
        tax_header: format!("tax ({})", versus(&tax.arm, &tax.baseline, text)),
        rows: rows(comparison, tax, text),
    };
    comparison.tax.iter().map(table).collect()
}

/// Returns the commands that were run: one line for all arms, or one line for each arm.
pub(crate) fn lines(commands: &Commands, text: Text) -> Vec<String> {
    let line = |line: &CommandLine| format!("{}: {}", text.clean(&line.arm), text.clean(&line.line));
    match &commands.template {
        Some(template) => vec![text.clean(template)],
        None => commands.lines.iter().map(line).collect(),
    }
}

/// Returns in how many runs each arm's command was seen on the arm's transport.
pub(crate) fn seen(comparison: &Comparison, text: Text) -> Option<String> {
    let parts = comparison.arms.iter().filter_map(|arm| {
        let seen = arm.proof.seen?;
        let n_own = if arm.name == "unix" { seen.n_unix } else { seen.n_tcp };
        let runs = counted(seen.n_runs, "run");
        Some(format!("{} in {n_own} of {runs}", text.clean(&arm.name)))
    });
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| format!("connections seen while the command ran: {}", parts.join(", ")))
}

/// Explains why the tax is not the ratio of the times, if both are shown.
pub(crate) fn what_is_shown(comparison: &Comparison) -> Option<&'static str> {
    let has_times = |arm: &Arm| arm.latency_us.mean.known().is_some();
    let has_tax = |tax: &Tax| is_usable(tax) && tax.throughput_pct.known().is_some();
    let has_both =
        comparison.commands.is_some() && comparison.arms.iter().any(has_times) && comparison.tax.iter().any(has_tax);
    has_both.then_some(
        "the time per run comes from one arm at a time, but the tax compares both arms within each epoch; so the tax \
         need not be the ratio of the times (all these figures are medians of the epochs' means)",
    )
}

fn rows(comparison: &Comparison, tax: &Tax, text: Text) -> Vec<CommandRow> {
    let arms = |figure: &dyn Fn(&Arm) -> &Figure| -> Vec<String> {
        let cells = comparison.arms.iter().map(|arm| {
            let known = figure(arm).known();
            known.map_or_else(|| "n/a".to_owned(), |it| run_time(it.value))
        });
        cells.collect()
    };
    let of_tax = |figure: &Figure, show: &dyn Fn(&Estimate) -> String| {
        let known = figure.known().filter(|_| is_usable(tax));
        known.map_or_else(|| "n/a".to_owned(), show)
    };
    let signed = |figure: &Figure| of_tax(figure, &|it| text.signed_run_time(it));
    let longer = if tax.has_size() { signed(&tax.latency_us.mean) } else { "n/a".to_owned() };
    let verdict = verdict_words(tax, comparison.schedule.delta_pct, text);
    let mut rows = vec![
        CommandRow {
            label: "time per run",
            arms: arms(&|arm| &arm.latency_us.mean),
            tax: tax_words(tax, text).filter(|_| is_usable(tax)).unwrap_or_else(|| "n/a".to_owned()),
            difference: longer,
            verdict: Some((verdict, tone(tax))),
        },
        CommandRow {
            label: "CPU, command",
            arms: arms(&|arm| &arm.cpu_us_per_query.client),
            tax: String::new(),
            difference: signed(&tax.cpu_us.client),
            verdict: None,
        },
    ];
    if tax.cpu_us.server.known().is_some() {
        rows.push(CommandRow {
            label: "CPU, server",
            arms: arms(&|arm| &arm.cpu_us_per_query.server),
            tax: String::new(),
            difference: signed(&tax.cpu_us.server),
            verdict: None,
        });
    }
    rows
}
