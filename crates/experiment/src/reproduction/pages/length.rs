//! Translates the requested effort into a number of pages, and into a time for each site.

use std::time::Duration;

use looptax_model::stats::InterimAnalyses;

use crate::spec::Effort;

/// Number of slices in an order that balances the two arms.
const OCTET: usize = 8;
/// Maximum number of octets in an epoch: without this limit an epoch would become very long if few contrasts share the
/// time.
const MOST_OCTETS: usize = 125;
/// The average pause before an epoch.
const PAUSE: Duration = Duration::from_millis(10);

/// How long a site is measured.
#[derive(Debug, Clone)]
pub(super) struct Length {
    pub(super) seed: u64,
    pub(super) analyses: InterimAnalyses,
    /// The time for the epochs of all contrasts up to the last interim analysis.
    pub(super) time: Duration,
}

impl Length {
    /// Returns the length for a site. `thirds` is the site's share of the whole time, in thirds: 2 for the site of the
    /// publication.
    pub(super) fn new(effort: Effort, seed: u64, thirds: u32) -> Self {
        let whole_s = match effort {
            Effort::Full => 150,
            Effort::Quick => 50,
            // Only tests use other efforts: as short as possible.
            _ => 0,
        };
        Self {
            seed: seed.wrapping_add(u64::from(thirds)),
            analyses: effort.analyses(InterimAnalyses::full(), None),
            time: Duration::from_secs(whole_s) * thirds / 3,
        }
    }

    /// Returns the number of octets (eight slices) in an epoch: as many as fit into the time if a page takes `page_ns`.
    pub(super) fn octets(&self, n_contrasts: usize, page_ns: u64) -> usize {
        let n_epochs = (self.analyses.n_max() * n_contrasts).max(1) as u128;
        let epoch_ns = (self.time.as_nanos() / n_epochs).saturating_sub(PAUSE.as_nanos());
        let octet_ns = u128::from(page_ns.max(1)) * OCTET as u128;
        let fitting = usize::try_from(epoch_ns / octet_ns).unwrap_or(MOST_OCTETS);
        fitting.clamp(1, MOST_OCTETS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_has_the_octets_that_fit_its_time() {
        let length = Length { seed: 7, analyses: InterimAnalyses::quick(), time: Duration::from_secs(20) };
        // Each of 40 epochs takes half a second; the pause takes 10 ms of it.
        assert_eq!(length.octets(1, 15_000_000), 4);
        assert_eq!(length.octets(2, 15_000_000), 2);
        assert_eq!(length.octets(2, 1_000_000_000), 1);
        assert_eq!(length.octets(2, 0), MOST_OCTETS);
        assert_eq!(Length::new(Effort::Epochs(6), 7, 2).octets(2, 1), 1);
    }
}
