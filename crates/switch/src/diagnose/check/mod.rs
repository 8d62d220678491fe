//! The command `check`: gathers the facts from which the points are made.
//!
//! `client` describes the client, `libpq` reads the parameters that libpq adds to the client's address, `rights` gives
//! a thread the client's rights, `reach` follows the client's path to the socket, and `logins` logs in once over each
//! endpoint and queries the server. `sources` finds the connections of a file or a process, `subject` checks them,
//! `answer` reports on each of them, and `offered` gives the command that writes both sides of a connection between two
//! containers. `looptax_advise::check` puts the facts into words.

mod absence;
mod answer;
mod bounded_read;
mod client;
mod contained;
mod container;
mod libpq;
mod logins;
mod offered;
mod own_file;
mod published;
mod question;
mod queue;
pub mod reach;
mod rights;
mod shared;
mod site;
mod socket_handle;
pub mod sources;
mod subject;
mod taken;
mod unit;
mod unknown_listener;
mod workers;

use std::fmt::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;

use looptax_advise::check::{self, End};
use looptax_advise::serving::ServerFile;
use looptax_bench::path::WaitOnce;
use looptax_host::discover::{Server, monitored, process};
use looptax_model::dsn::{Address, Kind, Protocol};
use looptax_model::failure::Failure;
use looptax_model::record::{Outcome, Point, PointCode, Topic};

use crate::diagnose::local::own_address;
use crate::diagnose::ports;
use crate::diagnose::socket_of::{self, Near, SocketOf};
pub use answer::Around;
pub use client::Client;
pub(crate) use client::{group_name, user_name};
pub use libpq::typed;
use logins::Sides;
pub use logins::{HbaFile, hba_file};
pub(crate) use logins::{login, password_of, sealing};
pub(crate) use own_file::ask;
pub use question::Question;
pub(crate) use queue::{AT_PORT, Length, ToBeMade};
pub use rights::Rights;
pub use sources::FileText;
pub use subject::{Sources, Switchable};
pub use unit::Unit;
use unknown_listener::nobody_known;
pub(crate) use workers::{Count, main_file_of_fpm};

/// Returns all points of a check, in the order in which an application would meet them after a switch.
pub fn points(question: Question<'_>) -> Result<Vec<Point>, Failure> {
    let Question { address, client, .. } = question;
    let _remembering = WaitOnce::begin();
    if let Some(point) = file_for_folder(address) {
        return Ok(vec![point]);
    }
    if let Some(socket) = named_socket(question)? {
        return Ok(on_the_socket(&socket, question));
    }
    let ip = match own_ip(address, question.socket.is_some()) {
        Ok(ip) => ip,
        Err(elsewhere) => {
            let next = in_compose_file(client).or_else(|| elsewhere.next.clone());
            return Ok(vec![Point { next, ..*elsewhere }]);
        }
    };
    let own = question.near.server(address);
    let behind = question.near.behind(address).filter(|_| own.is_none());
    let server = own.or(behind.map(|it| it.1).filter(|it| it.kind.protocol() == Some(address.protocol)));
    let other = question.near.listener(address).or(behind.map(|it| it.1));
    if let Some(other) = other.filter(|_| server.is_none()) {
        return Ok(vec![another_kind(other, address)]);
    }
    let mut points = vec![behind.map_or_else(|| listening(server, address), |it| published::listening(it, address))];
    points.extend(ports_held(SocketAddr::new(ip, address.port), client));
    let socket = match (question.socket, &address.socket, behind) {
        (None, None, Some(behind)) => match published::socket(behind, address) {
            Ok(socket) => Some(socket),
            Err(point) => {
                points.push(*point);
                return Ok(points);
            }
        },
        (None, None, None) if server.is_some_and(Server::lacks_socket) => None,
        _ => Some(socket_of::find(address, question.socket, question.near)?),
    };
    let Some(socket) = socket else {
        points.push(no_socket(server, address));
        return Ok(points);
    };
    if socket.is_guess {
        let tcp = SocketAddr::new(ip, address.port);
        return Ok(vec![nobody_known(tcp, question, None)]);
    }
    let path = way(&socket, client, address);
    let is_reachable = path.outcome == Outcome::Pass;
    points.push(path);
    points.extend(by_unit(client, &socket));
    points.push(check::confinement(&client.confinement, &client.shown));
    let sides =
        Sides { address, tcp: SocketAddr::new(ip, address.port), socket: &socket, server, client, is_reachable };
    let of_login = match question.no_login {
        _ if !logins::has_logins(address.protocol) => logins::without(&sides),
        None => logins::points(&sides),
        Some(why) => logins::unasked(&sides, why),
    };
    let says = |code| of_login.iter().any(|it| it.code == code);
    let is_doubtful = says(PointCode::ServersDiffer) || server.is_none() && !says(PointCode::ServerSame);
    if socket.is_candidate && is_doubtful {
        return Ok(vec![nobody_known(sides.tcp, question, Some(&socket.file))]);
    }
    if socket.is_candidate && server.is_none() {
        let port = address.port;
        let title = address.protocol.title();
        points[0] = Point::new(
            Topic::Server,
            PointCode::ServerListens,
            Outcome::Pass,
            format!("a {title} server listens on port {port}; looptax may not inspect its process"),
            "logged in to that server, and compared it with the server on the socket",
        );
    }
    points.extend(of_login);
    points.extend(queue::point(server, &socket, question));
    points.push(check::losses());
    Ok(points)
}

/// Checks whether a client can log in over a socket that its server has created: follows the path to the socket, and
/// logs in once.
pub(crate) fn on_its_socket(socket: &Path, address: &Address, client: &Client) -> Result<Vec<Point>, Failure> {
    // PostgreSQL's clients use the socket's folder instead of its file.
    let named = if address.protocol == Protocol::Postgres { socket.parent().unwrap_or(socket) } else { socket };
    let address = Address { socket: Some(named.to_owned()), host: None, ..address.clone() };
    let near = Near::nobody();
    points(Question { n_connections: Some(1), ..Question::of(&address, client, near) })
}

/// Returns a point if the address contains the file of a PostgreSQL socket instead of its folder: libpq, and drivers
/// that work like libpq, would treat that file as a folder and look for a socket in it.
fn file_for_folder(address: &Address) -> Option<Point> {
    let path = address.socket.as_deref().filter(|_| address.protocol == Protocol::Postgres)?;
    let name = path.file_name()?.to_str().filter(|it| it.starts_with(".s.PGSQL."))?;
    let what = format!(
        "the connection fails with its present settings: `{path}` is the socket's file, but libpq expects a folder, \
         and looks for {path}/{name}",
        path = path.display()
    );
    let point = Point::new(
        Topic::Configuration,
        PointCode::ReachesNothing,
        Outcome::Fail,
        what,
        "read the address as libpq does",
    );
    Some(point.with_next(format!("write the folder: {}", path.parent()?.display())))
}

/// Returns the host's address for TCP. If the host is another machine, the error is a point with the outcome `Fail`.
/// With `has_socket`, every plain IP address is accepted, because the address may belong to a container.
fn own_ip(address: &Address, has_socket: bool) -> Result<IpAddr, Box<Point>> {
    let host = address.host.as_deref().unwrap_or("localhost");
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let found = match bare {
        "localhost" => Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        bare => own_address(bare).or_else(|| bare.parse().ok().filter(|_| has_socket)),
    };
    found.ok_or_else(|| {
        let what = format!("`{host}` is not this machine: a Unix socket works only within one machine");
        let how = "compared with this machine's addresses and /etc/hosts; asked no name server";
        let next = "if the host is a container on this machine, share the folder of the server's socket with the \
                    application, and check the container's address with --socket PATH";
        Box::new(Point::new(Topic::Server, PointCode::ServerElsewhere, Outcome::Fail, what, how).with_next(next))
    })
}

/// Returns the command for a client in a container of a Compose file; `None` for any other client.
fn in_compose_file(client: &Client) -> Option<String> {
    let file = monitored(&process(client.pid?)?)?.compose_file?;
    let file = file.to_string_lossy();
    let file = shell_words::quote(&file);
    Some(format!(
        "if the host is a service of the same Compose file, `looptax switch {file} --containers --dry-run` shows the lines \
         for both containers"
    ))
}

fn listening(server: Option<&Server>, address: &Address) -> Point {
    let how = match server {
        Some(server) if server.is_hidden => {
            "inferred from port, user and command line: only root can see which process owns the socket"
        }
        _ => "looked at the listening sockets of every process",
    };
    let (code, outcome, what) = match server {
        Some(server) => {
            let name = server.name();
            let version = server.version.as_deref().unwrap_or("of unknown version");
            let pid = server.process.pid;
            (
                PointCode::ServerListens,
                Outcome::Pass,
                format!("{name} {version}, pid {pid}, listens on port {}", address.port),
            )
        }
        None => (
            PointCode::ServerNotSeen,
            Outcome::Unknown,
            format!(
                "looptax sees no server of a known kind on port {}{}",
                address.port,
                if looptax_host::is_privileged() {
                    ""
                } else {
                    " (without root, looptax sees only the processes of this user)"
                }
            ),
        ),
    };
    Point::new(Topic::Server, code, outcome, what, how.to_owned())
}

/// Returns the point about ports of the client's network namespace that are held by closed connections to the server.
fn ports_held(server: SocketAddr, client: &Client) -> Option<Point> {
    let held = client.other_network().is_none().then(|| ports::held(|address| address == server))??;
    let how = "asked the kernel for closed connections, and read ip_local_port_range and tcp_tw_reuse";
    Some(Point::new(Topic::Server, PointCode::PortsHeld, Outcome::Note, held, how))
}

/// Returns the point about a server whose kind differs from the kind in the address.
fn another_kind(server: &Server, address: &Address) -> Point {
    let (name, pid, port) = (server.name(), server.process.pid, address.port);
    let title = address.protocol.title();
    let point = Point::new(
        Topic::Server,
        PointCode::ListenerOfAnotherKind,
        Outcome::Fail,
        format!("{name}, pid {pid}, listens on port {port}, but does not speak {title}"),
        "looked at the listening sockets of every process",
    );
    point.with_next("check the address's scheme and port")
}

/// Returns the socket that the address itself contains; in this case there is no TCP address for a comparison. libpq
/// uses its default socket if the address has no host.
fn named_socket(question: Question<'_>) -> Result<Option<SocketOf>, Failure> {
    let address = question.address;
    let is_local = matches!(address.host.as_deref(), None | Some("localhost"));
    let names_one = address.socket.is_some() || address.host.is_none() && address.protocol == Protocol::Postgres;
    if question.socket.is_some() || !is_local || !names_one {
        return Ok(None);
    }
    socket_of::find(address, None, Near::nobody()).map(Some)
}

/// Returns the points of a connection that already uses the socket; there is no TCP connection for a comparison.
fn on_the_socket(socket: &SocketOf, question: Question<'_>) -> Vec<Point> {
    let Question { address, client, .. } = question;
    let words = if socket.is_guess { "libpq's usual socket, on Debian " } else { "" };
    let what = format!("the connection uses the socket already: {words}{}", socket.file);
    let mut points =
        vec![Point::new(Topic::Configuration, PointCode::TakesSocket, Outcome::Pass, what, "read the address")];
    let path = way(socket, client, address);
    let is_reachable = path.outcome == Outcome::Pass;
    points.push(path);
    points.extend(by_unit(client, socket));
    if is_reachable && question.no_login.is_none() && logins::has_logins(address.protocol) {
        let tcp = SocketAddr::from((Ipv4Addr::LOCALHOST, address.port));
        points.extend(logins::over_the_socket(&Sides { address, tcp, socket, server: None, client, is_reachable }));
    }
    points.extend(queue::of_socket_in_use(socket, question));
    points
}

/// Returns points about settings of a unit file that change which sockets its program sees. For a running process,
/// leaves out the points about hidden sockets, because looptax inspects the process's own folders.
fn by_unit(client: &Client, socket: &SocketOf) -> Vec<Point> {
    let Some(unit) = &client.unit else {
        return Vec::new();
    };
    let mut points = check::unit_points(&unit.settings, &socket.file);
    if client.pid.is_some() {
        points.retain(|it| it.code != PointCode::UnitHidesSocket);
    }
    if let Some(name) = &unit.unknown_user {
        let what = format!(
            "User={name} of the unit is not a user of this machine: looptax does not know whether the program can \
            reach the socket"
        );
        let point = Point::new(Topic::Path, PointCode::UnitUserUnknown, Outcome::Unknown, what, "read /etc/passwd");
        points.push(point.with_next("pass the user that the program runs as: --user NAME"));
    }
    points
}

/// Returns the point about the path to the socket, followed with the client's rights.
fn way(socket: &SocketOf, client: &Client, address: &Address) -> Point {
    let path = Path::new(&socket.file);
    let found = reach::reach(path, client);
    let (shown, user) = (&client.shown, &client.user);
    if let End::Missing { path: missing } = &found.end {
        let absence = absence::look(path, missing, client);
        return check::absent(&absence, &socket.file, shown, address.protocol);
    }
    check::reach_server(&found, &socket.file, (shown, user), address.protocol)
}

fn no_socket(server: Option<&Server>, address: &Address) -> Point {
    Point {
        next: server.map(|it| how_to_add_a_socket(it.kind, address)),
        ..Point::new(
            Topic::Socket,
            PointCode::SocketMissing,
            Outcome::Fail,
            "the server has no socket".to_owned(),
            "looked at its listening sockets".to_owned(),
        )
    }
}

/// Returns how to add a socket to a server. For servers whose socket needs lines in their own files, adds the command
/// that prints or writes these lines.
fn how_to_add_a_socket(kind: Kind, address: &Address) -> String {
    let mut how = kind.facts().how_to_add_a_socket.to_owned();
    if socket_of::is_made_by_lines(kind) {
        let host = address.host.as_deref().unwrap_or("localhost");
        let scheme = match kind {
            Kind::PhpFpm => "fastcgi",
            _ => "http",
        };
        let port = address.port;
        let _ = write!(
            how,
            "; `looptax dsn {scheme}://{host}:{port} --socket PATH` prints the lines for both sides; `looptax check \
             FILE --socket PATH` prints the lines for one file"
        );
    }
    if ServerFile::family_of(kind).is_some() {
        how += "; `looptax switch FILE SERVERS-FILE --restart` changes both the application's file and the server's \
                own file";
    }
    if kind == Kind::PhpFpm {
        how += ", and `looptax switch SITE POOL` changes both nginx's file and the pool's file";
    }
    how
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_socket_is_made_by_lines_what_prints_them_is_named() {
        let address = Address::parse("fastcgi://127.0.0.1:9001").unwrap();
        let php = how_to_add_a_socket(Kind::PhpFpm, &address);
        assert!(php.contains("`looptax dsn fastcgi://127.0.0.1:9001 --socket PATH`"), "{php}");
        assert!(php.contains("`looptax switch SITE POOL`"), "{php}");
        let page = Address::parse("http://127.0.0.1:8000/x").unwrap();
        let http = how_to_add_a_socket(Kind::Http, &page);
        assert!(http.contains("`looptax dsn http://127.0.0.1:8000 --socket PATH`"), "{http}");
        assert!(!http.contains("looptax switch"), "{http}");
        let redis = how_to_add_a_socket(Kind::Redis, &Address::parse("redis://h").unwrap());
        assert!(!redis.contains("looptax dsn"), "{redis}");
    }
}
