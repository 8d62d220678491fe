//! A port with the socket that its connections would be moved to, and how sockets are written.
//!
//! Plain data: the other files of `moving` find candidates and decide about them.

use std::net::SocketAddr;
use std::path::PathBuf;

use looptax_redirect::{Demand, Mapping, Owner, Route, SocketName};

/// A port and the socket of the same server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub from: Vec<SocketAddr>,
    /// Where they are moved to.
    pub to: SocketName,
    /// The server, if it is known: `mariadbd, pid 4711`.
    pub server: Option<(String, u32)>,
    /// The proof that the socket is its, if it was found.
    pub owner: Option<Owner>,
    /// Why it stays on TCP all the same.
    pub stays: Option<String>,
    /// The process's own settings that keep it on TCP.
    pub demands: Vec<Demand>,
    /// The results of the check of a known connection.
    pub checked: Vec<String>,
    /// Why nothing is moved as things are now; that may change while the program runs.
    pub idle: Option<String>,
    /// Facts that the person who moves it cannot know.
    pub warnings: Vec<String>,
}

impl Candidate {
    /// One that nothing speaks against.
    pub(super) fn new(from: Vec<SocketAddr>, to: SocketName) -> Self {
        Self {
            from,
            to,
            server: None,
            owner: None,
            stays: None,
            demands: Vec::new(),
            checked: Vec::new(),
            idle: None,
            warnings: Vec::new(),
        }
    }

    /// Whether its connections would be moved as things are now.
    pub fn is_moved_now(&self) -> bool {
        self.stays.is_none() && self.idle.is_none()
    }
}

/// Returns the supervisor's input: the addresses that are moved.
pub fn mapping(candidates: &[Candidate]) -> Mapping {
    let moved = candidates.iter().filter(|it| it.stays.is_none());
    let routes = moved.flat_map(|candidate| {
        candidate.from.iter().map(|from| Route {
            from: *from,
            to: candidate.to.clone(),
            owner: candidate.owner.clone(),
            demands: candidate.demands.clone(),
        })
    });
    Mapping { routes: routes.collect() }
}

/// The name of a socket as people write it.
pub fn shown(socket: &SocketName) -> String {
    match socket {
        SocketName::Path(path) => path.display().to_string(),
        SocketName::Abstract(name) => format!("@{}", String::from_utf8_lossy(name)),
    }
}

/// A socket by what people write.
pub(super) fn named(text: &str) -> SocketName {
    match text.strip_prefix('@') {
        Some(name) => SocketName::Abstract(name.as_bytes().to_vec()),
        None => SocketName::Path(PathBuf::from(text)),
    }
}
