//! The interface of the web servers' programs.

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
    /// Returns the names of the program's files in the table of applications.
    fn applications(&self) -> &'static [&'static str];
    /// Returns every file that the program reads at present. The error contains the reason why the program rejects its
    /// files, or why looptax did not run it.
    fn files(&self, master: &Process) -> Result<Files, Failure>;
    /// Whether this child process serves requests.
    fn is_serving(&self, worker: &Process) -> bool;
    /// Whether looptax may run the program to list its files. Another user's program could print anything, so by
    /// default only programs of root and of looptax's own user are run.
    fn is_ours(&self, master: &Process) -> bool {
        is_trusted(master)
    }
    /// Returns the maximum number of connections that this number of workers may have at the same time, according to
    /// the program's files; `None` if the files set no limit.
    fn at_once(&self, _files: &Files, _n_workers: u32) -> Option<Count> {
        None
    }
    /// Returns the command that tests the files of a master.
    fn test(&self, master: &Process) -> Line;
    /// Returns the command that reloads the files, or the reason why there is no command.
    fn reload(&self, master: &Process) -> Result<Line, String>;
}

/// Returns the number that follows a word at the beginning of a line, and its file. Upper and lower case of the word
/// count as equal. `None` if no line begins with the word, or if the numbers differ.
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
