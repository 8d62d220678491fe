//! `run`: which addresses are moved to which sockets, and which stay on TCP and why.
//!
//! `pairs` finds a server's socket for each of its ports, `container` for a port that a container publishes
//! (`shared` where its folder is ours), `obstacles` says what speaks against moving without
//! knowing who logs in, `known` finds the connections that the program's arguments and environment name and
//! tries them. The result is plain data for `looptax_redirect`; `words` is what a person sees of it.

mod candidate;
mod container;
mod given;
mod known;
mod obstacles;
mod pairs;
mod shared;
mod wanted;
pub mod words;

use std::net::SocketAddr;

use looptax_discover::{Server, survey};
use looptax_failure::Failure;

pub use candidate::{Candidate, mapping, shown};
use known::Verdict;
pub use wanted::Wanted;

/// What `run` moves: found, or as given.
pub fn candidates(args: &Wanted<'_>) -> Result<Vec<Candidate>, Failure> {
    if !args.map.is_empty() {
        return given::parse_all(args.map);
    }
    let survey = survey(None);
    let own = survey.own_network;
    let direct = survey.servers.iter().flat_map(|server| {
        let pairs = pairs::pairs_of(server, own).into_iter();
        pairs.map(move |pair| (pair, server))
    });
    let published = survey.published.iter().filter_map(|published| {
        let server = &survey.servers[published.server_idx];
        Some((
            container::published_candidate(published, server, own)?,
            server,
        ))
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

/// Decides whether it is moved: what is known of the program's connections counts before what may be in the way.
fn settle(
    pair: &mut Candidate,
    server: &Server,
    args: &Wanted<'_>,
    servers: &[Server],
) -> Result<(), Failure> {
    if pair.stays.is_some() {
        return Ok(());
    }
    pair.demands = obstacles::demands(server.kind);
    pair.stays = match known::verdict(pair, args, servers)? {
        Verdict::Works(words) => {
            pair.checked = words;
            obstacles::of_port(pair, server)
        }
        Verdict::Fails(why) => Some(why),
        Verdict::Unknown => {
            obstacles::of_port(pair, server).or_else(|| obstacles::of_logins(server))
        }
    };
    Ok(())
}
