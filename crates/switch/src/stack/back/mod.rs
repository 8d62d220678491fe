//! The servers behind web servers: the process that listens at an address, the users that its socket will let in, the
//! test of its files, and their reload.
//!
//! `known` is the interface; one file for each program. Nothing is written here.

pub(super) mod fpm;
mod gunicorn;
mod known;
mod puma;
mod uwsgi;

use std::path::Path;

use looptax_host::discover::{Place, Process, listens_on};

use super::program::masters;
pub use fpm::pool_tests;
pub(super) use known::{BackProgram, Backlog, Own, Wanted};

pub(super) const ALL: [&dyn BackProgram; 4] = [&fpm::Fpm, &gunicorn::Gunicorn, &uwsgi::Uwsgi, &puma::Puma];

/// The one of that name in the journal.
pub(super) fn by_name(name: &str) -> Option<&'static dyn BackProgram> {
    ALL.into_iter().find(|it| it.name() == name)
}

pub(super) fn find(program: &dyn BackProgram, is_there: impl Fn(&Place) -> bool) -> Option<Process> {
    let mut all = masters(|it| program.is_it(it)).into_iter();
    all.find(|it| listens_on(it).iter().any(|it| is_there(&it.place)))
}

pub(super) fn listens(master: &Process, socket: &Path) -> bool {
    let all = listens_on(master);
    all.iter().any(|it| matches!(&it.place, Place::Path { path, .. } if path == socket))
}
