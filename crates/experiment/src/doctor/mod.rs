//! Checks whether the verdicts of comparisons on this machine can be trusted.
//!
//! The same arm on both sides must show no difference (A/A), a delay of known length must be measured with this length,
//! and the length of the slices must not matter.

mod inject;
mod runs;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use looptax_model::dsn::Arm;
use looptax_model::failure::Failure;
use looptax_model::record::{
    AaCheck, Doctor, DoctorAnswer, DoctorResult, Hex64, PValuesBelow, SliceTaxes, SlicesCheck,
};
use looptax_model::stats::{Verdict, noise_shares, selfcheck as rules, tax_pct};

use crate::spec::target::TargetSpec;
use crate::{Experiment, Host, Machine, Observer, Target, ask_nobody};
pub use runs::Spec;
use runs::{Bench, OneRun, answer, finite, interval};

/// Length of the usual slices; the check of slices compares them with slices of [`LONG_SLICE`].
const SLICE: Duration = Duration::from_millis(50);
/// Length of the long slices, which must give the same result as slices of [`SLICE`].
const LONG_SLICE: Duration = Duration::from_millis(500);

/// Number of rows in the server's table: enough for different keys, and quick to fill.
const ROWS: u32 = 10_000;

/// The arms that are checked. `redirect` is left out, because its cost does not depend on how quiet the machine is.
const ARMS: [Arm; 2] = [Arm::Unix, Arm::Tcp];

/// Runs the checks; `None` if interrupted.
pub fn run(spec: &Spec, observer: &mut dyn Observer, stop: &AtomicBool) -> Result<Option<Doctor>, Failure> {
    let host = Host::new(Machine::plain(), ask_nobody)?;
    let server = TargetSpec::Private(spec.kind);
    let settings = Experiment { connections: Some(vec![1]), rows: ROWS, ..Experiment::new(server.clone(), spec.seed) };
    let opened = Target::open(&server, &ARMS, &settings, &host);
    if opened.is_err() && stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let target = opened?;
    let mut bench = Bench { target: &target, settings: &settings, spec, observer, stop, noise: Vec::new() };
    let results = all(&mut bench);
    let noise = std::mem::take(&mut bench.noise);
    let (version, name) = (target.version.clone(), target.name.clone());
    let closed = target.close();
    let checks = results?;
    closed?;
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let shares = noise_shares(&noise);
    let is_busy = shares.is_some_and(|it| it.is_noisy());
    Ok(Some(Doctor {
        target: name,
        version,
        seed: Hex64(spec.seed),
        epochs_per_run: spec.n_epochs,
        runs: spec.n_runs,
        client: spec.client.to_string(),
        foreign_pct: shares.and_then(|it| it.foreign_pct),
        steal_pct: shares.map(|it| it.steal_pct),
        is_busy,
        answer: conclusion(&checks, is_busy, spec.n_runs),
        checks,
    }))
}

/// Draws the conclusion from the checks. On a busy machine a failed check still counts, but a passed check does not
/// count.
fn conclusion(checks: &[DoctorResult], is_busy: bool, n_runs: u32) -> DoctorAnswer {
    let all_are = |answer| checks.iter().all(|check| check.passed() == answer);
    if checks.iter().any(|check| check.passed() == Some(false)) {
        DoctorAnswer::Failed
    } else if is_busy {
        DoctorAnswer::Busy
    } else if all_are(None) {
        DoctorAnswer::Unanswered
    } else if !all_are(Some(true)) {
        DoctorAnswer::SomeOpen
    } else if (n_runs as usize) < rules::COVERAGE_RUNS {
        DoctorAnswer::NoGrossError
    } else {
        DoctorAnswer::Believable
    }
}

/// Runs the requested checks.
fn all(check: &mut Bench<'_>) -> Result<Vec<DoctorResult>, Failure> {
    let mut results = Vec::new();
    if check.spec.has_aa {
        for arm in ARMS {
            results.push(aa(check, arm)?);
        }
    }
    if check.spec.has_inject {
        for arm in ARMS {
            results.extend(inject::all(check, arm)?);
        }
    }
    if check.spec.has_slices {
        results.push(slices(check)?);
    }
    Ok(results)
}

/// Compares an arm with itself, each side with its own connections. Only a limited number of runs may report a
/// difference.
fn aa(check: &mut Bench<'_>, arm: Arm) -> Result<DoctorResult, Failure> {
    let mut runs = Vec::new();
    let n_runs = check.spec.n_runs;
    for idx in 0..n_runs {
        check.say(&format!("{arm} against {arm}, run {} of {n_runs}", idx + 1));
        let seed = u64::from(idx);
        let Some(one) = check.one([arm, arm], None, SLICE, seed)? else {
            break;
        };
        runs.push(one);
    }
    let thetas: Vec<f64> = runs.iter().map(|run| run.theta.value).collect();
    let is_alarm = |run: &&OneRun| matches!(run.verdict, Verdict::Difference | Verdict::Negligible);
    let is_difference = |run: &&OneRun| run.verdict == Verdict::Difference;
    let n_alarms = runs.iter().filter(is_alarm).count() as u64;
    let (accepted, is_accepted) = accepted(check, arm, runs.len() as u64, n_alarms)?;
    let mean = rules::mean_theta(&thetas);
    let mean_passes = mean.as_ref().is_none_or(rules::MeanTheta::passes);
    let mut half_widths: Vec<f64> = runs.iter().map(OneRun::half_width_points).collect();
    let p_values: Vec<f64> = runs.iter().filter_map(|run| run.p_value).collect();
    let below = |limit: f64| p_values.iter().filter(|p| **p < limit).count() as u64;
    Ok(DoctorResult::Aa(AaCheck {
        arm: arm.name().to_owned(),
        runs: runs.len() as u64,
        alarms: n_alarms,
        accepted,
        of_which_difference: runs.iter().filter(is_difference).count() as u64,
        mean_tax_pct: thetas.iter().sum::<f64>() / thetas.len().max(1) as f64 * 100.0,
        mean_theta_z: mean.and_then(|mean| finite(mean.z)),
        p_values_below: PValuesBelow { p01: below(0.01), p05: below(0.05), p25: below(0.25), p50: below(0.5) },
        half_width_points: finite(half_widths.iter().copied().fold(0.0, f64::max)),
        passed: answer(is_accepted && mean_passes && !runs.is_empty(), &mut half_widths),
        thetas,
    }))
}

/// Returns how many alarms (runs whose interval does not contain zero) are accepted, and whether the number of alarms
/// is within this limit. If only one run was requested and this run reports a difference, the run is repeated once at a
/// level of 1 %.
fn accepted(check: &mut Bench<'_>, arm: Arm, n_runs: u64, n_alarms: u64) -> Result<(u64, bool), Failure> {
    if n_runs != 1 || n_alarms == 0 {
        let accepted = rules::largest_accepted(n_runs);
        return Ok((accepted, n_alarms <= accepted));
    }
    let again = check.one([arm, arm], None, SLICE, 1 << 20)?;
    let is_clean = again.is_some_and(|run| run.p_value.is_none_or(|p| p >= 0.01));
    Ok((0, is_clean))
}

/// Compares slices of 50 ms with slices of 500 ms.
fn slices(check: &mut Bench<'_>) -> Result<DoctorResult, Failure> {
    check.say("slices of 50 ms");
    let short = check.one(ARMS, None, SLICE, 0)?;
    check.say("slices of 500 ms");
    let long = check.one(ARMS, None, LONG_SLICE, 1)?;
    let (Some(short), Some(long)) = (short, long) else {
        return Ok(DoctorResult::Slices(SlicesCheck {
            passed: Some(false),
            taxes: None,
            why: Some("no estimate".to_owned()),
        }));
    };
    let tax = |run: &OneRun| run.theta.map_monotone(tax_pct);
    let found = rules::slice_length(&tax(&short), &tax(&long), 0.05);
    Ok(DoctorResult::Slices(SlicesCheck {
        passed: found.agrees,
        taxes: Some(SliceTaxes {
            tax_50ms_pct: interval(&tax(&short)),
            tax_500ms_pct: interval(&tax(&long)),
            difference_points: interval(&found.difference),
        }),
        why: None,
    }))
}
