//! Sections about the machine, the settings of the servers, the commands that repeat the run, and the raw data to
//! download.

use std::collections::BTreeMap;
use std::path::Path;

use looptax_model::record::{Host, Record};

use super::markup::{Markup, TEXT};
use super::shown::Shown;
use crate::heading;

/// Returns `2026-11-21 19:06:55 UTC` for a time in the form of RFC 3339; any other text is returned unchanged.
pub(super) fn moment(stated: &str) -> String {
    let seconds = stated.strip_suffix('Z').and_then(|it| it.get(..19));
    match seconds.and_then(|it| it.split_once('T')) {
        Some((day, time)) => TEXT.clean(&format!("{day} {time} UTC")),
        None => TEXT.clean(stated),
    }
}

/// Returns "Linux 6.18, AMD EPYC, 2 CPUs, virtual machine · looptax 0.1.0 · run 20261124-202701-25003 · record
/// run.json".
pub(super) fn in_short(record: &Record, name: &str) -> String {
    let host = &record.host;
    let release = host.kernel.split_whitespace().next().unwrap_or("of an unknown release");
    let mut parts = vec![format!("Linux {}", TEXT.clean(release))];
    parts.extend(host.cpu_model.as_deref().map(|model| TEXT.clean(model)));
    parts.push(match host.cpus {
        1 => "1 CPU".to_owned(),
        n => format!("{n} CPUs"),
    });
    if host.hypervisor == Some(true) {
        parts.push("virtual machine".to_owned());
    }
    let label = record.label.as_ref();
    let label = label.map(|it| format!(" · {}", TEXT.clean(it)));
    let run = match record.id.as_str() {
        "" => String::new(),
        id => format!(" · run {}", TEXT.clean(id)),
    };
    format!(
        "{} · looptax {}{run} · record {}{}",
        parts.join(", "),
        TEXT.clean(&record.looptax_version),
        TEXT.clean(name),
        label.unwrap_or_default()
    )
}

/// Writes the sections about the machine and the commands.
pub(super) fn write(shown: &Shown, out: &mut Markup) {
    let record = shown.record;
    out.open("section", &[]).element("h3", &[], "The machine");
    out.open("dl", &[("class", "facts")]);
    for (name, value) in facts(&record.host) {
        out.element("dt", &[], name).element("dd", &[], &TEXT.clean(&value));
    }
    out.close("dl");
    settings("Kernel settings for loopback", &record.host.sysctls, out);
    settings("Limits of the control group", &record.host.cgroup_limits, out);
    settings("Mitigations of CPU faults", &record.host.mitigations, out);
    let mut seen = Vec::new();
    for target in record.comparisons.iter().map(|it| &it.target) {
        let name = format!("Settings of {}", heading::server(target, TEXT));
        if !seen.contains(&name) {
            settings(&name, &target.settings, out);
            seen.push(name);
        }
    }
    out.close("section");
    commands(shown, out);
}

fn facts(host: &Host) -> Vec<(&'static str, String)> {
    let is = |value: Option<bool>| value.map(|it| if it { "yes" } else { "no" }.to_owned());
    let mut facts = vec![("kernel", host.kernel.clone())];
    let optional = [
        ("architecture", host.arch.clone()),
        ("CPU", host.cpu_model.clone()),
        ("CPUs that looptax may use", Some(host.cpus.to_string())),
        ("virtual machine", is(host.hypervisor)),
        ("threads share cores", is(host.smt)),
        ("clock source", host.clocksource.clone()),
        ("frequency governor", host.governor.clone()),
        ("CPU limit of the control group", host.cgroup_cpu_max.clone()),
        ("preemption", host.preemption.clone()),
        ("features of the scheduler", host.sched_features.clone()),
        ("allowed CPUs", host.cpuset.clone()),
        ("MTU of loopback", host.lo_mtu.map(|mtu| mtu.to_string())),
        ("transparent huge pages", host.thp.clone()),
        ("interrupt time counted separately", is(host.irq_time_accounting)),
    ];
    let known = optional.into_iter().filter_map(|(name, value)| Some((name, value?)));
    facts.extend(known);
    facts
}

fn settings(title: &str, settings: &BTreeMap<String, String>, out: &mut Markup) {
    if settings.is_empty() {
        return;
    }
    out.folded(title, |out| {
        out.table(title, |out| {
            out.head(&["setting", "value"]).open("tbody", &[]);
            for (name, value) in settings {
                out.row(true, &[TEXT.clean(name), TEXT.clean(value)]);
            }
            out.close("tbody");
        });
    });
}

fn commands(shown: &Shown, out: &mut Markup) {
    let record = shown.record;
    let name = shell_words::quote(shown.name);
    let mut lines = match record.command.as_slice() {
        [_, words @ ..] => measure_again(record, words),
        [] => Vec::new(),
    };
    lines.extend([
        "# the same verdicts from the same raw data, bit for bit".to_owned(),
        format!("looptax show {name}"),
        "# this page".to_owned(),
        format!("looptax show {name} --html report.html"),
    ]);
    let lines: Vec<String> = lines.iter().map(|line| TEXT.clean(line)).collect();
    out.open("section", &[]).element("h3", &[], "To repeat it");
    out.element("pre", &[("tabindex", "0")], &lines.join("\n"));
    out.close("section");
}

/// The options with which a user names an output file.
const OUTPUTS: [&str; 7] = ["-o", "--output", "--html", "--md", "--csv", "--openmetrics", "--benchmark-json"];

/// Returns the words of a command without its output files: if the command was run again, it would replace the record
/// that it had made.
fn without_outputs(words: &[String]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let is_json = word == "--json" || has_value(word, "--json");
        if OUTPUTS.contains(&word.as_str()) {
            words.next();
        } else if is_json {
            // In earlier versions, the file was a separate word after the option.
            words.next_if(|it| *it == "-" || is_json_file(it));
        } else if !OUTPUTS.iter().any(|it| has_value(word, it)) {
            kept.push(word.clone());
        }
    }
    kept
}

fn is_json_file(word: &str) -> bool {
    Path::new(word).extension().is_some_and(|it| it == "json")
}

/// Whether a word is an option with its value: `--md=FILE`, `-oFILE`.
fn has_value(word: &str, option: &str) -> bool {
    let rest = word.strip_prefix(option);
    rest.is_some_and(|rest| !option.starts_with("--") || rest.starts_with('='))
}

/// Returns the command as it was typed, and if its seed was drawn at random, also the command with that seed.
fn measure_again(record: &Record, words: &[String]) -> Vec<String> {
    let mut repeat = vec!["looptax".to_owned()];
    repeat.extend(without_outputs(words));
    let mut lines = vec!["# measures again".to_owned(), shell_words::join(&repeat)];
    if !words.iter().any(|word| word == "--seed" || word.starts_with("--seed=")) {
        repeat.extend(["--seed".to_owned(), record.seed.to_string()]);
        lines.push("# measures again, with the arms in the same order".to_owned());
        lines.push(shell_words::join(&repeat));
    }
    lines
}

/// Writes the download buttons. The buttons need the script; if the script does not run, a sentence explains this.
pub(super) fn downloads(shown: &Shown, has_record: bool, out: &mut Markup) {
    out.open("section", &[("class", "downloads")]).element("h3", &[], "Raw data");
    out.element(
        "p",
        &[("class", "without")],
        "The page's script makes the files, but it does not run in this browser.",
    );
    out.open("p", &[("class", "buttons")]);
    let button = |kind: &'static str, words: &str, out: &mut Markup| {
        out.element("button", &[("type", "button"), ("data-download", kind)], words);
    };
    if has_record {
        button("json", "Record (JSON)", out);
    }
    button("csv", "Slices (CSV)", out);
    if !shown.hdr_log.is_empty() {
        button("hdr", "Latencies (HdrHistogram log)", out);
    }
    out.close("p");
    if !has_record {
        let words = format!("The record is too large for this page; it is {}.", TEXT.clean(shown.name));
        out.element("p", &[("class", "note")], &words);
    }
    if let Some(reason) = &shown.no_samples {
        let words = format!("There is no log of latencies: {}.", TEXT.clean(reason));
        out.element("p", &[("class", "note")], &words);
    }
    out.close("section");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_is_typed_again_replaces_no_file() {
        let typed = "compare echo -o r.json --live --csv=r.csv --md - -c 4 -ox.json --json r.json";
        let words: Vec<String> = typed.split(' ').map(str::to_owned).collect();
        assert_eq!(without_outputs(&words).join(" "), "compare echo --live -c 4");
        let now: Vec<String> = ["compare", "--json", "echo", "--json=r.json"].map(str::to_owned).into();
        assert_eq!(without_outputs(&now).join(" "), "compare echo");
    }
}
