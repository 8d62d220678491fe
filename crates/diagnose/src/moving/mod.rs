//! `run`: which addresses are moved to which sockets, and which stay on TCP and why.
//!
//! `pairs` finds a server's socket for each of its ports, `container` for a port that a container publishes
//! (`shared` where its folder is ours), `doubts` says what speaks against moving without
//! knowing who logs in, `known` finds the connections that the program's arguments and environment name and
//! tries them. The result is plain data for `looptax_redirect`; `words` is what a person sees of it.

mod container;
mod doubts;
mod given;
mod known;
mod pairs;
mod shared;
pub mod words;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use looptax_discover::{Server, survey};
use looptax_failure::Failure;
use looptax_redirect::{Demand, Mapping, Route, SocketName};

use known::Verdict;

/// A port and the socket of the same server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// What programs connect to.
    pub from: Vec<SocketAddr>,
    /// Where they are moved to.
    pub to: SocketName,
    /// The server, where it is known: `mariadbd, pid 4711`.
    pub server: Option<(String, u32)>,
    /// Why it stays on TCP all the same.
    pub stays: Option<String>,
    /// Words of a process that keep it on TCP.
    pub demands: Vec<String>,
    /// What the check of a known connection said.
    pub checked: Vec<String>,
}

/// What is to be moved, and what is known of the program's connections.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// `ADDRESS=SOCKET`; where there are any, nothing is looked for.
    pub map: &'a [String],
    /// Only the servers on these ports; all where there are none.
    pub only: &'a [u16],
    /// Connections that the program makes.
    pub check: &'a [String],
    /// Whether nothing is tried beforehand.
    pub no_check: bool,
    /// The program with its arguments.
    pub command: &'a [OsString],
}

/// What `run` moves: found, or as given.
pub fn candidates(args: &Wanted<'_>) -> Result<Vec<Candidate>, Failure> {
    if !args.map.is_empty() {
        return given::parse_all(args.map);
    }
    let survey = survey(None);
    let own = survey.own_network;
    let direct = survey.servers.iter().flat_map(|server| {
        let pairs = pairs::of(server, own).into_iter();
        pairs.map(move |pair| (pair, server))
    });
    let published = survey.published.iter().filter_map(|published| {
        let server = &survey.servers[published.server_idx];
        Some((container::of(published, server, own)?, server))
    });
    let mut found = Vec::new();
    for (mut pair, server) in direct.chain(published) {
        let is_wanted = |it: &SocketAddr| args.only.is_empty() || args.only.contains(&it.port());
        pair.from.retain(is_wanted);
        if pair.from.is_empty() {
            continue;
        }
        settle(&mut pair, server, args, &survey.servers)?;
        found.push(pair);
    }
    Ok(found)
}

/// Decides whether it is moved: what is known of the program's connections counts before doubts.
fn settle(
    pair: &mut Candidate,
    server: &Server,
    args: &Wanted<'_>,
    servers: &[Server],
) -> Result<(), Failure> {
    if pair.stays.is_some() {
        return Ok(());
    }
    pair.demands = doubts::demands(server.kind);
    pair.stays = match known::verdict(pair, args, servers)? {
        Verdict::Works(words) => {
            pair.checked = words;
            doubts::of_port(pair, server)
        }
        Verdict::Fails(why) => Some(why),
        Verdict::Unknown => doubts::of_port(pair, server).or_else(|| doubts::of_logins(server)),
    };
    Ok(())
}

/// What the supervisor gets: the addresses that are moved.
pub fn mapping(candidates: &[Candidate]) -> Mapping {
    let moved = candidates.iter().filter(|it| it.stays.is_none());
    let routes = moved.flat_map(|candidate| {
        candidate.from.iter().map(|from| Route {
            from: *from,
            to: candidate.to.clone(),
            server_pid: candidate.server.as_ref().map(|(_, pid)| *pid),
            demands: candidate
                .demands
                .iter()
                .map(|words| Demand {
                    words: words.clone(),
                })
                .collect(),
        })
    });
    Mapping {
        routes: routes.collect(),
    }
}

/// The name of a socket as people write it.
pub fn shown(socket: &SocketName) -> String {
    match socket {
        SocketName::Path(path) => path.display().to_string(),
        SocketName::Abstract(name) => format!("@{}", String::from_utf8_lossy(name)),
    }
}

/// A socket by what people write.
fn named(text: &str) -> SocketName {
    match text.strip_prefix('@') {
        Some(name) => SocketName::Abstract(name.as_bytes().to_vec()),
        None => SocketName::Path(PathBuf::from(text)),
    }
}
