//! Published figures next to measured ones: the cells and sentences of `reproduce`, which are the same for every view.

mod facts;

use std::collections::BTreeSet;

use looptax_model::record::{
    Estimate, Figure, HotFunction, Published, Reproduction, ReproductionPages, ReproductionPart, ReproductionPoint,
    ReproductionProof, ReproductionRow, ReproductionSide, ReproductionStep, ReproductionTrial, ReproductionUnit,
    ReproductionVerdict, ServerCount, SideUnit,
};

use super::Tone;
use super::row::versus;
use crate::format::{GLUE, Text, amount, rate};

/// The word before a further difference between the published run and the measured run, if this difference may also be
/// a cause.
pub(crate) const ALSO: &str = "also";
/// The word before a difference between the two runs if the figures agree.
const NOTE: &str = "note";

/// Column titles of the table of claims.
pub(crate) const CLAIM_HEAD: [&str; 5] = ["", "arms", "published", "measured here", "verdict"];
/// Column titles of the table of a sweep.
const POINT_HEAD: [&str; 4] = ["connections", "unix", "tcp", "tax (tcp vs unix)"];
/// Column titles of the table of a profile.
const HOT_HEAD: [&str; 2] = ["connections", "where the server spends its time"];
/// Column titles of the table of attempts.
const TRIAL_HEAD: [&str; 4] = ["attempt", "unix", "tcp", "near?"];

/// Maximum number of characters of a function's name that are shown.
const MOST_NAME: usize = 40;

/// A publication with its claims, as text.
pub(crate) struct PartStory {
    pub(crate) name: String,
    pub(crate) title: String,
    /// The machine and the workload, one line each.
    pub(crate) about: Vec<String>,
    pub(crate) claims: Vec<ClaimStory>,
    points: Vec<Vec<String>>,
    hottest: Vec<Vec<String>>,
    trials: Vec<Vec<String>>,
    pub(crate) findings: Vec<String>,
    /// Notes about parts that were measured in a smaller form, or not at all.
    pub(crate) notes: Vec<String>,
    /// The commands that repeat the measurements, each with the run that it made.
    pub(crate) commands: Vec<CommandStory>,
}

impl PartStory {
    /// Returns the tables below the claims, each with its caption, column titles and rows. Leaves out empty tables.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (&'static str, &'static [&'static str], &[Vec<String>])> {
        let all: [(_, &'static [&'static str], &[Vec<String>]); 3] = [
            ("Throughput by number of connections", &POINT_HEAD, &self.points),
            ("Where the server spends its time", &HOT_HEAD, &self.hottest),
            ("Attempts", &TRIAL_HEAD, &self.trials),
        ];
        all.into_iter().filter(|(_, _, rows)| !rows.is_empty())
    }

    /// Returns each claim with its sentences, without the reasons that were already given for an earlier claim.
    pub(crate) fn claims_without_repeats(&self) -> Vec<(&ClaimStory, Vec<(&'static str, &str)>)> {
        let mut given = BTreeSet::new();
        let mut claims = Vec::new();
        for claim in &self.claims {
            let mut sentences = Vec::new();
            let mut has_again = false;
            for (word, sentence) in &claim.sentences {
                let is_reason = [ALSO, NOTE].contains(word);
                if !is_reason || given.insert(sentence.as_str()) {
                    sentences.push((*word, sentence.as_str()));
                } else if !has_again {
                    has_again = true;
                    sentences.push((*word, "as above"));
                }
            }
            claims.push((claim, sentences));
        }
        claims
    }
}

pub(crate) struct ClaimStory {
    /// The cells for the columns of [`CLAIM_HEAD`].
    pub(crate) cells: [String; 5],
    /// Whether the claim was published as a separate figure.
    pub(crate) is_published: bool,
    pub(crate) tone: Tone,
    /// The sentences about the published figure, the figure of each arm, the reasons for a difference, and the proof
    /// that the measurement did the claimed work.
    pub(crate) sentences: Vec<(&'static str, String)>,
}

pub(crate) struct CommandStory {
    pub(crate) what: String,
    pub(crate) line: String,
    pub(crate) run: String,
}

/// Returns the texts about all parts, in order.
pub(crate) fn part_stories(reproduction: &Reproduction, text: Text) -> Vec<PartStory> {
    reproduction.parts.iter().map(|part| story(part, text)).collect()
}

/// Returns the lines about the machine and the options.
pub(crate) fn head(reproduction: &Reproduction, text: Text) -> Vec<String> {
    let host = &reproduction.host;
    let cpu = host.cpu_model.as_deref().unwrap_or("unknown processor");
    let guest = if host.hypervisor == Some(true) { ", virtual machine" } else { "" };
    let release = host.kernel.split_whitespace().next();
    let mut lines = vec![
        format!(
            "{} {}, {cpu}{guest}, Linux {}",
            host.cpus,
            if host.cpus == 1 { "CPU" } else { "CPUs" },
            release.unwrap_or("of an unknown release")
        ),
        format!("{}, begun {}", reproduction.command.join(" "), begun(reproduction)),
    ];
    lines.push(
        "the measured figure compares the arms epoch by epoch; the figures of each arm by itself may give another ratio"
            .to_owned(),
    );
    lines.extend(reproduction.problems.iter().cloned());
    if reproduction.interrupted {
        lines.push("interrupted: only the part measured so far".to_owned());
    }
    lines.iter().map(|line| text.clean(line)).collect()
}

/// Returns the time of the beginning, to the second: `2026-11-22T12:00:00Z`.
fn begun(reproduction: &Reproduction) -> String {
    let whole = reproduction.started_at.split_once('.');
    whole.map_or_else(|| reproduction.started_at.clone(), |(whole, _)| format!("{whole}Z"))
}

fn story(part: &ReproductionPart, text: Text) -> PartStory {
    let article = &part.article;
    let missing = part.missing.iter().map(|it| format!("not measured: {it}"));
    let notes = part.smaller.iter().cloned().chain(missing);
    PartStory {
        name: text.clean(&part.name),
        title: text.clean(&format!("{:?}, {}", article.title, article.author)),
        about: [format!("published on: {}", article.system), format!("workload: {}", article.workload)]
            .into_iter()
            .chain(article.url.as_ref().map(|url| format!("read: {url}")))
            .map(|line| text.clean(&line))
            .collect(),
        claims: part.rows.iter().map(|row| claim(row, text)).collect(),
        points: part.points.iter().map(|it| point(it, text)).collect(),
        hottest: part.points.iter().filter_map(|it| hottest(it, text)).collect(),
        trials: part.trials.iter().map(|it| trial(it, text)).collect(),
        findings: { part.findings.iter() }.map(|it| facts::finding(it, text)).collect(),
        notes: notes.map(|line| text.clean(&line)).collect(),
        commands: part
            .steps
            .iter()
            .map(|step| CommandStory {
                what: text.clean(&step.what),
                line: text.clean(&step.command),
                run: left(step, text),
            })
            .collect(),
    }
}

/// Returns the name of the step's run. For pages, returns the file with their figures, because pages are not measured
/// by a run of `compare`.
fn left(step: &ReproductionStep, text: Text) -> String {
    let left = step.run.as_deref().or(step.path.as_deref());
    text.clean(left.unwrap_or("nothing was measured"))
}

fn claim(row: &ReproductionRow, text: Text) -> ClaimStory {
    let published = row.published.as_ref();
    let shown = published.map_or_else(|| "-".to_owned(), |it| stated(row.unit, it));
    let (verdict, tone) = verdict(row.verdict);
    let mut sentences = Vec::new();
    if let Some(published) = published {
        sentences.push(("published", text.clean(&published.words)));
    }
    let [baseline, other] = [0, 1].map(|idx: usize| {
        let arm = text.clean(&row.arms[idx]);
        format!("{arm} {}", side(&row.sides[idx], text))
    });
    sentences.push(("measured", format!("{baseline}, {other}")));
    // It is not proved that the reason is the cause.
    let differs = !matches!(row.verdict, None | Some(ReproductionVerdict::AsPublished));
    let word = if differs { ALSO } else { NOTE };
    sentences.extend(row.reasons.iter().map(|why| (word, facts::reason(why, text))));
    let proof = proof(&row.proof);
    if !proof.is_empty() {
        sentences.push(("proof", text.clean(&proof)));
    }
    ClaimStory {
        cells: [
            text.clean(&row.what),
            versus(&row.arms[1], &row.arms[0], text),
            shown,
            measured(row.unit, &row.measured, text),
            verdict.to_owned(),
        ],
        is_published: published.is_some(),
        tone,
        sentences,
    }
}

fn verdict(verdict: Option<ReproductionVerdict>) -> (&'static str, Tone) {
    match verdict {
        None => ("-", Tone::Unsure),
        Some(ReproductionVerdict::AsPublished) => ("as published", Tone::Good),
        Some(ReproductionVerdict::Smaller) => ("smaller here", Tone::Good),
        Some(ReproductionVerdict::Larger) => ("larger here", Tone::Loss),
        Some(ReproductionVerdict::Opposite) => ("the opposite here", Tone::Loss),
        Some(ReproductionVerdict::NotSeen) => ("not seen here", Tone::Unsure),
        Some(ReproductionVerdict::Inconclusive) => ("inconclusive", Tone::Unsure),
        Some(ReproductionVerdict::Invalid) => ("invalid", Tone::Unsure),
    }
}

/// Formats a published figure; a share may have been published as a range.
fn stated(unit: ReproductionUnit, published: &Published) -> String {
    match unit {
        ReproductionUnit::SharePct => format!("{} to {} %", published.lo, published.hi),
        _ => in_unit(unit, published.value),
    }
}

fn in_unit(unit: ReproductionUnit, value: f64) -> String {
    match unit {
        ReproductionUnit::SharePct => format!("{value:.1} %"),
        ReproductionUnit::TaxPct => format!("{value:.1} % lost"),
        ReproductionUnit::AddedPct => format!("{value:+.0} %"),
        ReproductionUnit::Times => format!("{} times", digits(value)),
    }
}

fn measured(unit: ReproductionUnit, figure: &Figure, text: Text) -> String {
    let Some(it) = figure.known() else {
        return "n/a".to_owned();
    };
    let shown = match unit {
        ReproductionUnit::TaxPct => format!("{:.1} % lost", it.value),
        ReproductionUnit::AddedPct => format!("{:+.1} %", it.value),
        ReproductionUnit::Times | ReproductionUnit::SharePct => in_unit(unit, it.value),
    };
    let end = |end: f64| match unit {
        ReproductionUnit::Times => digits(end),
        _ => format!("{end:.1}"),
    };
    if !is_bounded(it) {
        return format!("{shown} n={}, too few for an interval", it.n);
    }
    format!("{shown} {} n={}", text.interval(it, end), it.n)
}

/// Whether a ratio, a percentage or a tax has an interval with two ends. If the upper end of a tax is not known, the
/// interval ends at 100 %.
fn is_bounded(it: &Estimate) -> bool {
    it.lo.is_some() && it.hi.is_some_and(|hi| (hi - 100.0).abs() > f64::EPSILON)
}

fn digits(times: f64) -> String {
    let decimals = match times.abs() {
        size if size < 9.995 => 2,
        size if size < 99.95 => 1,
        _ => 0,
    };
    format!("{times:.decimals$}")
}

/// Formats an arm's figure: `18.7K/s [17.6, 19.9]`, or only the value if there is no interval.
fn side(side: &ReproductionSide, text: Text) -> String {
    let shown = side_with_ends(side, text);
    let has_ends = side.figure.known().is_none_or(|it| it.lo.is_some() || it.hi.is_some());
    match shown.split_once('[') {
        Some((value, _)) if !has_ends => {
            format!("{}, no interval", value.trim_end_matches([' ', GLUE]))
        }
        _ => shown,
    }
}

fn side_with_ends(side: &ReproductionSide, text: Text) -> String {
    let Some(it) = side.figure.known() else {
        return "n/a".to_owned();
    };
    match side.unit {
        SideUnit::PerS => text.rate_interval(it),
        SideUnit::BytesPerS => text.byte_rate_interval(it, 1),
        SideUnit::Us => text.micros_interval(it),
        SideUnit::Pct => text.percent(it),
    }
}

/// Returns `320 pages of 54 queries, over all arms`.
fn of_pages(pages: &ReproductionPages) -> String {
    let [least, most] = pages.queries;
    let queries = if least == most { least.to_string() } else { format!("{least} to {most}") };
    format!("{} pages of {queries} queries, over all arms", pages.n)
}

fn proof(proof: &ReproductionProof) -> String {
    let mut facts = Vec::new();
    if let Some(rows) = proof.rows {
        facts.push(format!("{rows} rows"));
    }
    if let Some(pages) = &proof.pages {
        facts.push(of_pages(pages));
    }
    if proof.requests > 0 {
        facts.push(format!("{} requests counted here", proof.requests));
    }
    if let Some(runs) = proof.runs {
        facts.push(format!("{runs} whole runs"));
    }
    if let Some(bytes) = proof.streamed_bytes {
        facts.push(format!("{} streamed", amount(bytes)));
    }
    if let (Some(count), Some(_)) = (&proof.server_count, &proof.pages) {
        let ServerCount { counter, sent, counted } = count;
        facts.push(format!("{sent} queries by $wpdb, {counted} by the server's own count ({counter})"));
    } else if let Some(count) = &proof.server_count {
        facts.push(format!(
            "{} by the server's own count ({}), {} sent over all arms including the warm-up",
            count.counted, count.counter, count.sent
        ));
    }
    facts.join(", ")
}

fn point(point: &ReproductionPoint, text: Text) -> Vec<String> {
    let [unix, tcp] = point.per_s.each_ref();
    vec![
        point.connections.to_string(),
        known(unix, |it| rate(it.value)),
        known(tcp, |it| rate(it.value)),
        known(&point.tax_pct, |pct| {
            if is_bounded(pct) {
                text.percent(pct)
            } else {
                format!("{:.1} %, too few epochs for an interval", pct.value)
            }
        }),
    ]
}

/// Returns the cells about the server's functions; `None` if the server's time was not sampled.
fn hottest(point: &ReproductionPoint, text: Text) -> Option<Vec<String>> {
    let shown = |it: &HotFunction| {
        let end = if it.is_kernel { " (kernel)" } else { "" };
        let name: String = it.name.chars().take(MOST_NAME).collect();
        format!("{:.0} % {}{end}", it.share_pct, text.clean(&name))
    };
    let hottest: Vec<String> = point.hottest.iter().map(shown).collect();
    (!hottest.is_empty()).then(|| vec![point.connections.to_string(), hottest.join(", ")])
}

fn trial(trial: &ReproductionTrial, text: Text) -> Vec<String> {
    let [unix, tcp] = trial.mean_us.each_ref();
    let near = if trial.is_near { "yes" } else { "no" };
    vec![
        text.clean(&trial.what),
        known(unix, |it| text.micros_interval(it)),
        known(tcp, |it| text.micros_interval(it)),
        near.to_owned(),
    ]
}

fn known(figure: &Figure, shown: impl Fn(&Estimate) -> String) -> String {
    figure.known().map_or_else(|| "n/a".to_owned(), shown)
}
