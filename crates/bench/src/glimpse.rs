//! A glimpse of the range of rates under a placement: a measurement without a verdict.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use looptax_model::stats::Side;

use crate::clock::now_ns;
use crate::connect::Connector;
use crate::error::BenchError;
use crate::plan::{Course, Plan};
use crate::requests::Requests;
use crate::shape::Shape;
use crate::slices::EpochOrder;

/// Length of the uncounted time at the start of each quarter of a glimpse. It lets the scheduler settle.
const SETTLE: Duration = Duration::from_millis(400);
const BUCKET: Duration = Duration::from_millis(100);

/// The rates that a glimpse saw.
#[derive(Debug, Clone, PartialEq)]
pub struct GlimpseData {
    /// The rate in each interval of 100 ms, `[baseline, other]`, in chronological order. The unit is requests per
    /// second.
    pub rates_per_s: [Vec<f64>; 2],
    pub took: Duration,
}

/// Takes a glimpse of the plan's first contrast for about `length`: four long slices on fresh connections. `None` if
/// looptax is to stop.
///
/// # Errors
/// An error of connecting, or the first request that failed.
pub fn glimpse(
    plan: &Plan,
    connector: &mut dyn Connector,
    length: Duration,
    stop: &AtomicBool,
) -> Result<Option<GlimpseData>, BenchError> {
    let start_ns = now_ns();
    let slice = (length / 4).saturating_sub(SETTLE).max(BUCKET * 2);
    let course =
        Course { shape: Shape { slice, guard: SETTLE, bucket: Some(BUCKET), ..Shape::short() }, ..plan.course.clone() };
    let order = EpochOrder { n_slices: 4, ..EpochOrder::new(&course, 0, 0, true) };
    let mut requests = Requests::new(plan, connector, stop)?;
    let Some(data) = order.measure(&mut requests, start_ns, stop)? else {
        return Ok(None);
    };
    let n_whole = (slice.as_nanos() / BUCKET.as_nanos()) as usize;
    let rates_of = |side: Side| {
        data.raw
            .slices_of(side)
            .flat_map(|slice| slice.completions_per_100ms.iter().take(n_whole))
            .map(|count| f64::from(*count) / BUCKET.as_secs_f64())
            .collect()
    };
    let took = Duration::from_nanos(now_ns() - start_ns);
    Ok(Some(GlimpseData { rates_per_s: Side::BOTH.map(rates_of), took }))
}
