//! Runs the steps of a part one after the other, in the same way as `compare`, and keeps their records.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::Observer;
use crate::comparison::{Measured, Named, measured};
use looptax_model::failure::Failure;
use looptax_model::record::{Record, ReproductionPart, ReproductionStep};

use super::publication::Publication;
use super::reading::Reading;
use super::{Amounts, Part, Step};

/// How long an epoch that began before the deadline may continue after the deadline.
const GRACE: Duration = Duration::from_secs(30);

/// Observes the steps, and keeps their records.
pub trait Onlooker {
    /// Reports the beginning of work that is not a step.
    fn say(&self, words: &str);

    fn observer(&self) -> Box<dyn Observer>;

    /// Notes that this record was saved at this path.
    fn remember(&self, record: &Record, path: &Path);
}

/// The settings that all steps share.
pub struct Surroundings {
    pub onlooker: Box<dyn Onlooker>,
    /// The folder for the records.
    pub folder: PathBuf,
    /// The flag that ends a step; it is set by a signal, or when the step's time is over.
    pub stop: Arc<AtomicBool>,
    /// The flag that only a signal sets.
    pub interrupted: Arc<AtomicBool>,
}

/// Runs the steps of one part, one after the other.
pub struct Runner<'a> {
    around: &'a Surroundings,
    part: &'static str,
}

impl<'a> Runner<'a> {
    pub fn new(around: &'a Surroundings, part: Part) -> Self {
        Self { around, part: part.name() }
    }

    /// Makes a part without any measurement.
    pub fn begin(part: Part, amounts: &Amounts) -> ReproductionPart {
        let steps = part.steps(amounts).into_iter();
        ReproductionPart {
            name: part.name().to_owned(),
            article: Publication::for_part(part).article.clone(),
            steps: steps
                .map(|step| ReproductionStep { command: step.line(), what: step.what, run: None, path: None })
                .collect(),
            rows: Vec::new(),
            points: Vec::new(),
            trials: Vec::new(),
            findings: Vec::new(),
            smaller: Vec::new(),
            missing: Vec::new(),
        }
    }

    pub fn is_interrupted(&self) -> bool {
        self.around.interrupted.load(Ordering::Relaxed)
    }

    pub fn say(&self, words: &str) {
        self.around.onlooker.say(words);
    }

    pub fn folder(&self) -> &Path {
        &self.around.folder
    }

    /// Returns the flag that ends work outside the steps.
    pub fn stop(&self) -> &AtomicBool {
        &self.around.stop
    }

    /// Measures the step with this index; if there is no result, returns `None` and adds the reason to `part`.
    pub fn measure(&mut self, part: &mut ReproductionPart, step: &Step, step_idx: usize) -> Option<Reading> {
        if self.is_interrupted() {
            return None;
        }
        match self.try_measure(part, step, step_idx) {
            Ok(reading) => reading,
            Err(failure) => {
                part.missing.push(in_one_line(&step.what, &failure));
                None
            }
        }
    }

    #[allow(clippy::disallowed_methods, reason = "a time limit, not a measurement")]
    fn try_measure(
        &self,
        part: &mut ReproductionPart,
        step: &Step,
        step_idx: usize,
    ) -> Result<Option<Reading>, Failure> {
        let name = format!("{}-{}.json", self.part, step.name);
        let path = self.around.folder.join(name);
        let begun = Instant::now();
        let done = self.at_most(step.budget, |observer, deadline, stop| {
            let named =
                Named { suffix: &format!("-{}-{}", self.part, step.name), command: step.command(), path: Some(&path) };
            let mut experiments = step.experiments()?;
            for experiment in &mut experiments {
                experiment.deadline = Some(deadline);
            }
            measured(experiments, named, observer, stop)
        });
        let Measured { record, failure } = done?;
        part.missing.extend(record.problems.iter().map(|it| format!("{}: {it}", step.what)));
        if let Some(failure) = failure {
            part.missing.push(in_one_line(&step.what, &failure));
        }
        if record.comparisons.is_empty() {
            if begun.elapsed() >= step.budget && !self.is_interrupted() {
                let why = "the time ran out before anything was measured";
                part.missing.push(format!("{}: {why}", step.what));
            }
            return Ok(None);
        }
        self.remember(&record, &path);
        let kept = &mut part.steps[step_idx];
        kept.run = Some(record.id.clone());
        kept.path = Some(path.display().to_string());
        Ok(Some(Reading { record, step_idx: step_idx as u32 }))
    }

    pub(crate) fn remember(&self, record: &Record, path: &Path) {
        self.around.onlooker.remember(record, path);
    }

    /// Runs the work with a deadline. If the work still runs some time after the deadline, sets the flag that ends the
    /// work.
    #[allow(clippy::disallowed_methods, reason = "a time limit, not a measurement")]
    pub(crate) fn at_most<T>(
        &self,
        time: Duration,
        work: impl FnOnce(&mut dyn Observer, Instant, &AtomicBool) -> T,
    ) -> T {
        let deadline = Instant::now() + time;
        let mut observer = self.around.onlooker.observer();
        let (finished, over) = channel::<()>();
        let (stop, interrupted) = (&self.around.stop, &self.around.interrupted);
        thread::scope(|scope| {
            let timer = scope.spawn(move || {
                if over.recv_timeout(time + GRACE) == Err(RecvTimeoutError::Timeout) {
                    stop.store(true, Ordering::Relaxed);
                }
            });
            let done = work(observer.as_mut(), deadline, stop);
            drop(finished);
            timer.join().ok();
            stop.store(false, Ordering::Relaxed);
            // A signal that came before `stop` was reset must still end the run.
            if interrupted.load(Ordering::Relaxed) {
                stop.store(true, Ordering::Relaxed);
            }
            done
        })
    }
}

/// Renders a failure and its next step in one line that begins with `what`.
pub(crate) fn in_one_line(what: &str, failure: &Failure) -> String {
    let hint = failure.hint().map(|hint| format!("; {hint}"));
    let line = format!("{what}: {failure:#}{}", hint.unwrap_or_default());
    line.replace('\n', " ")
}
