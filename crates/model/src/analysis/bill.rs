//! The bill: for each arm except the root, how much more time and CPU time a request takes over this arm than over the
//! arm one step nearer to the Unix socket.
//!
//! Called by `judging`; METHOD.md, "The bill", has the formula.

use crate::dsn::Arm;
use crate::record::{Bill, BillStep, Figure, Raw};
use crate::stats::{Blocks, Cost};

use super::figures::{figure, plain};

/// The least number of steps. With fewer steps, the bill would only repeat the table.
const LEAST_STEPS: usize = 2;

/// Returns the arm with which the bill compares this arm: the arm that is one step nearer to the Unix socket.
fn parent(arm: Arm) -> Option<Arm> {
    match arm {
        Arm::Unix | Arm::UnixUnix => None,
        Arm::TcpUnix | Arm::UnixTcp => Some(Arm::UnixUnix),
        Arm::TcpTcp => Some(Arm::TcpUnix),
        Arm::Tcp | Arm::Tcp6 | Arm::Abstract | Arm::TlsUnix | Arm::Redirect => Some(Arm::Unix),
        Arm::Tls | Arm::Bridge | Arm::Pasta => Some(Arm::Tcp),
        Arm::Nat | Arm::Proxy => Some(Arm::Bridge),
    }
}

/// Computes the bill of the arms with these names, the baseline first; returns `None` if there are too few steps.
pub(crate) fn bill_for(raw: &Raw, names: &[String], connections: u32, alpha: f64) -> Option<Bill> {
    let arms: Vec<Arm> = names.iter().map(|name| name.parse().ok()).collect::<Option<_>>()?;
    let is_twice = |(idx, arm): (usize, &Arm)| arms[..idx].contains(arm);
    if arms.iter().enumerate().any(is_twice) {
        return None;
    }
    let order = in_order(&arms)?;
    let pairs: Vec<_> = (1..arms.len() as u32).map(|other| raw.counts([0, other], |_| Vec::new())).collect();
    let blocks = Blocks::from_pairs(&pairs, connections)?;
    let idx_of = |arm: Arm| arms.iter().position(|it| *it == arm);
    let root = order[0].0;
    let root_idx = idx_of(root)?;
    let alone = blocks.alone(root_idx, alpha);
    let mut steps: Vec<BillStep> = Vec::new();
    for (arm, over) in &order[1..] {
        let (arm_idx, over_idx) = (idx_of(*arm)?, idx_of(*over)?);
        let added = blocks.added(arm_idx, over_idx, alpha);
        let in_all = time(&blocks.added(arm_idx, root_idx, alpha));
        let time_us = time(&added);
        steps.push(BillStep {
            arm: arm.name().to_owned(),
            over: over.name().to_owned(),
            left_over_us: left_over(&steps, over.name(), &time_us, &in_all),
            cpu_us: cpu(&added),
            time_us,
            in_all_us: in_all,
        });
    }
    Some(Bill { root: root.name().to_owned(), root_time_us: time(&alone), root_cpu_us: cpu(&alone), steps })
}

/// Returns each arm, paired with the arm with which the bill compares it. This other arm always comes earlier in the
/// list. The root is paired with itself.
fn in_order(arms: &[Arm]) -> Option<Vec<(Arm, Arm)>> {
    let above = |arm: Arm| {
        let mut ancestors = std::iter::successors(parent(arm), |it| parent(*it));
        ancestors.find(|it| arms.contains(it))
    };
    let mut roots = arms.iter().filter(|arm| above(**arm).is_none());
    let root = *roots.next()?;
    if roots.next().is_some() || arms.len() <= LEAST_STEPS {
        return None;
    }
    let mut order = vec![(root, root)];
    let mut next = 0;
    while next < order.len() {
        let (over, _) = order[next];
        let children = arms.iter().filter(|arm| above(**arm) == Some(over));
        order.extend(children.map(|arm| (*arm, over)));
        next += 1;
    }
    Some(order)
}

/// Computes the directly measured difference between an arm and the root, minus the sum of the steps from the root to
/// the arm.
fn left_over(before: &[BillStep], over: &str, own: &Figure, in_all: &Figure) -> Option<f64> {
    let mut sum = own.known()?.value;
    let mut at = before.iter().find(|step| step.arm == over)?;
    loop {
        sum += at.time_us.known()?.value;
        match before.iter().find(|step| step.arm == at.over) {
            Some(next) => at = next,
            None => return Some(in_all.known()?.value - sum),
        }
    }
}

fn time(cost: &Cost) -> Figure {
    plain(cost.time_us)
}

fn cpu(cost: &Cost) -> Figure {
    figure(cost.cpu_us, "CPU time could not be read")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::made_up;

    fn names(words: &[&str]) -> Vec<String> {
        words.iter().map(|it| (*it).to_owned()).collect()
    }

    /// Makes blocks in which the baseline answers `counts[0]` requests per slice, and every other arm answers the
    /// number in its own entry of `counts`.
    fn blocks(counts: &[u64]) -> Raw {
        let epochs = (0..12).flat_map(|block| {
            let others = counts.iter().enumerate().skip(1);
            others.map(move |(idx, count)| {
                // The machine's speed drifts from block to block.
                let drift = |n: u64| n * (100 + block) / 100;
                made_up::epoch(block, [0, idx as u32], [drift(counts[0]), drift(*count)])
            })
        });
        Raw { epochs: epochs.collect() }
    }

    #[track_caller]
    fn check(words: &[&str], counts: &[u64], expected: &[(&str, &str, f64)]) {
        let bill = bill_for(&blocks(counts), &names(words), 1, 0.05).unwrap();
        assert_eq!(bill.steps.len(), expected.len());
        for (step, (arm, over, us)) in bill.steps.iter().zip(expected) {
            assert_eq!((step.arm.as_str(), step.over.as_str()), (*arm, *over));
            let found = step.time_us.known().unwrap();
            assert!((found.value - us).abs() < 0.08 * us.abs(), "{step:?}");
            assert!(found.lo.unwrap() < found.hi.unwrap());
            if let Some(left) = step.left_over_us {
                assert!(left.abs() < 0.01 * us.abs(), "{step:?}");
            }
        }
    }

    #[test]
    fn each_arm_adds_to_the_one_below_it() {
        // 50 ms per slice for 5,000, 4,000, 2,500 and 2,000 requests: 10, 12.5, 20 and 25 µs per request.
        check(
            &["unix", "tcp", "proxy", "bridge"],
            &[5_000, 4_000, 2_000, 2_500],
            &[("tcp", "unix", 2.5), ("bridge", "tcp", 7.5), ("proxy", "bridge", 5.0)],
        );
    }

    #[test]
    fn the_baseline_may_be_anywhere_and_arms_may_be_left_out() {
        check(&["tcp", "unix", "proxy"], &[4_000, 5_000, 2_000], &[("tcp", "unix", 2.5), ("proxy", "tcp", 12.5)]);
    }

    #[test]
    fn what_does_not_add_up_has_none() {
        let raw = blocks(&[5_000, 4_000, 3_000]);
        let none = |words: &[&str]| assert_eq!(bill_for(&raw, &names(words), 1, 0.05), None);
        none(&["unix", "tcp"]);
        none(&["tcp", "tls", "tcp"]);
        none(&["tcp6", "tcp", "tls"]);
        none(&["unix", "tcp", "of another version"]);
    }
}
