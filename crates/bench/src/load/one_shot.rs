//! The loop over one-shot connections: each request opens its own connection and closes it again.
//!
//! The connection set-up allocates and locks, as in every client. Apart from that, this loop adds only two readings of
//! the clock.

use looptax_wire::Draws;

use super::slice_barrier::SliceSpec;
use super::tally::Tally;
use crate::clock::{busy_wait, now_ns};
use crate::connect::OneShotClient;
use crate::error::LoadError;
use crate::plan::SidePlan;

/// Runs one request after the other, each over its own connection, until the slice is over.
pub(crate) fn closed_loop(
    client: &mut dyn OneShotClient,
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
        once(client, draws, tally)?;
        let answered_ns = now_ns();
        tally.record(sent_ns, answered_ns, is_first, samples);
        is_first = false;
        if answered_ns >= spec.stop_at_ns {
            return Ok(());
        }
    }
}

/// Runs one request and counts its system calls.
pub(crate) fn once(client: &mut dyn OneShotClient, draws: &mut dyn Draws, tally: &mut Tally) -> Result<(), LoadError> {
    let calls = client.run(draws).map_err(|source| LoadError::OneShot { source })?;
    tally.sends += calls.sends;
    tally.receives += calls.receives;
    Ok(())
}
