//! The interface of a web server's program.

use std::fmt::Debug;
use std::path::PathBuf;

use looptax_host::discover::Process;
use looptax_model::failure::Failure;

use super::super::program::is_trusted;
use crate::diagnose::check::Count;
use crate::line::Line;

pub(in crate::stack) type Files = Vec<(PathBuf, String)>;

/// The facts and commands of a web server's program.
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
    /// The most connections that its files let this many workers have at once; `None` if they set no limit.
    fn at_once(&self, _files: &Files, _n_workers: u32) -> Option<Count> {
        None
    }
    /// Returns the command that tests the files of a master.
    fn test(&self, master: &Process) -> Line;
    /// Returns the command that reloads them; else why there is none.
    fn reload(&self, master: &Process) -> Result<Line, String>;
}

/// The number behind a word that a line of the files begins with, whatever its case, and the file; `None` if no line does,
/// or they differ.
pub(in crate::stack) fn number<'a>(files: &'a Files, named: &str) -> Option<(u32, &'a PathBuf)> {
    let of_line = |line: &str| {
        let mut words = line.split_whitespace();
        words.next().filter(|it| it.eq_ignore_ascii_case(named))?;
        words.next()?.parse().ok()
    };
    // nginx ends a directive with one of these, and has several in a line.
    let of_file = |text: &str| -> Vec<u32> {
        let lines = text.lines().filter_map(|it| it.split('#').next());
        lines.flat_map(|it| it.split(['{', '}', ';'])).filter_map(of_line).collect()
    };
    let mut found = files.iter().flat_map(|(path, text)| of_file(text).into_iter().map(move |n| (n, path)));
    let first = found.next()?;
    found.all(|it| it.0 == first.0).then_some(first)
}
