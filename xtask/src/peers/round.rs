//! One round: both tools measure both arms, one after the other.
//!
//! The order changes from round to round, so that drift of the machine hits all of them alike.

use std::path::Path;

use anyhow::Result;

use super::looptax::{self, LooptaxRun};
use super::server::Server;
use super::sysbench::{self, SysbenchRun};

/// The arms, in the order of every pair of figures here.
pub(crate) const ARMS: [Arm; 2] = [Arm::Unix, Arm::Tcp];

/// A way to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arm {
    Unix,
    Tcp,
}

impl Arm {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Unix => "unix",
            Self::Tcp => "tcp",
        }
    }
}

/// What both tools found in one round.
#[derive(Debug, Clone)]
pub(crate) struct Round {
    /// By arm.
    pub(crate) sysbench: [SysbenchRun; 2],
    pub(crate) looptax: LooptaxRun,
}

/// Something that runs alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    Sysbench(Arm),
    /// Both arms, interleaved.
    Looptax,
}

const U: Turn = Turn::Sysbench(Arm::Unix);
const T: Turn = Turn::Sysbench(Arm::Tcp);
const L: Turn = Turn::Looptax;

/// Every order once in six rounds, every turn in every place once in three.
const ORDERS: [[Turn; 3]; 6] = [
    [U, T, L],
    [T, L, U],
    [L, U, T],
    [T, U, L],
    [U, L, T],
    [L, T, U],
];

impl Round {
    /// Measures round number `idx`, from 0.
    pub(crate) fn measure(idx: u32, server: &Server, looptax: &Path, seconds: u32) -> Result<Self> {
        let (mut unix, mut tcp, mut both) = (None, None, None);
        for turn in order(idx) {
            match turn {
                Turn::Sysbench(arm) => {
                    let run = sysbench::measure(server, arm, seconds)?;
                    *match arm {
                        Arm::Unix => &mut unix,
                        Arm::Tcp => &mut tcp,
                    } = Some(run);
                }
                Turn::Looptax => both = Some(looptax::measure(server, looptax, seconds)?),
            }
        }
        let turn = "every order holds every turn";
        Ok(Self {
            sysbench: [unix.expect(turn), tcp.expect(turn)],
            looptax: both.expect(turn),
        })
    }

    /// sysbench's tax, in percent of the socket's throughput.
    pub(crate) fn sysbench_tax_pct(&self) -> f64 {
        let [unix, tcp] = &self.sysbench;
        100.0 * (1.0 - tcp.rate_per_s / unix.rate_per_s)
    }

    /// looptax's tax less sysbench's, in points.
    pub(crate) fn difference_points(&self) -> f64 {
        self.looptax.tax_pct.value - self.sysbench_tax_pct()
    }

    /// By how much looptax's throughput is above sysbench's on an arm, in percent.
    pub(crate) fn above_pct(&self, arm_idx: usize) -> f64 {
        let looptax = self.looptax.arms[arm_idx].rate_per_s;
        100.0 * (looptax / self.sysbench[arm_idx].rate_per_s - 1.0)
    }
}

fn order(idx: u32) -> [Turn; 3] {
    ORDERS[idx as usize % ORDERS.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_turn_has_every_place_once_in_three_rounds() {
        for first in [0, 3] {
            for place in 0..3 {
                for turn in [U, T, L] {
                    let rounds = first..first + 3;
                    let n = rounds.filter(|idx| order(*idx)[place] == turn).count();
                    assert_eq!(n, 1, "{turn:?} in place {place} from round {first}");
                }
            }
        }
        assert_eq!(order(6), order(0));
    }
}
