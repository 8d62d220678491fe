//! The call chains of a record, in the form that `--folded` and `--pprof` need.

use looptax_model::failure::Failure;
use looptax_model::record::{Comparison, Record};
use looptax_report::Chain;
use looptax_store::unpack_stacks;

use crate::args::FormatArgs;

/// Returns all call chains of a record, arm by arm. `option` is the option that needs the chains; an error names this
/// option.
///
/// # Errors
/// If the record has no chains, or they cannot be read.
pub(crate) fn chains(record: &Record, option: &str) -> Result<Vec<Chain>, Failure> {
    let is_sampled = |it: &&Comparison| !it.why.is_empty();
    let sampled: Vec<&Comparison> = record.comparisons.iter().filter(is_sampled).collect();
    if sampled.is_empty() && !record.interrupted {
        return Err(Failure::usage(
            format!("{option}: the record has no call chains"),
            "`looptax why TARGET` records call chains",
        ));
    }
    let mut chains = Vec::new();
    for comparison in sampled {
        add(comparison, &mut chains)?;
    }
    Ok(chains)
}

/// Refuses `--folded` and `--pprof` in a command that takes no samples: their files would be empty.
///
/// # Errors
/// If one of these formats was requested.
pub(crate) fn refuse(args: &FormatArgs) -> Result<(), Failure> {
    let asked = [(&args.folded, "--folded"), (&args.pprof, "--pprof")];
    match asked.into_iter().find(|(path, _)| path.is_some()) {
        Some((_, option)) => Err(Failure::usage(
            format!("{option} needs call chains, and this command does not record call chains"),
            format!("`looptax why TARGET {option} FILE` records call chains"),
        )),
        None => Ok(()),
    }
}

fn add(comparison: &Comparison, chains: &mut Vec<Chain>) -> Result<(), Failure> {
    let mut seen = Vec::new();
    for why in &comparison.why {
        let stacks = unpack_stacks(&why.stacks)?;
        for (side, arm_idx) in why.pair.into_iter().enumerate() {
            // The baseline is part of every pair of arms; only its chains from the first pair are used.
            if seen.contains(&arm_idx) {
                continue;
            }
            seen.push(arm_idx);
            let arm = comparison.arms.get(arm_idx as usize);
            let arm = arm.map_or("", |it| &it.name);
            let thousands = (why.stacks.requests[side] as f64 / 1e3).max(f64::MIN_POSITIVE);
            let of_arm = stacks.iter().filter(|it| it.ns[side] > 0);
            chains.extend(of_arm.map(|stack| Chain {
                target: comparison.target.kind.clone(),
                workload: comparison.workload.name.clone(),
                connections: comparison.connections,
                arm: arm.to_owned(),
                folded: stack.folded.clone(),
                ns: stack.ns[side] as f64 / thousands,
            }));
        }
    }
    Ok(())
}
