//! One run of a command by itself: a load that somebody else makes, within a slice of ours.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use looptax_model::stats::Side;

use super::process::{self, Bounds, Looking};
use super::{CommandPlan, Sight, Tally, Watcher};
use crate::error::CommandError;

/// A run that ended well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OneRun {
    /// When it began, by the measuring clock.
    pub start_ns: u64,
    /// How long it took.
    pub wall_ns: u64,
}

/// Runs a command to its end; `None` when told to stop.
///
/// # Errors
/// Whatever kept it from ending well within `timeout`.
pub fn run_once(
    plan: &CommandPlan,
    timeout: Duration,
    stop: &AtomicBool,
) -> Result<Option<OneRun>, CommandError> {
    let bounds = Bounds {
        timeout,
        looking: Looking::Thrice(timeout),
        stop,
    };
    let finished = process::run(plan, Side::Baseline, &mut Nobody, bounds)?;
    Ok(finished.map(|finished| OneRun {
        start_ns: finished.start_ns,
        wall_ns: finished.wall_ns,
    }))
}

/// Whoever asks for a load looks at the application, not at what asks it.
struct Nobody;

impl Watcher for Nobody {
    fn watch(&mut self, _side: Side, _pid: u32) -> Sight {
        Sight::default()
    }

    fn objection(&self, _side: Side, _seen: Sight, _before: Tally) -> Option<String> {
        None
    }
}
