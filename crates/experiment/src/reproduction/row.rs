//! Makes a row of a reproduction: a claim and the measurement for it.

use std::collections::BTreeMap;

use looptax_model::analysis::claim::{Judged, in_unit};
use looptax_model::analysis::effect::{self, map};
use looptax_model::record::{
    Comparison, Figure, Reason, ReproductionReason, ReproductionRow, ReproductionUnit, ReproductionVerdict, Tax,
    Verdict, Withheld,
};

use looptax_store::unpack;

use super::kawin::PUBLISHED_PORT;
use super::publication::RowPlan;
use super::reading::{Reading, proof};

/// Maximum CPU time that the hypervisor may take over the whole run, in percent; the next constant is the maximum for
/// other programs. Both limits are those of a calm epoch.
const MOST_STEAL_PCT: f64 = 1.0;
const MOST_FOREIGN_PCT: f64 = 5.0;

/// Whether the result is disturbed. An interval does not account for any of these three causes:
///
/// - `compare` withholds its verdict because of a drift or because of other programs.
/// - `compare` withholds its verdict for another reason. In addition, other programs or the hypervisor used much of the
///   machine.
/// - Only the direction of the difference is known.
fn is_disturbed(tax: &Tax) -> bool {
    let is_objection = matches!(tax.reason, Reason::PartsDiffer { .. } | Reason::GuardTransient { .. });
    let shares = &tax.diagnostics;
    let is_busy = shares.steal_pct > Some(MOST_STEAL_PCT) || shares.foreign_pct > Some(MOST_FOREIGN_PCT);
    let is_withheld = tax.verdict == Verdict::Inconclusive && (is_objection || is_busy);
    is_withheld || tax.uncertain_size.is_some()
}

/// Makes the row; `None` if the arm was not measured. `of_step` has the reasons that apply to all claims of the step.
pub(crate) fn row(reading: &Reading, plan: &RowPlan, of_step: &[String]) -> Option<ReproductionRow> {
    let comparison = plan.comparison(&reading.record.comparisons)?;
    let mut taxes = comparison.tax.iter();
    let tax_idx = taxes.position(|tax| tax.arm == plan.arm)?;
    let tax = &comparison.tax[tax_idx];
    let unpacked = |samples: &_| unpack(samples).unwrap_or_default();
    let found = effect::estimate_effect(comparison, tax_idx, plan.effect, unpacked);
    let is_unusable = tax.verdict == Verdict::Invalid || is_disturbed(tax);
    let mut reasons = Vec::new();
    let verdict = plan.claim.as_ref().map(|claim| {
        let known = of_step.iter().chain(&plan.reasons);
        reasons.extend(known.filter_map(|words| known_of(comparison, words)));
        reasons.extend(port_proxy(comparison, &plan.arm));
        if tax.verdict == Verdict::Invalid {
            return ReproductionVerdict::Invalid;
        }
        if is_disturbed(tax) {
            return ReproductionVerdict::Inconclusive;
        }
        let Judged { verdict, why } = claim.judge(&found.ratio);
        reasons.extend(why);
        verdict
    });
    if let Figure::Missing(missing) = &found.ratio {
        let na = missing.na.clone();
        reasons.push(ReproductionReason::NoFigure { na });
    }
    if plan.claim.is_some() {
        // The verdict is about the median, so it does not apply to a mean or a tail latency.
        let is_own = comparison.load.is_flat_out() || is_unusable;
        let withheld = Withheld::for_tax(comparison, tax).filter(|_| is_own);
        reasons.extend(withheld.map(ReproductionReason::Withheld));
        let warnings = comparison.warnings.iter().cloned();
        reasons.extend(warnings.map(|warning| ReproductionReason::Warned { warning }));
    }
    reasons.extend(tax.look.is_none().then(|| ended(reading, comparison, tax)));
    let claim = plan.claim.as_ref();
    Some(ReproductionRow {
        claim: claim.map_or("part", |claim| &claim.name).to_owned(),
        what: plan.what.clone(),
        arms: [tax.baseline.clone(), tax.arm.clone()],
        unit: plan.unit,
        published: claim.map(|claim| claim.published(plan.unit)),
        measured: map(&found.ratio, |ratio| in_unit(plan.unit, ratio)),
        sides: found.sides,
        verdict,
        proof: proof(comparison, tax_idx + 1),
        reasons,
        step_idx: reading.step_idx,
    })
}

/// Puts figures of the comparison into a reason, in place of their names in braces; `None` if one of the figures does
/// not exist.
fn known_of(comparison: &Comparison, words: &str) -> Option<ReproductionReason> {
    let load = &comparison.load;
    let mut figures = BTreeMap::new();
    for (name, figure) in [
        ("connections", Some(f64::from(comparison.connections))),
        ("rate_per_s", load.rate_per_s),
        ("capacity_per_s", load.capacity_per_s),
    ] {
        if words.contains(&format!("{{{name}}}")) {
            figures.insert(name.to_owned(), figure?);
        }
    }
    let words = words.to_owned();
    Some(ReproductionReason::Known { words, figures })
}

/// Returns the program between a published port and the server.
fn port_proxy(comparison: &Comparison, arm: &str) -> Option<ReproductionReason> {
    let mut arms = comparison.arms.iter();
    let arm = arms.find(|it| it.name == arm && arm == PUBLISHED_PORT)?;
    let (_, program) = arm.endpoint.split_once(" through ")?;
    let program = program.to_owned();
    Some(ReproductionReason::PortProxy { program })
}

fn ended(reading: &Reading, comparison: &Comparison, tax: &Tax) -> ReproductionReason {
    let planned = comparison.schedule.looks.last();
    ReproductionReason::Ended {
        interrupted: reading.record.interrupted,
        n_epochs: tax.n_epochs,
        planned: planned.map_or(0, |look| look.epochs),
    }
}

/// Whether the row's value has a lower and an upper limit; if a tax has no upper limit, its interval ends at 100 %.
pub(crate) fn has_interval(row: &ReproductionRow) -> bool {
    let it = row.measured.known();
    let is_bound = |hi: f64| row.unit != ReproductionUnit::TaxPct || hi < 100.0;
    it.is_some_and(|it| it.lo.is_some() && it.hi.is_some_and(is_bound))
}
