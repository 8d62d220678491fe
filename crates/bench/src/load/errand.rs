//! The loop over errands: requests that open a connection of their own and close it again.
//!
//! The errand allocates and locks as any connection set-up does; this loop adds two readings of the
//! clock and nothing else.

use looptax_wire::Draws;

use super::slice_barrier::SliceSpec;
use super::tally::Tally;
use super::thread::busy_wait;
use crate::clock::now_ns;
use crate::connect::Errand;
use crate::error::LoadError;
use crate::plan::SidePlan;

/// One errand after the other until the slice is over.
pub(crate) fn closed_loop(
    errand: &mut dyn Errand,
    draws: &mut dyn Draws,
    spec: SliceSpec,
    plan: SidePlan,
    tally: &mut Tally,
    samples: &mut Vec<u32>,
) -> Result<(), LoadError> {
    let mut is_first = true;
    loop {
        if let Some(inject_ns) = plan.inject_ns {
            tally.injected_ns += busy_wait(inject_ns);
        }
        let sent_ns = now_ns();
        once(errand, draws, tally)?;
        let answered_ns = now_ns();
        tally.record(sent_ns, answered_ns, is_first, samples);
        is_first = false;
        if answered_ns >= spec.stop_at_ns {
            return Ok(());
        }
    }
}

/// One errand, whose system calls are counted.
pub(crate) fn once(
    errand: &mut dyn Errand,
    draws: &mut dyn Draws,
    tally: &mut Tally,
) -> Result<(), LoadError> {
    let calls = errand
        .run(draws)
        .map_err(|source| LoadError::Errand { source })?;
    tally.sends += calls.sends;
    tally.receives += calls.receives;
    Ok(())
}
