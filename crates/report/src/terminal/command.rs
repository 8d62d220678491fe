//! The table of whole commands: time, CPU of the command and of its server, by arm.
//!
//! Lies on its side beside the one for requests: there is one comparison, and several figures of it.

use looptax_record::{Arm, Commands, Comparison, Estimate, Figure, Tax};

use super::lines::{Lines, Paint, padded, width};
use super::row::{is_usable, paint, verdict_words};
use crate::format::{Text, counted, run_time};

const INDENT: usize = 2;
const GAP: usize = 3;

/// One figure of both arms and what lies between them.
struct Row {
    label: &'static str,
    arms: Vec<String>,
    tax: String,
    difference: String,
    verdict: Option<(String, Paint)>,
}

/// Writes the commands and their table.
pub(super) fn write(comparison: &Comparison, commands: &Commands, lines: &mut Lines) {
    let text = lines.style.text();
    write_commands(commands, lines);
    for tax in &comparison.tax {
        let rows = rows(comparison, tax, text);
        let names: Vec<String> = comparison
            .arms
            .iter()
            .map(|arm| text.clean(&arm.name))
            .collect();
        let header = format!(
            "tax ({} over {})",
            text.clean(&tax.arm),
            text.clean(&tax.baseline)
        );
        write_table(&names, &header, &rows, lines);
    }
}

/// In how many runs each arm was seen on its own transport.
pub(super) fn seen(comparison: &Comparison, text: Text) -> Option<String> {
    let parts = comparison.arms.iter().filter_map(|arm| {
        let seen = arm.proof.seen?;
        let n_own = if arm.name == "unix" {
            seen.n_unix
        } else {
            seen.n_tcp
        };
        let runs = counted(seen.n_runs, "run");
        Some(format!("{} in {n_own} of {runs}", text.clean(&arm.name)))
    });
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| format!("connections seen while it ran: {}", parts.join(", ")))
}

fn write_commands(commands: &Commands, lines: &mut Lines) {
    let text = lines.style.text();
    match &commands.template {
        Some(template) => lines.item(INDENT, &text.clean(template)),
        None => {
            for line in &commands.lines {
                let words = format!("{}: {}", text.clean(&line.arm), text.clean(&line.line));
                lines.item(INDENT, &words);
            }
        }
    }
}

fn rows(comparison: &Comparison, tax: &Tax, text: Text) -> Vec<Row> {
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
    let verdict = verdict_words(tax, comparison.schedule.delta_pct, text);
    let mut rows = vec![
        Row {
            label: "time per run",
            arms: arms(&|arm| &arm.latency_us.mean),
            tax: of_tax(&tax.throughput_pct, &|it| text.percent(it)),
            difference: signed(&tax.latency_us.mean),
            verdict: Some((verdict, paint(tax))),
        },
        Row {
            label: "CPU, command",
            arms: arms(&|arm| &arm.cpu_us_per_query.client),
            tax: String::new(),
            difference: signed(&tax.cpu_us.client),
            verdict: None,
        },
    ];
    if tax.cpu_us.server.known().is_some() {
        rows.push(Row {
            label: "CPU, server",
            arms: arms(&|arm| &arm.cpu_us_per_query.server),
            tax: String::new(),
            difference: signed(&tax.cpu_us.server),
            verdict: None,
        });
    }
    rows
}

fn write_table(names: &[String], header: &str, rows: &[Row], lines: &mut Lines) {
    let widest = |cells: &mut dyn Iterator<Item = &str>| cells.map(width).max().unwrap_or(0) + GAP;
    let label = widest(&mut rows.iter().map(|row| row.label));
    let columns: Vec<usize> = (0..names.len())
        .map(|idx| {
            let cells = rows.iter().map(|row| row.arms[idx].as_str());
            widest(&mut cells.chain([names[idx].as_str()]))
        })
        .collect();
    let tax = widest(&mut rows.iter().map(|row| row.tax.as_str()));
    let difference = widest(&mut rows.iter().map(|row| row.difference.as_str()));
    let verdict = rows.iter().filter_map(|row| row.verdict.as_ref());
    let verdict = verdict.map(|(words, _)| width(words)).max().unwrap_or(0);
    let tail = (tax + difference).max(width(header) + GAP);
    if INDENT + label + columns.iter().sum::<usize>() + tail + verdict > lines.style.width {
        return write_stacked(names, rows, lines);
    }
    let indent = " ".repeat(INDENT);
    let cells = |cells: &[String]| -> String {
        let padded = cells
            .iter()
            .zip(&columns)
            .map(|(cell, columns)| padded(cell, *columns));
        padded.collect()
    };
    lines.verbatim(&format!(
        "{indent}{}{}{}verdict",
        padded("", label),
        cells(names),
        padded(header, tail)
    ));
    for row in rows {
        let figures = format!("{}{}", padded(&row.tax, tax), row.difference);
        let verdict = row.verdict.as_ref();
        let verdict = verdict.map_or_else(String::new, |(words, paint)| lines.paint(words, *paint));
        lines.verbatim(&format!(
            "{indent}{}{}{}{verdict}",
            padded(row.label, label),
            cells(&row.arms),
            padded(&figures, tail)
        ));
    }
}

/// A block per figure, for narrow terminals.
fn write_stacked(names: &[String], rows: &[Row], lines: &mut Lines) {
    let label = names
        .iter()
        .map(|name| width(name))
        .max()
        .unwrap_or(0)
        .max(width("tax"))
        + 2;
    for row in rows {
        lines.wrapped(2, row.label);
        for (name, cell) in names.iter().zip(&row.arms) {
            lines.wrapped(4, &format!("{}{cell}", padded(name, label)));
        }
        let figures = [row.tax.as_str(), row.difference.as_str()];
        let figures: Vec<&str> = figures.into_iter().filter(|it| !it.is_empty()).collect();
        lines.wrapped(
            4,
            &format!("{}{}", padded("tax", label), figures.join("  ")),
        );
        if let Some((words, paint)) = &row.verdict {
            let words = lines.paint(words, *paint);
            lines.verbatim(&format!("    {words}"));
        }
    }
}
