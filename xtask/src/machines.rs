//! The page with results from other people's machines: a table of the files below docs/src/results/machines.
//!
//! Called by `results`. The schema defines the contents of such a file; the tests of the command line read each file as
//! looptax does.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;

/// The folder of these files, below the checkout.
const FOLDER: &str = "docs/src/results/machines";

const HEAD: &str = "\
# Machines

`cargo xtask docs` generates this page from the files below `docs/src/results/machines`; `looptax show RECORD… --publish FILE` wrote each file on one machine.
The files hold the kernel with its preemption model, the CPU with its mitigations, the versions of the servers and the figures.
They hold no host name, path, label or user name; [their schema](../result-schemas.md) explains each field.
To add your machine, run `looptax` or `looptax compare` while the machine is quiet.
Then run `looptax show RECORD… --publish FILE`, and put FILE into the folder, with CPU and kernel as its name.
A figure of one machine at one time is not a constant, and figures of different machines are not averaged here.

";

#[derive(Deserialize)]
struct Contribution {
    month: String,
    machine: Machine,
    results: Vec<Outcome>,
}

#[derive(Deserialize)]
struct Machine {
    kernel: String,
    preemption: Option<String>,
    cpu_model: Option<String>,
    cpus: u32,
    hypervisor: Option<bool>,
}

#[derive(Deserialize)]
struct Outcome {
    kind: String,
    version: String,
    workload: String,
    pipeline: u32,
    connections: u32,
    placement: String,
    baseline: String,
    arm: String,
    tax_pct: Figure,
    added_us: Figure,
    verdict: String,
}

#[derive(Deserialize)]
struct Figure {
    value: Option<f64>,
    lo: Option<f64>,
    hi: Option<f64>,
}

pub(crate) fn page(root: &Path) -> Result<String> {
    let mut paths: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(root.join(FOLDER)).with_context(|| format!("cannot list {FOLDER}"))? {
        paths.push(entry?.path());
    }
    paths.retain(|it| it.extension().is_some_and(|it| it == "json"));
    paths.sort();
    let mut page = HEAD.to_owned();
    let plural = if paths.len() == 1 { "machine has" } else { "machines have" };
    let _ = writeln!(page, "{} {plural} given figures.", paths.len());
    for path in paths {
        let text = fs::read_to_string(&path)?;
        let given = serde_json::from_str(&text).with_context(|| format!("{} is broken", path.display()))?;
        machine(&given, &mut page);
    }
    Ok(page)
}

fn machine(of: &Contribution, page: &mut String) {
    let Machine { kernel, preemption, cpu_model, cpus, hypervisor } = &of.machine;
    let cpu = cpu_model.as_deref().unwrap_or("an unknown CPU");
    let virtual_ = if *hypervisor == Some(true) { ", virtual" } else { "" };
    let preemption = preemption.as_deref().map_or_else(String::new, |it| format!(" (preemption: {it})"));
    let _ = writeln!(page, "\n## {}, {cpus} CPUs{virtual_}\n", cell(cpu));
    let _ = writeln!(page, "Linux {}{}, {}.\n", cell(kernel), cell(&preemption), cell(&of.month));
    page.push_str(
        "| server | workload | connections | placement | arms | throughput lost, % | added median, µs | verdict |\n",
    );
    page.push_str("|---|---|---:|---|---|---|---|---|\n");
    for it in &of.results {
        let pipeline = if it.pipeline > 1 { format!(", {} in a send", it.pipeline) } else { String::new() };
        let _ = writeln!(
            page,
            "| {} {} | {}{pipeline} | {} | {} | {} vs {} | {} | {} | {} |",
            cell(&it.kind),
            cell(&it.version),
            cell(&it.workload),
            it.connections,
            cell(&it.placement),
            cell(&it.arm),
            cell(&it.baseline),
            figure(&it.tax_pct),
            figure(&it.added_us),
            cell(&it.verdict.replace('_', " ")),
        );
    }
}

fn figure(of: &Figure) -> String {
    match (of.value, of.lo, of.hi) {
        (Some(value), Some(lo), Some(hi)) => format!("{value} [{lo}, {hi}]"),
        (Some(value), ..) => format!("{value}"),
        _ => "not known".to_owned(),
    }
}

/// Makes another person's text safe for a cell of a table.
fn cell(text: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || " .,:;()@+-/_".contains(c);
    text.chars().map(|c| if is_plain(c) { c } else { '?' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_somebody_gave_is_a_table_and_no_markup() {
        let text = r#"{"month":"2026-11","machine":{"kernel":"6.1|<b>","preemption":"none","cpu_model":"A [x](y)","cpus":2,
            "hypervisor":true},"results":[{"kind":"redis","version":"7.0","workload":"get","pipeline":16,"connections":1,
            "placement":"same","baseline":"unix","arm":"tcp","tax_pct":{"value":10.5,"lo":9.0,"hi":12.0},
            "added_us":{"na":"x"},"verdict":"difference"}]}"#;
        let mut page = String::new();
        machine(&serde_json::from_str(text).unwrap(), &mut page);
        assert!(page.contains("## A ?x?(y), 2 CPUs, virtual\n\nLinux 6.1??b? (preemption: none), 2026-11."), "{page}");
        assert!(page.ends_with(
            "| redis 7.0 | get, 16 in a send | 1 | same | tcp vs unix | 10.5 [9, 12] | not known | difference |\n"
        ));
    }
}
