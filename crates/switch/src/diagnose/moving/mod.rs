//! The command `run`: which addresses are moved to which sockets, and which addresses stay on TCP and why.
//!
//! `pairs` finds a server's socket for each of the server's ports. `container` finds the socket for a port that a
//! container publishes, and `path_here` finds that socket's path in looptax's own folders. `obstacles` lists the reasons
//! against a move if the account is not known, and `known` finds and tries the connections in the program's arguments
//! and environment. The result is plain data for `looptax_redirect`; `words` has the messages for a person.

mod candidate;
mod container;
mod given;
mod known;
mod obstacles;
mod pairs;
mod pooler;
mod wanted;
pub mod words;

use std::net::SocketAddr;

use looptax_host::discover::{Server, survey};
use looptax_model::dsn::Kind;
use looptax_model::failure::Failure;

pub use candidate::{Candidate, mapping, shown};
use known::Verdict;
pub use known::unfitting;
use obstacles::Logins;
pub use wanted::Wanted;

/// Lists what `run` moves: the addresses of `--map`; without `--map`, the addresses that looptax finds and the
/// addresses of `--also`.
pub fn candidates(args: &Wanted<'_>) -> Result<Vec<Candidate>, Failure> {
    known::told(args)?;
    if !args.map.is_empty() {
        return given::parse_all("--map", args.map);
    }
    let given = given::parse_all("--also", args.also)?;
    let mut all = found(args, &given)?;
    all.extend(given);
    Ok(all)
}

/// Returns the candidates that looptax finds on this machine, without the addresses in `given`.
fn found(args: &Wanted<'_>, given: &[Candidate]) -> Result<Vec<Candidate>, Failure> {
    let survey = survey(None);
    let own = survey.own_network;
    let direct = survey.servers.iter().flat_map(|server| {
        let pairs = pairs::pairs_of(server, own).into_iter();
        pairs.map(move |pair| (pair, server, true))
    });
    let published = survey.published.iter().filter_map(|published| {
        let server = &survey.servers[published.server_idx];
        Some((container::published_candidate(published, server, own)?, server, false))
    });
    let mut found = Vec::new();
    for (mut pair, server, is_direct) in direct.chain(published) {
        let is_given = |it: &SocketAddr| given.iter().any(|given| given.from.contains(it));
        let is_wanted = |it: &SocketAddr| args.ports.is_empty() || args.ports.contains(&it.port());
        pair.from.retain(|it| is_wanted(it) && !is_given(it));
        if pair.from.is_empty() {
            continue;
        }
        if is_of_web(server.kind) && pair.stays.is_none() {
            pair.stays = Some(of_web(&pair));
        }
        if pair.stays.is_some() {
            found.push(pair);
            continue;
        }
        let known = known::verdict(&pair, args, &survey.servers)?;
        settle(&mut pair, server, is_direct, known, args.require_login);
        found.push(pair);
    }
    Ok(found)
}

/// Whether a server runs an application behind a web server; looptax cannot try requests or logins on such a server.
fn is_of_web(kind: Kind) -> bool {
    matches!(kind, Kind::PhpFpm | Kind::Uwsgi | Kind::Http)
}

/// Explains why the port of a server behind a web server is moved only if the command line requests it.
fn of_web(pair: &Candidate) -> String {
    let also: Vec<String> = { pair.from.iter() }.map(|from| format!("--also {from}={}", shown(&pair.to))).collect();
    format!(
        "looptax cannot determine from outside whether the port and the socket serve the same pages, and a connection \
         over a socket does not show the web server's address to the program; to move this server, pass {}",
        also.join(" ")
    )
}

/// Decides whether a pair is moved. Considers the program's known connections first, and then possible obstacles. If
/// the server's rules may treat other connections differently, a known connection that works shows nothing about the
/// others. In this case the pair is moved only if a person passed the known connection and the socket admits no account
/// that TCP refuses.
fn settle(pair: &mut Candidate, server: &Server, is_direct: bool, known: Verdict, require_login: bool) {
    pair.demands = obstacles::demands(server.kind);
    let is_named = matches!(known, Verdict::Works { is_told: true, .. });
    match known {
        Verdict::Fails(why) => {
            pair.stays = Some(why);
            return;
        }
        Verdict::Works { words, .. } => pair.checked = words,
        Verdict::Unknown => {}
    }
    pair.stays = obstacles::of_port(pair, server);
    let has_rules = server.kind == Kind::Postgres || server.kind.facts().logins.is_some();
    if pair.stays.is_some() || !(has_rules || pair.checked.is_empty()) {
        return;
    }
    match obstacles::of_logins(pair, server, is_direct) {
        Logins::Same(warning) => pair.warnings.extend(warning),
        Logins::Differ { why, gets_more: false } if is_named => {
            pair.warnings.push(format!(
                "the login that you passed with --login works over the socket, but other logins may fail: {why}"
            ));
        }
        Logins::Differ { why, .. } => pair.stays = Some(why),
        Logins::Open if require_login => {
            pair.stays = Some("--require-login needs the account: pass the account with --login DSN".to_owned());
        }
        Logins::Open => pair.warnings.push(obstacles::OPEN.to_owned()),
    }
}
