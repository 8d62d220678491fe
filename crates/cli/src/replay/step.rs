//! One comparison of a part: a command line of `compare`, and how long it may take.

use std::time::Duration;

use crate::settings::exec::joined;

/// Tests do not depend on time.
const TEST_BUDGET: Duration = Duration::from_mins(10);

/// How much is measured.
#[derive(Debug, Clone, Default)]
pub(crate) struct Amounts {
    pub(crate) is_quick: bool,
    /// Share of the published amounts of data; `None` for what fits the time.
    pub(crate) scale: Option<f64>,
    /// For tests: epochs of every comparison.
    pub(crate) epochs: Option<u32>,
    /// For tests: length of a slice.
    pub(crate) slice_ms: Option<u32>,
    /// For tests: most connections of a sweep.
    pub(crate) users: Option<u32>,
}

impl Amounts {
    /// One of two, for a quick run or a usual one.
    pub(crate) fn either<T>(&self, quick: T, usual: T) -> T {
        if self.is_quick { quick } else { usual }
    }

    /// Of a published number as many as `scale` says, or `default`; at least `least`.
    pub(crate) fn of(&self, published: u64, default: u64, least: u64) -> u64 {
        let scaled = self.scale.map(|scale| (published as f64 * scale) as u64);
        scaled.unwrap_or(default).max(least)
    }
}

/// One comparison.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// A word for the record's file.
    pub(crate) name: &'static str,
    /// What is compared, for a person.
    pub(crate) what: String,
    /// What `compare` is told.
    pub(crate) words: Vec<String>,
    /// It is broken off after that much measuring, and keeps what it has.
    pub(crate) budget: Duration,
}

impl Step {
    /// `words` are those of `compare`, blanks between them, with the number of epochs left out.
    pub(crate) fn new(
        name: &'static str,
        what: impl Into<String>,
        words: &str,
        budget_s: u64,
    ) -> Self {
        Self {
            name,
            what: what.into(),
            words: words.split_whitespace().map(str::to_owned).collect(),
            budget: Duration::from_secs(budget_s),
        }
    }

    /// One look after so many epochs; tests want fewer and shorter ones.
    #[must_use]
    pub(crate) fn epochs(mut self, amounts: &Amounts, n: u64) -> Self {
        let n = amounts.epochs.map_or(n, u64::from);
        if amounts.epochs.is_some() {
            self.budget = TEST_BUDGET;
        }
        self.words.extend(["--fixed".to_owned(), n.to_string()]);
        self
    }

    /// A short warm-up, and slices of a length, where one is given, or as tests want them: not for whole commands.
    #[must_use]
    pub(crate) fn requests(mut self, amounts: &Amounts, slice_ms: Option<u32>) -> Self {
        let warm_up = if amounts.epochs.is_some() { "0s" } else { "1s" };
        self.words
            .extend(["--warm-up".to_owned(), warm_up.to_owned()]);
        if let Some(ms) = amounts.slice_ms.or(slice_ms) {
            self.words.extend(["--slice-ms".to_owned(), ms.to_string()]);
        }
        self
    }

    /// A further word of `compare`, blanks and all.
    #[must_use]
    pub(crate) fn word(mut self, word: impl Into<String>) -> Self {
        self.words.push(word.into());
        self
    }

    /// The command line that anybody can repeat it with.
    pub(crate) fn command(&self) -> Vec<String> {
        let mut command = vec!["looptax".to_owned(), "compare".to_owned()];
        command.extend(self.words.iter().cloned());
        command
    }

    /// The same as one line for a shell.
    pub(crate) fn line(&self) -> String {
        joined(&self.command())
    }
}
