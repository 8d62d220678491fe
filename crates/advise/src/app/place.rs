//! Where a connection goes as it is configured, and over which transport.

use std::path::PathBuf;

use super::table::{App, HostForm, PathPort, SocketRule};
use crate::Takes;

/// What was read of a place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Written<'a> {
    pub(crate) host: Option<&'a str>,
    pub(crate) port: Option<&'a str>,
    pub(crate) socket: Option<&'a str>,
    pub(crate) scheme: Option<&'a str>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) host: Option<String>,
    pub(crate) port: u16,
    /// The socket, where one is named.
    pub(crate) socket: Option<PathBuf>,
    pub(crate) takes: Takes,
    pub(crate) why: String,
}

/// Reads a place by the application's rules; `None` where nothing is named and that means nothing.
pub(crate) fn place(app: &App, written: &Written<'_>) -> Option<Place> {
    let text = written.host.unwrap_or_default().trim();
    let text = text.strip_prefix("p:").unwrap_or(text);
    let text = text.strip_prefix("tcp://").unwrap_or(text);
    // Several hosts: the first. A path may have blanks.
    let text = if text.contains('/') { text } else { text.split([' ', ',']).next().unwrap_or_default() };
    let split = split(app, text);
    let port_text = split.port.or(written.port).unwrap_or_default();
    let port = port_text.trim().parse::<u16>().ok();
    let host = (!split.host.is_empty()).then(|| split.host.to_owned());
    let is_local = matches!(host.as_deref(), None | Some("localhost"));
    let own_setting = written.socket.map(str::trim);
    let own_setting = own_setting.filter(|it| names_a_socket(it));
    let own_setting = own_setting.filter(|_| written.scheme.is_none_or(|it| it == "unix"));
    let of_socket = |path: &str| (Takes::Unix, format!("{path} is the socket"));
    let (takes, why) = match (split.socket, own_setting) {
        (Some(path), _) => match ignored_in_host(app, text, port, is_local) {
            Some(why) => (Takes::Tcp, why),
            None => of_socket(path),
        },
        (None, Some(_)) if app.socket_rule == SocketRule::Localhost && !is_local => (
            Takes::Tcp,
            format!("the socket beside it is ignored: it counts with the host localhost alone, not with `{text}`"),
        ),
        (None, Some(path)) => of_socket(path),
        (None, None) => by_host(app, host.as_deref())?,
    };
    let socket = split.socket.or(own_setting).filter(|it| it.contains('/'));
    Some(Place {
        host,
        port: port.filter(|it| *it > 0).unwrap_or(app.kind.port()),
        socket: socket.filter(|_| takes == Takes::Unix).map(PathBuf::from),
        takes,
        why,
    })
}

/// Why a socket that stands in the host is none.
fn ignored_in_host(app: &App, text: &str, port: Option<u16>, is_local: bool) -> Option<String> {
    if !is_local {
        return Some(format!("a socket after a host that is not localhost is ignored: `{text}` stays on TCP"));
    }
    let is_port_wrong = match app.path_port {
        PathPort::Any => false,
        PathPort::Zero => port != Some(0),
        PathPort::ZeroOrNone => port.is_some_and(|port| port > 0),
    };
    (is_port_wrong && !text.starts_with("unix:"))
        .then(|| "a path counts with port 0 alone; with this port it is taken for a host name and fails".to_owned())
}

fn by_host(app: &App, host: Option<&str>) -> Option<(Takes, String)> {
    Some(match host {
        None => match app.nowhere? {
            Takes::Unix => (Takes::Unix, "no host means the usual socket".to_owned()),
            takes => (takes, "no host is given".to_owned()),
        },
        Some("localhost") => by_localhost(app),
        Some(host) => (Takes::Tcp, format!("the host is {host}")),
    })
}

pub(crate) fn by_localhost(app: &App) -> (Takes, String) {
    match app.localhost.unwrap_or(Takes::Tcp) {
        Takes::Unix => (Takes::Unix, "localhost means the usual socket here".to_owned()),
        takes => (takes, format!("localhost means {} here", takes.words())),
    }
}

/// A path or an abstract name; Moodle's `1` means the usual one.
pub(crate) fn names_a_socket(text: &str) -> bool {
    text.contains('/') || text.starts_with('@') || matches!(text, "1" | "true")
}

struct Split<'a> {
    host: &'a str,
    port: Option<&'a str>,
    socket: Option<&'a str>,
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
    let unix = text.strip_prefix("unix:").filter(|_| has(HostForm::Unix));
    if let Some(path) = unix {
        return of_socket(path.strip_prefix("//").unwrap_or(path));
    }
    if let Some(path) = text.strip_prefix('!').filter(|_| has(HostForm::Bang)) {
        return of_socket(path);
    }
    if has(HostForm::Path) && text.starts_with(['/', '@']) {
        return of_socket(text);
    }
    if has(HostForm::Colon)
        && let Some(at) = text.find(":/")
    {
        return Split { host: &text[..at], port: None, socket: Some(&text[at + 1..]) };
    }
    let takes_port = has(HostForm::Port) || has(HostForm::Colon);
    let is_number = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    if has(HostForm::Port) && is_number {
        return Split { host: "", port: Some(text), socket: None };
    }
    match text.rsplit_once(':').filter(|_| takes_port) {
        // An IPv6 address has colons of its own.
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => {
            Split { host, port: Some(port), socket: None }
        }
        _ => Split { host: text, port: None, socket: None },
    }
}
