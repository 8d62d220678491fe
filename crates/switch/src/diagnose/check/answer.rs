//! Reports on one connection that was found: its points, and the lines to change.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use looptax_advise::app::{Credentials, Found, is_loopback};
use looptax_advise::check::verdict;
use looptax_advise::{Fields, Takes};
use looptax_host::read;
use looptax_model::dsn::{Address, MASK, Unspoken};
use looptax_model::failure::Failure;
use looptax_model::record::{Change, CheckedConnection, Edit, Outcome, Point, PointCode, SwitchVerdict, Topic};
use looptax_redirect::SocketName;

use super::contained::{self, SocketIs};
use super::logins::{self, Sides};
use super::sources::Looked;
use super::{Question, by_unit, container, points, queue, way};
use crate::diagnose::listener::Listener;
use crate::diagnose::socket_of::{self, Near, SocketOf};
use crate::diagnose::unspoken;

/// The facts that are the same for all connections of a check.
#[derive(Debug, Clone, Copy)]
pub struct Around<'a> {
    pub client: &'a super::Client,
    /// The servers on this machine, as the client sees them.
    pub near: Near<'a>,
    /// The value of `--socket`.
    pub socket: Option<&'a std::path::Path>,
    /// The value of `--connections`.
    pub n_connections: Option<u32>,
}

/// Checks a connection of a file or an environment. Also returns the socket that the new lines use.
pub(super) fn found(
    looked: &Looked,
    found: &Found,
    around: Around<'_>,
) -> Result<(CheckedConnection, Option<SocketOf>), Failure> {
    let mut answer = unasked(looked, found);
    if found.fails {
        answer.verdict = SwitchVerdict::WouldNotWork;
        mend(&mut answer, found, around);
        return Ok((answer, None));
    }
    let inside = contained::inside(found, around.client.pid);
    if found.takes == Some(Takes::Unix) {
        answer.verdict = SwitchVerdict::AlreadyThere;
        if let Some(address) = &found.address {
            take_socket(&mut answer, looked, found, address, around);
        }
        return Ok((answer, None));
    }
    if let (Some(_), Some(address)) = (found.takes, &found.unspoken) {
        answer.place = place_of(address);
        match inside.and_then(|it| contained::closed(address.host.as_deref(), it)) {
            Some(point) => answer.points.push(point),
            None => answer.changes = unspoken_changes(found, address, around),
        }
        return Ok((answer, None));
    }
    let (Some(_), Some(address)) = (found.takes, &found.address) else {
        return Ok((answer, None));
    };
    if let Some(point) = contained::elsewhere(looked, found, around.client.pid) {
        answer.points.push(point);
        answer.verdict = verdict(&answer.points);
        return Ok((answer, None));
    }
    if let Some(path) = around.socket.filter(|it| found.is_of_the_server() && is_absent(it)) {
        let socket = socket_of::find(address, Some(path), around.near)?;
        answer.points.push(to_be_made(path));
        answer.changes = found.changes(&socket.fields(address, None));
        return Ok((answer, None));
    }
    let no_login = no_login(found, address);
    let question = question(address, found, &looked.name, around);
    ask(&mut answer, Question { no_login: no_login.as_deref(), ..question })?;
    if is_elsewhere(&answer.points) {
        // The host may be the name of a container's service.
        let known = container::point(address, &looked.services);
        if let (Some(last), Some(known)) = (answer.points.last_mut(), known) {
            *last = known;
        }
    } else if let Ok(socket) = socket_of::find(address, around.socket, around.near)
        && !socket.is_guess
        && !is_unknown(&answer.points)
    {
        let Some(socket) = contained::as_seen(&mut answer, socket, inside) else {
            return Ok((answer, None));
        };
        answer.changes = changes_for(found, address, &socket);
        return Ok((answer, Some(socket)));
    }
    Ok((answer, None))
}

/// Checks a connection from its file's text only. Also returns the socket that the server may have: `given`, or the
/// usual socket. Does not inspect this machine, and contacts no server.
pub(super) fn by_text(looked: &Looked, found: &Found, given: Option<&Path>) -> (CheckedConnection, Option<SocketOf>) {
    let mut answer = unasked(looked, found);
    if found.fails {
        answer.verdict = SwitchVerdict::WouldNotWork;
    } else if found.takes == Some(Takes::Unix) {
        answer.verdict = SwitchVerdict::AlreadyThere;
    }
    let is_open = answer.verdict == SwitchVerdict::Open && found.takes.is_some();
    if let Some(address) = found.unspoken.as_ref().filter(|_| is_open) {
        answer.place = place_of(address);
        let closed = contained::inside(found, None).and_then(|it| contained::closed(address.host.as_deref(), it));
        answer.points.extend(closed);
    }
    let Some(address) = found.address.as_ref().filter(|_| is_open) else {
        return (answer, None);
    };
    let host = address.host.as_deref().unwrap_or("localhost");
    let elsewhere = contained::elsewhere(looked, found, None);
    let elsewhere = elsewhere.or_else(|| container::point(address, &looked.services));
    let elsewhere = elsewhere.or_else(|| {
        let what = format!("`{host}` is not the loopback of the machine that the file is for");
        let point = Point::new(Topic::Server, PointCode::ServerElsewhere, Outcome::Note, what, "read the address");
        (!is_loopback(host)).then_some(point)
    });
    if let Some(point) = elsewhere {
        answer.points.push(point);
        return (answer, None);
    }
    let socket = socket_of::assumed(address, given).filter(|_| !found.is_of_the_server());
    let socket = socket.and_then(|it| contained::as_seen(&mut answer, it, contained::inside(found, None)));
    if let Some(socket) = &socket {
        answer.changes = changes_for(found, address, socket);
    }
    (answer, socket)
}

/// Adds the points about the socket in a file's settings. Inside a container, the socket's path may lead to another
/// socket.
fn take_socket(answer: &mut CheckedConnection, looked: &Looked, found: &Found, address: &Address, around: Around<'_>) {
    let may_log_in = no_login(found, address).is_none();
    let Some(inside) = contained::inside(found, around.client.pid) else {
        look_at_the_socket(answer, found, address, may_log_in, around);
        return;
    };
    let Ok(socket) = socket_of::find(address, around.socket, Near::nobody()) else {
        return;
    };
    match contained::socket_is(Path::new(&socket.file), found, inside, looked) {
        SocketIs::At(path) => {
            let there = Address { socket: Some(path), ..address.clone() };
            look_at_the_socket(answer, found, &there, may_log_in, around);
        }
        SocketIs::Known(point) => {
            answer.points.push(point);
            match verdict(&answer.points) {
                SwitchVerdict::WouldWork => {}
                other => answer.verdict = other,
            }
        }
    }
}

/// For a configuration that fails, adds the lines that set a socket, and a point on whether the client reaches the
/// socket. The socket is the one in the configuration, or the server's socket. Adds nothing for a guessed socket.
/// `switch` does not write these lines, because there is no connection by which it could prove them.
fn mend(answer: &mut CheckedConnection, found: &Found, around: Around<'_>) {
    let Some(address) = &found.address else {
        return;
    };
    let socket = socket_of::find(address, around.socket, around.near).ok();
    let Some(socket) = socket.filter(|it| !it.is_guess && !it.is_candidate) else {
        return;
    };
    // A path in a container's file is not a path of this machine.
    if contained::inside(found, around.client.pid).is_none() {
        answer.points.push(way(&socket, around.client, address));
    }
    answer.changes = changes_for(found, address, &socket);
}

/// Returns the lines to change for a socket, without the password.
fn changes_for(found: &Found, address: &Address, socket: &SocketOf) -> Vec<Change> {
    let password = address.password.as_ref().map(|_| MASK.to_owned());
    let mut changes = found.changes(&socket.fields(address, password));
    changes.iter_mut().for_each(explain_mask);
    changes
}

fn is_absent(path: &Path) -> bool {
    matches!(read::look_at_link(path), Ok(None))
}

/// Returns the point about a socket that lines in the server's own file will create: the socket's access rights can be
/// checked only when the socket exists.
fn to_be_made(path: &Path) -> Point {
    let what = format!("{} does not exist yet: the lines below create it", path.display());
    let point = Point::new(Topic::Socket, PointCode::SocketMissing, Outcome::Unknown, what, "looked at the path");
    point.with_next(
        "write these lines and restart the server; then run the same command again to see whether the client may use \
         the socket",
    )
}

/// Reports on a connection from its file only.
pub(super) fn unasked(looked: &Looked, found: &Found) -> CheckedConnection {
    CheckedConnection {
        source: looked.name.clone(),
        applications: found.titles.clone(),
        label: found.label.clone(),
        product: found.kind.to_owned(),
        place: found.address.as_ref().map(place).unwrap_or_default(),
        line: found.line,
        verdict: SwitchVerdict::Open,
        points: vec![transport(found)],
        changes: Vec::new(),
    }
}

/// Returns the lines to change for a server whose protocol looptax does not speak; no lines if the socket is only a
/// guess.
fn unspoken_changes(found: &Found, address: &Unspoken, around: Around<'_>) -> Vec<Change> {
    let seen = unspoken::find(address, around.socket, around.near).ok();
    let Some(socket) = seen.filter(|it| !it.is_guess && !it.is_candidate) else {
        return Vec::new();
    };
    let password = address.password.as_ref().map(|_| MASK.to_owned());
    let mut changes = found.changes(&unspoken::fields(&socket, address, password));
    changes.iter_mut().for_each(explain_mask);
    changes
}

fn place_of(address: &Unspoken) -> String {
    let host = address.host.as_deref().unwrap_or("localhost");
    format!("{host}:{}", address.port)
}

fn transport(found: &Found) -> Point {
    let why = &found.why;
    if found.fails {
        return configuration(
            PointCode::ReachesNothing,
            Outcome::Fail,
            &format!("the connection fails with its present settings: {why}"),
            None,
        );
    }
    match (found.takes, &found.address) {
        (None, _) => {
            let next = if found.is_of_a_proxy() {
                "the proxy's variables are set only in its own files: find the values there, and check the address \
                 that they contain; `looptax find` shows which server the proxy connects to"
            } else {
                "pass the running application with --pid PID, so that looptax can read its environment; or check a DSN"
            };
            configuration(PointCode::TransportUnknown, Outcome::Unknown, why, Some(next))
        }
        (Some(Takes::Unix), _) => configuration(
            PointCode::TakesSocket,
            Outcome::Pass,
            &format!("the connection uses the socket already: {why}"),
            None,
        ),
        (Some(_), None) => {
            let what = format!("the connection uses TCP: {why}; looptax does not speak the protocol of {}", found.kind);
            let next = "find out whether the server has a socket that the client may use; with --socket PATH, looptax \
                        shows the lines to change";
            configuration(PointCode::TakesTcpUnspoken, Outcome::Unknown, &what, Some(next))
        }
        (Some(takes), Some(_)) => configuration(
            PointCode::TakesTcp,
            Outcome::Note,
            &format!("the connection uses {} now: {why}", takes.words()),
            None,
        ),
    }
}

/// Checks a server to which a process is connected. Only the server's address is known.
pub(super) fn connected(source: &str, address: &Address, around: Around<'_>) -> Result<CheckedConnection, Failure> {
    let what = "the process is connected over TCP; looptax does not know which file contains the server's address";
    let next = format!(
        "find where {} is set; `looptax dsn {}://{}/` shows how each driver writes the socket's address",
        place(address),
        address.protocol,
        place(address)
    );
    let mut answer = CheckedConnection {
        source: source.to_owned(),
        applications: Vec::new(),
        label: String::new(),
        product: address.protocol.to_string(),
        place: place(address),
        line: None,
        verdict: SwitchVerdict::Open,
        points: vec![configuration(PointCode::ConnectedOverTcp, Outcome::Note, what, Some(&next))],
        changes: Vec::new(),
    };
    let question = Question {
        socket: around.socket,
        n_connections: around.n_connections,
        no_login: Some("the process does not show its user and password"),
        ..Question::of(address, around.client, around.near)
    };
    ask(&mut answer, question)?;
    Ok(answer)
}

/// Checks whether the client reaches the socket that it already uses. A driver's own configuration decides which socket
/// `localhost` means; looptax checks the usual socket.
fn look_at_the_socket(
    answer: &mut CheckedConnection,
    found: &Found,
    address: &Address,
    may_log_in: bool,
    around: Around<'_>,
) {
    let Ok(socket) = socket_of::find(address, around.socket, Near::nobody()) else {
        return;
    };
    let mut point = way(&socket, around.client, address);
    if point.outcome == Outcome::Fail && socket.is_guess {
        let own = around.near.server(address).and_then(|it| it.paths().next());
        let own = own.map(|path| format!("; the server on this machine has {}", path.display()));
        let (usual, next) = found.usual_socket();
        point.code = PointCode::UsualSocketUnreachable;
        point.outcome = Outcome::Unknown;
        point.what = format!("{usual}, on Debian {}, and {}{}", socket.file, point.what, own.unwrap_or_default());
        point.next = Some(next.to_owned());
        if let Some(own) =
            socket_of::find(address, None, around.near).ok().filter(|it| !it.is_guess && !it.is_candidate)
        {
            answer.changes = changes_for(found, address, &own);
        }
    }
    let is_reachable = point.outcome == Outcome::Pass;
    answer.points.push(point);
    answer.points.extend(by_unit(around.client, &socket));
    answer.points.extend(port_ignored(&socket, address, around));
    if is_reachable && may_log_in && logins::has_logins(address.protocol) {
        let sides = Sides {
            address,
            tcp: SocketAddr::from((Ipv4Addr::LOCALHOST, address.port)),
            socket: &socket,
            server: None,
            client: around.client,
            is_reachable,
        };
        answer.points.extend(logins::over_the_socket(&sides));
    }
    let source = answer.source.clone();
    answer.points.extend(queue::of_socket_in_use(&socket, question(address, found, &source, around)));
    match verdict(&answer.points) {
        SwitchVerdict::WouldWork => {}
        other => answer.verdict = other,
    }
}

/// Returns a point about a port that the client ignores: `localhost` means the socket, and the server on that port is
/// not the server on the socket.
fn port_ignored(socket: &SocketOf, address: &Address, around: Around<'_>) -> Option<Point> {
    // looptax's list of servers covers only its own network namespace.
    if !socket.is_guess || around.client.other_network().is_some() {
        return None;
    }
    let meant = around.near.server(address)?;
    let listener = Listener::of(&SocketName::Path(socket.file.clone().into())).ok()?;
    let pid = listener.pid().filter(|it| *it != meant.process.pid)?;
    let owner = around.near.servers.iter().find(|it| it.process.pid == pid)?;
    let ports = owner.endpoints.iter().filter_map(|it| Some(it.port()?.to_string()));
    let mut ports: Vec<String> = ports.collect();
    ports.sort_unstable();
    ports.dedup();
    let ports = if ports.is_empty() { "without a port".to_owned() } else { format!("port {}", ports.join(" and ")) };
    let (port, file) = (address.port, &socket.file);
    let own = meant.socket(port).map_or_else(
        || "write 127.0.0.1 for the server on that port".to_owned(),
        |(path, _)| format!("write the socket {}, or 127.0.0.1 for the server's port", path.display()),
    );
    let what = format!(
        "with localhost the driver ignores port {port} and uses {file}; this is the socket of {} (pid {pid}, {ports}), \
         but the server on port {port} is {} (pid {})",
        owner.name(),
        meant.name(),
        meant.process.pid
    );
    let how = "connected to the socket, and asked the kernel which process listens on it and on the port";
    let point = Point::new(Topic::Server, PointCode::PortIgnored, Outcome::Unknown, what, how);
    Some(point.with_next(format!("if you mean the server on port {port}, {own}; otherwise remove the port")))
}

pub(super) fn question<'a>(
    address: &'a Address,
    found: &'a Found,
    source: &'a str,
    around: Around<'a>,
) -> Question<'a> {
    Question {
        socket: around.socket,
        n_connections: around.n_connections,
        pool: found.pool.as_ref(),
        source: Some(source),
        ..Question::of(address, around.client, around.near)
    }
}

fn ask(answer: &mut CheckedConnection, question: Question<'_>) -> Result<(), Failure> {
    answer.points.extend(points(question)?);
    let last = answer.points.last();
    answer.verdict = if last.is_some_and(|it| it.code == PointCode::NothingListens) {
        SwitchVerdict::NobodyThere
    } else {
        verdict(&answer.points)
    };
    Ok(())
}

fn configuration(code: PointCode, outcome: Outcome, what: &str, next: Option<&str>) -> Point {
    Point {
        next: next.map(str::to_owned),
        ..Point::new(
            Topic::Configuration,
            code,
            outcome,
            what.to_owned(),
            "read the file as the application does".to_owned(),
        )
    }
}

pub(super) fn place(address: &Address) -> String {
    match &address.socket {
        Some(socket) => socket.display().to_string(),
        None => format!("{}:{}", address.host.as_deref().unwrap_or("localhost"), address.port),
    }
}

/// Whether the last point is about a server on another machine.
fn is_elsewhere(points: &[Point]) -> bool {
    let last = points.last();
    last.is_some_and(|it| it.code == PointCode::ServerElsewhere)
}

/// Leaves out the advice on how to write the lines, because looptax writes them itself.
pub(super) fn keep_words_of_here(changes: &mut [Change], found: &Found, fields: &Fields) {
    for (change, own) in changes.iter_mut().zip(found.changes_to_write(fields)) {
        (change.advice, change.traps) = (own.advice, own.traps);
        explain_mask(change);
    }
}

/// Explains the mask that stands for the password in lines that looptax will write.
pub(super) fn explain_mask(change: &mut Change) {
    let has_mask = |it: &Edit| it.after.as_ref().is_some_and(|text| text.contains(MASK));
    if change.edits.iter().any(has_mask) {
        if !change.advice.is_empty() {
            change.advice += "; ";
        }
        change.advice += MASK;
        change.advice += " is the current password";
    }
}

/// Whether the last point is about an unknown listener. looptax then knows no socket of that listener.
fn is_unknown(points: &[Point]) -> bool {
    let last = points.last();
    last.is_some_and(|it| it.code == PointCode::ListenerUnknown)
}

/// Returns the reason why looptax does not try a login. If the address has a user and `LOOPTAX_PASSWORD` is set,
/// looptax tries the login with that password.
fn no_login(found: &Found, address: &Address) -> Option<String> {
    let Credentials::Unknown(why) = &found.credentials else {
        return None;
    };
    let is_given = address.user.is_some() && std::env::var_os("LOOPTAX_PASSWORD").is_some();
    (!is_given).then(|| why.clone())
}
