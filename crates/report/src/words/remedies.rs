//! The remedies in words: what each would bring, ranked, and what it takes.

use looptax_record::{Estimate, Figure, Record, Remedies, Remedy, RemedyKind, Verdict};

use super::small_table::SmallTable;
use crate::format::{Text, counted};

/// A ranked table, with a sentence for each row.
#[derive(Debug)]
pub(crate) struct RemediesStory {
    pub(crate) table: SmallTable,
    /// In the order of the rows.
    pub(crate) sentences: Vec<String>,
}

/// All of a record that has any.
pub(super) fn of(record: &Record, text: Text) -> Vec<RemediesStory> {
    let remedies = record.remedies.iter();
    remedies.map(|it| story(record, it, text)).collect()
}

fn story(record: &Record, remedies: &Remedies, text: Text) -> RemediesStory {
    let all = &remedies.remedies;
    let is_base = |it: &&looptax_record::Comparison| {
        it.connections == remedies.connections && it.target.name == remedies.target
    };
    let base = record.comparisons.iter().find(is_base);
    let workload = base.map_or_else(String::new, |it| {
        format!(
            ", {}, {}",
            text.clean(&it.workload.name),
            it.placement.asked.name()
        )
    });
    RemediesStory {
        table: SmallTable {
            title: format!(
                "what would help on {} over {}: {}{workload}",
                text.clean(&remedies.target),
                text.clean(&remedies.today),
                counted(u64::from(remedies.connections), "connection"),
            ),
            header: ["", "requests", "time saved", "CPU saved, both ends"],
            rows: all.iter().map(|it| row(it, remedies, text)).collect(),
            closing: Some(closing(remedies, text)),
        },
        sentences: all.iter().map(|it| sentence(it, remedies, text)).collect(),
    }
}

fn row(remedy: &Remedy, remedies: &Remedies, text: Text) -> [String; 4] {
    let micros = |figure: &Figure| {
        let known = figure.known();
        known.map_or_else(|| "n/a".to_owned(), |us| text.signed_micros_interval(us))
    };
    let gain = remedy.gain_pct.known();
    [
        name(remedy, remedies, text),
        gain.map_or_else(|| "n/a".to_owned(), |pct| signed_percent(pct, text))
            + undecided(remedy.verdict),
        micros(&remedy.saved_us),
        micros(&remedy.saved_cpu_us),
    ]
}

/// What a figure is not to be taken for.
fn undecided(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Inconclusive => " ?",
        Verdict::Invalid => " (invalid)",
        Verdict::Difference | Verdict::Negligible | Verdict::Equivalent => "",
    }
}

/// `+18.9 % [17.1, 20.5]`.
fn signed_percent(pct: &Estimate, text: Text) -> String {
    let sign = if pct.value >= 0.0 { "+" } else { "" };
    format!("{sign}{}", text.percent(pct))
}

/// What a remedy is called; one that starts from another way than today's says which.
fn name(remedy: &Remedy, remedies: &Remedies, text: Text) -> String {
    let from = text.clean(&remedy.from);
    let words = match remedy.kind {
        RemedyKind::Unix => "Unix socket".to_owned(),
        RemedyKind::Abstract => "abstract socket".to_owned(),
        RemedyKind::Redirect => "Unix socket by looptax run".to_owned(),
        RemedyKind::Sockmap => "spliced TCP (sockmap)".to_owned(),
        RemedyKind::TlsOff => "TLS off".to_owned(),
        RemedyKind::HostNetwork => format!("host network, not {from}"),
        RemedyKind::OwnAddress => format!("container's address, not {from}"),
        RemedyKind::Pipelining => match remedy.pipeline {
            Some(n) => format!("{n} requests at once"),
            None => "several requests at once".to_owned(),
        },
        RemedyKind::Persistent => "connections that stay open".to_owned(),
        RemedyKind::OneCore => "both ends on one core".to_owned(),
        RemedyKind::TwoCores => "ends on two cores".to_owned(),
    };
    if remedy.kind == RemedyKind::TlsOff && remedy.from != remedies.today {
        return format!("{words}, where it is on");
    }
    words
}

/// What a remedy takes, and what to know about it.
fn sentence(remedy: &Remedy, remedies: &Remedies, text: Text) -> String {
    let takes = match remedy.kind {
        RemedyKind::Unix => {
            "name the socket in place of host and port; `looptax check` tries it and `looptax dsn` spells it"
        }
        RemedyKind::Abstract => {
            "a socket without a file, which only programs in the same network namespace reach, and whose clients no \
             file's rights keep out"
        }
        RemedyKind::Redirect => {
            "for a program that cannot be changed: `looptax run -- CMD` puts the socket under its connections"
        }
        RemedyKind::Sockmap => {
            "an experiment: eBPF hands messages from socket to socket, nothing holds a fast sender back, and root has \
             to load it"
        }
        RemedyKind::TlsOff => {
            "on loopback there is nobody between the two ends; turn it off for 127.0.0.1 alone, or take the socket"
        }
        RemedyKind::HostNetwork => {
            "let the container use the host's network, or share the folder of its socket (--from-namespace shows that)"
        }
        RemedyKind::OwnAddress => {
            "connect to the container's own address, which changes when it is made anew"
        }
        RemedyKind::Pipelining => {
            "where a program does not need one answer to ask the next question"
        }
        RemedyKind::Persistent => {
            "where each request has a connection of its own today: a pool, or persistent connections in the driver"
        }
        RemedyKind::OneCore => {
            "against what the scheduler does: pin each client beside its server thread (taskset, CPUAffinity=); worth \
             it only where cores are left for everything else"
        }
        RemedyKind::TwoCores => {
            "against both on one core: each end has a core to itself, and every request wakes the other one"
        }
    };
    format!(
        "{}: {}; {takes}",
        name(remedy, remedies, text),
        outcome(remedy, text)
    )
}

/// What came of it.
fn outcome(remedy: &Remedy, text: Text) -> String {
    let Some(gain) = remedy.gain_pct.known() else {
        return "could not be measured".to_owned();
    };
    let pct = text.percent(gain);
    match remedy.verdict {
        Verdict::Difference if gain.value > 0.0 => format!("{pct} more requests"),
        Verdict::Difference => {
            let lost = Estimate {
                value: -gain.value,
                lo: gain.hi.map(|hi| -hi),
                hi: gain.lo.map(|lo| -lo),
                n: gain.n,
            };
            format!("{} fewer requests", text.percent(&lost))
        }
        Verdict::Negligible | Verdict::Equivalent => "makes no difference that matters".to_owned(),
        Verdict::Inconclusive => "not decided".to_owned(),
        Verdict::Invalid => "invalid, see the comparison".to_owned(),
    }
}

/// What is worth most to those who go today's way.
fn closing(remedies: &Remedies, text: Text) -> String {
    let helps = |it: &&Remedy| {
        it.verdict == Verdict::Difference
            && it.gain_pct.known().is_some_and(|gain| gain.value > 0.0)
    };
    let is_from_today =
        |it: &&Remedy| it.from == remedies.today && it.kind != RemedyKind::Persistent;
    let has_open = { remedies.remedies.iter() }.any(|it| it.verdict == Verdict::Inconclusive);
    let open = if has_open {
        "; what has a ? is not decided, which a quieter machine or --precise may change"
    } else {
        ""
    };
    let apart =
        "; pipelining, connections and placement were measured one after the other, not in turns";
    let has_apart = remedies.remedies.iter().any(|it| !it.is_paired);
    let apart = if has_apart { apart } else { "" };
    let first = remedies
        .remedies
        .iter()
        .find(|it| helps(it) && is_from_today(it));
    let words = if let Some(first) = first {
        format!("most would come from: {}", name(first, remedies, text))
    } else if has_open {
        format!(
            "none of them is proved to help programs on {}",
            text.clean(&remedies.today)
        )
    } else {
        format!(
            "none of them is worth it for programs on {}",
            text.clean(&remedies.today)
        )
    };
    format!("{words}{open}{apart}")
}
