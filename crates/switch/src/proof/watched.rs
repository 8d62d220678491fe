//! Which connection is watched, and whose application's file it is of.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use looptax_bench::path::{Endpoint, Limits};
use looptax_host::discover::{Process, Server, is_at};
use looptax_host::eyes::{Asked, Name};
use looptax_model::dsn::Address;
use rustix::fs::Stat;

use super::eye::{Eye, log_in};

#[derive(Debug, Clone)]
pub struct Watched {
    /// Which, for a person: `mysql at 127.0.0.1:3306`.
    pub title: String,
    /// The address now, with its password.
    pub address: Address,
    /// The same as an address of TCP.
    pub tcp: SocketAddr,
    /// The socket that it will take; `None` until a plan knows it.
    pub socket: Option<PathBuf>,
    /// The server behind both, if it is seen.
    pub server: Option<Server>,
    /// Whether no other connection of the application's file uses this address and stays there.
    pub is_whole: bool,
    /// The application's file as it is before it is written.
    pub file: Option<Stat>,
}

impl Watched {
    /// Of programs that use one account those that may read the file, if one of them may: others have separate files.
    pub(super) fn readers_of<T>(&self, all: Vec<T>, process: impl Fn(&T) -> &Process) -> Vec<T> {
        let (readers, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|it| self.may_be_read_by(process(it)));
        if readers.is_empty() { others } else { readers }
    }

    pub(super) fn may_be_read_by(&self, process: &Process) -> bool {
        self.file.as_ref().is_none_or(|it| process.viewer().may_read(it))
    }

    /// Whether somebody asked this server: over the socket, or over TCP.
    pub(super) fn takes(&self, asked: &Asked) -> bool {
        let is_socket = |at: &Path| matches!(asked, Asked::Unix { name: Name::Path(path), .. } if path == at);
        let endpoints = self.server.iter().flat_map(|it| &it.endpoints);
        self.socket.as_deref().is_some_and(is_socket) || endpoints.into_iter().any(|it| is_at(asked, it))
    }

    pub(super) fn is_pooler(&self) -> bool {
        self.server.as_ref().is_some_and(|it| it.kind.is_pooler())
    }

    /// Returns the login method by which a pooler, which is not asked, checks the account over the socket; `None` if
    /// that was not found out.
    pub(super) fn method_of_pooler(&self, limits: Limits) -> Option<&'static str> {
        let socket = self.socket.as_ref().filter(|_| self.is_pooler())?;
        log_in(&self.address, &Endpoint::Unix(socket.clone()), limits).ok()?.method()
    }

    /// The server's own view, over TCP and over the socket if that is known; beside it why there is none over the socket.
    pub(super) fn eye(&self, limits: Limits) -> (Eye, Option<String>) {
        let kind = self.server.as_ref().map(|it| it.kind);
        if let Some(kind) = kind.filter(|it| it.is_pooler()) {
            // Questions through it are answered by the server behind, which lists the pooler's connections.
            let why = format!("{kind} passes requests on to the server behind it");
            return (Eye::default(), Some(why));
        }
        let mut eye = Eye::open(&self.address, self.tcp, limits);
        let socket = self.socket.as_deref();
        let why = socket.and_then(|it| eye.open_socket(&self.address, it, limits));
        (eye, why)
    }
}
