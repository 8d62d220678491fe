//! The tax of a program that runs on the server's core for a part of the time. The tax is computed from two comparisons
//! of a record, one for each placement.

use crate::record::{Comparison, Estimate, Figure, Tax};
use crate::stats::{self, InPlacement};

/// Computes the tax, in percent of a request's time, of a program that runs on the server's core for `share` of its
/// requests: see [`stats::mixture`]. Returns `None` if the figure of one placement is not known or must not be shown.
pub fn mixed(share: f64, same: (&Comparison, &Tax), split: (&Comparison, &Tax)) -> Option<Estimate> {
    let [same, split] = [same, split].map(|(comparison, tax)| {
        let added = tax.latency_us.mean.known().filter(|_| tax.has_size())?;
        let arm = comparison.arms.iter().find(|arm| arm.name == tax.arm)?;
        Some(InPlacement {
            added_us: stats::Estimate { value: added.value, lo: added.lo?, hi: added.hi?, n: added.n as usize },
            takes_us: arm.latency_us.mean.known()?.value,
        })
    });
    let it = stats::mixture(share, same?, split?);
    Figure::new(it.value, it.lo, it.hi, it.n as u64).known().copied()
}
