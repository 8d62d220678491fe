//! The positive control: a busy wait of known length before each send must be measured as a tax.
//!
//! The check judges only runs in which client and server take turns on the core (a real-time policy), because the busy
//! wait changes nothing else in these runs. Under normal scheduling, the busy wait also changes how often the server
//! takes the core from the client, and so costs more or less than its own length. Runs under normal scheduling are
//! shown, but not judged.

use std::io::ErrorKind;

use looptax_bench::{InTurns, MeasuredEpoch};
use looptax_model::dsn::Arm;
use looptax_model::failure::Failure;
use looptax_model::record::{DoctorResult, InjectCheck, InjectedDelay, InjectedRun, Slice};
use looptax_model::stats::{Side, median, selfcheck as rules, tax_pct};

use super::SLICE;
use super::runs::{Bench, OneRun, answer, finite, interval};

/// Lengths of the delays, as shares of the time that a request takes.
const PARTS: [f64; 3] = [0.01, 0.03, 0.10];
/// Maximum number of runs per delay, if the user requests many runs.
const MOST_RUNS: u32 = rules::COVERAGE_RUNS as u32;

struct Delay {
    arm: Arm,
    part: f64,
    ns: f64,
    /// Number of this delay's first run. The number of a run determines the seed of the run.
    first: u64,
}

/// Measures all three delays, comparing an arm with itself.
pub(super) fn all(check: &mut Bench<'_>, arm: Arm) -> Result<Vec<DoctorResult>, Failure> {
    let Some(request_ns) = request_ns(check, arm)? else {
        return Ok(Vec::new());
    };
    let mut results = Vec::new();
    for (idx, part) in PARTS.into_iter().enumerate() {
        let delay = Delay { arm, part, ns: (request_ns * part).round(), first: (1 << 22) + ((idx as u64) << 16) };
        let Some(mut result) = in_turns(check, &delay)? else {
            return Ok(vec![not_judged(arm)]);
        };
        if let Some(delay_of) = &mut result.delay {
            delay_of.normal_scheduling = scheduled_normally(check, &delay)?;
        }
        results.push(DoctorResult::Inject(result));
    }
    Ok(results)
}

fn not_judged(arm: Arm) -> DoctorResult {
    let why = "needs real-time priority, so that the two ends of a connection run alternately: run looptax as root, or \
        give the program CAP_SYS_NICE";
    DoctorResult::Inject(InjectCheck {
        arm: arm.name().to_owned(),
        passed: None,
        delay: None,
        why: Some(why.to_owned()),
    })
}

/// Measures the time of a request without a delay, in nanoseconds; `None` if interrupted.
fn request_ns(check: &mut Bench<'_>, arm: Arm) -> Result<Option<f64>, Failure> {
    check.say(&format!("{arm}: measuring how long a request takes without a delay"));
    let run = check.one([arm, arm], Some(0), SLICE, 1 << 21)?;
    Ok(run.and_then(|run| period_ns(&run.contrast.epochs, Side::Baseline)))
}

/// Makes the requested number of runs with both ends scheduled in turns; `None` if the kernel does not allow this
/// scheduling.
fn in_turns(check: &mut Bench<'_>, delay: &Delay) -> Result<Option<InjectCheck>, Failure> {
    let _turns = match InTurns::start(&check.target.pids) {
        Ok(turns) => turns,
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    // By chance, an interval misses the true value in one of twenty cases. So if only one run was requested and its
    // interval misses the true value, a second run is made.
    let n_asked = check.spec.n_runs.min(MOST_RUNS);
    let n_runs = n_asked.max(2);
    let mut covered = 0;
    let mut rows = Vec::new();
    let mut half_widths = Vec::new();
    for idx in 0..n_runs {
        if n_asked == 1 && covered == 1 {
            break;
        }
        let Some(run) = one(check, delay, idx, &format!("run {} of {n_runs}", idx + 1))? else {
            break;
        };
        let Some(truth) = truth(&run.contrast.epochs) else {
            continue;
        };
        covered += usize::from(run.theta.covers(truth));
        half_widths.push(run.half_width_points());
        rows.push(row(&run, truth));
    }
    let least = rules::least_covered(n_asked as usize);
    Ok(Some(InjectCheck {
        arm: delay.arm.name().to_owned(),
        passed: answer(!rows.is_empty() && covered >= least, &mut half_widths),
        delay: Some(InjectedDelay {
            part_pct: 100.0 * delay.part,
            delay_ns: delay.ns,
            runs: rows.len() as u64,
            covered: covered as u64,
            least: least as u64,
            half_width_points: median(&mut half_widths).and_then(finite),
            intervals: rows,
            normal_scheduling: None,
        }),
        why: None,
    }))
}

/// Makes one run with normal scheduling; `None` if interrupted.
fn scheduled_normally(check: &mut Bench<'_>, delay: &Delay) -> Result<Option<InjectedRun>, Failure> {
    let run = one(check, delay, MOST_RUNS, "under normal scheduling")?;
    Ok(run.and_then(|run| Some(row(&run, truth(&run.contrast.epochs)?))))
}

fn one(check: &mut Bench<'_>, delay: &Delay, idx: u32, what: &str) -> Result<Option<OneRun>, Failure> {
    let (arm, percent) = (delay.arm, 100.0 * delay.part);
    check.say(&format!("{arm} with a delay of {percent:.0} % of a request, {what}"));
    check.one([arm, arm], Some(delay.ns as u64), SLICE, delay.first + u64::from(idx))
}

fn row(run: &OneRun, truth: f64) -> InjectedRun {
    let preempted = [Side::Baseline, Side::Other].map(|side| preempted(&run.contrast.epochs, side));
    InjectedRun {
        truth_pct: 100.0 * (1.0 - (-truth).exp()),
        tax_pct: interval(&run.theta.map_monotone(tax_pct)),
        client_switches_forced_per_request: preempted,
    }
}

/// Returns the true θ: ln(time per request with the delay / time per request without the delay).
///
/// The delay is the time that the busy wait really took, less the time that the same code took for a wait of zero.
fn truth(epochs: &[MeasuredEpoch]) -> Option<f64> {
    let delay_ns = injected_ns(epochs, Side::Other)? - injected_ns(epochs, Side::Baseline)?;
    Some((1.0 + delay_ns / period_ns(epochs, Side::Baseline)?).ln())
}

/// Returns the time per request in nanoseconds. Uses the median slice, because other work may have disturbed some
/// slices.
fn period_ns(epochs: &[MeasuredEpoch], side: Side) -> Option<f64> {
    median_slice(epochs, side, |slice| slice.active_ns as f64 / slice.completions as f64)
}

/// Returns the busy wait per request, in nanoseconds.
fn injected_ns(epochs: &[MeasuredEpoch], side: Side) -> Option<f64> {
    median_slice(epochs, side, |slice| slice.injected_ns as f64 / slice.requests as f64)
}

fn median_slice(epochs: &[MeasuredEpoch], side: Side, per_request: impl Fn(&Slice) -> f64) -> Option<f64> {
    let with_answers = slices(epochs, side).filter(|slice| slice.completions > 0);
    median(&mut with_answers.map(per_request).collect::<Vec<_>>())
}

/// Returns how many times per request the client lost the core. In a closed loop on one core, the client loses the core
/// to the server that it has just woken.
fn preempted(epochs: &[MeasuredEpoch], side: Side) -> Option<f64> {
    let requests: u64 = slices(epochs, side).map(|slice| slice.requests).sum();
    let losses = slices(epochs, side).filter_map(|slice| slice.client_involuntary_switches);
    (requests > 0).then(|| losses.sum::<u64>() as f64 / requests as f64)
}

fn slices(epochs: &[MeasuredEpoch], side: Side) -> impl Iterator<Item = &Slice> {
    epochs.iter().flat_map(move |epoch| epoch.raw.slices_of(side))
}
