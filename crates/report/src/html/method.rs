//! Sections about how the record was measured: the schedule of every comparison, the proof of its arms, and the
//! diagnostics of its data.

use looptax_model::record::{Arm, Comparison, Record, Tax, Tested};

use super::markup::{Markup, TEXT};
use crate::heading;
use crate::words::row::versus;
use crate::words::sentence;

const SLICES: &str = "One arm ran at a time, in short slices whose order was decided by coin flips. An epoch is \
                      fresh connections for both arms and a balanced set of slices; each epoch gives one figure.";
const RUNS: &str = "One command ran at a time, from its start to its end. An epoch is two runs on each arm, in an \
                    order decided by coin flips; each epoch gives one figure.";
const FIGURES: &str = "The estimate is the Hodges-Lehmann median of the epochs' figures, its interval comes from \
    the signed-rank test, and the run analysed the data only at planned moments. No epoch was left out because of \
    its outcome.";
const PAGES: &str = "Your application ran under looptax. In some slices looptax moved the application's new \
                     connections to the socket; in the other slices it left them on TCP. An epoch is a multiple of \
                     eight slices or, if each slice needs a new start of the application, four starts. Coin flips \
                     decided the order. Each epoch gives one effect: the ratio of the two arms' paces.";

/// Writes these sections; long ones are folded.
pub(super) fn write(record: &Record, out: &mut Markup) {
    if record.comparisons.is_empty() {
        return;
    }
    out.open("section", &[("class", "method")]);
    out.element("h3", &[], "How it was measured");
    let has = |is_of_kind: fn(&Comparison) -> bool| record.comparisons.iter().any(is_of_kind);
    let kinds = [
        (SLICES, has(|it| !it.is_of_program())),
        (RUNS, has(|it| it.commands.is_some())),
        (PAGES, has(|it| it.trial.is_some())),
    ];
    for (words, _) in kinds.into_iter().filter(|(_, is_there)| *is_there) {
        out.element("p", &[], &format!("{words} {FIGURES}"));
    }
    schedule(record, out);
    out.folded("The target of each arm, and how looptax proved that its connections led there", |out| {
        proofs(record, out);
    });
    out.folded("Checks of the data", |out| {
        diagnostics(record, out);
    });
    out.close("section");
}

fn schedule(record: &Record, out: &mut Markup) {
    out.table("Schedule of every comparison", |out| {
        let head =
            ["comparison", "epochs", "warm-up", "slice", "guard", "planned interim analyses", "level", "placement"];
        out.head(&head).open("tbody", &[]);
        for it in &record.comparisons {
            out.row(true, &schedule_row(it));
        }
        out.close("tbody");
    });
}

fn schedule_row(comparison: &Comparison) -> [String; 8] {
    let plan = &comparison.schedule;
    let epochs: Vec<String> = comparison.tax.iter().map(|tax| tax.n_epochs.to_string()).collect();
    let slice = match plan.octets_per_epoch {
        0 if comparison.trial.is_some() => "4 starts".to_owned(),
        0 => "4 whole runs".to_owned(),
        octets if comparison.trial.is_some() => (8 * octets).to_string(),
        octets => format!("{} of {:.0}\u{a0}ms", 8 * octets, plan.slice_ms),
    };
    let looks: Vec<String> = plan.looks.iter().map(|look| look.epochs.to_string()).collect();
    let levels: Vec<String> =
        comparison.tax.iter().map(|tax| format!("{:.2}\u{a0}%", 100.0 * (1.0 - tax.alpha))).collect();
    [
        name(comparison),
        epochs.join(", "),
        plan.warmup_epochs.to_string(),
        slice,
        format!("{:.0}\u{a0}ms", plan.guard_ms),
        looks.join(", "),
        levels.join(", "),
        TEXT.clean(&comparison.placement.real),
    ]
}

/// Returns "MariaDB 10.11.19: 16 connections, same".
fn name(comparison: &Comparison) -> String {
    let place = sentence::place(comparison, TEXT);
    match comparison.target.kind.as_str() {
        "none" => place,
        "application" => format!("{}: {place}", TEXT.clean(&comparison.target.name)),
        "echo" => format!("echo: {place}"),
        _ => format!("{}: {place}", heading::server(&comparison.target, TEXT)),
    }
}

fn proofs(record: &Record, out: &mut Markup) {
    out.table("The server of each arm", |out| {
        let head =
            ["comparison", "arm", "address", "proved", "family", "server's view", "TLS", "TCP_NODELAY", "buffers"];
        out.head(&head).open("tbody", &[]);
        for comparison in &record.comparisons {
            for arm in &comparison.arms {
                out.row(true, &proof_row(comparison, arm));
            }
        }
        out.close("tbody");
    });
}

fn proof_row(comparison: &Comparison, arm: &Arm) -> [String; 9] {
    let proof = &arm.proof;
    let nodelay = match proof.nodelay {
        Some(true) => "on",
        Some(false) => "off",
        None => "",
    };
    let bytes = |bytes: Option<u64>| bytes.map_or_else(|| "?".to_owned(), |bytes| bytes.to_string());
    [
        name(comparison),
        TEXT.clean(&arm.name),
        TEXT.clean(&arm.endpoint),
        if arm.verified { "yes" } else { "no" }.to_owned(),
        TEXT.clean(&proof.family),
        TEXT.clean(proof.server_view.as_deref().unwrap_or("")),
        TEXT.clean(proof.tls.as_deref().unwrap_or("none")),
        nodelay.to_owned(),
        format!("{} / {}", bytes(proof.sndbuf_bytes), bytes(proof.rcvbuf_bytes)),
    ]
}

fn diagnostics(record: &Record, out: &mut Markup) {
    out.table("Diagnostics of every verdict", |out| {
        let head = [
            "comparison",
            "stolen CPU",
            "foreign CPU",
            "order effect, p",
            "trend, p",
            "autocorrelation",
            "spread of θ",
            "floor, points",
            "Little's law",
            "first 10 ms",
            "all stalls counted",
        ];
        out.head(&head).open("tbody", &[]);
        for comparison in &record.comparisons {
            for tax in &comparison.tax {
                out.row(true, &diagnostics_row(comparison, tax));
            }
        }
        out.close("tbody");
    });
    out.element(
        "p",
        &[("class", "note")],
        "No figure of this table decides a verdict. In a sound run, both figures of the columns \"Little's law\" and \
         \"first 10 ms\" (baseline / other arm) are 1. The floor is half the width of the narrowest interval that any \
         design reaches in the same time.",
    );
}

fn diagnostics_row(comparison: &Comparison, tax: &Tax) -> [String; 11] {
    let found = &tax.diagnostics;
    let number =
        |value: Option<f64>, decimals: usize| value.map_or_else(|| "n/a".to_owned(), |it| format!("{it:.decimals$}"));
    let share = |value: Option<f64>| value.map_or_else(|| "not read".to_owned(), |it| format!("{it:.2}\u{a0}%"));
    let p = |it: Option<Tested>| number(it.map(|it| it.p_value), 2);
    let both = |it: Option<[f64; 2]>| it.map_or_else(|| "n/a".to_owned(), |[one, two]| format!("{one:.2} / {two:.2}"));
    let is_alone = comparison.tax.len() < 2;
    [
        if is_alone {
            name(comparison)
        } else {
            format!("{}, {}", name(comparison), versus(&tax.arm, &tax.baseline, TEXT))
        },
        share(found.steal_pct),
        share(found.foreign_pct),
        p(found.order_effect),
        p(found.trend),
        number(found.lag1_autocorrelation, 2),
        number(found.theta_sd, 4),
        number(found.sampling_floor_pct, 2),
        both(found.littles_law_ratio),
        both(found.guard_transient_ratio),
        match found.totals_disagree {
            Some(true) => "another tax",
            Some(false) => "the same",
            None => "n/a",
        }
        .to_owned(),
    ]
}
