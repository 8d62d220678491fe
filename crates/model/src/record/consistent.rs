//! Checks, while a comparison is read, that its parts are consistent.
//!
//! Lists that belong together have the same length, indexes are inside their lists, and sums of numbers fit into their
//! type. The ranges of single numbers are in [`crate::stats::range`]. Called by serde.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::record::{Comparison, CpuTicks, Epoch, Slice, Trial, Why};

/// Maximum number of latencies in a record: a quarter of an hour at 150,000 requests per second. A measurement keeps no
/// more latencies than this, and a file cannot make its reader unpack more.
pub const MOST_SAMPLES: u64 = 1 << 27;
/// Upper limit of the sum of all integers of a comparison: less than a hundredth of the largest 64-bit number, so no
/// sum of some of these integers overflows.
const MOST_TOGETHER: u128 = 1 << 57;

impl Serialize for Comparison {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, serializer)
    }
}

impl<'de> Deserialize<'de> for Comparison {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let comparison = Self::deserialize(deserializer)?;
        comparison
            .check()
            .map_err(|why| de::Error::custom(format_args!("the comparison's parts contradict each other: {why}")))?;
        Ok(comparison)
    }
}

/// Reads the comparisons of a record.
pub(crate) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Comparison>, D::Error> {
    let comparisons: Vec<Comparison> = Deserialize::deserialize(deserializer)?;
    let n_samples: u128 = comparisons.iter().map(Comparison::n_samples).sum();
    if n_samples > u128::from(MOST_SAMPLES) {
        return Err(de::Error::custom(format_args!(
            "the comparisons have {n_samples} latencies, but a record has at most {MOST_SAMPLES}"
        )));
    }
    Ok(comparisons)
}

impl Comparison {
    fn n_samples(&self) -> u128 {
        let sampled = self.why.iter().flat_map(|it| &it.epochs);
        let epochs = self.raw.epochs.iter().chain(sampled.map(|it| &it.raw));
        let samples = epochs.flat_map(|it| it.samples.iter().flatten());
        samples.map(|it| u128::from(it.count)).sum()
    }

    fn check(&self) -> Result<(), String> {
        let n_arms = self.arms.len();
        check_length("tax", self.tax.len(), n_arms.saturating_sub(1))?;
        for (idx, tax) in self.tax.iter().enumerate() {
            let names = [(&tax.baseline, 0), (&tax.arm, idx + 1)];
            if names.iter().any(|(name, at)| self.arms[*at].name != **name) {
                return Err(format!(
                    "tax[{idx}] compares `{}` with `{}`, but arms[0] and arms[{}] have other names",
                    tax.arm,
                    tax.baseline,
                    idx + 1
                ));
            }
            if let Some(look) = tax.look {
                check_idx(&format!("tax[{idx}].look"), look, self.schedule.looks.len())?;
                let planned = self.schedule.looks[look as usize].alpha;
                if planned.total_cmp(&tax.alpha).is_ne() {
                    return Err(format!("tax[{idx}].alpha is {}, but {planned} was planned for its `look`", tax.alpha));
                }
            }
        }
        if let Some(commands) = &self.commands {
            check_length("commands.lines", commands.lines.len(), n_arms)?;
        }
        let mut sum = 0;
        for (idx, epoch) in self.raw.epochs.iter().enumerate() {
            check_epoch(epoch, n_arms).map_err(|why| format!("raw.epochs[{idx}]: {why}"))?;
            sum += sum_of(epoch);
        }
        for (idx, why) in self.why.iter().enumerate() {
            sum += check_why(why, n_arms).map_err(|wrong| format!("why[{idx}]: {wrong}"))?;
        }
        if let Some(trial) = &self.trial {
            sum += check_trial(trial).map_err(|why| format!("trial: {why}"))?;
        }
        if sum > MOST_TOGETHER {
            return Err(format!("the counts and times add up to {sum}, more than a run can have"));
        }
        Ok(())
    }
}

fn check_length(name: &str, length: usize, wanted: usize) -> Result<(), String> {
    if length == wanted {
        return Ok(());
    }
    Err(format!("{name} has {length} entries instead of {wanted}"))
}

fn check_idx(name: &str, idx: u32, length: usize) -> Result<(), String> {
    if (idx as usize) < length {
        return Ok(());
    }
    Err(format!("{name} is {idx}, but its list has {length} entries"))
}

fn check_epoch(epoch: &Epoch, n_arms: usize) -> Result<(), String> {
    for arm_idx in epoch.pair {
        check_idx("pair", arm_idx, n_arms)?;
    }
    check_length("slices", epoch.slices.len(), epoch.order.chars().count())?;
    for (idx, (letter, slice)) in epoch.order.chars().zip(&epoch.slices).enumerate() {
        if !matches!(letter, 'b' | 'o') {
            return Err(format!("order contains `{}`", letter.escape_default()));
        }
        check_idx(&format!("slices[{idx}].arm_idx"), slice.arm_idx, n_arms)?;
    }
    Ok(())
}

fn check_why(why: &Why, n_arms: usize) -> Result<u128, String> {
    for arm_idx in why.pair {
        check_idx("pair", arm_idx, n_arms)?;
    }
    let mut sum = 0;
    for (idx, epoch) in why.epochs.iter().enumerate() {
        let check = || {
            check_epoch(&epoch.raw, n_arms)?;
            for side in 0..2 {
                check_length("layer_ns", epoch.layer_ns[side].len(), why.layers.len())?;
                check_length("counts", epoch.counts[side].len(), why.counters.len())?;
            }
            Ok(())
        };
        check().map_err(|wrong: String| format!("epochs[{idx}]: {wrong}"))?;
        let own = epoch.layer_ns.iter().chain(&epoch.counts).flatten();
        sum += sum_of(&epoch.raw) + total(own);
    }
    for (idx, counted) in why.counted.iter().enumerate() {
        for counts in &counted.counts {
            let wanted = why.counters_of_warm_up.len();
            check_length(&format!("counted[{idx}].counts"), counts.len(), wanted)?;
        }
        sum += total(counted.counts.iter().flatten().chain(&counted.requests));
    }
    for (name, parts) in [("processes", &why.processes), ("functions", &why.functions)] {
        for (idx, part) in parts.iter().enumerate() {
            check_length(&format!("{name}[{idx}].ns"), part.ns.len(), why.epochs.len())?;
            sum += total(part.ns.iter().flatten());
        }
    }
    let sampling = &why.sampling;
    let samples = [sampling.n_samples, sampling.n_of_others, sampling.n_lost];
    let stacks = why.stacks.requests.iter().chain(&why.stacks.left_out_ns);
    Ok(sum + total(samples.iter().chain(stacks)))
}

fn check_trial(trial: &Trial) -> Result<u128, String> {
    let n_servers = trial.servers.len();
    let mut sum = 0;
    for (idx, arm) in trial.arms.iter().enumerate() {
        let name = format!("arms[{idx}].connections");
        check_length(&name, arm.connections.len(), n_servers)?;
        sum += total(&[arm.n_slices, arm.n_pages, arm.n_failed]);
        for seen in &arm.connections {
            sum += total(&[seen.n_moved, seen.n_left, seen.n_not_moved, seen.n_slices]);
        }
    }
    let counted = trial.counted.iter().map(|it| ("counted", it.server));
    let parts = trial.bill.iter().flat_map(|it| &it.parts);
    let parts = parts.map(|it| ("bill.parts", it.server));
    let only = trial.only.iter().map(|only| ("only", *only));
    for (name, server) in counted.chain(parts).chain(only) {
        check_idx(name, server, n_servers)?;
    }
    Ok(sum)
}

fn total<'a>(numbers: impl IntoIterator<Item = &'a u64>) -> u128 {
    numbers.into_iter().map(|it| u128::from(*it)).sum()
}

/// Adds up all numbers of an epoch that the statistics may add up. Times in microseconds are converted to nanoseconds.
fn sum_of(epoch: &Epoch) -> u128 {
    let ticks = epoch.cpu_ticks.map(|it| {
        let CpuTicks { user, nice, system, idle, iowait, irq, softirq, steal } = it;
        total(&[user, nice, system, idle, iowait, irq, softirq, steal])
    });
    let rare = epoch.cpu_pressure_us.into_iter().chain(epoch.n_throttled);
    let micros = total(&[epoch.reconnect_us, epoch.prime_us]) + rare.map(u128::from).sum::<u128>();
    1_000 * micros + ticks.unwrap_or(0) + epoch.slices.iter().map(sum_of_slice).sum::<u128>()
}

fn sum_of_slice(slice: &Slice) -> u128 {
    // The pattern lists every field, so the compiler reports a new field that is missing in the sum.
    let Slice {
        arm_idx: _,
        start_ns,
        guard_ns,
        active_ns,
        drain_ns,
        completions,
        early,
        drained,
        drained_ns,
        requests,
        errors,
        latency_sum_ns,
        n_unsampled,
        median_ns: _,
        queued,
        unsent,
        behind_ns,
        completions_per_100ms,
        sends,
        receives,
        waits,
        received_bytes,
        injected_ns,
        client_cpu_ns,
        client_user_ns,
        server_cpu_ns,
        supervisor_ns,
        client_voluntary_switches,
        client_involuntary_switches,
        server_switches,
        client_run_delay_ns,
        server_run_delay_ns,
        seats,
        checksum: _,
    } = slice;
    let always = [
        guard_ns,
        active_ns,
        drain_ns,
        completions,
        early,
        drained,
        requests,
        errors,
        latency_sum_ns,
        n_unsampled,
        queued,
        unsent,
        behind_ns,
        sends,
        receives,
        waits,
        injected_ns,
    ];
    let rarely = [
        received_bytes,
        client_cpu_ns,
        client_user_ns,
        server_cpu_ns,
        supervisor_ns,
        client_voluntary_switches,
        client_involuntary_switches,
        server_switches,
        client_run_delay_ns,
        server_run_delay_ns,
    ];
    let seen = seats.map_or([0; 3], |it| [u64::from(it.same), u64::from(it.split), it.moves.unwrap_or(0)]);
    let small = drained_ns.iter().chain(completions_per_100ms);
    // `start_ns` is a point in time, and the statistics never add up several of these points, so the sum here counts
    // `start_ns` only in milliseconds.
    let start = u128::from(*start_ns) / 1_000_000;
    start
        + total(&seen)
        + total(always)
        + total(rarely.into_iter().flatten())
        + small.map(|it| u128::from(*it)).sum::<u128>()
}
