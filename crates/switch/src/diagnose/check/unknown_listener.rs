//! Points for an address at which looptax knows no server: which process may listen there, and which servers of the
//! same kind looptax sees.
//!
//! Tries to connect if the client's network namespace is looptax's own, and sends nothing. Called for each address
//! whose server was not found.

use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use looptax_host::discover::{Home, Place, Server, is_listened_at, listener_at, process};
use looptax_model::record::{Outcome, Point, PointCode, Topic};

use super::question::Question;
use crate::diagnose::find::container_of;

/// The longest wait for the listener on a port.
const PATIENCE: Duration = Duration::from_secs(3);

/// The maximum number of servers that are listed; a machine may have hundreds.
const MOST_SERVERS: usize = 3;

/// Returns the point for an address at which no known server listens. There is no socket to check, because a guessed
/// socket proves nothing. `candidate` is a socket that may belong to the server, although no login showed it.
pub(super) fn nobody_known(tcp: SocketAddr, question: Question<'_>, candidate: Option<&str>) -> Point {
    let like = seen_here(question);
    let is_ours = question.client.other_network().is_none();
    let client = process(question.client.pid.unwrap_or_else(std::process::id));
    let (refused, how) = if is_ours {
        let error = TcpStream::connect_timeout(&tcp, PATIENCE).err();
        (error.is_some_and(|it| it.kind() == std::io::ErrorKind::ConnectionRefused), "tried to connect")
    } else {
        // looptax does not connect to a port in the client's namespace; it reads that namespace's listening sockets
        // instead.
        let listened = client.as_ref().and_then(|it| is_listened_at(tcp, it));
        (listened == Some(false), "looked at the listening sockets of the client's network")
    };
    if refused {
        let place = if is_ours { "" } else { " in the client's network" };
        return Point::new(
            Topic::Server,
            PointCode::NothingListens,
            Outcome::Fail,
            format!("nothing listens on {tcp}{place}{like}"),
            how.to_owned(),
        )
        .with_next("start the server, or check the port");
    }
    let holder = client.and_then(|it| listener_at(tcp, &it));
    let why = if let Some(holder) = &holder {
        let (name, pid) = (holder.program_name(), holder.pid);
        format!("{name}, pid {pid}, listens there, and is not a server that looptax knows")
    } else if rustix::process::geteuid().is_root() {
        "the program that listens there is not a server that looptax knows: a port proxy, or a server in a container"
            .to_owned()
    } else {
        "only root can see which program listens there".to_owned()
    };
    Point::new(
        Topic::Server,
        PointCode::ListenerUnknown,
        Outcome::Unknown,
        format!("{tcp}: {why}{like}"),
        "looked at the listening sockets of every process that looptax may inspect".to_owned(),
    )
    .with_next(match candidate {
        Some(file) => {
            format!("if the program's socket is {file}, pass --socket {file}; root can see whose socket that is")
        }
        None if holder.is_some() => "pass the program's socket with --socket PATH; for a web server or a proxy, \
                                     check its own file, which contains the servers behind it: `looptax check FILE`"
            .to_owned(),
        None => "pass the program's socket with --socket PATH, or run looptax as root".to_owned(),
    })
}

/// Lists the visible servers of this kind, after a semicolon. In the client's own network namespace all servers count,
/// because the address is valid there. In other namespaces only servers on the same port count.
fn seen_here(question: Question<'_>) -> String {
    let protocol = question.address.protocol;
    let network = question.near.network;
    let servers = question.near.servers.iter().filter(|it| it.kind.protocol() == Some(protocol));
    let places = |is_near: bool| {
        let servers = servers.clone();
        servers.flat_map(move |server| {
            let endpoints = server.endpoints.iter();
            endpoints.filter_map(move |endpoint| match endpoint.place {
                Place::Tcp(own) => {
                    let is_own = network.is_none_or(|it| it == endpoint.network);
                    let is_wanted = is_near || own.port() == question.address.port;
                    (is_own == is_near && is_wanted).then_some((server, own))
                }
                Place::Path { .. } | Place::Abstract(_) => None,
            })
        })
    };
    let near = places(true).map(|(server, at)| format!("{} at {at}", server.name()));
    let far = places(false).map(|(server, at)| format!("{} at {at} in {}", server.name(), network_of(server)));
    let mut all: Vec<String> = near.chain(far).collect();
    let n_more = all.len().saturating_sub(MOST_SERVERS);
    all.truncate(MOST_SERVERS);
    if n_more > 0 {
        all.push(format!("{n_more} more"));
    }
    if all.is_empty() { String::new() } else { format!("; seen here: {}", all.join(", ")) }
}

/// Names a server's network namespace, if it is not the client's namespace.
fn network_of(server: &Server) -> String {
    match &server.process.home {
        Home::Container { .. } => format!("the network of {}", container_of(&server.process)),
        Home::Unit(unit) => format!("the network of {unit}"),
        Home::Elsewhere => format!("another network namespace (pid {})", server.process.pid),
    }
}
