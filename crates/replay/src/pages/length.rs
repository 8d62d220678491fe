//! How much of the pages is measured: what is asked for, and what that means for a site.

use std::time::Duration;

use looptax_stats::InterimAnalyses;

/// How much is measured.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    /// A third of the time.
    pub is_quick: bool,
    /// Decides the order of the pages.
    pub seed: u64,
    /// For tests: one interim analysis after so many epochs.
    pub epochs: Option<usize>,
}

/// How long a site is measured.
#[derive(Debug, Clone)]
pub(super) struct Length {
    pub(super) seed: u64,
    pub(super) analyses: InterimAnalyses,
    pub(super) time: Duration,
}

/// How long a site is measured that gets so many thirds of the time; the published site gets two.
pub(super) fn length(options: &Options, thirds: u32) -> Length {
    let (analyses, whole_s) = if options.is_quick {
        (InterimAnalyses::quick(), 50)
    } else {
        (InterimAnalyses::full(), 150)
    };
    let time = Duration::from_secs(whole_s) * thirds / 3;
    let (analyses, time) = match options.epochs {
        Some(n) => (InterimAnalyses::fixed(n), Duration::ZERO),
        None => (analyses, time),
    };
    Length {
        seed: options.seed.wrapping_add(u64::from(thirds)),
        analyses,
        time,
    }
}
