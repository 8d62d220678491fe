//! Reads looptax's measurements from the record that it prints.

use anyhow::{Context, Result};
use looptax_model::record::{Comparison, Record, Slice};

/// Returns the only comparison of a printed record.
pub(crate) fn comparison(printed: &str) -> Result<Comparison> {
    let record: Record = serde_json::from_str(printed).context("looptax prints no record")?;
    let [comparison] = <[Comparison; 1]>::try_from(record.comparisons)
        .map_err(|made| anyhow::anyhow!("looptax made {} comparisons", made.len()))?;
    Ok(comparison)
}

pub(crate) struct Arm<'a> {
    pub(crate) idx: u32,
    pub(crate) seen: &'a looptax_model::record::Arm,
    pub(crate) rate_per_s: f64,
    pub(crate) cpu: Cpu,
}

impl<'a> Arm<'a> {
    pub(crate) fn find(comparison: &'a Comparison, name: &str) -> Result<Self> {
        let mut arms = (0..).zip(&comparison.arms);
        let found = arms.find(|(_, arm)| arm.name == name && arm.verified);
        let (idx, arm) = found.with_context(|| format!("looptax proves no arm `{name}`"))?;
        let rate = arm.throughput_per_s.known();
        let rate = rate.with_context(|| format!("looptax gives no throughput of `{name}`"))?;
        let cpu = Cpu::from_arm(comparison, idx);
        let cpu = cpu.with_context(|| format!("looptax gives no CPU time of `{name}`"))?;
        Ok(Self { idx, seen: arm, rate_per_s: rate.value, cpu })
    }
}

/// CPU time of the client's threads on an arm, for all requests of its slices, including those of guards and drains.
pub(crate) struct Cpu {
    pub(crate) all_ns: u64,
    pub(crate) user_ns: u64,
    pub(crate) n_requests: u64,
}

impl Cpu {
    fn from_arm(comparison: &Comparison, arm_idx: u32) -> Option<Self> {
        let mut sum = Self { all_ns: 0, user_ns: 0, n_requests: 0 };
        for slice in slices_of(comparison, arm_idx) {
            sum.all_ns += slice.client_cpu_ns?;
            sum.user_ns += slice.client_user_ns?;
            sum.n_requests += slice.requests;
        }
        (sum.n_requests > 0).then_some(sum)
    }
}

pub(crate) fn slices_of(comparison: &Comparison, arm_idx: u32) -> impl Iterator<Item = &Slice> {
    let epochs = comparison.raw.epochs.iter();
    let slices = epochs.flat_map(|epoch| &epoch.slices);
    slices.filter(move |slice| slice.arm_idx == arm_idx)
}
