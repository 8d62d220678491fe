//! Decides when the data are analysed and when the run stops: interim analyses (group-sequential), each with its own
//! level.
//!
//! This file has the presets and the stop rule. Estimates are computed in other files, each at the level of its
//! interim analysis. Called by the experiment after every epoch.

use crate::stats::estimate::Estimate;
use crate::stats::verdict::Verdict;

/// Every interim analysis of the default run: the number of epochs, and the level. The levels come from linear spending
/// of 5 % over 120 epochs; in a simulation, the total level of all interim analyses was 5.02 %.
const FULL: [(usize, f64); 5] = [(10, 0.00417), (20, 0.00507), (40, 0.01008), (80, 0.02074), (120, 0.02725)];
/// Levels of interim analyses at a quarter, a half and all of the epochs, from linear spending of 5 %.
const QUARTERS: [f64; 3] = [0.01250, 0.01608, 0.03220];
/// If the half width of θ's interval is at most this, the interval is narrow enough for every purpose.
const PRECISE_HALF_WIDTH: f64 = 0.01;
/// A run may end early only if the half width is at most this share of the effect. If runs ended as soon as the
/// interval does not contain zero, they would report estimates that are too large.
const LARGEST_SHARE: f64 = 0.25;
/// A run may end early only if the half width of θ's interval is also at most this.
const LARGEST_HALF_WIDTH: f64 = 0.03;

/// A planned interim analysis of the data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InterimAnalysis {
    /// The index of this interim analysis, counted from 0.
    pub idx: usize,
    pub n_epochs: usize,
    /// The two-sided level of every interval that is computed at this interim analysis.
    pub alpha: f64,
    pub is_last: bool,
}

/// The interim analyses of a run, sorted by number of epochs.
#[derive(Debug, Clone, PartialEq)]
pub struct InterimAnalyses(Vec<InterimAnalysis>);

impl InterimAnalyses {
    /// Returns the default: up to 120 epochs, which take about a minute.
    pub fn full() -> Self {
        Self::new(&FULL)
    }

    /// Returns the interim analyses of a quick run, of up to 40 epochs.
    pub fn quick() -> Self {
        Self::by_quarters([10, 20, 40])
    }

    /// Returns the interim analyses of a short run, of up to 20 epochs; used for the longer slices of `free`
    /// placement, and for several arms of one server. With five epochs no interval is possible at this level, so the
    /// first interim analysis never stops the run.
    pub fn short() -> Self {
        Self::by_quarters([5, 10, 20])
    }

    /// Returns a single interim analysis, after `n_epochs`, with the whole level of 5 %.
    pub fn fixed(n_epochs: usize) -> Self {
        Self::new(&[(n_epochs, 0.05)])
    }

    /// Returns the interim analysis that takes place after exactly `n_epochs` epochs, if there is one.
    pub fn due(&self, n_epochs: usize) -> Option<InterimAnalysis> {
        self.iter().find(|analysis| analysis.n_epochs == n_epochs)
    }

    /// Returns the next interim analysis after `n_epochs` epochs.
    pub fn after(&self, n_epochs: usize) -> Option<InterimAnalysis> {
        self.iter().find(|analysis| analysis.n_epochs > n_epochs)
    }

    /// Returns all interim analyses, from the first to the last.
    pub fn iter(&self) -> impl Iterator<Item = InterimAnalysis> {
        self.0.iter().copied()
    }

    /// Returns the maximum number of epochs of the run.
    pub fn n_max(&self) -> usize {
        self.0.last().map_or(0, |analysis| analysis.n_epochs)
    }

    fn by_quarters(n_epochs: [usize; 3]) -> Self {
        let pairs: Vec<(usize, f64)> = n_epochs.into_iter().zip(QUARTERS).collect();
        Self::new(&pairs)
    }

    fn new(pairs: &[(usize, f64)]) -> Self {
        let analysis =
            |(idx, &(n_epochs, alpha))| InterimAnalysis { idx, n_epochs, alpha, is_last: idx + 1 == pairs.len() };
        Self(pairs.iter().enumerate().map(analysis).collect())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopCause {
    /// The interval does not contain zero.
    ExcludesZero,
    InsideDelta,
    Last,
    /// The measurement is invalid, so more epochs would not help.
    Invalid,
}

/// The decision after an interim analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// The run continues to the next interim analysis.
    Continue,
    Stop(StopCause),
}

/// The rule by which an interim analysis ends the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StopRule {
    /// Whether the half width must be at most 0.01 (`--precise`). A run may always continue, because every interim
    /// analysis has its own level.
    pub is_precise: bool,
}

impl StopRule {
    /// Decides after an interim analysis, from its interval of θ and the verdict at its level.
    ///
    /// The run stops if the verdict is equivalent or invalid, or at the last interim analysis. It also stops if the
    /// verdict is a difference or negligible, and the half width is either at most 0.01, or at most both 0.03 and a
    /// quarter of |θ|. The verdict may come from [`crate::stats::classify`] (only from the interval) or from
    /// [`crate::stats::primary`] (with objections: a run whose result depends on noisy epochs continues).
    ///
    /// Example: θ = 0.1 [0.08, 0.12] is a difference, and the run stops; with `--precise` it continues, since the half
    /// width 0.02 is above 0.01. With θ = 0.03 [0.01, 0.05] the run continues: the true value may be nearly twice as
    /// large, or only a third.
    pub fn decide(self, analysis: InterimAnalysis, theta: &Estimate, verdict: Verdict) -> Decision {
        let is_narrow = |half_width: f64| theta.half_width() <= half_width;
        let enough = (LARGEST_SHARE * theta.value.abs()).min(LARGEST_HALF_WIDTH);
        let may_stop = is_narrow(PRECISE_HALF_WIDTH) || !self.is_precise && is_narrow(enough);
        match verdict {
            Verdict::Invalid => Decision::Stop(StopCause::Invalid),
            Verdict::Equivalent => Decision::Stop(StopCause::InsideDelta),
            Verdict::Difference | Verdict::Negligible if may_stop => Decision::Stop(StopCause::ExcludesZero),
            _ if analysis.is_last => Decision::Stop(StopCause::Last),
            _ => Decision::Continue,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::stats::distributions::normal_critical;
    use crate::stats::hodges_lehmann;
    use crate::stats::vectors::{close, floats, load};
    use crate::stats::verdict::classify;

    #[test]
    fn the_presets_are_those_of_the_reference() {
        let bounds = &load()["V5_group_sequential"]["boundaries"];
        let analyses: Vec<InterimAnalysis> = InterimAnalyses::full().iter().collect();
        let (alphas, zs) = (floats(&bounds["nominal_alpha"]), floats(&bounds["z"]));
        let fractions = floats(&bounds["info_fraction"]);
        for (idx, analysis) in analyses.iter().enumerate() {
            close(analysis.alpha, alphas[idx], 0.0);
            close(analysis.n_epochs as f64 / 120.0, fractions[idx], 1e-6);
            close(normal_critical(analysis.alpha), zs[idx], 1e-3);
        }
        for (alpha, z) in QUARTERS.into_iter().zip([2.498, 2.407, 2.142]) {
            close(normal_critical(alpha), z, 1e-3);
        }
    }

    #[test]
    fn an_interim_analysis_is_due_at_its_epoch_only() {
        let analyses = InterimAnalyses::full();
        assert_eq!(analyses.due(20).map(|analysis| (analysis.idx, analysis.is_last)), Some((1, false)));
        assert_eq!(analyses.due(120).map(|analysis| analysis.is_last), Some(true));
        assert_eq!(analyses.due(21), None);
        assert_eq!((InterimAnalyses::quick().n_max(), InterimAnalyses::short().n_max()), (40, 20));
        assert_eq!(InterimAnalyses::fixed(7).due(7).map(|analysis| analysis.is_last), Some(true));
    }

    /// Goes through the interim analyses of `theta` as an experiment would, and compares each with the reference.
    #[track_caller]
    fn check(name: &str) {
        let case = &load()["V5_group_sequential"]["input_and_expected"][name];
        let (theta, expected) = (floats(&case["theta"]), &case["expected"]);
        for analysis in InterimAnalyses::full().iter() {
            let found = hodges_lehmann::estimate(&theta[..analysis.n_epochs], analysis.alpha).unwrap();
            check_analysis(&found, &expected["looks"][analysis.idx]);
            let verdict = classify(&found, 0.01);
            // The reference stops at the first result; our rule stops at the first result whose interval is also
            // narrow enough.
            if verdict != Verdict::Inconclusive || analysis.is_last {
                assert_eq!(analysis.idx as u64 + 1, expected["stop_look"].as_u64().unwrap());
                assert_eq!(reference_name(verdict), expected["verdict"].as_str().unwrap());
                return;
            }
        }
        panic!("{name} has no answer");
    }

    #[track_caller]
    fn check_analysis(found: &Estimate, expected: &Value) {
        let ends = floats(&expected["ci_log"]);
        close(found.value, expected["hl_log"].as_f64().unwrap(), 1e-5);
        close(found.lo, ends[0], 1e-5);
        close(found.hi, ends[1], 1e-5);
        assert_eq!(!found.covers(0.0), expected["excludes_zero"].as_bool().unwrap());
        let is_inside = found.lies_within((-0.01_f64).ln_1p(), 0.01_f64.ln_1p());
        assert_eq!(is_inside, expected["inside_margin"].as_bool().unwrap());
    }

    fn reference_name(verdict: Verdict) -> &'static str {
        match verdict {
            Verdict::Difference => "difference",
            Verdict::Negligible => "difference_negligible",
            Verdict::Equivalent => "equivalent",
            Verdict::Inconclusive => "inconclusive",
            Verdict::Invalid => "invalid",
        }
    }

    #[test]
    fn answers_come_where_those_of_the_reference_do() {
        check("difference_3pct");
        check("equivalent_0pct");
        check("inconclusive_noisy");
        check("negligible_0.5pct");
    }

    #[test]
    fn a_run_goes_on_until_the_interval_is_narrow() {
        let analysis = InterimAnalyses::full().due(10).unwrap();
        let decide = |is_precise, value: f64, half_width: f64| {
            let theta = Estimate { value, lo: value - half_width, hi: value + half_width, n: 10 };
            StopRule { is_precise }.decide(analysis, &theta, Verdict::Difference)
        };
        let stop = Decision::Stop(StopCause::ExcludesZero);
        for (value, half_width, decision) in [
            (0.03, 0.02, Decision::Continue),
            (0.03, 0.0099, stop),
            (0.10, 0.02, stop),
            (0.10, 0.026, Decision::Continue),
            (0.40, 0.029, stop),
            (0.40, 0.031, Decision::Continue),
        ] {
            assert_eq!(decide(false, value, half_width), decision, "{value} {half_width}");
        }
        assert_eq!(decide(true, 0.40, 0.02), Decision::Continue);
        assert_eq!(decide(true, 0.40, 0.0099), stop);
    }

    #[test]
    fn an_interim_analysis_without_interval_runs_on() {
        let analysis = InterimAnalyses::short().due(5).unwrap();
        let theta = hodges_lehmann::estimate(&[0.1; 5], analysis.alpha).unwrap();
        let decision = StopRule { is_precise: false }.decide(analysis, &theta, classify(&theta, 0.01));
        assert_eq!(decision, Decision::Continue);
    }
}
