//! A command that looptax runs to its end, and the text that shows the command to a person.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use looptax_host::discover::Process;
use looptax_host::program::{Answer, Ask, ProgramError, Subject, Variables};

/// The suffix that the kernel adds to the name of a program that was replaced.
const REPLACED: &str = " (deleted)";

/// A command that looptax runs to its end: a shell line, or the program of a running process with different arguments.
#[derive(Debug, Clone)]
pub struct Line {
    text: String,
    question: Option<Question>,
}

impl From<&str> for Line {
    /// Makes a shell line. A shell line runs with looptax's own rights, so make one only from text that the person who
    /// runs looptax passed, or to run programs of the system.
    fn from(text: &str) -> Self {
        let text = text.to_owned();
        let question = None;
        Self { text, question }
    }
}

impl Line {
    /// Returns the command as a person would type it.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn question(&self) -> Option<&Question> {
        self.question.as_ref()
    }
}

impl From<Question> for Line {
    fn from(question: Question) -> Self {
        Self { text: question.text(), question: Some(question) }
    }
}

/// The commands that test the files and the commands that reload them afterwards; both lists are in order of execution.
#[derive(Debug, Default)]
pub struct Commands {
    /// The commands for a server's own file. That file is the first in the switch: it is written, tested and read
    /// before any other file is written.
    pub server: Option<ServerCommands>,
    /// The commands that test the files; they run before a program reads the files.
    pub tests: Vec<Line>,
    pub reloads: Vec<Line>,
}

/// The commands for a server's own file.
#[derive(Debug, Default)]
pub struct ServerCommands {
    pub tests: Vec<Line>,
    pub reloads: Vec<Line>,
    /// The commands that make the server read its old file; they run after the applications have read their old files.
    pub back: Vec<Line>,
}

impl Commands {
    /// Returns all commands as a person would type them.
    pub fn texts(&self) -> Vec<&str> {
        let all = self.tests.iter().chain(&self.reloads);
        all.map(Line::text).collect()
    }
}

/// The program of a running process, to be run with different arguments. looptax runs the program as the owner of the
/// process.
#[derive(Debug, Clone)]
pub(crate) struct Question {
    pub(crate) process: Process,
    /// The program's `argv[0]`; `None` if that is the program's path.
    pub(crate) name: Option<String>,
    pub(crate) words: Vec<String>,
    pub(crate) variables: Variables,
}

impl Question {
    fn text(&self) -> String {
        let path = file_of(&self.process);
        let name = self.name.clone();
        let name = name.unwrap_or_else(|| path.to_string_lossy().into_owned());
        line(&name, &self.words)
    }

    /// Runs the program and returns its output.
    ///
    /// # Errors
    /// The reason why the program was not run, or gave no result.
    pub(crate) fn answer(&self, within: Duration, stop: Option<&AtomicBool>) -> Result<Answer, ProgramError> {
        Subject::hold(self.process.pid)?.ask(&Ask {
            name: self.name.as_ref().map(OsString::from),
            words: self.words.iter().map(OsString::from).collect(),
            variables: self.variables,
            within,
            stop,
        })
    }
}

/// Returns the path of the program's file, even if a newer file is at that path now.
pub(crate) fn file_of(process: &Process) -> PathBuf {
    let path = process.program.clone().unwrap_or_default();
    let text = path.to_string_lossy();
    PathBuf::from(text.trim_end_matches(REPLACED))
}

/// Joins a program and its arguments to a line, quoted for a shell.
pub(crate) fn line(program: &str, words: &[String]) -> String {
    let words = words.iter().map(|it| &**it);
    let all: Vec<String> = std::iter::once(program).chain(words).map(quoted).collect();
    all.join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:=,+@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_take_them_apart() {
        let words = ["-g".to_owned(), "user o'x; daemon off;".to_owned()];
        let line = line("/usr/sbin/nginx", &words);
        assert_eq!(line, r"/usr/sbin/nginx -g 'user o'\''x; daemon off;'");
    }
}
