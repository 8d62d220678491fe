//! Checks Little's law: in a closed loop, the number of requests times their latency is the connections' time.
//!
//! This checks an invariant of the load generator; it is not a separate result. Called for each arm of a run.

use crate::stats::epoch::{Epoch, Side};

/// Computes N·mean(latency) / (C·active time) of one arm over the run.
///
/// The result is near 1 (0.97 to 1.00) if each of the `connections` always has a request in flight. The result is lower
/// if the client itself needs time between an answer and the next request. Assumes that the latencies are a
/// representative sample of the completions. Returns `None` if there are no latencies, connections or time. For an open
/// loop the result has no meaning.
///
/// Example: 2 connections, 1 s, 1000 completions of 1.9 ms each: 0.95.
pub fn littles_law(epochs: &[Epoch], side: Side, connections: u32) -> Option<f64> {
    let samples = epochs.iter().map(|epoch| &epoch.latencies_ns[side.idx()]);
    let (mut n_samples, mut sum_ns) = (0_u64, 0_u64);
    for latency_ns in samples.flatten() {
        n_samples += 1;
        sum_ns += u64::from(*latency_ns);
    }
    let slices = || epochs.iter().flat_map(|epoch| epoch.slices_of(side));
    if slices().any(|slice| slice.response.is_some()) {
        return None;
    }
    let completions: u64 = slices().map(|slice| slice.completions).sum();
    let active_ns: u64 = slices().map(|slice| slice.active_ns).sum();
    if n_samples == 0 || active_ns == 0 || connections == 0 {
        return None;
    }
    let mean_ns = sum_ns as f64 / n_samples as f64;
    Some(completions as f64 * mean_ns / (f64::from(connections) * active_ns as f64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::vectors::{close, plain_slice};

    #[test]
    fn a_client_that_dawdles_shows() {
        let epoch = Epoch {
            slices: vec![plain_slice(Side::Other, 1000, 1_000_000_000)],
            latencies_ns: [vec![], vec![1_900_000; 10]],
            noise: None,
        };
        let epochs = [epoch];
        close(littles_law(&epochs, Side::Other, 2).unwrap(), 0.95, 1e-12);
        assert_eq!(littles_law(&epochs, Side::Baseline, 2), None);
        assert_eq!(littles_law(&epochs, Side::Other, 0), None);
    }
}
