//! The form in which a URL names its server, and whether that form was tested with the application's driver.
//!
//! For each application, the table has the form of URL that a change writes. This form was tested, so the driver is
//! known to read it; `url_is` lists more forms. Every driver reads a plain host. If a URL has any other form (a key of
//! another driver, a list, a second host), looptax cannot determine the server.

use std::net::Ipv6Addr;

use looptax_model::dsn::Query;

use super::table::{App, Role};
use super::url::is_go;
use crate::Takes;

/// Names in a URL's query whose value some drivers use as the server, instead of the URL's host.
const PLACE_NAMES: [&str; 13] = [
    "host",
    "hostaddr",
    "service",
    "socket",
    "unix_socket",
    "unixsocket",
    "unix_socket_path",
    "localSocket",
    "socketPath",
    "socketFactory",
    "socketFactoryArg",
    "junixsocket.file",
    "path",
];

/// The form in which a URL names its server.
#[derive(Debug, PartialEq, Eq)]
struct Form {
    /// The scheme, if it determines how the rest of the URL is read: `unix`, `redis+socket`, `go`.
    family: String,
    authority: Authority,
    /// The names from [`PLACE_NAMES`] that occur in the URL's query, sorted.
    keys: Vec<String>,
}

#[derive(Debug, PartialEq, Eq)]
enum Authority {
    Empty,
    /// A name or an IP address.
    Host,
    /// A path, encoded with `%2F`, instead of a host.
    Path,
    /// No host, and a path of several parts: `redis:///run/redis.sock`.
    Behind,
}

/// Returns why looptax cannot determine the server of a URL; `None` if the driver is known to read this form.
pub(super) fn unproved(app: &App, text: &str) -> Option<String> {
    let form = Form::of(text);
    if text.starts_with("mongodb+srv:") {
        return Some("the hosts come from DNS".to_owned());
    }
    if let Some(why) = host_of(text).and_then(|host| odd_host(app, host)) {
        return Some(why);
    }
    if app.is_guess() {
        return None;
    }
    if let Some(why) = odd_path(app, text, &form) {
        return Some(why);
    }
    let is_plain = form.keys.is_empty() && matches!(form.authority, Authority::Host | Authority::Empty);
    if is_plain && !is_socket_scheme(&form.family) {
        // Ruby's drivers refuse a URL that has a login and no host.
        let is_login = text.contains('@');
        let is_own = || forms_of(app).any(|it| Form::of(&it).authority == Authority::Empty);
        let is_said = form.authority == Authority::Host || app.nowhere.is_some() && (!is_login || is_own());
        return (!is_said).then(|| "looptax has not tested the driver with a URL that has no host".to_owned());
    }
    let is_known = forms_of(app).any(|it| Form::of(&it) == form);
    (!is_known).then(|| match &*form.keys {
        [] => "the URL has the address in a form that looptax has not tested with the driver".to_owned(),
        keys => {
            format!("looptax has not tested whether the driver reads `{}` in a URL with this host", keys.join("`, `"))
        }
    })
}

/// URLs in the forms that the application's driver reads.
fn forms_of(app: &App) -> impl Iterator<Item = String> {
    let own = app.change.iter().filter(|it| it.set == Some(Role::Url)).map(|it| sample(&it.to));
    own.chain(app.url_is.iter().cloned())
}

/// Returns the reason if drivers disagree about a path in a URL.
fn odd_path(app: &App, text: &str, form: &Form) -> Option<String> {
    let not_tried = |what: &str| Some(format!("looptax has not tested the driver with {what}"));
    let values = Query::from_text(text).pairs().filter(|it| PLACE_NAMES.contains(&&*it.name()));
    let values: Vec<_> = values.collect();
    if values.iter().any(|it| it.value().starts_with('@')) || form.family == "go" && text.contains("unix(@") {
        return not_tried("an abstract name in a URL");
    }
    if values.iter().any(|it| it.value().contains('%')) {
        return not_tried("the percent signs in the path");
    }
    // Java's drivers do not decode the query, and Redis clients do not decode the path.
    let is_as_it_stands = text.starts_with("jdbc:") && values.iter().any(|it| it.text.contains('%'));
    let path = text.split('?').next().unwrap_or_default();
    let is_path =
        is_socket_scheme(&form.family) || matches!(form.authority, Authority::Behind) || form.family == "path";
    if is_as_it_stands || is_path && path.contains('%') {
        return not_tried("the percent signs in the path");
    }
    let is_unfit = |c: char| app.unfit.contains(c) || c == ' ';
    if is_path && path.contains(is_unfit) {
        return not_tried("the special characters in the path");
    }
    if form.family == "go" && text.contains("unix()") {
        return not_tried("an empty socket");
    }
    // asyncpg needs the socket's file, libpq its folder.
    let is_file = text.contains(".s.PGSQL.") && text.contains("+asyncpg:");
    if is_file {
        return not_tried("the socket's file");
    }
    let is_list = form.authority == Authority::Path && path.to_ascii_lowercase().contains("%2c");
    is_list.then(|| not_tried("a list of hosts"))?
}

/// A template of a `change` entry, filled with sample values.
fn sample(template: &str) -> String {
    let mut text = template.replace(['‹', '›'], "");
    for (role, value) in [("«socket|url»", "%2Fs%2Fs"), ("«folder|url»", "%2Fs%2Fs"), ("«port|raw»", "1")] {
        text = text.replace(role, value);
    }
    for role in ["«socket|", "«folder|"] {
        while let Some(at) = text.find(role) {
            let end = text[at..].find('»').map_or(text.len(), |it| at + it + '»'.len_utf8());
            text.replace_range(at..end, "/s/s");
        }
    }
    text.replace(['«', '»'], "")
}

fn is_socket_scheme(scheme: &str) -> bool {
    scheme.ends_with("unix") || scheme.ends_with("socket")
}

impl Form {
    fn of(text: &str) -> Self {
        let text = text.trim();
        let form = |family: &str, authority| Self { family: family.to_owned(), authority, keys: Vec::new() };
        if is_go(text) {
            return form("go", if text.contains("unix(") { Authority::Path } else { Authority::Host });
        }
        if text.starts_with('/') && !text.starts_with("//") {
            return form("path", Authority::Path);
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return form("", Authority::Host);
        };
        let (body, _) = rest.split_once('?').unwrap_or((rest, ""));
        let body = body.rsplit_once('@').map_or(body, |(_, place)| place);
        let (host, path) = body.split_once('/').unwrap_or((body, ""));
        let authority = match host {
            _ if is_socket_scheme(scheme) => Authority::Path,
            "" if path.trim_end_matches('/').contains('/') => Authority::Behind,
            host if host.is_empty() || host.starts_with(':') => Authority::Empty,
            host if host.to_ascii_lowercase().contains("%2f") => Authority::Path,
            _ => Authority::Host,
        };
        let family = if is_socket_scheme(scheme) { scheme } else { "" };
        let pairs = Query::from_text(text).pairs().filter(|it| PLACE_NAMES.contains(&&*it.name()));
        // A key with an empty value counts as another key.
        let key = |name: String, is_empty| if is_empty { format!("{name}=") } else { name };
        let mut keys: Vec<String> = pairs.map(|it| key(it.name(), it.value().is_empty())).collect();
        keys.sort();
        Self { keys, ..form(family, authority) }
    }
}

/// The host and port of a URL that has a host.
fn host_of(text: &str) -> Option<&str> {
    if is_go(text) {
        let (before, _) = text.rsplit_once(')')?;
        return before.rsplit_once("tcp(").map(|it| it.1);
    }
    let (scheme, rest) = text.split_once("://")?;
    let end = rest.find('?').unwrap_or(rest.len());
    let body = rest[..end].rsplit_once('@').map_or(&rest[..end], |(login, place)| {
        // If there are two `@`, the second belongs to the host.
        if login.ends_with('@') { &rest[login.len()..end] } else { place }
    });
    let host = body.split('/').next().unwrap_or_default();
    (!is_socket_scheme(scheme) && !host.is_empty()).then_some(host)
}

/// Returns the reason if drivers disagree about a host with its port.
fn odd_host(app: &App, host: &str) -> Option<String> {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, Some(port)),
        _ => (host, None),
    };
    let is_port = |it: &str| it.parse::<u16>().is_ok_and(|it| it > 0);
    // A password with unencoded special characters would be cut off at this place, and a message with the text would
    // show a part of the password. The reason therefore contains nothing of the text.
    let not_tried = |what: &str| Some(format!("looptax has not tested the driver with {what} in the URL"));
    if port.is_some_and(|it| !is_port(it)) {
        return not_tried("this port");
    }
    let is_name = |c: char| c.is_alphanumeric() || "-._".contains(c);
    let is_path = name.to_ascii_lowercase().contains("%2f");
    if is_path {
        return None;
    }
    let ip = name.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    let is_ip = ip.is_some_and(|it| it.parse::<Ipv6Addr>().is_ok());
    if is_ip && forms_of(app).any(|it| it.contains("//[")) {
        return None;
    }
    if app.kind.protocol().is_some() && name.contains(',') {
        return not_tried("this list of hosts");
    }
    if name.is_empty() || !name.chars().all(|c| is_name(c) || c == ',') {
        return not_tried("this host");
    }
    let is_usual = name.eq_ignore_ascii_case("localhost") && name != "localhost";
    let matters = app.localhost.is_some_and(|it| it != Takes::Tcp);
    (is_usual && matters).then(|| not_tried("localhost in capitals"))?
}
