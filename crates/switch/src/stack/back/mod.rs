//! The servers behind web servers (upstreams): the process that listens on an address, the users who may use its
//! socket, the test of its files, and their reload.
//!
//! `known` is the interface; each program has its own file. These modules write nothing.

pub(super) mod fpm;
mod gunicorn;
mod known;
mod puma;
mod uwsgi;

use std::net::SocketAddr;
use std::path::Path;

use looptax_host::discover::{Place, Process, listens_on};

use super::program::masters;
pub use fpm::pool_tests;
pub(super) use known::{BackProgram, Backlog, Own, Wanted};

pub(super) const ALL: [&dyn BackProgram; 4] = [&fpm::Fpm, &gunicorn::Gunicorn, &uwsgi::Uwsgi, &puma::Puma];

/// Returns the program with this name in the journal.
pub(super) fn by_name(name: &str) -> Option<&'static dyn BackProgram> {
    ALL.into_iter().find(|it| it.name() == name)
}

pub(super) fn find(program: &dyn BackProgram, is_there: impl Fn(&Place) -> bool) -> Option<Process> {
    let mut all = masters(|it| program.is_it(it)).into_iter();
    all.find(|it| listens_on(it).iter().any(|it| is_there(&it.place)))
}

/// Finds the process that listens on the socket or the address, or else the process with this command line.
pub(super) fn find_again(program: &dyn BackProgram, words: &str, tcp: SocketAddr, socket: &Path) -> Option<Process> {
    let is_there = |place: &Place| match place {
        Place::Path { path, .. } => path == socket,
        place => place.takes(tcp),
    };
    let same = || masters(|it| program.is_it(it)).into_iter().find(|it| it.arguments().join(" ") == words);
    find(program, is_there).or_else(same)
}

pub(super) fn listens(master: &Process, socket: &Path) -> bool {
    let all = listens_on(master);
    all.iter().any(|it| matches!(&it.place, Place::Path { path, .. } if path == socket))
}
