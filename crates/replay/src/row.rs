//! A claim beside what was measured for it.

use looptax_record::{
    Comparison, Figure, Reason, ReplayRow, ReplayUnit, ReplayVerdict, Tax, Verdict,
};
use looptax_report::terminal::{Style, why_withheld};

use super::claim::{Claim, Judged, in_unit};
use super::effect::{self, Effect, map};
use super::reading::{Reading, proof};

/// What a row is made from.
pub(crate) struct Wanted<'a> {
    /// `None` for a part of a claim that nobody published by itself.
    pub claim: Option<&'a Claim>,
    pub what: String,
    /// The arm that is held against the baseline.
    pub arm: &'a str,
    pub unit: ReplayUnit,
    pub effect: Effect,
    pub reasons: Vec<String>,
}

/// For words that go into the record, whatever the terminal shows.
pub(crate) const WORDS: Style = Style {
    width: usize::MAX,
    color: false,
    unicode: true,
};

/// Shares of the machine that others may have over the whole run, percent: those of a calm epoch.
const MOST_STEAL_PCT: f64 = 1.0;
const MOST_FOREIGN_PCT: f64 = 5.0;

/// Whether `compare` withholds its verdict because of a drift or of what others did, or had much of the machine taken
/// where it withholds it for another reason: an interval knows of neither.
fn is_disturbed(tax: &Tax) -> bool {
    let is_objection = matches!(
        tax.reason,
        Reason::NoisyEpochs { .. } | Reason::Trend { .. } | Reason::GuardTransient { .. }
    );
    let shares = &tax.diagnostics;
    let is_busy =
        shares.steal_pct > Some(MOST_STEAL_PCT) || shares.foreign_pct > Some(MOST_FOREIGN_PCT);
    tax.verdict == Verdict::Inconclusive && (is_objection || is_busy)
}

/// The row; `None` where that arm was not measured.
pub(crate) fn row(
    reading: &Reading,
    comparison: &Comparison,
    wanted: Wanted<'_>,
) -> Option<ReplayRow> {
    let mut taxes = comparison.tax.iter();
    let tax_idx = taxes.position(|tax| tax.arm == wanted.arm)?;
    let tax = &comparison.tax[tax_idx];
    let found = effect::of(reading, comparison, tax_idx, wanted.effect);
    let is_invalid = tax.verdict == Verdict::Invalid;
    let mut reasons = wanted.reasons;
    let verdict = wanted.claim.map(|claim| {
        if is_invalid {
            return ReplayVerdict::Invalid;
        }
        if is_disturbed(tax) {
            return ReplayVerdict::Inconclusive;
        }
        let Judged { verdict, why } = claim.judge(&found.ratio);
        reasons.extend((!why.is_empty()).then(|| why.to_owned()));
        verdict
    });
    if let Figure::Missing(missing) = &found.ratio {
        reasons.push(format!("no figure: {}", missing.na));
    }
    // What decides there is the median, which is neither the mean nor the tail.
    let is_own = comparison.load.is_flat_out() || is_invalid || is_disturbed(tax);
    let is_withheld = matches!(tax.verdict, Verdict::Invalid | Verdict::Inconclusive);
    if wanted.claim.is_some()
        && is_withheld
        && is_own
        && let Some(why) = why_withheld(comparison, tax, WORDS)
    {
        reasons.push(format!("compare gives no verdict of its own: {why}"));
    }
    if wanted.claim.is_some() {
        let warnings = comparison.warnings.iter();
        reasons.extend(warnings.map(|it| format!("compare warns: {it}")));
    }
    if tax.look.is_none() {
        let planned = comparison.schedule.looks.last();
        let why = if reading.record.interrupted {
            "interrupted"
        } else {
            "ended when its time was over"
        };
        reasons.push(format!(
            "{why}, after {} of {} epochs",
            tax.n_epochs,
            planned.map_or(0, |look| look.epochs)
        ));
    }
    Some(ReplayRow {
        claim: wanted.claim.map_or("part", |claim| claim.name).to_owned(),
        what: wanted.what,
        arms: [tax.baseline.clone(), tax.arm.clone()],
        unit: wanted.unit,
        published: wanted.claim.map(|claim| claim.published(wanted.unit)),
        measured: map(&found.ratio, |ratio| in_unit(wanted.unit, ratio)),
        sides: found.sides,
        verdict,
        proof: proof(comparison, tax_idx + 1),
        reasons,
        step_idx: reading.step_idx,
    })
}

/// Whether what it shows has two ends; a tax without one reaches to 100 %.
pub(crate) fn has_interval(row: &ReplayRow) -> bool {
    let it = row.measured.known();
    let is_bound = |hi: f64| row.unit != ReplayUnit::TaxPct || hi < 100.0;
    it.is_some_and(|it| it.lo.is_some() && it.hi.is_some_and(is_bound))
}
