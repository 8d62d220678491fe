//! What has to be known of a web server's program.

use std::fmt::Debug;
use std::path::PathBuf;

use looptax_host::discover::Process;
use looptax_model::failure::Failure;

use super::super::program::is_trusted;
use crate::line::Line;

pub(in crate::stack) type Files = Vec<(PathBuf, String)>;

/// What is known of a web server's program.
pub(in crate::stack) trait FrontProgram: Debug + Sync {
    fn name(&self) -> &'static str;
    fn title(&self) -> &'static str;
    /// The names that the table of applications has for its files.
    fn applications(&self) -> &'static [&'static str];
    /// Every file that it reads now; why it would not, or why it was not asked.
    fn files(&self, master: &Process) -> Result<Files, Failure>;
    /// Whether this child of it serves.
    fn is_serving(&self, worker: &Process) -> bool;
    /// Whether it may be asked for its files: another user's program says what that user wants.
    fn is_ours(&self, master: &Process) -> bool {
        is_trusted(master)
    }
    /// What tests the files of a master.
    fn test(&self, master: &Process) -> Line;
    /// What has it read them; why nothing does.
    fn reload(&self, master: &Process) -> Result<Line, String>;
}
