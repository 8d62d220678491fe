//! `diff`: compares two records.
//!
//! `alike` finds the comparisons that both records have. `conditions` finds the conditions that changed. `layers` finds
//! the layers in which the CPU time changed. This file computes the difference of each tax and each arm, with an
//! interval.

mod alike;
mod conditions;
mod layers;

use crate::failure::Failure;
use crate::record::{Arm, Comparison, Diff, DiffArm, DiffPair, DiffTax, Estimate, Figure, Reason, Record, Tax};
use crate::stats;

use alike::{alone, is_same, nothing_in_common};

use crate::analysis::figures::with_ends;
use crate::analysis::words::name;

/// Computes the difference of two records.
///
/// # Errors
/// Returns a failure with the reason if nothing in the records can be compared.
pub fn diff(before: &Record, after: &Record) -> Result<Diff, Failure> {
    if before.method_version != after.method_version {
        return Err(Failure::usage(
            format!(
                "the runs were measured by different methods (version {} and {}), so their figures cannot be compared",
                before.method_version, after.method_version
            ),
            "measure both runs again with the same looptax; CHANGELOG.md lists the changes under Method",
        ));
    }
    let pairs: Vec<(&Comparison, &Comparison)> = before
        .comparisons
        .iter()
        .filter_map(|one| {
            let other = after.comparisons.iter().find(|it| is_same(one, it))?;
            Some((one, other))
        })
        .collect();
    if pairs.is_empty() {
        return Err(nothing_in_common(&before.comparisons, &after.comparisons));
    }
    Ok(Diff {
        before: before.id.clone(),
        after: after.id.clone(),
        labels: [before.label.clone(), after.label.clone()],
        conditions: conditions::compare_conditions(before, after, &pairs),
        pairs: pairs.iter().map(|(one, other)| pair(one, other)).collect(),
        left_out: [
            same_run(before, after),
            without_verdict(&pairs),
            layers::left_out(&pairs),
            alone(&before.comparisons, &after.comparisons, "A"),
            alone(&after.comparisons, &before.comparisons, "B"),
        ]
        .concat(),
    })
}

fn same_run(before: &Record, after: &Record) -> Vec<String> {
    let is_same = !before.id.is_empty() && before.id == after.id;
    let words = "A and B are the same run, so nothing can have changed";
    is_same.then(|| words.to_owned()).into_iter().collect()
}

/// Returns a warning for each run that has a comparison without a verdict: the cause of the missing verdict may also
/// be the cause of a difference.
fn without_verdict(pairs: &[(&Comparison, &Comparison)]) -> Vec<String> {
    let is_withheld = |tax: &Tax| matches!(tax.reason, Reason::Invalid { .. } | Reason::PartsDiffer { .. });
    let sentence = |run: &str, comparison: &Comparison| {
        comparison.tax.iter().any(is_withheld).then(|| {
            format!(
                "{run} has no verdict on {}: the run was disturbed, or it drifted, or it is invalid; this may be the \
                 only cause of a change that is shown here",
                name(comparison)
            )
        })
    };
    let both = pairs.iter().flat_map(|(one, other)| [sentence("A", one), sentence("B", other)]);
    both.flatten().collect()
}

fn pair(before: &Comparison, after: &Comparison) -> DiffPair {
    let taxes = before.tax.iter().filter_map(|tax| {
        let same = |it: &&Tax| it.arm == tax.arm && it.baseline == tax.baseline;
        Some(tax_change(tax, after.tax.iter().find(same)?))
    });
    let arms = before.arms.iter().filter_map(|arm| {
        let same = after.arms.iter().find(|it| it.name == arm.name)?;
        Some(arm_change(arm, same))
    });
    DiffPair {
        kind: after.target.kind.clone(),
        workload: after.workload.name.clone(),
        connections: after.connections,
        placement: after.placement.asked,
        client: after.client,
        taxes: taxes.collect(),
        arms: arms.collect(),
        layers: layers::layers(before, after),
    }
}

fn tax_change(before: &Tax, after: &Tax) -> DiffTax {
    let (one, other) = (figure_of(before), figure_of(after));
    let cpu = |tax: &Tax| match tax.verdict {
        crate::record::Verdict::Invalid => Figure::missing("invalid"),
        _ => tax.cpu_us.both.clone(),
    };
    DiffTax {
        change_cpu_us: change(&cpu(before), &cpu(after), |it| it, |it| it),
        before_cpu_us: cpu(before),
        after_cpu_us: cpu(after),
        arm: after.arm.clone(),
        baseline: after.baseline.clone(),
        change_points: change(&one, &other, |it| it, |it| it),
        before_pct: one,
        after_pct: other,
    }
}

/// Returns the figure of a tax, for the difference of two runs; the figure is missing if the verdict is invalid, or if
/// the size of the tax is uncertain.
fn figure_of(tax: &Tax) -> Figure {
    if tax.verdict == crate::record::Verdict::Invalid {
        Figure::missing("invalid")
    } else if let Some(size) = &tax.uncertain_size {
        Figure::missing(format!("{:.1} to {:.1} %, uncertain", size.lo_pct, size.hi_pct))
    } else {
        tax.throughput_pct.clone()
    }
}

fn arm_change(before: &Arm, after: &Arm) -> DiffArm {
    let (one, other) = (&before.throughput_per_s, &after.throughput_per_s);
    DiffArm {
        arm: after.name.clone(),
        change_pct: change(one, other, f64::ln, |ln| 100.0 * ln.exp_m1()),
        before_per_s: one.clone(),
        after_per_s: other.clone(),
    }
}

/// Computes the difference on the scale of `into`, and converts the result with `back`.
fn change(before: &Figure, after: &Figure, into: impl Fn(f64) -> f64, back: impl Fn(f64) -> f64) -> Figure {
    let (Some(before), Some(after)) = (before.known(), after.known()) else {
        return Figure::missing("one of the runs has no figure");
    };
    let on_scale = |it: &Estimate| with_ends(it).map_monotone(&into);
    let found = stats::difference(on_scale(before), on_scale(after)).map_monotone(back);
    Figure::new(found.value, found.lo, found.hi, found.n as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_taken_on_the_scale_that_they_are_shown_on() {
        let figure = |value: f64, half: f64| Figure::new(value, value - half, value + half, 20);
        let points = change(&figure(26.0, 0.3), &figure(20.0, 0.4), |it| it, |it| it);
        let points = points.known().unwrap();
        assert!((points.value + 6.0).abs() < 1e-9);
        assert!((points.lo.unwrap() + 6.5).abs() < 1e-9, "{points:?}");
        assert!((points.hi.unwrap() + 5.5).abs() < 1e-9, "{points:?}");
        let rate = change(&figure(100.0, 1.0), &figure(150.0, 1.0), f64::ln, |ln| 100.0 * ln.exp_m1());
        let rate = rate.known().unwrap();
        assert!((rate.value - 50.0).abs() < 1e-9);
        assert!(rate.lo.unwrap() > 47.0 && rate.hi.unwrap() < 53.0, "{rate:?}");
        assert!(change(&Figure::missing("x"), &figure(1.0, 0.1), |it| it, |it| it).known().is_none());
    }
}
