//! The connection that a watch observes, and the application's file that contains the connection.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use looptax_bench::path::{Endpoint, Limits};
use looptax_host::discover::{Process, Server, is_accepted_at};
use looptax_host::eyes::{Asked, Name};
use looptax_model::dsn::Address;
use rustix::fs::Stat;

use super::eye::{Eye, log_in};

#[derive(Debug, Clone)]
pub struct Watched {
    /// The connection's title for a person, such as `mysql at 127.0.0.1:3306`.
    pub title: String,
    /// The present address, with its password.
    pub address: Address,
    /// The present address as a TCP address of this machine; `None` if only the socket leads to the server, because both
    /// ends are in containers.
    pub tcp: Option<SocketAddr>,
    /// The socket that the connection will use; `None` until a plan determines it.
    pub socket: Option<PathBuf>,
    /// The server that listens on both endpoints, if looptax sees it.
    pub server: Option<Server>,
    /// Whether clients over TCP connect to a container's proxy.
    pub is_behind_proxy: bool,
    /// Whether all connections of the application's file to this address move.
    pub is_whole: bool,
    /// The metadata of the application's file before the file is written.
    pub file: Option<Stat>,
}

impl Watched {
    /// Returns the programs that may read the file; if no program may read it, returns all programs. Other programs
    /// with the same account have their own files.
    pub(super) fn readers_of<T>(&self, all: Vec<T>, process: impl Fn(&T) -> &Process) -> Vec<T> {
        let (readers, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|it| self.may_be_read_by(process(it)));
        if readers.is_empty() { others } else { readers }
    }

    pub(super) fn may_be_read_by(&self, process: &Process) -> bool {
        self.file.as_ref().is_none_or(|it| process.viewer().may_read(it))
    }

    /// Whether a request went to this server, over the socket or over TCP.
    pub(super) fn takes(&self, asked: &Asked) -> bool {
        let is_socket = |at: &Path| matches!(asked, Asked::Unix { name: Name::Path(path), .. } if path == at);
        let endpoints = self.server.iter().flat_map(|it| &it.endpoints);
        self.socket.as_deref().is_some_and(is_socket) || endpoints.into_iter().any(|it| is_accepted_at(asked, it))
    }

    pub(super) fn is_pooler(&self) -> bool {
        self.server.as_ref().is_some_and(|it| it.kind.is_pooler())
    }

    /// Returns the login method with which a pooler checks the account over the socket; `None` if looptax could not
    /// determine the method, or the server is not a pooler.
    pub(super) fn method_of_pooler(&self, limits: Limits) -> Option<&'static str> {
        let socket = self.socket.as_ref().filter(|_| self.is_pooler())?;
        log_in(&self.address, &Endpoint::Unix(socket.clone()), limits).ok()?.method()
    }

    /// Logs in over TCP and, if the socket is known, over the socket. Also returns the reason if looptax cannot ask
    /// over the socket.
    pub(super) fn eye(&self, limits: Limits) -> (Eye, Option<String>) {
        let kind = self.server.as_ref().map(|it| it.kind);
        if let Some(kind) = kind.filter(|it| it.is_pooler()) {
            // The server behind the pooler would answer such requests, and would list the pooler's connections.
            let why = format!("{kind} passes requests on to the server behind it");
            return (Eye::default(), Some(why));
        }
        let mut eye = self.tcp.map_or_else(|| Eye::of(&self.address), |tcp| Eye::open(&self.address, tcp, limits));
        eye.is_behind_proxy = self.is_behind_proxy;
        let socket = self.socket.as_deref();
        let why = socket.and_then(|it| eye.open_socket(&self.address, it, limits));
        (eye, why)
    }
}
