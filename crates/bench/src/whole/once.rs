//! A single run of a command, which another module needs as the load within its own slice.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use looptax_model::stats::Side;

use super::process::{self, Bounds, Looking};
use super::{CommandPlan, Watcher};
use crate::clock::Timed;
use crate::error::CommandError;

/// Runs a command until it ends; `None` if looptax is to stop.
///
/// # Errors
/// Any reason why the command did not end successfully within `timeout`.
pub fn run_once(plan: &CommandPlan, timeout: Duration, stop: &AtomicBool) -> Result<Option<Timed<()>>, CommandError> {
    let bounds = Bounds { timeout, looking: Looking::Thrice(timeout), stop };
    let finished = process::run(plan, Side::Baseline, &mut Nobody, bounds)?;
    Ok(finished.map(|finished| Timed { start_ns: finished.start_ns, wall_ns: finished.wall_ns, value: () }))
}

/// Watches nothing: looptax watches the application, and not the command that sends requests to the application.
struct Nobody;

impl Watcher for Nobody {}
