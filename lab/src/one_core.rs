//! One core for a program that measures and for everything that it starts: the scheduler's decisions are then the same
//! for all of them.

use anyhow::{Context, Result};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Pins this thread, and with it all that it starts from now on, to the last core that it may use: the
/// first one serves the most interrupts. Gives the core's number.
pub(crate) fn pin_to_last_core() -> Result<usize> {
    let allowed = sched_getaffinity(None).context("cannot read which cores may be used")?;
    let core = (0..CpuSet::MAX_CPU).rfind(|core| allowed.is_set(*core));
    let core = core.context("the kernel allows no core")?;
    let mut only = CpuSet::new();
    only.set(core);
    sched_setaffinity(None, &only).with_context(|| format!("cannot move to core {core}"))?;
    Ok(core)
}
