//! Pins a measuring program and everything that it starts to one core, so that the scheduler's decisions are the same
//! for all of them.

use anyhow::{Context, Result};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Pins this thread, and everything that it starts from now on, to the last core that it may use, because the first
/// core serves the most interrupts. Returns the number of the core.
pub(crate) fn pin_to_last_core() -> Result<usize> {
    let allowed = sched_getaffinity(None).context("cannot read which cores may be used")?;
    let core = (0..CpuSet::MAX_CPU).rfind(|core| allowed.is_set(*core));
    let core = core.context("the kernel allows no core")?;
    let mut only = CpuSet::new();
    only.set(core);
    sched_setaffinity(None, &only).with_context(|| format!("cannot move to core {core}"))?;
    Ok(core)
}
