//! The results so far. They are written after each case, so that an interrupted run keeps them.

use std::path::Path;

use anyhow::{Context, Result, bail};

use super::case::Case;
use super::driver::{self, Manner, Measured};
use super::markdown::{self, Unmeasured};
use crate::coin::Coin;

/// Collects the cases of a run.
pub(crate) struct Report<'a> {
    head: String,
    path: Option<&'a Path>,
    measured: Vec<Measured<'a>>,
    unmeasured: Vec<Unmeasured<'a>>,
    /// Cases that failed; cases that cannot be measured on this machine are in `unmeasured`.
    broken: Vec<&'a str>,
}

impl<'a> Report<'a> {
    /// Makes a report with this first line; if `path` is given, the report is also written to that file.
    pub(crate) fn new(head: String, path: Option<&'a Path>) -> Self {
        Self { head, path, measured: Vec::new(), unmeasured: Vec::new(), broken: Vec::new() }
    }

    /// Measures a case, or records why it cannot be measured.
    pub(crate) fn add(&mut self, case: &'a Case, how: &Manner<'_>, coin: &mut Coin) -> Result<()> {
        let name = case.name.as_str();
        if let Some(reason) = driver::objection(case, how.looptax) {
            self.unmeasured.push(Unmeasured { name, reason });
        } else {
            match driver::measure(case, how, coin) {
                Ok(done) => self.measured.push(done),
                Err(error) => {
                    let reason = format!("{error:#}");
                    self.unmeasured.push(Unmeasured { name, reason });
                    self.broken.push(name);
                }
            }
        }
        let Some(path) = self.path else { return Ok(()) };
        std::fs::write(path, self.text()).with_context(|| format!("cannot write {}", path.display()))
    }

    /// Prints the whole report; fails if a case failed.
    pub(crate) fn finish(self) -> Result<()> {
        println!("{}", self.text());
        if !self.broken.is_empty() {
            bail!("could not run: {}", self.broken.join(", "));
        }
        Ok(())
    }

    fn text(&self) -> String {
        markdown::render(&self.head, &self.measured, &self.unmeasured)
    }
}
