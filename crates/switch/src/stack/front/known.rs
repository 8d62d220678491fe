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
    /// The names that the table of applications has for the program's files.
    fn applications(&self) -> &'static [&'static str];
    /// Returns every file that the program reads at present, or why it rejects them, or why it was not run.
    fn files(&self, master: &Process) -> Result<Files, Failure>;
    /// Whether this child process serves requests.
    fn is_serving(&self, worker: &Process) -> bool;
    /// Whether looptax may run the program to list its files: the output of another user's program is under that user's
    /// control.
    fn is_ours(&self, master: &Process) -> bool {
        is_trusted(master)
    }
    /// Returns the most connections that its files allow this many workers to have at the same time; `None` if they set
    /// no limit.
    fn at_once(&self, _files: &Files, _n_workers: u32) -> Option<Count> {
        None
    }
    /// Returns the command that tests the files of a master.
    fn test(&self, master: &Process) -> Line;
    /// Returns the command that reloads the files, or the reason why there is none.
    fn reload(&self, master: &Process) -> Result<Line, String>;
}

/// Returns the number after a word at the beginning of a line, in any case, and its file; `None` if no line begins with
/// it, or if the numbers differ.
pub(in crate::stack) fn number<'a>(files: &'a Files, named: &str) -> Option<(u32, &'a PathBuf)> {
    let of_line = |line: &str| {
        let mut words = line.split_whitespace();
        words.next().filter(|it| it.eq_ignore_ascii_case(named))?;
        words.next()?.parse().ok()
    };
    // nginx ends a directive with one of these characters, and may have several directives in a line.
    let of_file = |text: &str| -> Vec<u32> {
        let lines = text.lines().filter_map(|it| it.split('#').next());
        lines.flat_map(|it| it.split(['{', '}', ';'])).filter_map(of_line).collect()
    };
    let mut found = files.iter().flat_map(|(path, text)| of_file(text).into_iter().map(move |n| (n, path)));
    let first = found.next()?;
    found.all(|it| it.0 == first.0).then_some(first)
}
