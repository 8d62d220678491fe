//! Determines the server and the transport from a connection's settings.

use std::net::IpAddr;
use std::path::PathBuf;

use looptax_model::dsn::Kind;

use super::table::{App, HostForm, PathPort, Role, SocketRule};
use crate::Takes;

/// The beginning of the name of `PostgreSQL`'s socket in its folder; the port follows.
const POSTGRES_FILE: &str = ".s.PGSQL.";

/// The texts of the settings that give the server's address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Written<'a> {
    pub(crate) host: Option<&'a str>,
    /// libpq's IP address, which overrides the host.
    pub(crate) hostaddr: Option<&'a str>,
    pub(crate) port: Option<&'a str>,
    pub(crate) socket: Option<&'a str>,
    pub(crate) scheme: Option<&'a str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) host: Option<String>,
    pub(crate) port: u16,
    /// The socket, if the settings name one.
    pub(crate) socket: Option<PathBuf>,
    pub(crate) takes: Takes,
    pub(crate) why: String,
    /// Whether the connection fails, or does not reach the socket in its settings; `why` is the reason.
    pub(crate) fails: bool,
}

/// Finds the server and the transport by the application's rules.
///
/// # Errors
/// The reason, if the server or the transport cannot be determined.
pub(crate) fn place(app: &App, written: &Written<'_>) -> Result<Place, String> {
    let text = written.host.unwrap_or_default().trim();
    let text = text.strip_prefix("tcp://").filter(|_| app.is_guess() || !is_store(app)).unwrap_or(text);
    let text = text.strip_prefix("inet:").filter(|_| app.host_is.contains(&HostForm::Unix)).unwrap_or(text);
    let is_conditional = matches!(app.socket_rule, SocketRule::Localhost | SocketRule::Loopback);
    let has_more = written.hostaddr.is_some() || is_conditional && written.socket.is_some();
    let text = only_host(app, text, has_more)?;
    let split = split(app, text);
    let port = split.port.or(written.port).unwrap_or_default().trim();
    if let Some(why) = unproved(app, written, text, &split, port) {
        return Err(why);
    }
    let port = port.parse::<u16>().ok();
    let port_or_usual = port.filter(|it| *it > 0).unwrap_or(app.usual_port.unwrap_or(app.kind.port()));
    if let Some(address) = written.hostaddr.map(str::trim).filter(|it| !it.is_empty()) {
        return Ok(by_address(address, port_or_usual));
    }
    let is_beside = app.socket_rule == SocketRule::Wins && written.socket.is_some_and(|it| names_a_socket(it.trim()));
    if let Some(failing) = failing(app, &split, text, port_or_usual).filter(|_| !is_beside) {
        return Ok(failing);
    }
    if let Some(why) = unresolvable(app, split.host) {
        let host = Some(split.host.to_owned());
        return Ok(Place { host, port: port_or_usual, socket: None, takes: Takes::Tcp, why, fails: true });
    }
    let usual = app.usual.clone().filter(|_| app.calls.is_empty() && port.is_some());
    let host = (!split.host.is_empty()).then(|| split.host.to_owned()).or(usual);
    let is_local = match host.as_deref() {
        None => app.socket_rule != SocketRule::Loopback,
        Some("127.0.0.1") => app.socket_rule == SocketRule::Loopback,
        Some(host) => host == "localhost",
    };
    let scheme = written.scheme.map(str::to_lowercase);
    let own_setting = written.socket.map(str::trim);
    let own_setting = own_setting.filter(|it| names_a_socket(it));
    let own_setting = own_setting.filter(|_| scheme.as_deref().is_none_or(|it| matches!(it, "unix" | "socket")));
    let of_socket = |path: &str| (Takes::Unix, format!("{path} is the socket"));
    // The socket in Django's options overrides a socket in its host.
    let host_socket = split.socket.filter(|_| app.socket_rule != SocketRule::Localhost || own_setting.is_none());
    if let Some(path) = host_socket.filter(|_| is_local || split.host.is_empty())
        && let Some(why) = wrong_port(app, text, port)
    {
        let socket = Some(PathBuf::from(path));
        return Ok(Place { host, port: port_or_usual, socket, takes: Takes::Tcp, why, fails: true });
    }
    let (takes, why) = match (host_socket, own_setting, scheme.as_deref()) {
        (None, _, Some("tcp")) if app.kind == Kind::Mysql => (Takes::Tcp, "the protocol is tcp".to_owned()),
        (None, _, Some("socket")) if app.kind == Kind::Mysql && !is_local => {
            return Err(format!(
                "the protocol is `socket`, but the host is `{text}`: programs differ in which of these two settings \
                 they use"
            ));
        }
        (Some(_), ..) if !is_local && host.is_some() => (
            Takes::Tcp,
            format!("the socket is ignored, because the host before it is not localhost: `{text}` stays on TCP"),
        ),
        (Some(path), ..) => of_socket(path),
        (None, Some(_), _) if is_conditional && !is_local && host.is_some() => (
            Takes::Tcp,
            format!("the socket setting is ignored: it applies only to the host localhost, not to `{text}`"),
        ),
        (None, Some(path), _) if is_local || !is_conditional => of_socket(path),
        (None, _, _) => by_host(app, host.as_deref()).ok_or_else(|| {
            "no host is given, and looptax does not know which server is used in that case".to_owned()
        })?,
    };
    let own_setting = own_setting.filter(|_| is_local || !is_conditional);
    let socket = host_socket.or(own_setting).filter(|it| it.contains('/') || it.starts_with('@'));
    Ok(Place {
        host,
        port: port_or_usual,
        socket: socket.filter(|_| takes == Takes::Unix).map(PathBuf::from),
        takes,
        why,
        fails: false,
    })
}

/// Returns the host if the setting has only one host; `has_more` says that a socket or `hostaddr` is set too.
fn only_host<'a>(app: &App, text: &'a str, has_more: bool) -> Result<&'a str, String> {
    if text.contains(',') && has_more {
        return Err("several hosts are given together with a socket or `hostaddr`, and looptax has not tested how \
                    the driver reads that"
            .to_owned());
    }
    let text = one_of(app, text)?;
    if app.kind == Kind::Mongodb && !text.starts_with('/') && text.contains(['/', ',']) {
        return Err("the host is a set of servers, and the driver may connect to any of them".to_owned());
    }
    Ok(text)
}

/// The server according to libpq's `hostaddr`, which overrides the host.
fn by_address(address: &str, port: u16) -> Place {
    Place {
        host: address.split(',').next().map(str::to_owned),
        port,
        socket: None,
        takes: Takes::Tcp,
        why: format!("hostaddr is {address}, which overrides the host"),
        fails: false,
    }
}

/// Returns the reason if looptax cannot determine the server because drivers disagree about the meaning of the settings
/// as written.
fn unproved(app: &App, written: &Written<'_>, text: &str, split: &Split<'_>, port: &str) -> Option<String> {
    if !is_store(app) || app.format.proxy().is_some() {
        return None;
    }
    let not_tried = |what: String| Some(format!("looptax has not tested the driver with {what}"));
    let text = without_login(text);
    let is_usual = split.host.eq_ignore_ascii_case("localhost") && split.host != "localhost";
    if is_usual && app.localhost.is_some_and(|it| it != Takes::Tcp) {
        return not_tried(format!("the host `{}` (localhost in capitals)", split.host));
    }
    // With WordPress' form of the host, all other spellings were tested.
    if app.host_is.contains(&HostForm::PortColon) {
        return None;
    }
    let beside = written.socket.map(str::trim).filter(|it| names_a_socket(it));
    let blank = [(Role::Host, written.host), (Role::Port, written.port), (Role::Socket, written.socket)];
    let is_blank = |(role, text): &(Role, Option<&str>)| *text == Some("") && app.blank.contains(role);
    if let Some((role, _)) = blank.iter().find(|it| is_blank(it)) {
        return not_tried(format!("an empty {}", format!("{role:?}").to_lowercase()));
    }
    let is_libpq = app.host_is.contains(&HostForm::Abstract);
    let of_host = split.socket.into_iter().chain(Some(split.host)).filter(|_| !is_libpq);
    if let Some(name) = of_host.chain(beside).find(|it| it.starts_with('@')) {
        return not_tried(format!("the abstract name `{name}`"));
    }
    if let Some(path) = split.socket.into_iter().chain(beside).find(|it| it.starts_with('/')) {
        let is_odd = |c: char| app.unfit.contains(c) || app.kind == Kind::Postgres && " '\\".contains(c);
        if path.contains(is_odd) {
            return not_tried(format!("the special characters in `{path}`"));
        }
        let is_file = app.kind == Kind::Postgres && folder_of(path).is_some() && !app.is_guess();
        if is_file && (!app.writes_folder() || beside == Some(path)) {
            return not_tried(format!("`{path}`, the socket's file"));
        }
    }
    if split.port == Some("") {
        return not_tried(format!("the host `{text}`"));
    }
    // PostgreSQL's own programs have no socket setting. In programs with a socket setting, this setting must contain
    // the folder.
    if app.is_guess() && app.kind == Kind::Postgres && beside.and_then(folder_of).is_some() {
        return not_tried("both a socket and a host".to_owned());
    }
    let port_number = port.parse::<u16>().ok();
    // In phpBB, the setting for the port may hold the socket.
    let is_socket = written.socket.is_some_and(|it| it.trim() == port);
    if !port.is_empty() && port_number.is_none() && !is_socket {
        return not_tried("this port".to_owned());
    }
    let is_zero = port_number == Some(0) && !app.zero_port;
    if is_zero && written.hostaddr.is_some() {
        return not_tried("the port `0`".to_owned());
    }
    if let Some(path) = split.socket {
        let is_divided = matches!(app.kind, Kind::Postgres | Kind::Memcached) && app.host_is.contains(&HostForm::Port);
        let is_odd = is_divided && path.contains(':') || split.host.contains(':');
        let is_redis = app.kind == Kind::Redis && !app.is_guess();
        if is_odd || is_redis && text.starts_with("unix:/") && !text.starts_with("unix://") {
            return not_tried(format!("the colons in `{text}`"));
        }
        return (is_zero && app.kind == Kind::Postgres).then(|| not_tried("the port `0`".to_owned()))?;
    }
    let host = split.host;
    let is_odd = host.contains([':', ' ', ',', '[']);
    if is_odd && beside.is_some() && app.socket_rule == SocketRule::Wins {
        return not_tried(format!("the host `{text}` together with a socket"));
    }
    if unresolvable(app, host).is_some() || host.starts_with(['/', '@']) || host.starts_with("unix:") {
        return None;
    }
    // Drivers disagree about whether an IPv6 address needs brackets.
    let is_bare_ip = app.bare_ip && host.parse::<IpAddr>().is_ok();
    if is_odd && !is_bare_ip {
        return not_tried(format!("the host `{text}`"));
    }
    (is_zero && beside.is_none()).then(|| not_tried("the port `0`".to_owned()))?
}

/// Returns a host in a form that may be shown. The text could be a URL with a password, so everything up to the last
/// `@` is removed.
fn without_login(text: &str) -> &str {
    let has_login = !text.starts_with(['/', '@']) && text.contains('@');
    if has_login { text.rsplit('@').next().unwrap_or_default() } else { text }
}

fn is_store(app: &App) -> bool {
    matches!(app.kind, Kind::Mysql | Kind::Postgres | Kind::Redis | Kind::Memcached)
}

/// Returns the reason if a host name cannot be resolved because it contains a port or brackets, which the driver treats
/// as part of the name.
fn unresolvable(app: &App, host: &str) -> Option<String> {
    let has_port = host.rsplit_once(':').is_some_and(|(name, port)| !name.contains(':') && port.parse::<u16>().is_ok());
    let is_none = app.bare_ip && (host.starts_with('[') || has_port);
    is_none.then(|| format!("the driver reads `{host}` as a host name, and no host has that name"))
}

/// Returns the host that the driver uses. For a list in libpq's form, returns the first host if all hosts use the same
/// transport. For any other list, returns the reason, because the driver may try any of its hosts first. A path may
/// contain blanks.
fn one_of<'a>(app: &App, text: &'a str) -> Result<&'a str, String> {
    if app.host_is.contains(&HostForm::List) && !text.contains('/') {
        let mut hosts = text.split([' ', ',']).filter(|it| !it.is_empty());
        let first = hosts.next().unwrap_or_default();
        return match hosts.next() {
            None => Ok(first),
            Some(_) => Err("the host is a list, and the driver may begin with any host of the list".to_owned()),
        };
    }
    if !text.contains(',') {
        return Ok(text);
    }
    if !app.host_is.contains(&HostForm::Abstract) {
        let is_sql = matches!(app.kind, Kind::Mysql | Kind::Postgres);
        return if is_sql {
            Err("the host is a list, and looptax has not tested which of the hosts this driver uses".to_owned())
        } else {
            Ok(text)
        };
    }
    let mut hosts = text.split(',').map(str::trim);
    let first = hosts.next().unwrap_or_default();
    let is_path = |it: &str| it.starts_with(['/', '@']);
    if hosts.any(|it| is_path(it) != is_path(first)) {
        return Err(format!("the host is a list, and the driver tries each host until one answers: `{text}`"));
    }
    Ok(first)
}

/// Handles a path that the application does not accept as a host: the connection fails, or does not use the path.
fn failing(app: &App, split: &Split<'_>, text: &str, port: u16) -> Option<Place> {
    let is_postgres = app.kind == Kind::Postgres;
    let file = split.socket.filter(|_| is_postgres && app.writes_folder()).and_then(folder_of);
    if let Some((folder, port)) = file {
        let socket = Some(PathBuf::from(folder));
        let why = wants_folder(text, port);
        return Some(Place { host: None, port, socket, takes: Takes::Unix, why, fails: true });
    }
    let path = text.strip_prefix("unix:").map_or(text, |it| it.strip_prefix("//").unwrap_or(it));
    let is_marked = path.len() < text.len() && !app.host_is.contains(&HostForm::Unix);
    let is_path = path.starts_with('/') || is_postgres && path.starts_with('@');
    if !is_path || split.socket.is_some() && !is_marked {
        return None;
    }
    if app.host_is.contains(&HostForm::PortColon) && split.socket.is_none() {
        // The driver uses the text before the first slash as the host. A path has no text before its first slash, so
        // the host is empty.
        let why = format!(
            "`{text}` is only a path, which the program does not accept as a host: the program ignores the path and \
             uses the usual socket"
        );
        return Some(Place {
            host: None,
            port,
            socket: Some(PathBuf::from(path)),
            takes: Takes::Unix,
            why,
            fails: true,
        });
    }
    let why = if path.starts_with('@') {
        format!("the driver reads `{text}` as a host name: only libpq supports abstract sockets")
    } else if app.host_is.contains(&HostForm::Colon) {
        format!("`{text}` is only a path, which the program does not accept as a host: write localhost:{path}")
    } else {
        format!("the driver reads `{text}` as a host name, and no host has that name")
    };
    Some(Place { host: None, port, socket: Some(PathBuf::from(path)), takes: Takes::Tcp, why, fails: true })
}

/// The folder and the port in the path of `PostgreSQL`'s socket file. libpq, and drivers that work like it, need the
/// folder.
pub(crate) fn folder_of(path: &str) -> Option<(String, u16)> {
    let (folder, name) = path.rsplit_once('/')?;
    Some((folder.to_owned(), name.strip_prefix(POSTGRES_FILE)?.parse().ok()?))
}

pub(crate) fn wants_folder(path: &str, port: u16) -> String {
    format!("`{path}` is the socket's file, but the driver needs the folder: it looks for {path}/{POSTGRES_FILE}{port}")
}

/// Returns the reason if the driver does not use a path as the host together with this port.
fn wrong_port(app: &App, text: &str, port: Option<u16>) -> Option<String> {
    let is_port_wrong = match app.path_port {
        PathPort::Any => false,
        PathPort::Zero => port != Some(0),
        PathPort::ZeroOrNone => port.is_some_and(|port| port > 0),
    };
    let is_marked = text.starts_with("unix:") && app.path_port != PathPort::Zero;
    (is_port_wrong && !is_marked).then(|| {
        "a path works only with port 0; with this port the driver reads the path as a host name and fails".to_owned()
    })
}

fn by_host(app: &App, host: Option<&str>) -> Option<(Takes, String)> {
    Some(match host {
        None => match app.nowhere? {
            Takes::Unix => (Takes::Unix, "without a host, the usual socket is used".to_owned()),
            takes => (takes, "no host is given".to_owned()),
        },
        Some("localhost") => by_localhost(app),
        Some(host) => (Takes::Tcp, format!("the host is {host}")),
    })
}

pub(crate) fn by_localhost(app: &App) -> (Takes, String) {
    match app.localhost.unwrap_or(Takes::Tcp) {
        Takes::Unix => {
            (Takes::Unix, "this application connects to the default socket if the host is localhost".to_owned())
        }
        takes => (takes, format!("for this application, localhost means {}", takes.words())),
    }
}

/// Whether a text is a path, an abstract name, or `1`, which in Moodle means the usual socket.
pub(crate) fn names_a_socket(text: &str) -> bool {
    text.contains('/') || text.starts_with('@') || matches!(text, "1" | "true")
}

struct Split<'a> {
    host: &'a str,
    port: Option<&'a str>,
    socket: Option<&'a str>,
}

/// Reads a path as a socket. If the application reads a port after the last colon of `PostgreSQL`'s folder, splits off
/// the port.
fn of_path<'a>(app: &App, text: &'a str) -> Split<'a> {
    let takes_port = app.kind == Kind::Postgres && app.host_is.contains(&HostForm::Port);
    let with_port = text.rsplit_once(':').filter(|(_, port)| takes_port && port.parse::<u16>().is_ok());
    let (path, port) = with_port.map_or((text, None), |(path, port)| (path, Some(port)));
    Split { host: "", port, socket: Some(path) }
}

/// Returns the address without its weight and name: `127.0.0.1:6379:1 name`, `/run/redis.sock:1`.
fn without_weight(text: &str) -> &str {
    let Some(at) = text.rfind(':') else { return text };
    let weight = text[at + 1..].split(' ').next().unwrap_or_default();
    let n_colons = if text.starts_with('/') { 1 } else { 2 };
    let is_one = weight.parse::<u32>().is_ok() && text.matches(':').count() == n_colons;
    if is_one { &text[..at] } else { text }
}

fn split<'a>(app: &App, text: &'a str) -> Split<'a> {
    let has = |form| app.host_is.contains(&form);
    let of_socket = |path| Split { host: "", port: None, socket: Some(path) };
    if has(HostForm::Several) {
        let mut parts = text.split(';').map(str::trim);
        if let Some(path) = parts.find(|it| it.starts_with('/')) {
            return of_socket(path);
        }
    }
    let text = if has(HostForm::Weight) { without_weight(text) } else { text };
    let unix = text.strip_prefix("unix:").filter(|_| has(HostForm::Unix));
    if let Some(path) = unix {
        return of_path(app, path.strip_prefix("//").unwrap_or(path));
    }
    if let Some(path) = text.strip_prefix('!').filter(|_| has(HostForm::Bang)) {
        return of_socket(path);
    }
    let is_abstract = text.starts_with('@') && (app.kind != Kind::Postgres || has(HostForm::Abstract));
    if has(HostForm::Path) && (text.starts_with('/') || is_abstract) {
        return of_path(app, text);
    }
    if has(HostForm::Colon)
        && let Some(at) = text.find(":/")
    {
        let (host, port) = match text[..at].split_once(':').filter(|_| has(HostForm::PortColon)) {
            Some((host, port)) => (host, Some(port)),
            None => (&text[..at], None),
        };
        return Split { host, port, socket: Some(&text[at + 1..]) };
    }
    let takes_port = has(HostForm::Port) || has(HostForm::Colon);
    let is_number = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    if has(HostForm::Port) && is_number {
        return Split { host: "", port: Some(text), socket: None };
    }
    match text.rsplit_once(':').filter(|_| takes_port) {
        // An IPv6 address itself contains colons.
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
            Split { host, port: Some(port), socket: None }
        }
        _ => Split { host: text, port: None, socket: None },
    }
}
