//! `selfcheck`: does this machine allow honest verdicts?
//!
//! The same arm on both sides must show no difference (A/A), a known delay must come out, and the
//! length of the slices must not matter.

mod inject;
mod text;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use looptax_bench::{
    ClientModel, Contrast, ContrastRun, Pacing, Placement, Plan, Shape, SidePlan, Stopping, WarmUp,
    run as bench,
};
use looptax_dsn::Kind;
use looptax_experiment::Experiment;
use looptax_experiment::Machine;
use looptax_experiment::TargetConnector;
use looptax_experiment::plan::DELTA;
use looptax_experiment::spec::target::TargetSpec;
use looptax_experiment::spec::{new_seed, seed};
use looptax_experiment::{Host, Target, ask_nobody};
use looptax_failure::Failure;
use looptax_path::Arm;
use looptax_report::terminal::fitted;
use looptax_stats::{
    Estimate, Input, Looks, Noise, StopRule, Verdict, noise_shares, primary, selfcheck as rules,
    signed_rank, tax_pct,
};
use serde_json::{Value, json};

use crate::args::{Check, SelfcheckArgs};
use crate::failure::Exit;
use crate::settings::target_of;
use crate::signals::stop_flag;
use crate::terminal::progress::Line;
use crate::terminal::{self, Terminal, claim};

/// Rows of the server: enough that keys differ, quick to fill.
const ROWS: u32 = 10_000;
/// Longest wait for an answer.
const IO_LIMIT: Duration = Duration::from_secs(10);

/// One measured run of a check.
pub(crate) struct OneRun {
    theta: Estimate,
    verdict: Verdict,
    p_value: Option<f64>,
    contrast: ContrastRun,
}

impl OneRun {
    fn half_width_points(&self) -> f64 {
        self.theta.map_monotone(tax_pct).half_width()
    }
}

/// The checks' surroundings.
pub(crate) struct Bench<'a> {
    target: &'a Target,
    n_epochs: usize,
    n_runs: u32,
    seed: u64,
    client: ClientModel,
    line: Line,
    stop: &'a AtomicBool,
    /// What others did on the machine during the epochs so far.
    noise: Vec<Noise>,
}

/// The arms that are checked: what `redirect` adds is no question of the machine's quiet.
const ARMS: [Arm; 2] = [Arm::Unix, Arm::Tcp];

/// Runs `selfcheck`.
pub(crate) fn run(args: &SelfcheckArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let kind = match target_of(&args.target)? {
        TargetSpec::Private(kind) => kind,
        TargetSpec::Running(_) => {
            return Err(Failure::usage(
                "selfcheck runs on private servers only",
                "for example looptax selfcheck private:redis",
            ));
        }
    };
    let client = args
        .client
        .parse()
        .map_err(|error| Failure::usage(error, "poll is the default"))?;
    let settings = settings(kind, args.seed.as_deref().map_or_else(new_seed, seed)?);
    let stop = stop_flag()?;
    terminal.words(&format!(
        "plan: {} epochs of half a second per run; {} A/A run(s) per arm, delays of 1, 3 and 10 %, two lengths of \
         slices (--only chooses)",
        args.fixed, args.runs
    ));
    let _alone = claim(terminal);
    let host = Host::new(Machine::plain(), ask_nobody)?;
    let target = Target::open(&TargetSpec::Private(kind), &ARMS, &settings, &host)?;
    let mut check = Bench {
        target: &target,
        n_epochs: args.fixed as usize,
        n_runs: args.runs,
        seed: settings.seed,
        client,
        line: Line::new(terminal, &format!("selfcheck {}", args.target)),
        stop: &stop,
        noise: Vec::new(),
    };
    let results = all(&mut check, args);
    let shares = noise_shares(&check.noise);
    drop(check);
    let (version, name) = (target.version.clone(), target.name.clone());
    let closed = target.close();
    let results = results?;
    closed?;
    let report = json!({
        "target": name, "version": version, "seed": format!("{:016x}", settings.seed),
        "epochs_per_run": args.fixed, "runs": args.runs, "client": args.client,
        "foreign_pct": shares.map(|it| it.foreign_pct), "steal_pct": shares.map(|it| it.steal_pct),
        "is_busy": shares.is_some_and(|it| it.is_noisy()), "checks": results,
    });
    if stop.load(Ordering::Relaxed) {
        terminal.words("interrupted: no answer about this machine");
        return Ok(Exit::Interrupted);
    }
    show(&report, args.json.as_deref(), terminal)?;
    Ok(if results.iter().any(|check| check["passed"] == false) {
        Exit::No
    } else if results.iter().all(|check| check["passed"].is_null()) {
        Exit::Environment
    } else {
        Exit::Done
    })
}

fn settings(kind: Kind, seed: u64) -> Experiment {
    Experiment {
        connections: Some(vec![1]),
        rows: ROWS,
        ..Experiment::new(TargetSpec::Private(kind), seed)
    }
}

fn all(check: &mut Bench<'_>, args: &SelfcheckArgs) -> Result<Vec<Value>, Failure> {
    let mut results = Vec::new();
    if args.only.contains(&Check::Aa) {
        for arm in ARMS {
            results.push(aa(check, arm)?);
        }
    }
    if args.only.contains(&Check::Inject) {
        for arm in ARMS {
            results.extend(inject::all(check, arm)?);
        }
    }
    if args.only.contains(&Check::Slices) {
        results.push(slices(check)?);
    }
    Ok(results)
}

fn show(report: &Value, json: Option<&Path>, terminal: Terminal) -> Result<(), Failure> {
    let text = || fitted(&text::of(report), terminal.style().width);
    match json {
        Some(path) if path.as_os_str() == "-" => terminal::json(report)?,
        Some(path) => {
            looptax_store::save_value(report, path)?;
            terminal::data(&text())?;
        }
        None => terminal::data(&text())?,
    }
    Ok(())
}

/// The same arm on both sides, with connections of their own: at most so many runs may differ.
fn aa(check: &mut Bench<'_>, arm: Arm) -> Result<Value, Failure> {
    let mut runs = Vec::new();
    for idx in 0..check.n_runs {
        check.line.say(&format!(
            "{arm} against {arm}, run {} of {}",
            idx + 1,
            check.n_runs
        ));
        let Some(one) = check.one(
            [arm, arm],
            [None, None],
            Shape::short(),
            check.n_epochs,
            u64::from(idx),
        )?
        else {
            break;
        };
        runs.push(one);
    }
    let thetas: Vec<f64> = runs.iter().map(|run| run.theta.value).collect();
    let is_alarm = |run: &&OneRun| matches!(run.verdict, Verdict::Difference | Verdict::Negligible);
    let n_alarms = runs.iter().filter(is_alarm).count() as u64;
    let accepted = accepted(check, arm, runs.len() as u64, n_alarms)?;
    let mean = rules::mean_theta(&thetas);
    let mean_passes = mean.as_ref().is_none_or(rules::MeanTheta::passes);
    let mut half_widths: Vec<f64> = runs.iter().map(OneRun::half_width_points).collect();
    let small: Vec<f64> = runs.iter().filter_map(|run| run.p_value).collect();
    Ok(json!({
        "check": "aa", "arm": arm.name(), "runs": runs.len(), "alarms": n_alarms, "accepted": accepted.0,
        "of_which_difference": runs.iter().filter(|run| run.verdict == Verdict::Difference).count(),
        "mean_tax_pct": thetas.iter().sum::<f64>() / thetas.len().max(1) as f64 * 100.0,
        "mean_theta_z": mean.map(|mean| mean.z),
        "p_values_below": { "0.01": below(&small, 0.01), "0.05": below(&small, 0.05), "0.25": below(&small, 0.25), "0.5": below(&small, 0.5) },
        "half_width_points": half_widths.iter().copied().fold(0.0, f64::max),
        "passed": answer(accepted.1 && mean_passes && !runs.is_empty(), &mut half_widths),
        "thetas": thetas,
    }))
}

/// Whether a check passed; `None` where its intervals are too wide to tell.
fn answer(has_passed: bool, half_widths_points: &mut [f64]) -> Option<bool> {
    (!has_passed || rules::are_narrow(half_widths_points)).then_some(has_passed)
}

fn below(p_values: &[f64], limit: f64) -> usize {
    p_values.iter().filter(|p| **p < limit).count()
}

/// How many alarms are accepted, and whether these are. A single run that alarms is repeated once at
/// a level of 1 %.
fn accepted(
    check: &mut Bench<'_>,
    arm: Arm,
    n_runs: u64,
    n_alarms: u64,
) -> Result<(u64, bool), Failure> {
    if n_runs != 1 || n_alarms == 0 {
        let accepted = rules::largest_accepted(n_runs);
        return Ok((accepted, n_alarms <= accepted));
    }
    let again = check.one(
        [arm, arm],
        [None, None],
        Shape::short(),
        check.n_epochs,
        1 << 20,
    )?;
    let is_clean = again.is_some_and(|run| run.p_value.is_none_or(|p| p >= 0.01));
    Ok((0, is_clean))
}

/// 50 ms against 500 ms slices.
fn slices(check: &mut Bench<'_>) -> Result<Value, Failure> {
    check.line.say("slices of 50 ms");
    let short = check.one(ARMS, [None, None], Shape::short(), check.n_epochs, 0)?;
    check.line.say("slices of 500 ms");
    let long_shape = Shape::short().with_slice(Duration::from_millis(500));
    let long = check.one(ARMS, [None, None], long_shape, check.n_epochs, 1)?;
    let (Some(short), Some(long)) = (short, long) else {
        return Ok(json!({ "check": "slices", "passed": false, "why": "interrupted" }));
    };
    let tax = |run: &OneRun| run.theta.map_monotone(tax_pct);
    let found = rules::slice_length(&tax(&short), &tax(&long), 0.05);
    Ok(json!({
        "check": "slices",
        "tax_50ms_pct": pct(&short.theta), "tax_500ms_pct": pct(&long.theta),
        "difference_points": [found.difference.value, found.difference.lo, found.difference.hi],
        "passed": found.agrees,
    }))
}

fn pct(theta: &Estimate) -> [f64; 3] {
    let tax = theta.map_monotone(tax_pct);
    [tax.value, tax.lo, tax.hi]
}

impl Bench<'_> {
    /// One fixed run of one connection per side, both ends on one core; `None` when interrupted.
    fn one(
        &mut self,
        arms: [Arm; 2],
        inject_ns: [Option<u64>; 2],
        shape: Shape,
        n_epochs: usize,
        idx: u64,
    ) -> Result<Option<OneRun>, Failure> {
        let plan = Plan {
            seed: self.seed.wrapping_add(idx),
            connections: 1,
            contrasts: vec![Contrast {
                name: format!("{}, {}", arms[0], arms[1]),
                pair: [0, 1],
                sides: inject_ns.map(|inject_ns| SidePlan {
                    client: self.client,
                    inject_ns,
                }),
            }],
            pacing: Pacing::FLAT_OUT,
            placement: Placement::Same,
            server_threads: self.target.threads,
            shape,
            may_adapt_shape: false,
            // The server is warm after the first runs; two epochs warm the connections' code paths.
            warm_up: WarmUp {
                least_epochs: 2,
                least: Duration::ZERO,
                at_most: Duration::ZERO,
            },
            stopping: Stopping {
                looks: Looks::fixed(n_epochs),
                rule: StopRule { is_precise: false },
                delta: DELTA,
                deadline: None,
            },
            keys: self.target.keys(),
            are_comparable: !self.target.workload.writes(),
            least_data_bytes: self.target.workload.least_data_bytes(),
            max_sample_bytes: 0,
            io_limit: IO_LIMIT,
        };
        let mut connector = TargetConnector::new(self.target, vec![arms]);
        let mut outcome = bench(&plan, &mut connector, &mut looptax_bench::Silent, self.stop)?;
        if let Some(failure) = outcome.failure {
            return Err(failure.into());
        }
        if outcome.is_interrupted {
            return Ok(None);
        }
        let contrast = outcome.contrasts.swap_remove(0);
        let epochs: Vec<_> = contrast
            .epochs
            .iter()
            .map(|epoch| epoch.raw.counts())
            .collect();
        self.noise.extend(epochs.iter().filter_map(|it| it.noise));
        let thetas: Vec<f64> = epochs
            .iter()
            .filter_map(looptax_stats::Epoch::theta)
            .collect();
        let found = primary(&Input {
            epochs: &epochs,
            connections: 1,
            alpha: 0.05,
            delta: DELTA,
            invalid: Vec::new(),
            stopped_early: false,
        });
        let Some(theta) = found.theta else {
            return Ok(None);
        };
        Ok(Some(OneRun {
            theta,
            verdict: found.verdict,
            p_value: signed_rank::p_value(&thetas),
            contrast,
        }))
    }
}
