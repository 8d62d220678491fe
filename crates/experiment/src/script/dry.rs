//! Runs some transactions of a script without a server, to find errors before the measurement.

use std::sync::Arc;

use looptax_bench::script::{Action, Presets, ScriptSet, Session};
use looptax_model::failure::Failure;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

/// Number of transactions that are run; a rare branch of `\if` may still fail later.
const N_TRIED: usize = 1_000;
/// A fixed seed, so that the same script always has the same result.
const SEED: u64 = 1;

/// Runs a thousand transactions of the script.
///
/// # Errors
/// A usage failure if the script sends nothing, or if it has an error; the failure then names the place of the error.
pub(super) fn run(set: &Arc<ScriptSet>) -> Result<(), Failure> {
    let wrong = |error: looptax_bench::script::RunError| {
        Failure::usage(error, "looptax tried the script with random numbers before it connected to a server")
    };
    let presets = Presets { client_id: 0, scale: 1, random_seed: 1, default_seed: 1 };
    let mut session = Session::new(Arc::clone(set), presets);
    let mut random = SplitMix64::seed_from_u64(SEED);
    let mut scratch = Vec::new();
    let (mut n_sent, mut n_done) = (0, 0);
    while n_done < N_TRIED {
        match session.next(&mut || random.next_u64()).map_err(wrong)? {
            Action::Send { statement_idx } => {
                n_sent += 1;
                session.parameters(statement_idx, &mut scratch, &mut |_| {}).map_err(wrong)?;
            }
            Action::Sleep(_) => {
                return Err(Failure::usage(
                    "`\\sleep` cannot be used in a measured transaction",
                    "use --think to pause between transactions",
                ));
            }
            Action::Done => n_done += 1,
            Action::StartPipeline | Action::SyncPipeline | Action::EndPipeline => {}
        }
    }
    if n_sent == 0 {
        return Err(Failure::usage(
            format!("the script sent nothing in {N_TRIED} transactions"),
            "add a statement: a measured transaction needs at least one",
        ));
    }
    Ok(())
}
