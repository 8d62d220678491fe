//! The interface of the programs behind web servers.

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use looptax_advise::app::Rewrite;
use looptax_host::discover::Process;
use looptax_model::dsn::Kind;
use looptax_model::record::Edit;

use super::super::rights::{Access, User};
use crate::line::Line;

/// A setting to write, with its value.
pub(in crate::stack) type Wanted = (&'static str, String);

/// The reason that is given if a socket's rights are not known because the file's section is missing.
pub(in crate::stack) const NO_SECTION: &str = "the section was not found";

/// The upstream's file, and the process that reads it.
#[derive(Debug, Clone, Copy)]
pub(in crate::stack) struct Own<'a> {
    pub(in crate::stack) text: &'a str,
    /// The name of the section that contains the address, for example the name of a PHP-FPM pool.
    pub(in crate::stack) label: &'a str,
    pub(in crate::stack) file: &'a Path,
    pub(in crate::stack) master: &'a Process,
}

/// The reason why a socket excludes a client, if looptax must not write the line that would change this.
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
    /// The queue's length in the file; `None` if the file leaves the length to the program.
    pub(in crate::stack) of_file: Option<u32>,
}

/// The facts and commands of a program behind a web server.
pub(in crate::stack) trait BackProgram: Debug + Sync {
    /// Returns the program's name in the journal.
    fn name(&self) -> &'static str;
    fn title(&self) -> &'static str;
    /// Returns the names of the program's files in the table of applications.
    fn applications(&self) -> &'static [&'static str];
    /// Whether a process belongs to this program and looptax may control it.
    fn is_it(&self, process: &Process) -> bool;
    /// Returns the extension of the program's own files, as opposed to units and Procfiles.
    fn extension(&self) -> &'static str;
    /// Returns the path at which the program's packages would put a socket.
    fn usual_socket(&self, _label: &str) -> Option<PathBuf> {
        None
    }
    /// Returns the reason why a change in the program's file would have no effect.
    fn objection(&self, _own: &Own<'_>) -> Option<Closed> {
        None
    }
    /// Returns the command that tests the program's files, if the program has one.
    fn test(&self, _master: &Process) -> Option<Line> {
        None
    }
    /// Returns the command that makes the program read its file and listen on the new address, or the reason why there
    /// is no such command.
    fn reload(&self, master: &Process) -> Result<String, String>;
    /// Returns the names of the settings that decide which users may use a socket.
    fn rights(&self) -> &'static str;
    /// Returns the owner, group and mode that the socket will have, or the reason why they are not known.
    fn access(&self, own: &Own<'_>) -> Result<Access, String>;
    /// Returns the fewest settings that give the user access; empty if the user already has access.
    fn opening(&self, now: Access, user: &User, own: &Own<'_>) -> Result<Vec<Wanted>, Closed>;
    /// Returns the setting for the length of the socket's queue; `None` if looptax does not write this setting.
    fn backlog(&self, _own: &Own<'_>) -> Option<Backlog> {
        None
    }
    /// Returns these settings in two forms: as changes of the file's bytes, and as lines that a person reads.
    fn written(&self, _own: &Own<'_>, _wanted: &[Wanted]) -> Option<(Vec<Rewrite>, Vec<Edit>)> {
        None
    }
    /// Explains to a person what to do with these lines if the socket already exists.
    fn by_hand(&self, own: &Own<'_>, lines: &str) -> String {
        let (file, title) = (own.file.display(), self.title());
        format!("write {lines} into {file}, and restart {title}")
    }
}
