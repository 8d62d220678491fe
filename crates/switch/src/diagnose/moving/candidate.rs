//! A port, the socket to which its connections would be moved, and the text form of sockets.
//!
//! Plain data: the other files of `moving` find candidates and decide about them.

use std::net::SocketAddr;
use std::path::PathBuf;

use looptax_redirect::{Demand, Mapping, Owner, Route, SocketName};

/// A port and a socket of the same server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    pub from: Vec<SocketAddr>,
    /// The socket to which the port's connections are moved.
    pub to: SocketName,
    /// The server's name and pid, if looptax knows the server.
    pub server: Option<(String, u32)>,
    /// The proof that the socket belongs to this server, if looptax found a proof.
    pub owner: Option<Owner>,
    /// The reason to leave the port's connections on TCP; `None` if they are moved.
    pub stays: Option<String>,
    /// Settings of the program that keep its connections on TCP.
    pub demands: Vec<Demand>,
    /// The results of trying a known connection.
    pub checked: Vec<String>,
    /// The reason why nothing is moved at present; this may change while the program runs.
    pub idle: Option<String>,
    /// Warnings: facts that the person who moves the port cannot know otherwise.
    pub warnings: Vec<String>,
}

impl Candidate {
    /// Returns a candidate that nothing keeps on TCP.
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

    /// Whether the port's connections would be moved at present.
    pub fn is_moved_now(&self) -> bool {
        self.stays.is_none() && self.idle.is_none()
    }
}

/// Returns the supervisor's input: the addresses to move, each with its socket.
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

/// Returns the name of a socket as people write it.
pub fn shown(socket: &SocketName) -> String {
    match socket {
        SocketName::Path(path) => path.display().to_string(),
        SocketName::Abstract(name) => format!("@{}", String::from_utf8_lossy(name)),
    }
}

/// Parses a socket's name that a person wrote.
pub(super) fn named(text: &str) -> SocketName {
    match text.strip_prefix('@') {
        Some(name) => SocketName::Abstract(name.as_bytes().to_vec()),
        None => SocketName::Path(PathBuf::from(text)),
    }
}
