//! The report about an application that was tried over both transports: its pages, their figures, and the proof of the
//! transports.
//!
//! The table has the same form as the table of whole commands, with pages instead of runs.

use looptax_model::record::{
    Arm, Comparison, Estimate, Figure, Tax, Trial, TrialArm, TrialConnections, TrialDesign, Verdict,
};

use super::command::{CommandRow, CommandTable};
use super::row::{OWN_PART, is_usable, tax_words, tone, verdict_words, versus};
use crate::format::{GLUE, Text, counted, fixed, rate, run_time};
use crate::load;

/// From this time on, in µs, times are shown in milliseconds.
const MS_FROM_US: f64 = 1_000.0;
/// Maximum number of pages that are named.
const MOST_PAGES: usize = 3;

/// Returns the lines about the requested pages and their application.
pub(crate) fn lines(trial: &Trial, text: Text) -> Vec<String> {
    let shown = trial.pages.iter().take(MOST_PAGES);
    let mut lines: Vec<String> = shown.map(|page| text.clean(&page.url)).collect();
    let n_more = trial.n_pages.saturating_sub(lines.len() as u64);
    if n_more > 0 && trial.load_command.is_none() {
        lines.push(format!("and {}", counted(n_more, "other page")));
    }
    let load = trial.load_command.iter();
    lines.extend(load.map(|load| format!("load: {}", text.clean(load))));
    let is_used = |idx: usize| {
        let mut all = trial.arms.iter().filter_map(|arm| arm.connections.get(idx));
        all.any(|it| it.n_moved + it.n_left + it.n_not_moved > 0)
    };
    let used = trial.servers.iter().enumerate();
    let used = used.filter(|(idx, _)| is_used(*idx));
    let ways = used.map(|(_, server)| {
        let from: Vec<String> = server.from.iter().map(|it| text.clean(it)).collect();
        let [kind, socket] = [&server.kind, &server.socket].map(|it| text.clean(it));
        format!("{kind} at {} -> {socket}", from.join(" and "))
    });
    let ways: Vec<String> = ways.collect();
    lines.push(format!("{}; {}", text.clean(&trial.command), ways.join("; ")));
    if let Some(only) = only(trial) {
        lines.push(format!(
            "the arms differ only in the transport of {}; the transports of the other servers were drawn at random for each \
             epoch",
            text.clean(only)
        ));
    }
    lines
}

/// Returns the server that was tried by itself, if there is one.
fn only(trial: &Trial) -> Option<&str> {
    let server = trial.servers.get(trial.only? as usize)?;
    Some(&server.kind)
}

/// Returns a table for each arm that was compared with the baseline; the transport that the application uses today
/// comes first.
pub(crate) fn tables(comparison: &Comparison, text: Text) -> Vec<CommandTable> {
    let ([baseline, other], Some(trial)) = (comparison.arms.as_slice(), &comparison.trial) else {
        return Vec::new();
    };
    let table = |tax: &Tax| CommandTable {
        arms: [other, baseline].map(|arm| way(arm, text)).to_vec(),
        tax_header: if is_today_against_socket(tax) {
            "the socket saves".to_owned()
        } else {
            versus(&tax.arm, &tax.baseline, text)
        },
        rows: rows([other, baseline], tax, (comparison, trial), text),
    };
    comparison.tax.iter().map(table).collect()
}

fn is_today_against_socket(tax: &Tax) -> bool {
    (tax.arm.as_str(), tax.baseline.as_str()) == ("tcp", "unix")
}

fn way(arm: &Arm, text: Text) -> String {
    match arm.name.as_str() {
        "unix" => "over the socket".to_owned(),
        "tcp" => "over TCP".to_owned(),
        other => text.clean(other),
    }
}

/// Makes the rows; `arms` and the figures of a row are in the order of the columns.
fn rows(arms: [&Arm; 2], tax: &Tax, (comparison, trial): (&Comparison, &Trial), text: Text) -> Vec<CommandRow> {
    let is_flat_out = comparison.load.is_flat_out();
    let mut means = arms.iter().filter_map(|arm| arm.latency_us.mean.known());
    let is_ms = means.any(|it| it.value >= MS_FROM_US);
    let row = |label, figures: [Figure; 2], added: &Figure| {
        let added = added.known().filter(|_| is_usable(tax));
        time_row(label, &figures, added, (is_ms, text))
    };
    let own = &tax.latency_us;
    let [baseline_p95, other_p95] = trial.p95_us.clone();
    let mut rows = vec![
        row("page time", arms.map(|arm| arm.latency_us.mean.clone()), &own.mean),
        row("  median", arms.map(|arm| arm.latency_us.p50.clone()), &own.p50),
        row("  p95", [other_p95, baseline_p95], &trial.p95_added_us),
        row("  p99", arms.map(|arm| arm.latency_us.p99.clone()), &own.p99),
        row("  without looptax", [unknown(), unknown()], &trial.added_by_configuration_us),
    ];
    let cpu = &tax.cpu_us;
    let of_arms = |of: fn(&Arm) -> Figure| arms.map(of);
    rows.extend([
        row("CPU, application", of_arms(|arm| arm.cpu_us_per_query.client.clone()), &cpu.client),
        row("CPU, servers", of_arms(|arm| arm.cpu_us_per_query.server.clone()), &cpu.server),
        row("CPU, all of it", of_arms(both), &cpu.both),
    ]);
    let pct = tax_words(tax, text).filter(|_| is_usable(tax));
    let decisive = &mut rows[usize::from(!is_flat_out)];
    decisive.tax = pct.unwrap_or_else(|| "n/a".to_owned());
    let verdict = if comparison.is_slower_by_supervisor() {
        OWN_PART.to_owned()
    } else {
        verdict(tax, comparison.schedule.delta_pct, text)
    };
    decisive.verdict = Some((verdict, tone(tax)));
    // A row without any known figure is left out.
    let says_nothing = |row: &CommandRow| row.arms.iter().all(|cell| cell == "n/a");
    rows.retain(|row| row.verdict.is_some() || !says_nothing(row) || row.difference != "n/a");
    for row in rows.iter_mut().filter(|row| says_nothing(row)) {
        row.arms.fill(String::new());
    }
    if is_flat_out && trial.load_command.is_none() {
        let cells = arms.map(|arm| shown(&arm.throughput_per_s, rate));
        rows.push(row_of("pages", cells.to_vec(), String::new()));
    }
    rows
}

/// Returns the figure of a single arm in a row that has a figure only for the difference between two arms.
fn unknown() -> Figure {
    Figure::missing("only a difference")
}

/// Makes a row of times, in the same unit as all other rows.
fn time_row(
    label: &'static str,
    figures: &[Figure; 2],
    added: Option<&Estimate>,
    (is_ms, text): (bool, Text),
) -> CommandRow {
    let cell = |us| if is_ms { run_time(us) } else { text.micros(us) };
    let signed = |us| {
        if is_ms { text.signed_run_time(us) } else { text.signed_micros_interval(us) }
    };
    let cells = figures.iter().map(|it| shown(it, cell)).collect();
    row_of(label, cells, added.map_or_else(|| "n/a".to_owned(), signed))
}

fn row_of(label: &'static str, arms: Vec<String>, difference: String) -> CommandRow {
    CommandRow { label, arms, tax: String::new(), difference, verdict: None }
}

fn shown(figure: &Figure, show: impl Fn(f64) -> String) -> String {
    let known = figure.known();
    known.map_or_else(|| "n/a".to_owned(), |it| show(it.value))
}

/// Returns the CPU time of both ends. The CPU time has no interval; only the difference of two arms has an interval.
fn both(arm: &Arm) -> Figure {
    let n = arm.cpu_us_per_query.client.known().map_or(0, |it| it.n);
    arm.cpu_us_both().map_or_else(
        || Figure::missing("the CPU time of one end is not known"),
        |us| Figure::new(us, f64::NEG_INFINITY, f64::INFINITY, n),
    )
}

/// Returns the verdict from the user's point of view: what would be gained by the socket.
fn verdict(tax: &Tax, delta_pct: f64, text: Text) -> String {
    let words = verdict_words(tax, delta_pct, text);
    match words.as_str() {
        _ if !is_today_against_socket(tax) => words,
        "tcp is slower" => "the socket is faster".to_owned(),
        "tcp is faster" => "the socket is slower".to_owned(),
        _ => words,
    }
}

/// Returns "4 clients requesting pages at 50.0/s (poisson gaps)".
pub(crate) fn clients(comparison: &Comparison, text: Text) -> String {
    let clients = counted(u64::from(comparison.connections), "client");
    let load = load::clause(&comparison.load, text);
    let load = load.map_or_else(String::new, |load| format!(" {load}"));
    match comparison.trial.as_ref().and_then(|it| it.load_command.as_ref()) {
        Some(_) => format!("whole runs of the load{}", alone(comparison, text)),
        None => format!("{clients} requesting pages{load}{}", alone(comparison, text)),
    }
}

/// Returns ", only mariadbd in turns", with the server that was tried by itself.
fn alone(comparison: &Comparison, text: Text) -> String {
    let only = comparison.trial.as_ref().and_then(only);
    only.map_or_else(String::new, |only| format!(", only {} in turns", text.clean(only)))
}

/// Returns the sentences about the proof of the transports, the time that looptax itself adds, and the smallest
/// difference that the trial can show.
pub(crate) fn sentences(comparison: &Comparison, text: Text) -> Vec<String> {
    let Some(trial) = &comparison.trial else {
        return Vec::new();
    };
    let whose = only(trial).map_or_else(String::new, |only| format!("only {}: ", text.clean(only)));
    let mut sentences = vec![connections(trial, text)];
    sentences.extend(supervision(comparison, trial, text));
    for sentence in &mut sentences {
        sentence.insert_str(0, &whose);
    }
    sentences.extend(requests(comparison, trial, text));
    let failed: u64 = trial.arms.iter().map(|arm| arm.n_failed).sum();
    if failed > 0 {
        let pages: u64 = trial.arms.iter().map(|arm| arm.n_pages + arm.n_failed).sum();
        sentences.push(format!(
            "{} of {pages} differed from the first pages; no figure includes such pages",
            counted(failed, "page")
        ));
    }
    sentences.extend(comparison.tax.iter().filter_map(|tax| least_seen(tax, text)));
    sentences
}

/// Returns "connections per page: mysql 1, redis 1; moved: 400 of 400 in the socket's turns, 0 of 400 in TCP's turns".
fn connections(trial: &Trial, text: Text) -> String {
    let [baseline, other] = &trial.arms;
    let per_turn = match trial.design {
        TrialDesign::Flip => "page",
        TrialDesign::Restart => "start",
    };
    let sums = |it: &TrialConnections| it.n_moved + it.n_left + it.n_not_moved;
    let each = trial.servers.iter().enumerate().filter_map(|(idx, server)| {
        let of = |arm: &TrialArm| arm.connections.get(idx).map_or(0, sums);
        let turns = match trial.design {
            TrialDesign::Flip => baseline.n_pages + other.n_pages + baseline.n_failed + other.n_failed,
            TrialDesign::Restart => baseline.n_slices + other.n_slices,
        };
        let per = (of(baseline) + of(other)) as f64 / (turns as f64).max(1.0);
        (per > 0.0).then(|| format!("{}{GLUE}{}", text.clean(&server.kind), trimmed(per)))
    });
    let each: Vec<String> = each.collect();
    let moved = |arm: &TrialArm| -> (u64, u64) {
        let wanted = |(idx, _): &(usize, &TrialConnections)| trial.only.is_none_or(|only| only as usize == *idx);
        let all = || arm.connections.iter().enumerate().filter(wanted);
        (all().map(|(_, it)| it.n_moved).sum(), all().map(|(_, it)| sums(it)).sum())
    };
    let turns = [0, 1].map(|idx| {
        let (n, all) = moved(&trial.arms[idx]);
        format!("{n} of {all} in {} turns", whose(trial, idx))
    });
    let (each, turns) = (each.join(", "), turns.join(", "));
    format!("connections per {per_turn}: {each}; moved: {turns}")
}

/// Returns the transport of an arm's turns, according to its connections.
fn whose(trial: &Trial, idx: usize) -> &'static str {
    let has_moved = |arm: &TrialArm| match trial.only {
        Some(only) => arm.connections.get(only as usize).is_some_and(|it| it.n_moved > 0),
        None => arm.connections.iter().any(|it| it.n_moved > 0),
    };
    let moved = has_moved(&trial.arms[idx]);
    let both = trial.arms.iter().all(has_moved);
    match (both, moved, idx) {
        (false, true, _) => "the socket's",
        (false, false, 1) => "TCP's",
        (_, _, 0) => "the first arm's",
        _ => "the other's",
    }
}

/// Formats a number without trailing zeros: `1`, `0.5`, `2.01`.
fn trimmed(number: f64) -> String {
    let digits = fixed(number, 2);
    digits.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Describes how much time the supervisor adds to a page. An application whose configuration names the socket does not
/// need the supervisor.
fn supervision(comparison: &Comparison, trial: &Trial, text: Text) -> Option<String> {
    let [baseline, other] = trial.arms.each_ref().map(|arm| arm.supervisor_us_per_page);
    let by_configuration = trial.added_by_configuration_us.known()?;
    let is_moved = comparison.arms.iter().any(|arm| arm.name == "unix");
    (baseline > 0.0 && is_moved && comparison.tax.iter().all(is_usable)).then(|| {
        format!(
            "looptax itself took {} of a page's time when it moved connections, and {} when it left them on TCP; \
             without looptax's part the difference is {} per page, an estimate for an application that is configured \
             for the socket",
            text.micros(baseline),
            text.micros(other),
            signed_time(comparison, by_configuration, text)
        )
    })
}

/// Returns the number of requests that the servers counted per page, and the share of a page's time that these requests
/// took.
fn requests(comparison: &Comparison, trial: &Trial, text: Text) -> Option<String> {
    let page_us = comparison.arms.last()?.latency_us.mean.known()?.value;
    let each = trial.counted.iter().filter_map(|count| {
        let server = trial.servers.get(count.server as usize)?;
        let time = count.us_per_page.map_or_else(String::new, |us| {
            let share = 100.0 * us / page_us;
            format!(", {} in these requests, {share:.0}{GLUE}% of the page's time", text.micros(us))
        });
        let n = trimmed(count.requests_per_page);
        let [kind, counter] = [&server.kind, &count.counter].map(|it| text.clean(it));
        Some(format!("{kind} {n} ({counter}){time}"))
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| format!("requests per page, as the servers counted: {}", each.join("; ")))
}

/// If no difference was found, returns how large a difference may have been missed.
fn least_seen(tax: &Tax, text: Text) -> Option<String> {
    if !matches!(tax.verdict, Verdict::Inconclusive | Verdict::Equivalent | Verdict::Negligible) {
        return None;
    }
    let pct = tax.throughput_pct.known()?;
    let half = (pct.hi? - pct.lo?) / 2.0;
    if pct.lo? > 0.0 || pct.hi? < 0.0 {
        return None;
    }
    let us = tax.latency_us.mean.known();
    let us = us.and_then(|us| Some((us.hi? - us.lo?) / 2.0));
    let us = us.map_or_else(String::new, |us| format!(", {} per page", text.micros(us)));
    Some(format!("half the interval is {}{GLUE}%{us}: the trial cannot show much smaller differences", trimmed(half)))
}

/// Formats a difference in the same unit as the times of the pages.
pub(crate) fn signed_time(comparison: &Comparison, us: &Estimate, text: Text) -> String {
    let means = comparison.arms.iter().filter_map(|arm| arm.latency_us.mean.known());
    if means.map(|it| it.value).any(|us| us >= MS_FROM_US) {
        text.signed_run_time(us)
    } else {
        text.signed_micros_interval(us)
    }
}
