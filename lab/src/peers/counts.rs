//! Checks whether both sides counted as many requests as the server; a run with wrong counts cannot be used.
//!
//! This file does no I/O.

use super::driver::{PeerRun, Round};

/// Highest allowed difference between a count and the server's own count, as a fraction of it.
const MOST_MISCOUNT: f64 = 0.01;

impl PeerRun {
    /// Returns the peer's count divided by the server's.
    pub(crate) fn count_ratio(&self) -> Option<f64> {
        Some(self.report.n_requests as f64 / self.counted? as f64)
    }
}

/// Describes the counts on an arm that differ from the server's.
pub(crate) fn miscounts(rounds: &[Round], arm_idx: usize) -> Vec<String> {
    let mut found = Vec::new();
    for (idx, round) in rounds.iter().enumerate() {
        let peer = round.peer[arm_idx].count_ratio();
        let looptax = round.looptax.count_ratio;
        for (who, ratio) in [("the peer", peer), ("looptax", looptax)] {
            if let Some(ratio) = ratio.filter(|ratio| (ratio - 1.0).abs() > MOST_MISCOUNT) {
                found.push(format!("in round {} {who} counted {:.1} % of what the server did", idx + 1, 100.0 * ratio));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::figures::tests::round;

    #[test]
    fn counts_that_differ_from_the_servers_are_told() {
        let mut wrong = round([100.0; 2], [110.0; 2]);
        wrong.peer[0].counted = Some(90_000);
        wrong.looptax.count_ratio = Some(0.4);
        assert_eq!(
            miscounts(&[wrong], 0),
            [
                "in round 1 the peer counted 111.1 % of what the server did",
                "in round 1 looptax counted 40.0 % of what the server did"
            ]
        );
    }
}
