//! The bill of a request: the parts of its mean latency on each arm.
//!
//! The parts are the CPU time of the client, the CPU time of the server, and the rest, which is waiting of any kind.
//! The parts shown add up exactly to the latency shown, because the last part is computed from the others after
//! rounding.

use looptax_model::record::{Arm, Comparison};

use crate::format::{MS_FROM_US, Text};

/// The names of the parts, in order.
pub(super) const PARTS: [&str; 3] =
    ["client's CPU time", "server's CPU time", "the rest: not CPU time of client or server"];

/// CPU times are measured over whole slices, and the latency only over their active part, so the two differ a little.
/// If the CPU times exceed the latency by more than this share of the latency, both ends worked at the same time.
const MOST_OVERLAP: f64 = 0.05;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ArmBill {
    pub(super) arm_idx: usize,
    /// The parts, in the unit of [`Bills`], rounded to the digits that are shown.
    pub(super) parts: [f64; 3],
    pub(super) total: f64,
}

/// The bills of all arms, in the same unit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Bills {
    /// `µs`, or `ms` if requests are long.
    pub(super) unit: &'static str,
    pub(super) arms: Vec<ArmBill>,
    decimals: usize,
}

impl Bills {
    pub(super) fn shown(&self, value: f64) -> String {
        format!("{value:.*}\u{a0}{}", self.decimals, self.unit)
    }
}

/// Returns the bills of all arms, or the reason why there are no bills.
pub(super) fn bills_for(comparison: &Comparison, text: Text) -> Result<Bills, String> {
    if comparison.is_of_program() {
        return Err("a separate program: its CPU time is in the table above".to_owned());
    }
    let means = comparison.arms.iter().map(|arm| arm.latency_us.mean.known());
    let longest_us = means.flatten().map(|us| us.value).fold(0.0, f64::max);
    // The number of digits is the same as for other times: three digits, or whole numbers.
    let (unit, us_per_unit, decimals) = match longest_us {
        us if us < 99.95 => ("µs", 1.0, 1),
        us if us < MS_FROM_US => ("µs", 1.0, 0),
        _ => ("ms", 1e3, 0),
    };
    let arms = comparison.arms.iter().enumerate();
    let per_us = 10_f64.powi(decimals) / us_per_unit;
    let arms = arms.map(|(idx, arm)| arm_bill(idx, arm, [per_us, 10_f64.powi(decimals)], text));
    Ok(Bills { unit, arms: arms.collect::<Result<_, _>>()?, decimals: decimals as usize })
}

/// Makes the bill of an arm. A step is 1 in the last shown digit: `per_us` is the number of steps in one µs, and
/// `per_unit` is the number of steps in the shown unit.
fn arm_bill(arm_idx: usize, arm: &Arm, [per_us, per_unit]: [f64; 2], text: Text) -> Result<ArmBill, String> {
    let name = text.clean(&arm.name);
    let figures = [&arm.cpu_us_per_query.client, &arm.cpu_us_per_query.server, &arm.latency_us.mean];
    let [Some(client), Some(server), Some(total)] = figures.map(|figure| figure.known()) else {
        return Err(format!("the CPU time of both ends is not known for {name}"));
    };
    let [client, server, total] = [client, server, total].map(|it| (it.value * per_us).round());
    let rest = total - client - server;
    if rest < -MOST_OVERLAP * total {
        return Err(format!("the CPU times of both ends of {name} add up to more than the latency"));
    }
    Ok(ArmBill { arm_idx, parts: [client, server, rest].map(|it| it / per_unit), total: total / per_unit })
}
