//! The work during which faults happen, and its conditions: `switch` and `spool` are such trials.

use std::path::Path;

use anyhow::Result;

use super::trace::End;

/// Work during which faults happen, and the conditions that must hold then.
pub(super) trait Trial {
    fn words(&self) -> String;
    fn lay_down(&self, root: &Path) -> Result<()>;
    /// Processes, one after the other.
    fn n_phases(&self) -> usize;
    /// Does the work of the process of a phase; returns its exit code.
    fn work(&self, root: &Path, phase: usize) -> i32;
    /// Lists what is wrong after a phase.
    fn judge(&self, root: &Path, phase: usize, ended: &Ended) -> Result<Vec<String>>;
    /// Lists what is wrong after a next start without a fault.
    fn settle(&self, root: &Path, ended: &[Ended]) -> Result<Vec<String>>;
}

/// How a phase ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) end: End,
    /// Whether that was the fault.
    pub(super) is_killed: bool,
    pub(super) n_said: usize,
    /// Of the whole case.
    pub(super) n_faults: usize,
}
