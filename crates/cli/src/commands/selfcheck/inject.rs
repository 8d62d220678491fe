//! The positive control: a busy wait of known length before each send must come out as a tax.

use looptax_bench::{EpochData, Shape};
use looptax_path::Arm;
use looptax_stats::{Estimate, Side, selfcheck as rules};
use serde_json::{Value, json};

use super::{Bench, pct};
use crate::failure::Failure;

/// Delays as parts of the time that a request takes.
const PARTS: [f64; 3] = [0.01, 0.03, 0.10];
/// Intervals per delay, when many runs were asked for.
const MOST_RUNS: u32 = rules::COVERAGE_RUNS as u32;

/// All three delays on one arm against itself.
pub(super) fn all(check: &mut Bench<'_>, arm: Arm) -> Result<Vec<Value>, Failure> {
    let zero = [Some(0), Some(0)];
    let Some(plain) = check.one([arm, arm], zero, Shape::short(), check.n_epochs, 1 << 21)? else {
        return Ok(Vec::new());
    };
    let Some(request_ns) =
        totals(&plain.contrast.epochs, Side::Baseline).map(|total| total.period_ns)
    else {
        return Ok(Vec::new());
    };
    PARTS
        .iter()
        .enumerate()
        .map(|(idx, part)| one(check, arm, *part, request_ns * part, idx as u64))
        .collect()
}

fn one(
    check: &mut Bench<'_>,
    arm: Arm,
    part: f64,
    delay_ns: f64,
    part_idx: u64,
) -> Result<Value, Failure> {
    // A single interval misses by chance once in twenty: it gets a second try.
    let n_asked = check.n_runs.min(MOST_RUNS);
    let n_runs = n_asked.max(2);
    let inject = [Some(0), Some(delay_ns.round() as u64)];
    let mut covered = 0;
    let mut rows = Vec::new();
    for idx in 0..n_runs {
        if n_asked == 1 && covered == 1 {
            break;
        }
        check.line.say(&format!(
            "{arm} with {:.0} % of delay, run {} of {n_runs}",
            100.0 * part,
            idx + 1
        ));
        let number = (1 << 22) + (part_idx << 16) + u64::from(idx);
        let Some(run) = check.one([arm, arm], inject, Shape::short(), check.n_epochs, number)?
        else {
            break;
        };
        let Some(truth) = truth(&run.contrast.epochs) else {
            continue;
        };
        covered += usize::from(covers(&run.theta, truth));
        rows.push(
            json!({ "truth_pct": 100.0 * (1.0 - (-truth).exp()), "tax_pct": pct(&run.theta) }),
        );
    }
    let least = (n_asked as usize * rules::LEAST_COVERED / rules::COVERAGE_RUNS).max(1);
    Ok(json!({
        "check": "inject", "arm": arm.name(), "part_pct": 100.0 * part, "delay_ns": delay_ns.round(),
        "runs": rows.len(), "covered": covered, "least": least,
        "passed": !rows.is_empty() && covered >= least, "intervals": rows,
    }))
}

fn covers(theta: &Estimate, truth: f64) -> bool {
    theta.covers(truth)
}

/// ln of the time per request with the delay over that without: θ as it must come out.
///
/// The delay is what the busy wait really took, less what the same code took for a wait of zero.
fn truth(epochs: &[EpochData]) -> Option<f64> {
    let plain = totals(epochs, Side::Baseline)?;
    let delayed = totals(epochs, Side::Other)?;
    let delay_ns = delayed.injected_ns - plain.injected_ns;
    Some((1.0 + delay_ns / plain.period_ns).ln())
}

struct Totals {
    /// Time per request in nanoseconds.
    period_ns: f64,
    /// Busy wait per request in nanoseconds.
    injected_ns: f64,
}

fn totals(epochs: &[EpochData], side: Side) -> Option<Totals> {
    let slices = || {
        epochs
            .iter()
            .flat_map(|epoch| &epoch.slices)
            .filter(|slice| slice.side == side)
    };
    let completions: u64 = slices().map(|slice| slice.completions).sum();
    let requests: u64 = slices().map(|slice| slice.requests).sum();
    let active_ns: u64 = slices().map(|slice| slice.active_ns).sum();
    let injected_ns: u64 = slices().map(|slice| slice.injected_ns).sum();
    (completions > 0 && requests > 0).then(|| Totals {
        period_ns: active_ns as f64 / completions as f64,
        injected_ns: injected_ns as f64 / requests as f64,
    })
}
