//! Whether both sides counted as the server did: a run that did not is of no use.
//!
//! Pure.

use super::driver::{PeerRun, Round};

/// How far a count may lie from the server's own, as a part of it.
const MOST_MISCOUNT: f64 = 0.01;

impl PeerRun {
    /// What it counted over what the server did.
    pub(crate) fn count_ratio(&self) -> Option<f64> {
        Some(self.told.n_requests as f64 / self.counted? as f64)
    }
}

impl Round {
    /// What looptax counted over what the server did, were its warm-up epochs as full as the others:
    /// its record holds no counts of those.
    pub(crate) fn looptax_count_ratio(&self) -> Option<f64> {
        let run = &self.looptax;
        let in_epochs: u64 = run.arms.iter().map(|arm| arm.n_requests).sum();
        let n_all = run.n_epochs + run.n_warm_up_epochs;
        let all = in_epochs as f64 * n_all as f64 / run.n_epochs as f64;
        Some(all / self.looptax_counted? as f64)
    }

    /// How far that may be off: warm-up epochs between half as full and half as full again.
    fn most_looptax_miscount(&self) -> f64 {
        let run = &self.looptax;
        let n_all = run.n_epochs + run.n_warm_up_epochs;
        MOST_MISCOUNT + run.n_warm_up_epochs as f64 / n_all as f64 / 2.0
    }
}

/// What the server counted otherwise on an arm, in words.
pub(crate) fn miscounts(rounds: &[Round], arm_idx: usize) -> Vec<String> {
    let mut found = Vec::new();
    for (idx, round) in rounds.iter().enumerate() {
        let peer = round.peer[arm_idx].count_ratio();
        let looptax = round.looptax_count_ratio();
        for (who, ratio, most) in [
            ("the peer", peer, MOST_MISCOUNT),
            ("looptax", looptax, round.most_looptax_miscount()),
        ] {
            if let Some(ratio) = ratio.filter(|ratio| (ratio - 1.0).abs() > most) {
                found.push(format!(
                    "in round {} {who} counted {:.1} % of what the server did",
                    idx + 1,
                    100.0 * ratio
                ));
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
        wrong.looptax_counted = Some(400_000);
        assert_eq!(
            miscounts(&[wrong], 0),
            [
                "in round 1 the peer counted 111.1 % of what the server did",
                "in round 1 looptax counted 40.0 % of what the server did"
            ]
        );
    }
}
