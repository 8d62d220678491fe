//! Logs in once over each endpoint, and reports what the server answers.
//!
//! Only reads, but a login leaves traces: a line in the server's log, a warmed password cache, a higher count of
//! connections. Over the socket looptax logs in with the client's rights if the client reaches the socket, because
//! `peer` and `unix_socket` ask the kernel for the connecting user.

mod hba_file;
mod mysql;
mod postgres;
mod sealed;
mod sides;

use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::thread;

use looptax_advise::check;
use looptax_bench::path::{Conversation, Endpoint, Limits, PathError, Sealing, TRUST_PEER};
use looptax_host::discover::{Place, SocketFile};
use looptax_host::kernel;
use looptax_model::dsn::{Address, Protocol, Secret};
use looptax_model::failure::with_causes;
use looptax_model::record::{Outcome, Point, PointCode, Topic};
use looptax_redirect::SocketName;
use looptax_wire::Login;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::client::user_name;
use super::rights::Rights;
use super::socket_handle::SocketHandle;
use crate::diagnose::listener::{Listener, another};
pub use hba_file::{HbaFile, hba_file};
pub(super) use sides::Sides;
use sides::{Opened, Refused};

/// MySQL's and MariaDB's error number for a database that an account may not use.
///
/// # Source
/// dev.mysql.com, server error message reference: `ER_DBACCESS_DENIED_ERROR`.
const DATABASE_DENIED: &str = "1044";

pub(super) fn points(sides: &Sides<'_>) -> Vec<Point> {
    let mut login = login(sides.address);
    let log_in = |login: &Login| both(|| over_tcp(sides, login), || over_unix(sides, login));
    let (mut over_tcp, mut over_unix) = log_in(&login);
    // The address contains no password, so looptax sent the password from the environment. If the server does not need
    // a password, looptax logs in again without a password, as a client with this address would.
    let is_needless = sides.address.password.is_none() && { over_tcp.conversation.as_ref() }
        .is_err_and(|why| why.is_needless_password);
    if is_needless {
        login.password = Secret::new(String::new());
        (over_tcp, over_unix) = log_in(&login);
    }
    for side in [&over_tcp, &over_unix] {
        if let Some(point) = stranger(side) {
            return vec![point];
        }
    }
    over_tcp.keep_unfit_login();
    over_unix.keep_unfit_login();
    let how =
        format!("logged in over TCP, and over the socket as {}, and asked the server for its identity", over_unix.whom);
    if let (Err(why), false) = (&over_unix.conversation, over_unix.is_met) {
        return vec![
            Point::new(
                Topic::Account,
                PointCode::LoginNotTried,
                Outcome::Unknown,
                format!("not tried over the socket: {why}"),
                how,
            )
            .with_next("fix the path first"),
        ];
    }
    let (tcp, unix) = both(|| identity(&mut over_tcp), || identity(&mut over_unix));
    let mut points = vec![match listens_on_both(sides) {
        // The account may not have the right to query the server's identity, for example because of an access list of
        // Redis.
        Some(point) if tcp.is_none() || unix.is_none() => point,
        _ => check::same_server(tcp.as_deref(), unix.as_deref(), &how),
    }];
    points.extend(check::demanded_tls(sides.address, over_tcp.is_sealed()));
    points.extend(conditions(sides, Some(&over_unix)));
    let n_of_servers = points.len();
    match sides.address.protocol {
        Protocol::Mysql => {
            points.extend(mysql::points(&mut over_tcp, &mut over_unix, &login));
        }
        Protocol::Postgres => {
            let login_point = entered(&over_tcp, &over_unix, sides);
            points.extend(postgres::points(login_point, (&mut over_tcp, &mut over_unix), sides, &login.user));
        }
        Protocol::Redis
        | Protocol::Memcached
        | Protocol::Mongodb
        | Protocol::Fastcgi
        | Protocol::Http
        | Protocol::Echo => {
            let mut point = entered(&over_tcp, &over_unix, sides);
            if is_needless {
                point.how += "; without LOOPTAX_PASSWORD, because the server needs no password";
            }
            points.push(point);
        }
    }
    points.extend(sealed::points(&mut [&mut over_unix, &mut over_tcp], sides));
    if let Some(point) = unfit(&[&over_tcp, &over_unix], &how) {
        points.truncate(n_of_servers);
        points.push(point);
    }
    points
}

/// Returns the point about a listener to which looptax does not send a login, because any process may listen there.
fn stranger(opened: &Opened) -> Option<Point> {
    let why = opened.conversation.as_ref().err()?;
    let point = Point::new(
        Topic::Account,
        PointCode::PeerUnproved,
        Outcome::Unknown,
        why.words.clone(),
        "asked the kernel which process listens there, before looptax sent anything",
    );
    why.is_of_stranger.then(|| point.with_next(TRUST_PEER))
}

/// Whether servers of this protocol authenticate their clients.
pub(super) const fn has_logins(protocol: Protocol) -> bool {
    !matches!(protocol, Protocol::Fastcgi | Protocol::Http)
}

/// Returns the facts that are known without a login, for a server that does not authenticate its clients.
pub(super) fn without(sides: &Sides<'_>) -> Vec<Point> {
    let known = listens_on_both(sides).or_else(|| listens_elsewhere(sides));
    let point = known.unwrap_or_else(|| {
        let title = sides.address.protocol.title();
        Point::new(
            Topic::SameServer,
            PointCode::ServerSameUnknown,
            Outcome::Unknown,
            format!(
                "{title} has no logins, so looptax cannot ask which server listens on the port and which on the \
                socket"
            ),
            "looked at the listening sockets of every process",
        )
        .with_next(
            "check whether the socket belongs to that server; request a page over the socket to see whether it works",
        )
    });
    vec![point]
}

/// Returns points about the login of a client that already uses the socket, and about its server's encrypted sessions.
pub(super) fn over_the_socket(sides: &Sides<'_>) -> Vec<Point> {
    let mut opened = over_unix(sides, &login(sides.address));
    opened.keep_unfit_login();
    let sealed = sealed::points(&mut [&mut opened], sides);
    let login = of_login(&opened, sides);
    let conditions = conditions(sides, Some(&opened));
    [login].into_iter().chain(conditions).chain(sealed).collect()
}

/// Returns the points about the conditions in the address that libpq enforces.
fn conditions(sides: &Sides<'_>, over_unix: Option<&Opened>) -> Vec<Point> {
    let method = over_unix.and_then(|it| it.conversation.as_ref().ok()?.method());
    let user = sides.server.map(|it| user_name(it.process.uid));
    check::conditions(&sides.address.conditions, method, user.as_deref())
}

fn of_login(opened: &Opened, sides: &Sides<'_>) -> Point {
    let how = format!("logged in over the socket as {}", opened.whom);
    if let Some(point) = stranger(opened).or_else(|| unfit(&[opened], &how)) {
        return point;
    }
    let point = |code, outcome, what: String| Point::new(Topic::Login, code, outcome, what, &*how);
    let mut next = "check user, password and database; to see what the account lacks on the socket, pass the \
                    server's TCP address to `looptax check`"
        .to_owned();
    let refused = match (&opened.conversation, &opened.database_refusal) {
        (Ok(_), None) => {
            let what = "the login works over the socket".to_owned();
            return point(PointCode::LoginWorks, Outcome::Pass, what);
        }
        (Ok(_), Some(why)) => why,
        (Err(why), _) => {
            if why.code.as_deref() == Some(check::ASKS_SYSTEM_CODE) {
                next = check::system_is_asked(sides.address.user.as_deref().unwrap_or("root"));
            }
            &why.words
        }
    };
    let what = format!("over the socket: {refused}");
    point(PointCode::LoginFailsOverSocket, Outcome::Fail, what).with_next(next)
}

/// Returns only the facts that are known without a login. Called if the user or the password is missing, because looptax
/// guesses neither.
pub(super) fn unasked(sides: &Sides<'_>, why: &str) -> Vec<Point> {
    // Redis and memcached may need no password at all, so looptax tries a login without one.
    if let Protocol::Redis | Protocol::Memcached = sides.address.protocol {
        let tried = points(sides);
        if tried.iter().any(|it| it.code == PointCode::LoginWorks) {
            return tried;
        }
    }
    let user = match (&sides.address.user, sides.address.protocol) {
        (Some(user), _) => format!("{user}@"),
        (None, Protocol::Redis) => String::new(),
        (None, _) => "USER@".to_owned(),
    };
    let mut points = vec![
        Point::new(
            Topic::Account,
            PointCode::CredentialsUnknown,
            Outcome::Unknown,
            format!("not logged in, because {why}: account, rights and TLS are not checked"),
            "looptax tried no guessed login".to_owned(),
        )
        .with_next(format!(
            "LOOPTAX_PASSWORD=… looptax check {}://{user}{}/{}{}",
            sides.address.protocol,
            sides.tcp,
            sides.address.database.as_deref().unwrap_or_default(),
            sides.client.option()
        )),
    ];
    points.extend(check::demanded_tls(sides.address, false));
    points.extend(conditions(sides, None));
    if let (Protocol::Postgres, Some(user), false) = (sides.address.protocol, &sides.address.user, sides.is_pooler()) {
        points.push(postgres::rules_unasked(sides, user));
    }
    points
}

/// Returns the password in the address, else the password in `LOOPTAX_PASSWORD`.
pub(crate) fn password_of(address: &Address) -> Secret {
    let given = || std::env::var("LOOPTAX_PASSWORD").unwrap_or_default();
    let own = address.password.clone();
    own.unwrap_or_else(|| Secret::new(given()))
}

pub(crate) fn login(address: &Address) -> Login {
    let usual = match address.protocol {
        Protocol::Postgres => "postgres",
        Protocol::Mysql => "root",
        Protocol::Redis
        | Protocol::Memcached
        | Protocol::Mongodb
        | Protocol::Fastcgi
        | Protocol::Http
        | Protocol::Echo => "",
    };
    Login {
        user: address.user.clone().unwrap_or_else(|| usual.to_owned()),
        password: password_of(address),
        database: address.database.clone(),
        accounts: address.accounts.clone(),
        ..Login::default()
    }
}

/// Connects from the client's network namespace, because every namespace has its own loopback. A separate thread enters
/// this namespace.
fn over_tcp(sides: &Sides<'_>, login: &Login) -> Opened {
    let endpoint = Endpoint::Tcp(sides.tcp);
    let place = sides.client.other_network();
    let tried = on_a_thread(|| {
        if let Some(place) = &place {
            let network = kernel::open(place)?;
            move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?;
        }
        Ok(open(sides.address, &endpoint, login))
    });
    let (opened, database_refusal) = match tried {
        Ok((opened, refusal)) => (opened.map_err(|error| Refused::from(&error)), refusal),
        Err(error) => {
            let words = format!("cannot enter the network namespace of the client: {error}");
            (Err(Refused::before_the_server(words)), None)
        }
    };
    Opened { conversation: opened, database_refusal, whom: "ourselves".to_owned(), is_met: true, unfit: Vec::new() }
}

/// Runs the requests over TCP and over the socket at the same time. A server that hangs is silent over both, so looptax
/// has to wait only once.
fn both<T: Send>(over_tcp: impl FnOnce() -> T + Send, over_unix: impl FnOnce() -> T) -> (T, T) {
    thread::scope(|scope| {
        let asking = scope.spawn(over_tcp);
        let over_unix = over_unix();
        match asking.join() {
            Ok(over_tcp) => (over_tcp, over_unix),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Runs the work in a separate thread, because the work may change the thread's user or network namespace.
fn on_a_thread<T: Send>(work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let working = scope.spawn(work);
        working.join().unwrap_or_else(|_| Err(io::Error::other("the login stopped unexpectedly")))
    })
}

/// Logs in over the socket, in a thread with the client's rights. If the client cannot reach the socket, uses looptax's
/// own rights.
fn over_unix(sides: &Sides<'_>, login: &Login) -> Opened {
    let client = sides.is_reachable.then_some(sides.client);
    let rights = client.and_then(|client| client.rights.as_ref());
    let path = Path::new(&sides.socket.file);
    let mut is_met = false;
    let mut database_refusal = None;
    let tried = SocketHandle::open(path, client).and_then(|socket| {
        let (opened, refusal) = on_a_thread(|| {
            rights.map_or(Ok(()), Rights::take)?;
            Ok(open(sides.address, &socket.endpoint(), login))
        })?;
        is_met = matches!(opened, Ok(_) | Err(PathError::Protocol { .. }));
        database_refusal = refusal.map(|words| socket.named(&words, path));
        Ok(opened.map_err(|error| {
            let refused = Refused::from(&error);
            Refused { words: socket.named(&refused.words, path), ..refused }
        }))
    });
    Opened {
        conversation: tried.unwrap_or_else(|error| {
            let words = format!("cannot connect to {}: {error}", path.display());
            Err(Refused::before_the_server(words))
        }),
        database_refusal,
        whom: match rights {
            Some(_) => sides.client.user.clone(),
            None => "ourselves".to_owned(),
        },
        is_met,
        unfit: Vec::new(),
    }
}

/// Returns when the connection uses TLS: always (only over TCP), never, or only if the server requires TLS.
pub(crate) fn sealing(address: &Address, endpoint: &Endpoint) -> Sealing {
    match (&address.tls, &address.no_tls) {
        (Some(_), _) if matches!(endpoint, Endpoint::Tcp(_)) => Sealing::Always,
        (None, Some(_)) => Sealing::Never,
        _ => Sealing::IfRefused,
    }
}

/// Logs in. Uses TLS if the URL demands TLS over TCP, or if the server refuses a login without TLS. If the account may
/// not use the database, logs in without the database and also returns the server's refusal.
fn open(address: &Address, endpoint: &Endpoint, login: &Login) -> (Result<Conversation, PathError>, Option<String>) {
    let sealing = sealing(address, endpoint);
    let (protocol, limits) = (address.protocol, Limits::default());
    let log_in = |login: &Login| Conversation::open_as_wanted(protocol, endpoint, login, sealing, limits);
    let opened = log_in(login);
    let Err(error) = &opened else {
        return (opened, None);
    };
    let refused = Refused::from(error);
    if protocol != Protocol::Mysql || refused.code.as_deref() != Some(DATABASE_DENIED) {
        return (opened, None);
    }
    let without = Login { database: None, ..login.clone() };
    (log_in(&without), Some(refused.words))
}

/// Returns the point that one process listens on the port and on the socket, if the kernel shows this.
fn listens_on_both(sides: &Sides<'_>) -> Option<Point> {
    let server = sides.server?;
    let file = Path::new(&sides.socket.file);
    let is_it = |place: &Place| matches!(place, Place::Path { path, file: SocketFile::Present { .. } } if path == file);
    server.seen_endpoints().find(|it| is_it(&it.place))?;
    Some(Point::new(
        Topic::SameServer,
        PointCode::ServerSame,
        Outcome::Pass,
        format!("one process listens on the port and on the socket: {}, pid {}", server.name(), server.process.pid),
        "looked at the listening sockets of every process",
    ))
}

/// Returns the point that two servers listen on the port and on the socket, if the kernel shows this.
fn listens_elsewhere(sides: &Sides<'_>) -> Option<Point> {
    // looptax's lists do not contain the ports of another network namespace.
    if sides.client.other_network().is_some() {
        return None;
    }
    let socket = SocketName::Path(sides.socket.file.clone().into());
    let who = another(&Listener::of(&socket).ok()?, sides.tcp)?;
    let over_tcp = sides.server.map(|server| {
        let (name, pid) = (server.name(), server.process.pid);
        format!("over TCP {name}, pid {pid}, ")
    });
    let over_tcp = over_tcp.unwrap_or_default();
    let point = Point::new(
        Topic::SameServer,
        PointCode::ServersDiffer,
        Outcome::Fail,
        format!("two servers: {over_tcp}over the socket {who}"),
        "connected to the socket, and asked the kernel which process listens on it and on the port",
    );
    Some(point.with_next("pass the socket of the server on that port: `looptax find` lists both servers"))
}

fn identity(opened: &mut Opened) -> Option<String> {
    let conversation = opened.conversation.as_mut().ok()?;
    let id = conversation.connection_id();
    match conversation.server_view(&[id]) {
        Ok(view) => Some(view.identity),
        Err(error) => {
            // A server that does not report its identity, to this account or at all, has not given a wrong answer. For
            // MySQL and PostgreSQL, the points about the account also report the server's refusals.
            let is_told_below = matches!(conversation.protocol(), Protocol::Mysql | Protocol::Postgres);
            let is_refused = error.refusal().is_some() && is_told_below;
            if !error.is_untold() && !is_refused {
                opened.unfit.push(with_causes(&error));
            }
            None
        }
    }
}

/// Returns the point for answers that do not fit their requests. A listener that accepts every login may answer
/// anything.
fn unfit(opened: &[&Opened], how: &str) -> Option<Point> {
    let mut told = opened.iter().flat_map(|it| &it.unfit);
    let first = told.next()?;
    let n_more = told.count();
    let more = if n_more > 0 { format!(", and {n_more} more such answers") } else { String::new() };
    let point = Point::new(
        Topic::Account,
        PointCode::AnswersUnfit,
        Outcome::Unknown,
        format!("the answer does not match the statement, so looptax knows nothing about the account: {first}{more}"),
        how,
    );
    Some(point.with_next(
        "send SELECT CURRENT_USER (to Redis: INFO) with the server's own client; if its answer does not match either, \
         the listener is another program, or a proxy with its own answers",
    ))
}

/// Reports whether the login works over both endpoints. For Redis and memcached looptax can know nothing more. In
/// PostgreSQL a role is the same over both endpoints.
fn entered(tcp: &Opened, unix: &Opened, sides: &Sides<'_>) -> Point {
    let is_client = sides.is_reachable || sides.client.rights.is_none();
    let (code, outcome, what) = match (&tcp.conversation, &unix.conversation) {
        (Ok(_), Ok(_)) => {
            (PointCode::LoginWorks, Outcome::Pass, "the login works over TCP and over the socket".to_owned())
        }
        // The login over the socket may have failed only because looptax does not run as the client's user.
        (Ok(_), Err(why)) if !is_client => (
            PointCode::LoginFailsForUs,
            Outcome::Unknown,
            format!(
                "the login works over TCP, but fails over the socket: {why}; looptax did not run as the client's \
                 user"
            ),
        ),
        (Ok(_), Err(why)) => (
            PointCode::LoginFailsOverSocket,
            Outcome::Fail,
            format!("the login works over TCP, but fails over the socket: {why}"),
        ),
        (Err(why), Ok(_)) => (
            PointCode::LoginFailsOverTcp,
            Outcome::Note,
            format!("the login works over the socket, but fails over TCP: {why}"),
        ),
        (Err(why), Err(_)) => {
            (PointCode::LoginFails, Outcome::Unknown, format!("the login fails over TCP and over the socket: {why}"))
        }
    };
    let how = format!("logged in over TCP, and over the socket as {}", unix.whom);
    let point = Point::new(Topic::Login, code, outcome, what, how);
    match code {
        PointCode::LoginFails if password_of(sides.address).reveal().is_empty() => point
            .with_next("pass the client's password in LOOPTAX_PASSWORD: looptax tried the login without a password"),
        PointCode::LoginFails => {
            point.with_next("check user, password and database: the server's message shows which is wrong")
        }
        _ => point,
    }
}
