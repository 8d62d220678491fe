//! How much of the pages is measured: what is asked for, and what that means for a site.

use std::time::Duration;

use looptax_stats::Looks;

/// How much is measured.
#[derive(Debug, Clone, Default)]
pub(crate) struct Options {
    /// A third of the time.
    pub is_quick: bool,
    /// Decides the order of the pages.
    pub seed: u64,
    /// For tests: one look after so many epochs.
    pub epochs: Option<usize>,
}

/// How long a site is measured.
#[derive(Debug, Clone)]
pub(super) struct Length {
    pub(super) seed: u64,
    pub(super) looks: Looks,
    pub(super) time: Duration,
}

/// How long a site is measured that gets so many thirds of the time; the published site gets two.
pub(super) fn length(options: &Options, thirds: u32) -> Length {
    let (looks, whole_s) = if options.is_quick {
        (Looks::quick(), 50)
    } else {
        (Looks::full(), 150)
    };
    let time = Duration::from_secs(whole_s) * thirds / 3;
    let (looks, time) = match options.epochs {
        Some(n) => (Looks::fixed(n), Duration::ZERO),
        None => (looks, time),
    };
    Length {
        seed: options.seed.wrapping_add(u64::from(thirds)),
        looks,
        time,
    }
}
