//! Measures the capacity of the slower arm; rates that are given in percent are percentages of this capacity.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use looptax_bench::{Pacing, glimpse};
use looptax_model::failure::Failure;
use looptax_model::stats::median;

use super::plan::{self, Case};
use crate::connector::TargetConnector;
use crate::spec::Experiment;
use crate::target::Target;

/// How long the two arms run at full speed, in turns.
const LENGTH: Duration = Duration::from_secs(6);

/// Returns the slower arm's requests per second in a closed loop, with the same connections and placement as the
/// comparison: the median of rates over 100 ms. `None` if the user stopped the run.
///
/// # Errors
/// The error of connecting, or of the first failed request.
pub(super) fn capacity_per_s(
    target: &Target,
    settings: &Experiment,
    case: &Case,
    seed: u64,
    stop: &AtomicBool,
) -> Result<Option<f64>, Failure> {
    let plan = looptax_bench::Plan { pacing: Pacing::FLAT_OUT, ..plan::bench(settings, target, case, seed, None) };
    let mut connector = TargetConnector::new(target, case.pairs());
    let Some(mut seen) = glimpse(&plan, &mut connector, LENGTH, stop)? else {
        return Ok(None);
    };
    let medians = { seen.rates_per_s.iter_mut() }.filter_map(|rates| median(rates));
    Ok(medians.reduce(f64::min))
}
