//! What is said of one connection that was found: its points, and the lines to change.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;

use looptax_advise::Takes;
use looptax_advise::app::{Credentials, Found};
use looptax_advise::check::verdict;
use looptax_host::read;
use looptax_model::dsn::{Address, MASK, Unspoken};
use looptax_model::failure::Failure;
use looptax_model::record::{Change, CheckedConnection, Edit, Outcome, Point, PointCode, SwitchVerdict, Topic};

use super::logins::{self, Sides};
use super::sources::Looked;
use super::{Question, container, points, way};
use crate::diagnose::socket_of::{self, Near, SocketOf};
use crate::diagnose::unspoken;

/// What holds for all connections of a check.
#[derive(Debug, Clone, Copy)]
pub struct Around<'a> {
    /// All but the address; its `address` and `no_login` are set for each connection.
    pub client: &'a super::Client,
    /// What runs here, as the client sees it.
    pub near: Near<'a>,
    /// `--socket`.
    pub socket: Option<&'a std::path::Path>,
    /// `--connections`.
    pub n_connections: u32,
}

/// About a connection of a file or an environment, and the socket that its lines to change name.
pub(super) fn found(
    looked: &Looked,
    found: &Found,
    around: Around<'_>,
) -> Result<(CheckedConnection, Option<SocketOf>), Failure> {
    let mut answer = unasked(looked, found);
    if found.takes == Some(Takes::Unix) {
        answer.verdict = SwitchVerdict::AlreadyThere;
        // The path of a service is one within its container.
        if let Some(address) = { found.address.as_ref() }.filter(|_| found.service.is_none()) {
            let no_login = no_login(found, address);
            look_at_the_socket(&mut answer, address, no_login.is_none(), around);
        }
        return Ok((answer, None));
    }
    if let (Some(_), Some(address)) = (found.takes, &found.unspoken) {
        answer.place = place_of(address);
        answer.changes = unspoken_changes(found, address, around);
        return Ok((answer, None));
    }
    let (Some(_), Some(address)) = (found.takes, &found.address) else {
        return Ok((answer, None));
    };
    if let Some(path) = around.socket.filter(|it| found.is_of_the_server() && is_absent(it)) {
        let socket = socket_of::find(address, Some(path), around.near)?;
        answer.points.push(to_be_made(path));
        answer.changes = found.changes(&socket.fields(address, None));
        return Ok((answer, None));
    }
    let no_login = no_login(found, address);
    ask(&mut answer, address, no_login.as_deref(), around)?;
    if is_elsewhere(&answer.points) {
        // The name may be known after all, to containers.
        let known = container::point(address, &looked.services);
        if let (Some(last), Some(known)) = (answer.points.last_mut(), known) {
            *last = known;
        }
    } else if let Ok(socket) = socket_of::find(address, around.socket, around.near)
        && !socket.is_guess
        && !is_unknown(&answer.points)
    {
        let password = address.password.as_ref().map(|_| MASK.to_owned());
        answer.changes = found.changes(&socket.fields(address, password));
        for change in &mut answer.changes {
            explain_mask(change);
        }
        return Ok((answer, Some(socket)));
    }
    Ok((answer, None))
}

fn is_absent(path: &Path) -> bool {
    matches!(read::look_at_link(path), Ok(None))
}

/// A socket that the lines of the server's own file make: who may use it is seen once it is there.
fn to_be_made(path: &Path) -> Point {
    let what = format!("{} is not there yet: the lines below make it", path.display());
    let point = Point::new(Topic::Socket, PointCode::SocketMissing, Outcome::Unknown, what, "looked at the path");
    point.with_next("write them and restart the server; the same command then shows whether the client gets in")
}

/// What is said of it by its file alone.
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

/// The lines to change where nobody can try the socket: only for one that was seen or named.
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
    match (found.takes, &found.address) {
        (None, _) => {
            let next = if found.is_of_a_proxy() {
                "its variables are set in its own files alone: look what they become there, and check that address; `looptax find` shows whom it asks"
            } else {
                "--pid PID of the running application shows its environment; or check a DSN"
            };
            configuration(PointCode::TransportUnknown, Outcome::Unknown, why, Some(next))
        }
        (Some(Takes::Unix), _) => {
            configuration(PointCode::TakesSocket, Outcome::Pass, &format!("it takes the socket already: {why}"), None)
        }
        (Some(_), None) => {
            let what = format!("it takes TCP: {why}; looptax does not speak to {}", found.kind);
            let next = "look whether the server has a socket that the client may use; --socket PATH names it, and the lines to change";
            configuration(PointCode::TakesTcpUnspoken, Outcome::Unknown, &what, Some(next))
        }
        (Some(takes), Some(_)) => {
            configuration(PointCode::TakesTcp, Outcome::Note, &format!("it takes {} now: {why}", takes.words()), None)
        }
    }
}

/// About a server that a process is connected to, with no more known than its address.
pub(super) fn connected(source: &str, address: &Address, around: Around<'_>) -> Result<CheckedConnection, Failure> {
    let what = "it is connected over TCP; which file says so is not known";
    let next = format!(
        "find where {} is set; `looptax dsn {}://{}/` spells the socket for each driver",
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
    ask(&mut answer, address, Some("the process does not show its user and password"), around)?;
    Ok(answer)
}

/// Whether the socket that is taken already can be reached. Which one `localhost` is, a driver's
/// own configuration says: the usual one is looked at.
fn look_at_the_socket(answer: &mut CheckedConnection, address: &Address, may_log_in: bool, around: Around<'_>) {
    let Ok(socket) = socket_of::find(address, around.socket, Near::nobody()) else {
        return;
    };
    let mut point = way(&socket, around.client, address);
    if point.outcome == Outcome::Fail && socket.is_guess {
        let server = around.near.server(address);
        let own = server.and_then(|it| it.paths().next());
        let own = own.map(|path| format!("; the server here has {}", path.display()));
        point.code = PointCode::UsualSocketUnreachable;
        point.outcome = Outcome::Unknown;
        point.what = format!(
            "localhost means the driver's usual socket, on Debian {}, and {}{}",
            socket.file,
            point.what,
            own.unwrap_or_default()
        );
        point.next = Some("name the socket in the configuration, or in the driver's own (mysqli.default_socket, pdo_mysql.default_socket)".to_owned());
    }
    let is_reachable = point.outcome == Outcome::Pass;
    answer.points.push(point);
    if is_reachable && may_log_in && logins::has_logins(address.protocol) {
        let sides = Sides {
            address,
            tcp: SocketAddr::from((Ipv4Addr::LOCALHOST, address.port)),
            socket: &socket,
            server: None,
            client: around.client,
            is_reachable,
        };
        answer.points.push(logins::over_the_socket(&sides));
    }
    match verdict(&answer.points) {
        SwitchVerdict::WouldWork => {}
        other => answer.verdict = other,
    }
}

fn ask(
    answer: &mut CheckedConnection,
    address: &Address,
    no_login: Option<&str>,
    around: Around<'_>,
) -> Result<(), Failure> {
    answer.points.extend(points(Question {
        address,
        client: around.client,
        near: around.near,
        socket: around.socket,
        n_connections: around.n_connections,
        no_login,
    })?);
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
            "read it, and took its words as the application does".to_owned(),
        )
    }
}

pub(super) fn place(address: &Address) -> String {
    match &address.socket {
        Some(socket) => socket.display().to_string(),
        None => format!("{}:{}", address.host.as_deref().unwrap_or("localhost"), address.port),
    }
}

/// Whether it ended with the server, which is another machine's.
fn is_elsewhere(points: &[Point]) -> bool {
    let last = points.last();
    last.is_some_and(|it| it.code == PointCode::ServerElsewhere)
}

/// Lines that are to be written hold no password.
pub(super) fn explain_mask(change: &mut Change) {
    let has_mask = |it: &Edit| it.after.as_ref().is_some_and(|text| text.contains(MASK));
    if change.edits.iter().any(has_mask) {
        if !change.advice.is_empty() {
            change.advice += "; ";
        }
        change.advice += MASK;
        change.advice += " stands for the password that is there";
    }
}

/// Whether it ended with a listener that nobody knows, so that no socket is known to be its.
fn is_unknown(points: &[Point]) -> bool {
    let last = points.last();
    last.is_some_and(|it| it.code == PointCode::ListenerUnknown)
}

/// Why nobody logs in; a password in `LOOPTAX_PASSWORD` was given for this.
fn no_login(found: &Found, address: &Address) -> Option<String> {
    let Credentials::Unknown(why) = &found.credentials else {
        return None;
    };
    let is_given = address.user.is_some() && std::env::var_os("LOOPTAX_PASSWORD").is_some();
    (!is_given).then(|| why.clone())
}
