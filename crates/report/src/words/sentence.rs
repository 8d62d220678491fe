//! The verdicts as sentences, with notes: what was held constant, why a verdict is as it is, and what would help.
//!
//! Each sentence is complete by itself: it names the connections, the cores, and how the client waits.

use looptax_model::record::{
    Arm, ClientLimit, ClientLimitCause, Comparison, Direction, Estimate, Figure, Placement, Tax, TimeWait, Verdict,
    Withheld,
};

use super::disturbed;
use super::group::Group;
use super::row::{dearer_arm, is_usable};
use super::trial;
use super::withheld::withheld;
use crate::client;
use crate::format::{GLUE, Text, chosen_percent, counted, rate, run_time};
use crate::load;

/// Limit for the difference between the taxes of two lengths of slices, in percentage points. The taxes agree if the
/// whole interval of the difference is within this limit on each side of zero.
const SLICE_POINTS: f64 = 2.0;

/// A tax with all stalls counted is a different result from the usual tax if the two taxes differ by more than this, in
/// percentage points. The difference must also exceed `STALL_SHARE` of the tax: the same share decides whether an
/// interval is too wide for a figure.
const STALL_POINTS: f64 = 5.0;
const STALL_SHARE: f64 = 1.0 / 3.0;

/// Returns each verdict of the group as a sentence.
pub(crate) fn verdict_sentences(group: &Group, text: Text) -> Vec<String> {
    let per_comparison = group.comparisons.iter().flat_map(|comparison| {
        let verdicts = comparison.tax.iter();
        verdicts.map(|tax| sentence(comparison, tax, text))
    });
    per_comparison.collect()
}

/// Returns warnings, stalls and findings about one comparison.
pub(crate) fn notes(comparison: &Comparison, text: Text) -> Vec<String> {
    let place = place(comparison, text);
    let stalls = comparison.arms.iter().filter_map(|arm| {
        let stalls = || comparison.stalls.iter().filter(|stall| stall.arm == arm.name);
        let longest = stalls().map(|stall| stall.drain_ms).reduce(f64::max)?;
        let n = counted(stalls().count() as u64, "stall");
        Some(format!("{place}, {}: {n}, the longest {longest:.1} ms", text.clean(&arm.name)))
    });
    let findings = comparison.tax.iter().flat_map(|tax| findings(comparison, tax, text));
    let findings = findings.map(|finding| format!("{place}: {finding}"));
    let warnings = comparison.warnings.iter();
    let warnings = warnings.map(|warning| format!("warning: {place}: {}", text.clean(warning)));
    let ports = comparison.time_wait.iter();
    let ports = ports.map(|it| format!("{place}: {}", time_wait(it)));
    stalls.chain(findings).chain(ports).chain(warnings).collect()
}

fn time_wait(it: &TimeWait) -> String {
    let reuse = match it.reuse {
        0 => "not used again within a minute",
        1 => "used again when they are needed",
        _ => "used again on loopback when they are needed",
    };
    format!(
        "closed TCP connections in TIME_WAIT: {} before, {} after, of {} local ports; {reuse} \
         (net.ipv4.tcp_tw_reuse {})",
        it.before, it.after, it.local_ports, it.reuse
    )
}

/// Returns "16 connections, same".
pub(crate) fn place(comparison: &Comparison, text: Text) -> String {
    if comparison.commands.is_some() {
        return "whole command".to_owned();
    }
    if comparison.trial.is_some() {
        return trial::clients(comparison, text);
    }
    let connections = counted(u64::from(comparison.connections), "connection");
    let place = format!("{connections}, {}", comparison.placement.asked);
    match load::cell(&comparison.load, text) {
        Some(load) => format!("{place}, {load}"),
        None => place,
    }
}

/// Returns sentences about the diagnostics that a reader should know.
fn findings(comparison: &Comparison, tax: &Tax, text: Text) -> Vec<String> {
    let found = &tax.diagnostics;
    let modes = found.modes.iter().map(|mode| {
        if comparison.commands.is_some() {
            let (short, long) = (1e6 / mode.high_per_s, 1e6 / mode.low_per_s);
            let [short, long] = [short, long].map(run_time);
            return format!("a run on {} takes either about {short} or about {long}", text.clean(&mode.arm));
        }
        let (arm, low, high) = (text.clean(&mode.arm), rate(mode.low_per_s), rate(mode.high_per_s));
        format!("the rate of {arm} jumps between {low} and {high}")
    });
    let totals = tax.total_throughput_pct.known();
    let totals = totals.filter(|_| found.totals_disagree == Some(true) && is_usable(tax));
    let totals = totals.map(|pct| {
        let (arm, pct) = (text.clean(&tax.arm), text.percent(pct));
        format!("with all stalls counted, the tax of {arm} differs: {pct}")
    });
    let slices = found.slice_invariance_pct.as_ref().and_then(|figure| figure.known());
    let slices = slices.filter(|_| is_usable(tax)).map(|points| {
        let is_within =
            points.lo.is_some_and(|lo| lo >= -SLICE_POINTS) && points.hi.is_some_and(|hi| hi <= SLICE_POINTS);
        let word = if is_within { "shows" } else { "does not show" };
        format!(
            "with shorter slices the tax differs by {} points; the interval {word} that the difference is at most \
             {SLICE_POINTS:.0} points",
            text.per_request(points)
        )
    });
    modes.chain(totals).chain(slices).collect()
}

fn sentence(comparison: &Comparison, tax: &Tax, text: Text) -> String {
    let (arm, baseline) = (text.clean(&tax.arm), text.clean(&tax.baseline));
    let delta = chosen_percent(comparison.schedule.delta_pct);
    let plus_minus = text.plus_minus();
    let figures = figures(comparison, tax, text);
    let held = held(comparison, text);
    let found = match (tax.verdict, tax.direction) {
        _ if comparison.is_slower_by_supervisor() => format!(
            "undecided whether {arm} or {baseline} takes less time: looptax's own part of a page is more than the \
            difference"
        ),
        _ if tax.uncertain_size.is_some() => {
            let size = disturbed::uncertain_size(tax, text).unwrap_or_default();
            let cpu = tax.cpu_us.both.known().filter(|_| !comparison.is_of_program());
            let cpu = cpu.map(|us| format!("; CPU time in this run: {} per request", text.signed_micros_interval(us)));
            format!("against {baseline}, {size}{}", cpu.unwrap_or_default())
        }
        (Verdict::Difference, Some(Direction::OtherFaster)) if comparison.trial.is_some() => {
            format!("over {arm} a page takes less time than over {baseline}: {figures}")
        }
        (Verdict::Difference, Some(Direction::OtherFaster)) if !comparison.load.is_flat_out() => {
            format!("{arm} answers sooner than {baseline}: a tax of {figures}")
        }
        (Verdict::Difference, Some(Direction::OtherFaster)) => {
            format!("{arm} serves more than {baseline}: a tax of {figures}")
        }
        (Verdict::Difference, _) => format!("against {baseline}, {arm} costs {figures}"),
        (Verdict::Negligible, _) => {
            format!("{arm} differs from {baseline}, by less than {delta}: {figures}")
        }
        (Verdict::Equivalent, _) => {
            format!("{arm} and {baseline} serve alike, within {plus_minus}{delta}: {figures}")
        }
        (Verdict::Inconclusive, _) => {
            format!(
                "no answer for {arm} against {baseline}: {}{}",
                why_withheld(comparison, tax, text).unwrap_or_default(),
                by_cpu(tax, text).unwrap_or_default()
            )
        }
        (Verdict::Invalid, _) => {
            format!(
                "{arm} against {baseline} cannot be used: {}",
                why_withheld(comparison, tax, text).unwrap_or_default()
            )
        }
    };
    let is_answer = !matches!(tax.verdict, Verdict::Inconclusive | Verdict::Invalid);
    let limits = tax.diagnostics.client_limits.iter().filter(|_| is_answer);
    let limits = limits.map(|limit| client_limit(limit, text));
    let disturbed = disturbed::measured_while(tax).filter(|_| is_answer);
    let apart = cpu_apart(comparison, tax, text).filter(|_| is_answer);
    let stalls = other_with_stalls(tax, text).filter(|_| is_answer);
    let clauses = [disturbed, apart, stalls].into_iter().flatten().chain(limits);
    format!("{held}: {found}{}", clauses.collect::<String>())
}

/// Returns "; with all stalls counted the tax is 4.0 % [-78.0, 48.0]: …", if this tax is a different result.
fn other_with_stalls(tax: &Tax, text: Text) -> Option<String> {
    let (pct, total) = (tax.throughput_pct.known()?, tax.total_throughput_pct.known()?);
    let same_side = total.lo.is_some_and(|lo| lo > 0.0) == pct.lo.is_some_and(|lo| lo > 0.0)
        && total.hi.is_some_and(|hi| hi < 0.0) == pct.hi.is_some_and(|hi| hi < 0.0);
    let apart = (pct.value - total.value).abs();
    let is_far = apart > STALL_POINTS && apart > STALL_SHARE * pct.value.abs();
    let is_other = tax.diagnostics.totals_disagree == Some(true) && (is_far || !same_side);
    is_other.then(|| {
        format!("; with all stalls counted the tax is {}: inspect the stalls (--verbose)", text.percent(total))
    })
}

/// Returns "; CPU time shows more: tcp takes more CPU time, a difference of +2.8 µs [2.3, 4.0] per request", if only
/// CPU time shows a difference.
fn by_cpu(tax: &Tax, text: Text) -> Option<String> {
    let arm = text.clean(dearer_arm(tax)?);
    let us = text.signed_micros_interval(tax.cpu_us.both.known()?);
    Some(format!("; CPU time shows more: {arm} takes more CPU time, a difference of {us} per request"))
}

/// Returns a sentence if throughput shows a loss and CPU time does not, or the other way round.
///
/// The sentence gives only intervals, and names no cause, because neither figure measures a cause.
fn cpu_apart(comparison: &Comparison, tax: &Tax, text: Text) -> Option<String> {
    if comparison.is_of_program() || !comparison.load.is_flat_out() {
        return None;
    }
    let cpu = tax.cpu_us.both.known()?;
    let shown = text.signed_micros_interval(cpu);
    if tax.verdict == Verdict::Equivalent {
        let is_known = tax.starred.iter().any(|it| it == "cpu_us.both");
        return is_known.then(|| format!("; the CPU time differs nevertheless ({shown} per request)"));
    }
    let is_loss = (tax.verdict, tax.direction) == (Verdict::Difference, Some(Direction::OtherSlower));
    if !is_loss || cpu.lo.is_none_or(|lo| lo > 0.0) {
        return None;
    }
    let longer = tax.latency_us.mean.known().and_then(|it| it.lo).filter(|_| comparison.connections == 1);
    Some(match cpu.hi.zip(longer) {
        Some((most, longer)) if most < longer => {
            let most = text.micros(most.max(0.0));
            format!("; at most {most} of this difference can be CPU time: the rest is waiting, with unmeasured causes")
        }
        _ => format!("; the run does not show whether CPU time is a part of the difference ({shown} per request)"),
    })
}

/// Whether CPU time shows the size of the loss better than throughput does. For this, both ends must have been pinned.
/// Also, relative to its value, the interval of CPU time must be narrower than the interval of throughput.
fn leads(comparison: &Comparison, tax: &Tax) -> bool {
    let relative = |it: &Estimate| Some((it.hi? - it.lo?) / it.value.abs());
    let is_held = matches!(comparison.placement.asked, Placement::Same | Placement::Split);
    let is_loss = (tax.verdict, tax.direction) == (Verdict::Difference, Some(Direction::OtherSlower));
    let widths = tax.cpu_us.both.known().and_then(relative).zip(tax.throughput_pct.known().and_then(relative));
    is_held && is_loss && widths.is_some_and(|(cpu, throughput)| cpu < throughput)
}

/// Returns the reason why a verdict is withheld; `None` if the verdict is not withheld.
pub(crate) fn why_withheld(comparison: &Comparison, tax: &Tax, text: Text) -> Option<String> {
    Withheld::for_tax(comparison, tax).map(|it| withheld(&it, text))
}

/// Returns "; on tcp, the client's own code takes 62 % of all CPU time per request".
fn client_limit(limit: &ClientLimit, text: Text) -> String {
    let why = match limit.cause {
        ClientLimitCause::OwnCode { share_pct } => {
            format!("the client's own code takes {share_pct:.0} % of all CPU time per request")
        }
        ClientLimitCause::BusyCores { busy_pct } => {
            format!("the cores that the client has for itself are {busy_pct:.0} % busy")
        }
        ClientLimitCause::Late { by_us } => {
            format!(
                "requests are sent late: the p99 of the delay is {}, over a tenth of the latency's p99",
                text.micros(by_us)
            )
        }
    };
    format!("; on {}, {why}", text.clean(&limit.arm))
}

/// Returns "16.0 % [15.4, 16.4] of throughput, +2.0 µs [1.9, 2.1] per request, …".
fn figures(comparison: &Comparison, tax: &Tax, text: Text) -> String {
    if !comparison.load.is_flat_out() {
        return response_figures(tax, text);
    }
    let is_of_program = comparison.is_of_program();
    let each = |us: &Estimate| match &comparison.commands {
        Some(_) => (text.signed_run_time(us), "run"),
        None if is_of_program => (trial::signed_time(comparison, us, text), "page"),
        None => (text.signed_micros_interval(us), "request"),
    };
    let pct = tax.throughput_pct.known().map(|pct| match &comparison.trial {
        Some(_) => format!("{} of a page's time", text.percent(pct)),
        None => format!("{} of throughput", text.percent(pct)),
    });
    let us = tax.latency_us.mean.known();
    let us = us.map(|us| {
        let (time, unit) = each(us);
        format!("{time} per {unit}")
    });
    // The CPU time of a program is known even if the CPU time of its server is not known.
    let own = tax.cpu_us.client.known().filter(|_| is_of_program);
    let cpu = tax.cpu_us.both.known().or(own).map(|us| {
        let (time, unit) = each(us);
        format!("{time} CPU time per {unit}")
    });
    let by_size = if leads(comparison, tax) { [cpu, pct, us] } else { [pct, us, cpu] };
    let parts: Vec<String> = by_size.into_iter().flatten().collect();
    if parts.is_empty() { "n/a".to_owned() } else { parts.join(", ") }
}

/// Returns "12.0 % [11.1, 12.9] of the median response time, +2.0 µs [1.9, 2.1] at the median, …".
fn response_figures(tax: &Tax, text: Text) -> String {
    let pct = tax.throughput_pct.known().map(|pct| format!("{} of the median response time", text.percent(pct)));
    let at = |figure: &Figure, where_to: &str| {
        let us = figure.known()?;
        Some(format!("{} {where_to}", text.signed_micros_interval(us)))
    };
    let p50 = at(&tax.latency_us.p50, "at the median");
    let p99 = at(&tax.latency_us.p99, "at p99");
    let parts: Vec<String> = [pct, p50, p99].into_iter().flatten().collect();
    if parts.is_empty() { "n/a".to_owned() } else { parts.join(", ") }
}

/// Returns on which cores the two ends of a connection ran, and how this is known.
fn cores(comparison: &Comparison) -> &'static str {
    let follows = comparison.raw.epochs.iter().any(|it| it.follows.is_some());
    match comparison.placement.asked {
        Placement::Same if follows => "with both ends on one core (the client followed the server)",
        Placement::Split if follows => "with the two ends on different cores (the client kept away from the server's)",
        Placement::Same => "with both ends on one core (pinned)",
        Placement::Split => "with the two ends on different cores (pinned)",
        Placement::Free => "with the cores left to the scheduler",
        Placement::ClientPinned => "with only the client pinned (it is not known on which cores the server ran)",
    }
}

/// Returns what was held constant while only the transport changed.
fn held(comparison: &Comparison, text: Text) -> String {
    if comparison.commands.is_some() {
        return "whole runs of the command, with the cores left to the scheduler".to_owned();
    }
    if comparison.trial.is_some() {
        return format!("with {}", trial::clients(comparison, text));
    }
    let cores = cores(comparison);
    let connections = counted(u64::from(comparison.connections), "connection");
    let waits = match &comparison.client_like {
        Some(like) => client::clause_like(like, text),
        None => client::clause(client::peers(&comparison.target, &comparison.workload), comparison.client),
    };
    let is_delayed = |arm: &Arm| arm.proof.nodelay == Some(false);
    let delayed = comparison.arms.iter().any(is_delayed);
    let delayed = if delayed { format!(", TCP_NODELAY{GLUE}off") } else { String::new() };
    let held = format!("at {connections}, {cores}, {waits}{delayed}");
    match load::clause(&comparison.load, text) {
        Some(load) => format!("{held}, {load}"),
        None => held,
    }
}
