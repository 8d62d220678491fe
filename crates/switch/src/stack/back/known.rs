//! The interface of a server's program.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use looptax_advise::app::Rewrite;
use looptax_host::discover::Process;
use looptax_model::dsn::Kind;
use looptax_model::record::Edit;

use super::super::rights::{Access, User};
use crate::line::Line;

/// A setting that is written, and its value.
pub(in crate::stack) type Wanted = (&'static str, String);

/// Why rights are not known.
pub(in crate::stack) const NO_SECTION: &str = "the section was not found";

/// A server's own file, and who reads it.
#[derive(Debug, Clone, Copy)]
pub(in crate::stack) struct Own<'a> {
    pub(in crate::stack) text: &'a str,
    /// The part of it that names the address: a pool.
    pub(in crate::stack) label: &'a str,
    pub(in crate::stack) file: &'a Path,
    pub(in crate::stack) master: &'a Process,
}

/// Why a socket keeps a client out although no line of ours may change that.
#[derive(Debug)]
pub(in crate::stack) struct Closed {
    pub(in crate::stack) what: String,
    pub(in crate::stack) next: String,
}

/// A file's setting for the queue of its socket.
#[derive(Debug)]
pub(in crate::stack) struct Backlog {
    pub(in crate::stack) kind: Kind,
    pub(in crate::stack) key: &'static str,
    /// `None` if the file leaves it to the program.
    pub(in crate::stack) of_file: Option<u32>,
}

/// The facts and commands of a server's program.
pub(in crate::stack) trait BackProgram: Debug + Sync {
    /// Returns its name in the journal.
    fn name(&self) -> &'static str;
    fn title(&self) -> &'static str;
    /// The names that the table of applications has for its files.
    fn applications(&self) -> &'static [&'static str];
    /// Whether a process is one of this program that looptax may control.
    fn is_it(&self, process: &Process) -> bool;
    /// How the name of a file ends that is its own, and no unit's or Procfile's.
    fn extension(&self) -> &'static str;
    /// Where its packages would have a socket.
    fn usual_socket(&self, _label: &str) -> Option<PathBuf> {
        None
    }
    /// Why its file would not count.
    fn objection(&self, _own: &Own<'_>) -> Option<Closed> {
        None
    }
    /// Returns the command that tests its files, if it has one.
    fn test(&self, _master: &Process) -> Option<Line> {
        None
    }
    /// Returns the command that has it read its file and listen at the new place; else why there is none.
    fn reload(&self, master: &Process) -> Result<String, String>;
    /// The settings that decide which users a socket lets in.
    fn rights(&self) -> &'static str;
    /// Whose the socket will be, and who may what; why that is not known.
    fn access(&self, own: &Own<'_>) -> Result<Access, String>;
    /// The fewest settings that let the user in; empty if it gets in anyway.
    fn opening(&self, now: Access, user: &User, own: &Own<'_>) -> Result<Vec<Wanted>, Closed>;
    /// How many connections may wait on its socket, by its file; `None` if its setting for that is not written here.
    fn backlog(&self, _own: &Own<'_>) -> Option<Backlog> {
        None
    }
    /// These settings as bytes of its text, and as lines for a person.
    fn written(&self, _own: &Own<'_>, _wanted: &[Wanted]) -> Option<(Vec<Rewrite>, Vec<Edit>)> {
        None
    }
    /// Returns what to do with such lines if the socket is there already.
    fn by_hand(&self, own: &Own<'_>, lines: &str) -> String {
        let (file, title) = (own.file.display(), self.title());
        format!("write {lines} into {file}, and restart {title}")
    }
}
