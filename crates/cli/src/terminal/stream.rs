//! `--json-stream`: prints the events of a run to stdout, one JSON object per line.
//!
//! The events are printed between epochs. If the reader of stdout ends, the run ends too, as after Ctrl-C and without
//! an error.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use looptax_bench::{Phase, Progress, Replanned};
use looptax_experiment::comparison::parts::Parts;
use looptax_experiment::observer::{PlannedStep, Scene};
use looptax_host::waiting;
use looptax_model::record::{Record, StreamEpoch, StreamEvent, StreamLine, StreamPlan, StreamStep, WarningCode};
use looptax_model::stats::{Side, tax_pct};

use super::live::follow::{estimate_so_far, rate_per_s};

/// The JSON lines of a run, except the last line with the result, which `results` prints.
pub(crate) struct Stream {
    stop: Arc<AtomicBool>,
    is_read: bool,
    title: String,
    n_comparisons: usize,
    n_looks: usize,
    n_problems: usize,
}

/// Returns the plan of a comparison for a JSON line.
pub(crate) fn plan(parts: &Parts<'_>) -> StreamPlan {
    let plans = || parts.all.iter().map(|part| &part.plan);
    let step = |it: &PlannedStep| StreamStep { title: it.label.clone(), at_most_s: it.at_most_s };
    let at_most_s: f64 = plans().map(|it| it.at_most.as_secs_f64()).sum();
    StreamPlan {
        words: parts.text(),
        steps: plans().flat_map(|it| &it.steps).map(step).collect(),
        at_most_s: (at_most_s > 0.0).then_some(at_most_s),
    }
}

/// Returns the plan of a run that is not a comparison; such a plan has only text.
pub(crate) fn plan_in_words(words: &str) -> StreamPlan {
    StreamPlan { words: words.to_owned(), ..StreamPlan::default() }
}

/// Prints a plan for `--dry-run`.
pub(crate) fn show_plan(plan: StreamPlan, is_stream: bool) -> io::Result<()> {
    if is_stream {
        return super::json_line(&StreamLine::from(StreamEvent::Plan(plan))).map(drop);
    }
    super::words_as_data(&plan.words)
}

impl Stream {
    /// Makes a stream that sets `stop` when the reader of stdout has ended.
    pub(super) fn new(stop: &Arc<AtomicBool>) -> Self {
        let stop = Arc::clone(stop);
        Self { stop, is_read: true, title: String::new(), n_comparisons: 0, n_looks: 0, n_problems: 0 }
    }

    pub(super) fn is_read(&self) -> bool {
        self.is_read
    }

    pub(super) fn tell(&mut self, event: StreamEvent) {
        if !self.is_read {
            return;
        }
        // If this line cannot be written, the result at the end cannot be written either; the failure is reported then.
        match super::json_line(&StreamLine::from(event)) {
            Ok(true) => return,
            Ok(false) => self.is_read = false,
            Err(_) => {}
        }
        self.stop.store(true, Ordering::Relaxed);
        waiting::stop();
    }

    pub(super) fn warn(&mut self, code: WarningCode, what: &str) {
        self.tell(StreamEvent::Warning { code, what: what.to_owned() });
    }

    /// Prints the problems that were added since the last call.
    pub(super) fn problems(&mut self, code: WarningCode, record: &Record) {
        for problem in &record.problems[self.n_problems..] {
            self.warn(code, problem);
        }
        self.n_problems = record.problems.len();
    }

    pub(super) fn replanned(&mut self, replanned: &Replanned, words: &str) {
        let [planned, n] = replanned.n_epochs;
        let code = if n < planned { WarningCode::EpochsFewer } else { WarningCode::SlicesLonger };
        self.warn(code, words.trim_end());
    }

    pub(super) fn epoch_ended(&mut self, progress: &Progress<'_>) {
        let is_warm_up = progress.phase == Phase::WarmUp;
        self.tell(StreamEvent::Epoch(StreamEpoch {
            pair: progress.contrast_idx as u32,
            title: progress.contrast.to_owned(),
            is_warm_up,
            n_epochs: progress.n_epochs as u64,
            n_epochs_at_most: progress.n_epochs_at_most as u64,
            rates_per_s: Side::BOTH.map(|side| rate_per_s(&progress.epoch.raw, side)),
            throughput_pct: progress.epoch_theta.map(tax_pct),
            so_far_pct: estimate_so_far(progress),
            next_look: progress.next_analysis.map(|it| it as u64),
            left_at_most_s: (!is_warm_up).then_some(progress.left_at_most.as_secs_f64()),
        }));
    }

    pub(super) fn say(&mut self, words: &str) {
        self.tell(StreamEvent::News { words: words.to_owned() });
    }

    pub(super) fn begin(&mut self, scene: Scene) {
        self.title.clone_from(&scene.title);
        self.tell(StreamEvent::Start { title: scene.title, pairs: scene.arms, words: scene.news });
    }

    pub(super) fn kept(&mut self, record: &Record) {
        self.problems(WarningCode::NotMeasured, record);
        for (idx, comparison) in record.comparisons.iter().enumerate().skip(self.n_comparisons) {
            let idx = idx as u32;
            for arm in &comparison.arms {
                self.tell(StreamEvent::Arm {
                    comparison: idx,
                    arm: arm.name.clone(),
                    endpoint: arm.endpoint.clone(),
                    verified: arm.verified,
                    proof: arm.proof.clone(),
                });
            }
            for tax in &comparison.tax {
                let title = self.title.clone();
                self.tell(StreamEvent::Verdict { comparison: idx, title, tax: Box::new(tax.clone()) });
            }
            for warning in &comparison.warnings {
                self.warn(WarningCode::Comparison, warning);
            }
        }
        for look in &record.looks[self.n_looks..] {
            self.tell(StreamEvent::Look(Box::new(look.clone())));
        }
        (self.n_comparisons, self.n_looks) = (record.comparisons.len(), record.looks.len());
    }
}
