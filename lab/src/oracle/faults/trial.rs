//! A trial: the work during which faults happen, and its conditions. `switch` and `spool` are trials.

use std::path::Path;

use anyhow::Result;

use super::trace::End;

/// Work during which faults happen, and the conditions that must hold afterwards.
pub(super) trait Trial {
    fn words(&self) -> String;
    fn lay_down(&self, root: &Path) -> Result<()>;
    /// Returns the number of phases; each is a process, and they run one after the other.
    fn n_phases(&self) -> usize;
    /// Does the work of a phase's process; returns its exit code.
    fn work(&self, root: &Path, phase: usize) -> i32;
    /// Lists violations after a phase.
    fn judge(&self, root: &Path, phase: usize, ended: &Ended) -> Result<Vec<String>>;
    /// Lists violations after another start without a fault.
    fn settle(&self, root: &Path, ended: &[Ended]) -> Result<Vec<String>>;
}

/// The result of a phase.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) end: End,
    /// Whether the fault killed the process.
    pub(super) is_killed: bool,
    pub(super) n_said: usize,
    /// Number of faults in the whole case.
    pub(super) n_faults: usize,
}
