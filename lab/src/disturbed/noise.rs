//! Recorded noise: the variation of an arm's rates within each epoch when the arm was compared with itself.
//!
//! Each line of `lab/data/noise.txt` is an epoch: the trace's name, the shares of all CPU time that the hypervisor and
//! other programs took, and the ln rates of the eight slices minus their mean, in order of time. Some traces also have,
//! for each slice, ln of the share of the slice in which either end ran. Noise that is common to a whole epoch affects
//! both arms equally and is left out.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use looptax_model::record::Raw;
use looptax_model::stats::{Slice, ln_cost, mean, noise_shares};
use looptax_store::load;

pub(crate) const SLICES: usize = 8;
/// Length of the guard before each slice, in nanoseconds, if the slice is pinned and short.
const GUARD_NS: u64 = 10_000_000;
/// Lowest share of a slice's time that counts as busy; it keeps ln finite for a slice that hardly ran.
const LEAST_BUSY: f64 = 0.02;
const FILE: &str = include_str!("../../data/noise.txt");

/// The noise of one epoch.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Seen {
    pub(crate) steal_pct: f64,
    pub(crate) foreign_pct: f64,
    /// ln rate of each slice, minus the mean.
    pub(crate) ln_rates: [f64; SLICES],
    /// ln of the share of each slice in which client or server ran, minus the mean.
    pub(crate) ln_busy: Option<[f64; SLICES]>,
}

/// Returns the epochs of a trace, in order of time.
pub(crate) fn trace(name: &str) -> Result<Vec<Seen>> {
    let lines = FILE.lines().filter(|line| line.starts_with(name));
    let seen: Vec<Seen> = lines.map(parse).collect::<Result<_>>()?;
    if seen.is_empty() {
        bail!("there is no trace `{name}`");
    }
    Ok(seen)
}

fn parse(line: &str) -> Result<Seen> {
    let numbers = line.split_whitespace().skip(1).map(str::parse);
    let numbers: Vec<f64> = numbers.collect::<Result<_, _>>()?;
    let [steal_pct, foreign_pct, slices @ ..] = &numbers[..] else {
        bail!("`{line}` is not an epoch");
    };
    Ok(Seen {
        steal_pct: *steal_pct,
        foreign_pct: *foreign_pct,
        ln_rates: *slices.first_chunk().with_context(|| format!("`{line}` does not have {SLICES} slices"))?,
        ln_busy: slices.get(SLICES..).and_then(|rest| rest.first_chunk()).copied(),
    })
}

/// Prints the noise of the first comparison in each record; the name of a trace is that of its file.
pub(crate) fn print(records: &[PathBuf]) -> Result<()> {
    for path in records {
        let record = load(path)?;
        let name = path.file_stem().context("no file name")?.to_string_lossy();
        let comparison = record.comparisons.first().context("nothing was compared")?;
        print_raw(&name, &comparison.raw);
    }
    Ok(())
}

fn print_raw(name: &str, raw: &Raw) {
    for epoch in raw.counts([0, 1], |_| Vec::new()) {
        let (Some(noise), SLICES) = (&epoch.noise, epoch.slices.len()) else {
            continue;
        };
        let Some(shares) = noise_shares([noise]) else {
            continue;
        };
        let mut words = centred(epoch.slices.iter().map(|slice| Some(-ln_cost(slice))));
        words.extend(centred(epoch.slices.iter().map(ln_busy)));
        println!("{name} {:.1} {:.1} {}", shares.steal_pct, shares.foreign_pct.unwrap_or_default(), words.join(" "));
    }
}

/// Returns each value minus the mean; empty if a value is missing.
fn centred(values: impl Iterator<Item = Option<f64>>) -> Vec<String> {
    let values: Vec<f64> = values.collect::<Option<_>>().unwrap_or_default();
    let common = mean(&values);
    values.iter().map(|it| format!("{:.4}", it - common)).collect()
}

/// Returns ln of the share of the slice in which client or server ran, if each had the core to itself.
fn ln_busy(slice: &Slice) -> Option<f64> {
    // The CPU times include all requests, also those of the guard and of the drain.
    let span_ns = GUARD_NS + slice.active_ns + slice.drain_ns;
    let ran_ns = slice.client_cpu_ns? + slice.server_cpu_ns?;
    Some((ran_ns as f64 / span_ns as f64).max(LEAST_BUSY).ln())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kept_epoch_is_whole_and_has_no_common_part() {
        for line in FILE.lines() {
            let seen = parse(line).unwrap();
            assert!(mean(&seen.ln_rates).abs() < 1e-3, "{line}");
        }
        assert!(trace("quiet").unwrap().len() >= 100);
        assert!(trace("nothing-of-that-name").is_err());
    }
}
