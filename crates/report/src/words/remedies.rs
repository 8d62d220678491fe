//! The remedies as text: how much each would gain, in order, and how much work it is.

use looptax_advise::check::ends_tls;
use looptax_model::record::{Estimate, Figure, GainRange, Record, Remedies, Remedy, RemedyKind, Verdict};

use super::own_client;
use super::small_table::SmallTable;
use crate::format::{GLUE, Text, counted};

/// A gain of at least this many percent is printed as a factor.
const TWICE_PCT: f64 = 100.0;

/// A ranked table, with a sentence for each row.
#[derive(Debug)]
pub(crate) struct RemediesStory {
    pub(crate) table: SmallTable,
    /// One sentence for each row, in the same order.
    pub(crate) sentences: Vec<String>,
}

/// Returns the texts about a record's remedies; empty if there are none.
pub(super) fn remedies_stories(record: &Record, text: Text) -> Vec<RemediesStory> {
    let remedies = record.remedies.iter();
    remedies.map(|it| story(record, it, text)).collect()
}

fn story(record: &Record, remedies: &Remedies, text: Text) -> RemediesStory {
    let all = &remedies.remedies;
    let is_base = |it: &&looptax_model::record::Comparison| {
        it.connections == remedies.connections && it.target.name == remedies.target
    };
    let base = record.comparisons.iter().find(is_base);
    let workload = base.map_or_else(String::new, |base| {
        format!(", {}, {}", text.clean(&base.workload.name), base.placement.asked.name())
    });
    RemediesStory {
        table: SmallTable {
            title: format!(
                "what would help on {} over {}: {}{workload}",
                text.clean(&remedies.target),
                text.clean(&remedies.today),
                counted(u64::from(remedies.connections), "connection"),
            ),
            header: ["", "requests per second", "time saved", "CPU saved"].map(str::to_owned),
            rows: rows(remedies, text),
            closing: Some(closing(remedies, text)),
        },
        sentences: all.iter().map(|it| sentence(it, base.map_or("", |base| &base.target.kind), text)).collect(),
    }
}

/// Returns the remedies for programs that use today's arm, and below them the remedies for other programs.
fn rows(remedies: &Remedies, text: Text) -> Vec<[String; 4]> {
    let (today, otherwise): (Vec<_>, Vec<_>) = remedies.remedies.iter().partition(|it| it.is_today);
    let mut rows: Vec<_> = today.iter().map(|it| row(it, text)).collect();
    if !otherwise.is_empty() {
        let title = "for programs that work differently today".to_owned();
        rows.push([title, String::new(), String::new(), String::new()]);
    }
    rows.extend(otherwise.iter().map(|it| row(it, text)));
    rows
}

fn row(remedy: &Remedy, text: Text) -> [String; 4] {
    let micros = |us: &Estimate| text.signed_micros_interval(us);
    if remedy.verdict == Verdict::Invalid {
        return [name(remedy, text), "n/a (invalid)".to_owned(), "n/a".to_owned(), "n/a".to_owned()];
    }
    let (gain, saved) = match remedy.gain_range_pct {
        Some(range) => (uncertain(range), "n/a".to_owned()),
        None => (shown(&remedy.gain_pct, |pct| more(pct, text)), shown(&remedy.saved_us, micros)),
    };
    [name(remedy, text), gain + undecided(remedy), saved, shown(&remedy.saved_cpu_us, micros)]
}

/// Formats a figure, if its interval has both ends.
fn shown(figure: &Figure, words: impl Fn(&Estimate) -> String) -> String {
    match figure.known() {
        Some(it) if it.lo.is_some() && it.hi.is_some() => words(it),
        Some(_) => "too few epochs".to_owned(),
        None => "n/a".to_owned(),
    }
}

/// Formats a range without a value: `+4.9 to 13.9 %`.
fn uncertain(GainRange { lo, hi }: GainRange) -> String {
    format!("{lo:+.1} to {hi:.1}{GLUE}%")
}

/// Returns a warning if a figure could be misunderstood.
fn undecided(remedy: &Remedy) -> &'static str {
    match remedy.verdict {
        Verdict::Inconclusive if is_uneven(remedy) => " !",
        Verdict::Inconclusive => " ?",
        Verdict::Difference | Verdict::Negligible | Verdict::Equivalent | Verdict::Invalid => "",
    }
}

/// Whether the result is inconclusive only because parts of the run disagree.
fn is_uneven(remedy: &Remedy) -> bool {
    let gain = remedy.gain_pct.known();
    let is_known = gain.is_some_and(|it| it.lo > Some(0.0) || it.hi.is_some_and(|hi| hi < 0.0));
    remedy.verdict == Verdict::Inconclusive && is_known
}

/// Formats a gain: `+18.9 % [17.1, 20.5]`; from a factor of two on, `4.7 times [4.1, 5.2]`.
fn more(pct: &Estimate, text: Text) -> String {
    if pct.value >= TWICE_PCT {
        let times = |pct: f64| format!("{:.1}", 1.0 + pct / 100.0);
        let ends = text.interval(pct, times);
        return format!("{} times {ends}", times(pct.value));
    }
    let sign = if pct.value >= 0.0 { "+" } else { "" };
    format!("{sign}{}", text.percent(pct))
}

/// Returns the name of a remedy. If the remedy is compared with another arm than today's, adds this arm.
fn name(remedy: &Remedy, text: Text) -> String {
    let from = text.clean(&remedy.from);
    match remedy.kind {
        RemedyKind::Unix if remedy.to == "tls-unix" => "Unix socket, TLS still on".to_owned(),
        RemedyKind::Unix => "Unix socket".to_owned(),
        RemedyKind::Abstract => "abstract socket".to_owned(),
        RemedyKind::Redirect => "Unix socket by looptax run".to_owned(),
        RemedyKind::TlsOff if remedy.from == "tls-unix" => "TLS off on the socket".to_owned(),
        RemedyKind::TlsOff => "TLS off".to_owned(),
        RemedyKind::HostNetwork => format!("host network, not {from}"),
        RemedyKind::OwnAddress => format!("container's address, not {from}"),
        RemedyKind::Pipelining => match remedy.pipeline {
            Some(n) => format!("{n} requests at once"),
            None => "several requests at once".to_owned(),
        },
        RemedyKind::Persistent => "connections that stay open".to_owned(),
        RemedyKind::OneCore => "both ends on one core, not placed freely".to_owned(),
        RemedyKind::TwoCores => "ends on two cores, not on one".to_owned(),
    }
}

/// Returns how much work a remedy is on a server of this kind, and the notes about it.
fn sentence(remedy: &Remedy, server_kind: &str, text: Text) -> String {
    let takes = match remedy.kind {
        RemedyKind::Unix if remedy.to == "tls-unix" => own_client::KEEPS_TLS,
        RemedyKind::Unix => {
            "configure the socket in place of host and port; `looptax check` tries the socket and `looptax dsn` \
            prints the setting"
        }
        RemedyKind::Abstract => {
            "a socket without a file: only programs in the same network namespace reach this socket, but file \
             permissions cannot restrict its clients"
        }
        RemedyKind::Redirect => {
            "for a program that cannot be changed: `looptax run -- CMD` moves its connections to the socket"
        }
        RemedyKind::TlsOff => ends_tls(server_kind, remedy.from == "tls-unix"),
        RemedyKind::HostNetwork => {
            "let the container use the host's network, or share the folder of the server's socket (--from-namespace \
                measures the socket)"
        }
        RemedyKind::OwnAddress => {
            "connect to the container's own address, which changes when the container is recreated"
        }
        RemedyKind::Pipelining => "if a program does not need an answer before it sends the next request",
        RemedyKind::Persistent => {
            "if each request opens a connection today: use a pool, or persistent connections in the driver"
        }
        RemedyKind::OneCore => {
            "compared with the scheduler's choice: pin each client to the core of its server thread (taskset, \
             CPUAffinity=); worth it only if cores are left for everything else"
        }
        RemedyKind::TwoCores => {
            "compared with both ends on one core: each end has a separate core, and every request wakes the other core"
        }
    };
    format!("{}: {}; {takes}", name(remedy, text), outcome(remedy, text))
}

fn outcome(remedy: &Remedy, text: Text) -> String {
    let gain = remedy.gain_pct.known();
    let Some(gain) = gain.filter(|it| it.lo.is_some() && it.hi.is_some()) else {
        return "could not be measured".to_owned();
    };
    if let Some(range) = remedy.gain_range_pct.filter(|_| remedy.verdict != Verdict::Invalid) {
        let does = if range.lo > 0.0 { "helps" } else { "costs" };
        return format!("{does}, size uncertain ({} requests)", uncertain(range));
    }
    match remedy.verdict {
        Verdict::Difference if gain.value >= TWICE_PCT => {
            format!("{} the requests", more(gain, text))
        }
        Verdict::Difference if gain.value > 0.0 => format!("{} more requests", text.percent(gain)),
        Verdict::Difference => {
            let lost = Estimate { value: -gain.value, lo: gain.hi.map(|hi| -hi), hi: gain.lo.map(|lo| -lo), n: gain.n };
            format!("{} fewer requests", text.percent(&lost))
        }
        Verdict::Negligible | Verdict::Equivalent => "makes no difference that matters".to_owned(),
        Verdict::Inconclusive if is_uneven(remedy) => "not decided, because parts of the run differ".to_owned(),
        Verdict::Inconclusive => "not decided".to_owned(),
        Verdict::Invalid => "invalid, see the comparison".to_owned(),
    }
}

/// Returns a sentence about the best remedy for programs that use today's arm.
fn closing(remedies: &Remedies, text: Text) -> String {
    let all = || remedies.remedies.iter();
    let helps =
        |it: &&Remedy| it.verdict == Verdict::Difference && it.gain_pct.known().is_some_and(|gain| gain.value > 0.0);
    let today = text.clean(&remedies.today);
    let is_open =
        |it: &Remedy| matches!(it.verdict, Verdict::Inconclusive | Verdict::Invalid) || it.gain_pct.known().is_none();
    let has_open = all().any(|it| it.is_today && is_open(it));
    let words = if let Some(first) = all().filter(|it| it.is_today).find(helps) {
        format!("the remedy with the largest gain: {}", name(first, text))
    } else if has_open {
        format!("no remedy is proved to help programs on {today}")
    } else {
        format!("no remedy is worth it for programs on {today}")
    };
    let mut notes = vec![words];
    if all().any(is_uneven) {
        notes.push("!: not decided, because parts of the run differ (the comparison shows which parts)".to_owned());
    }
    if all().any(|it| it.verdict == Verdict::Inconclusive && !is_uneven(it)) {
        notes.push("?: not decided; a longer run (--precise) may decide".to_owned());
    }
    if all().any(|it| !it.is_paired) {
        let apart = "pipelining, connections and placement were measured one after the other, not in turns";
        notes.push(apart.to_owned());
    }
    notes.join("; ")
}
