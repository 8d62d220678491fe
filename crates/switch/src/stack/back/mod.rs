//! What stands behind web servers: who listens at an address, whom its socket will let in, the test of its files, what
//! has it read them.
//!
//! One file for each program. Nothing is written here.

mod fpm;
mod gunicorn;
mod puma;
mod uwsgi;

use std::fmt::Debug;
use std::path::{Path, PathBuf};

use looptax_advise::app::Rewrite;
use looptax_discover::{Place, Process, listens_on};
use looptax_record::Edit;

use super::program::{Line, masters};
use super::rights::{Access, User};

/// A setting that is written, and its value.
pub(super) type Wanted = (&'static str, String);

/// Why rights are not known.
pub(super) const NO_SECTION: &str = "the section was not found";

/// A server's own file, and who reads it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Own<'a> {
    pub(super) text: &'a str,
    /// The part of it that names the address: a pool.
    pub(super) label: &'a str,
    /// As it was named.
    pub(super) file: &'a Path,
    pub(super) master: &'a Process,
}

/// Whom a socket keeps out although no line of ours may change that.
#[derive(Debug)]
pub(super) struct Closed {
    pub(super) what: String,
    pub(super) next: String,
}

/// What is known of a server's program.
pub(super) trait BackProgram: Debug + Sync {
    /// What it is called in the journal.
    fn name(&self) -> &'static str;
    /// Its name for a person.
    fn title(&self) -> &'static str;
    /// The names that the table of applications has for its files.
    fn applications(&self) -> &'static [&'static str];
    /// Whether a process is one of it that may be told to do something.
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
    /// What tests its files, where it has such a thing.
    fn test(&self, _master: &Process) -> Option<Line> {
        None
    }
    /// What has it read its file and listen where that says; why nothing does.
    fn reload(&self, master: &Process) -> Result<String, String>;
    /// The settings that say whom a socket lets in.
    fn rights(&self) -> &'static str;
    /// Whose the socket will be, and who may what; why that is not known.
    fn access(&self, own: &Own<'_>) -> Result<Access, String>;
    /// The fewest settings that let the user in; nothing where it gets in anyway.
    fn opening(&self, now: Access, user: &User, own: &Own<'_>) -> Result<Vec<Wanted>, Closed>;
    /// These settings as bytes of its text, and as lines for a person.
    fn written(&self, _own: &Own<'_>, _wanted: &[Wanted]) -> Option<(Vec<Rewrite>, Vec<Edit>)> {
        None
    }
    /// What to do with such lines where the socket is there already.
    fn by_hand(&self, own: &Own<'_>, lines: &str) -> String {
        let (file, title) = (own.file.display(), self.title());
        format!("write {lines} into {file}, and restart {title}")
    }
}

/// All that are known.
pub(super) const ALL: [&dyn BackProgram; 4] =
    [&fpm::Fpm, &gunicorn::Gunicorn, &uwsgi::Uwsgi, &puma::Puma];

/// The one of that name in the journal.
pub(super) fn by_name(name: &str) -> Option<&'static dyn BackProgram> {
    ALL.into_iter().find(|it| it.name() == name)
}

/// The process that listens there.
pub(super) fn find(
    program: &dyn BackProgram,
    is_there: impl Fn(&Place) -> bool,
) -> Option<Process> {
    let mut all = masters(|it| program.is_it(it)).into_iter();
    all.find(|it| listens_on(it).iter().any(|it| is_there(&it.place)))
}

/// Whether it listens on this socket.
pub(super) fn listens(master: &Process, socket: &Path) -> bool {
    let all = listens_on(master);
    all.iter()
        .any(|it| matches!(&it.place, Place::Path { path, .. } if path == socket))
}
