//! Measures and judges one run of a check: a fixed number of epochs with one connection per side.
//!
//! The checks in this folder call this module; the module does not depend on any of them.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use looptax_bench::{ClientModel, ContrastRun, Placement, run as bench};
use looptax_model::dsn::{Arm, Kind};
use looptax_model::failure::Failure;
use looptax_model::stats::{Estimate, Input, Noise, Verdict, primary, selfcheck as rules, signed_rank, tax_pct};

use crate::plan::{self, Case, Doing};
use crate::spec::load::Load;
use crate::spec::waits::Waits;
use crate::spec::{DELTA, Effort};
use crate::{Experiment, Observer, Target, TargetConnector};

/// The checks to run, and their length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spec {
    pub kind: Kind,
    pub client: ClientModel,
    /// Seed of the first run; every other run uses this seed plus its own number.
    pub seed: u64,
    pub n_epochs: u32,
    /// Number of A/A runs on each arm.
    pub n_runs: u32,
    /// Whether an arm is compared with itself.
    pub has_aa: bool,
    pub has_inject: bool,
    /// Whether two lengths of slices are compared.
    pub has_slices: bool,
}

/// One measured run of a check.
pub(super) struct OneRun {
    pub(super) theta: Estimate,
    pub(super) verdict: Verdict,
    pub(super) p_value: Option<f64>,
    pub(super) contrast: ContrastRun,
}

impl OneRun {
    pub(super) fn half_width_points(&self) -> f64 {
        self.theta.map_monotone(tax_pct).half_width()
    }
}

pub(super) struct Bench<'a> {
    pub(super) target: &'a Target,
    pub(super) settings: &'a Experiment,
    pub(super) spec: &'a Spec,
    pub(super) observer: &'a mut dyn Observer,
    pub(super) stop: &'a AtomicBool,
    /// The activity of other programs on the machine during the epochs so far.
    pub(super) noise: Vec<Noise>,
}

impl Bench<'_> {
    pub(super) fn say(&mut self, words: &str) {
        let news = format!("doctor {}: {words}", self.target.name);
        self.observer.say(&news);
    }

    /// Makes one run of fixed length over one connection per side, with both ends of a connection on one core; `None`
    /// if interrupted.
    pub(super) fn one(
        &mut self,
        arms: [Arm; 2],
        inject_ns: Option<u64>,
        slice: Duration,
        idx: u64,
    ) -> Result<Option<OneRun>, Failure> {
        let settings = Experiment {
            inject_ns,
            slice: Some(slice),
            effort: Effort::Epochs(self.spec.n_epochs as usize),
            // A warm-up of length zero still has two epochs; they are enough, because the server is warm after the
            // first runs.
            warm_up: Some(Duration::ZERO),
            sample_bytes: 0,
            ..self.settings.clone()
        };
        let case = Case {
            arms: arms.to_vec(),
            connections: 1,
            placement: Placement::Same,
            clients: vec![Waits::As(self.spec.client)],
            doing: Doing::Judge,
            load: Load::flat_out(),
            slice: None,
        };
        let seed = self.spec.seed.wrapping_add(idx);
        let plan = plan::bench(&settings, self.target, &case, seed, None);
        let mut connector = TargetConnector::new(self.target, vec![arms]);
        let mut outcome = bench(&plan, &mut connector, &mut looptax_bench::Silent, self.stop)?;
        if let Some(failure) = outcome.failure {
            return Err(failure.into());
        }
        if outcome.is_interrupted {
            return Ok(None);
        }
        let contrast = outcome.contrasts.swap_remove(0);
        let epochs: Vec<_> = contrast.epochs.iter().map(|epoch| epoch.raw.counts()).collect();
        self.noise.extend(epochs.iter().filter_map(|it| it.noise));
        let thetas: Vec<f64> = epochs.iter().filter_map(looptax_model::stats::Epoch::theta).collect();
        let found = primary(&Input {
            epochs: &epochs,
            connections: 1,
            alpha: 0.05,
            delta: DELTA,
            invalid: Vec::new(),
            stopped_early: false,
            can_move: false,
        });
        let Some(theta) = found.theta else {
            return Ok(None);
        };
        Ok(Some(OneRun { theta, verdict: found.verdict, p_value: signed_rank::p_value(&thetas), contrast }))
    }
}

pub(super) fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

/// Returns whether a check passed; `None` if its intervals are too wide to decide.
pub(super) fn answer(has_passed: bool, half_widths_points: &mut [f64]) -> Option<bool> {
    (!has_passed || rules::are_narrow(half_widths_points)).then_some(has_passed)
}

pub(super) fn interval(estimate: &Estimate) -> [Option<f64>; 3] {
    [estimate.value, estimate.lo, estimate.hi].map(finite)
}
