//! CPU time that the measurement did not use: steal, foreign processes, soft interrupts.
//!
//! The result does not depend on which arm is which: this file reads only the machine's ticks, never a result. Called
//! for the whole run, and by the rule of `judge` that withdraws verdicts.

use std::ops::Range;

use crate::stats::epoch::{Epoch, Noise};

/// Number of epochs in a window. A tick is 10 ms and an epoch half a second, so a share over fewer epochs would be too
/// inexact.
const WINDOW_EPOCHS: usize = 4;
/// A window in which the hypervisor took more than this percentage of the CPU time (steal) is noisy. An engineering
/// choice, not tuned by simulation.
const MAX_STEAL_PCT: f64 = 1.0;
/// A window in which processes other than looptax and the server used more than this percentage of the CPU time
/// (foreign CPU time) is noisy. Also an engineering choice.
const MAX_FOREIGN_PCT: f64 = 5.0;

/// In a window with less foreign CPU time than [`MAX_FOREIGN_PCT`], an epoch with more than this percentage is
/// disturbed. The percentage is higher than for a window because the kernel's count of ticks may be wrong by some ticks
/// in a single epoch.
const MAX_FOREIGN_ALONE_PCT: f64 = 2.0 * MAX_FOREIGN_PCT;

/// Shares of CPU time, in percent of the machine's capacity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NoiseShares {
    /// CPU time that the hypervisor gave to other machines.
    pub steal_pct: f64,
    /// Soft interrupts. They include the work of loopback, so a high share is not necessarily noise.
    pub softirq_pct: f64,
    /// Busy time of processes that are neither looptax nor the server; never below zero. `None` if the time of looptax
    /// or of the server is not known.
    pub foreign_pct: Option<f64>,
}

impl NoiseShares {
    /// Returns whether steal is above 1 % or foreign CPU time above 5 %.
    pub fn is_noisy(&self) -> bool {
        self.steal_pct > MAX_STEAL_PCT || self.foreign_pct > Some(MAX_FOREIGN_PCT)
    }
}

/// Computes the shares over several epochs together.
///
/// foreign = busy − own − server. Each term is summed over the epochs, and the result is divided by the sum of all
/// ticks. Because of rounding to ticks, the result may be slightly negative; it is then set to zero. Returns `None` if
/// no tick passed.
///
/// Example: 5126 ticks, 37 of them steal: 0.72 %.
pub fn noise_shares<'a>(window: impl IntoIterator<Item = &'a Noise>) -> Option<NoiseShares> {
    let (mut total, mut steal, mut softirq, mut foreign) = (0.0, 0.0, 0.0, Some(0.0));
    for noise in window {
        total += noise.total_ticks;
        steal += noise.steal_ticks;
        softirq += noise.softirq_ticks;
        foreign = foreign.zip(foreign_ticks(noise)).map(|(sum, more)| sum + more);
    }
    (total > 0.0).then(|| NoiseShares {
        steal_pct: 100.0 * steal / total,
        softirq_pct: 100.0 * softirq / total,
        foreign_pct: foreign.map(|it: f64| (100.0 * it / total).max(0.0)),
    })
}

fn foreign_ticks(noise: &Noise) -> Option<f64> {
    Some(noise.busy_ticks - noise.own_ticks? - noise.server_ticks?)
}

/// Returns the indexes of the epochs in noisy windows, in increasing order.
///
/// A window is four consecutive epochs; epochs that are left over belong to the last window. Fewer than four epochs
/// are not judged. An epoch without ticks adds nothing to its window.
pub fn noisy_epochs(epochs: &[Epoch]) -> Vec<usize> {
    let noisy = shares_by_window(epochs).filter(|(_, shares)| shares.is_noisy());
    noisy.flat_map(|(window, _)| window).collect()
}

/// Returns the indexes of the epochs that other processes or the hypervisor disturbed, in increasing order.
///
/// Steal has few ticks, so if a window of [`noisy_epochs`] has too much steal, all its epochs count as disturbed.
/// Foreign CPU time is judged for each epoch. In a window that is noisy only because of foreign CPU time, the epochs
/// above the limit are disturbed. In every other window, the epochs above twice the limit are disturbed. So the
/// beginning and the end of a disturbance are attributed to the right epoch.
pub fn disturbed_epochs(epochs: &[Epoch]) -> Vec<usize> {
    let foreign_pct = |idx: usize| {
        let shares = noise_shares(epochs[idx].noise.as_ref());
        shares.and_then(|shares| shares.foreign_pct)
    };
    shares_by_window(epochs)
        .flat_map(|(window, shares)| {
            let is_stolen = shares.steal_pct > MAX_STEAL_PCT;
            let most_foreign_pct =
                if shares.foreign_pct > Some(MAX_FOREIGN_PCT) { MAX_FOREIGN_PCT } else { MAX_FOREIGN_ALONE_PCT };
            window.filter(move |idx| is_stolen || foreign_pct(*idx) > Some(most_foreign_pct))
        })
        .collect()
}

fn shares_by_window(epochs: &[Epoch]) -> impl Iterator<Item = (Range<usize>, NoiseShares)> {
    windows(epochs.len()).filter_map(|window| {
        let noise = epochs[window.clone()].iter();
        let shares = noise_shares(noise.filter_map(|epoch| epoch.noise.as_ref()))?;
        Some((window, shares))
    })
}

fn windows(n_epochs: usize) -> impl Iterator<Item = Range<usize>> {
    let n_windows = n_epochs / WINDOW_EPOCHS;
    (0..n_windows).map(move |idx| {
        let is_last = idx + 1 == n_windows;
        let end = (idx + 1) * WINDOW_EPOCHS;
        idx * WINDOW_EPOCHS..if is_last { n_epochs } else { end }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::stats::vectors::{close, load};

    /// Returns the columns of a `cpu` line: user, nice, system, idle, iowait, irq, softirq, steal, …
    fn columns(line: &Value) -> Vec<f64> {
        let words = line.as_str().unwrap().split_whitespace().skip(1);
        words.map(|word| word.parse().unwrap()).collect()
    }

    #[test]
    fn the_shares_agree_with_the_reference() {
        let case = &load()["V7_selfcheck_and_diagnostics"]["proc_stat"];
        let (input, expected) = (&case["input"], &case["expected"]);
        let (before, after) = (columns(&input["before"]), columns(&input["after"]));
        let ticks: Vec<f64> = after.iter().zip(before).map(|(after, before)| after - before).collect();
        let noise = Noise {
            total_ticks: ticks.iter().sum(),
            steal_ticks: ticks[7],
            softirq_ticks: ticks[6],
            busy_ticks: ticks[..3].iter().sum(),
            own_ticks: input["own_cpu_jiffies"].as_f64(),
            server_ticks: input["server_cpu_jiffies"].as_f64(),
        };
        close(noise.total_ticks, expected["total"].as_f64().unwrap(), 0.0);
        let found = noise_shares([&noise]).unwrap();
        close(found.steal_pct, expected["steal_percent"].as_f64().unwrap(), 1e-3);
        close(found.softirq_pct, expected["softirq_percent"].as_f64().unwrap(), 1e-3);
        let foreign = expected["foreign_percent_of_capacity"].as_f64().unwrap();
        close(found.foreign_pct.unwrap(), foreign, 1e-3);
        assert!(found.is_noisy());
    }

    fn quiet() -> Noise {
        Noise {
            total_ticks: 100.0,
            steal_ticks: 0.0,
            softirq_ticks: 10.0,
            busy_ticks: 80.0,
            own_ticks: Some(41.0),
            server_ticks: Some(40.0),
        }
    }

    #[track_caller]
    fn check(steal: &[f64], expected: &[usize]) {
        let epoch = |steal: &f64| Epoch {
            slices: vec![],
            latencies_ns: [vec![], vec![]],
            noise: Some(Noise { steal_ticks: *steal, ..quiet() }),
        };
        let epochs: Vec<Epoch> = steal.iter().map(epoch).collect();
        assert_eq!(noisy_epochs(&epochs), expected);
    }

    #[test]
    fn epochs_are_judged_four_at_a_time() {
        check(&[0.0; 9], &[]);
        check(&[3.0, 0.0, 0.0, 0.0], &[]);
        check(&[5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], &[0, 1, 2, 3]);
        check(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 9.0], &[4, 5, 6, 7, 8]);
        check(&[50.0; 3], &[]);
    }

    #[test]
    fn other_work_disturbs_the_epochs_that_it_is_in_and_steal_its_window() {
        let epoch = |steal_ticks: f64, busy_ticks: f64| Epoch {
            slices: vec![],
            latencies_ns: [vec![], vec![]],
            noise: Some(Noise { steal_ticks, busy_ticks, ..quiet() }),
        };
        let calm = epoch(0.0, 81.0);
        let half = [vec![calm.clone(); 2], vec![epoch(0.0, 98.0); 2]].concat();
        assert_eq!(disturbed_epochs(&half), [2, 3]);
        assert_eq!(noisy_epochs(&half), [0, 1, 2, 3]);
        let stolen = [vec![calm.clone(); 3], vec![epoch(9.0, 81.0)]].concat();
        assert_eq!(disturbed_epochs(&stolen), [0, 1, 2, 3]);
        // A disturbance of one epoch in a window that is quiet as a whole, and a disturbance that is too short to
        // distinguish from the error of the ticks.
        let alone = |busy_ticks| [vec![calm.clone(); 3], vec![epoch(0.0, busy_ticks)]].concat();
        assert_eq!(disturbed_epochs(&alone(95.0)), [3]);
        assert_eq!(disturbed_epochs(&alone(89.0)), [0; 0]);
    }

    #[test]
    fn absent_figures_are_no_noise() {
        assert_eq!(noise_shares([]), None);
        assert_eq!(noise_shares([&quiet()]).unwrap().foreign_pct, Some(0.0));
    }

    #[test]
    fn where_the_server_s_time_is_not_known_nothing_is_said_of_others() {
        let unknown = Noise { server_ticks: None, ..quiet() };
        let shares = noise_shares([&quiet(), &unknown]).unwrap();
        assert_eq!(shares.foreign_pct, None);
        assert!(!shares.is_noisy());
        let stolen = Noise { steal_ticks: 3.0, ..unknown };
        assert!(noise_shares([&stolen]).unwrap().is_noisy());
    }
}
