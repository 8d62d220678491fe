//! Interprets an application's settings as the application does: finds the server, the transport and the user.

use std::collections::BTreeMap;
use std::path::PathBuf;

use looptax_model::dsn::{Address, Kind, Protocol, Secret, Unspoken};

use super::bound::Bound;
use super::found::Credentials;
use super::place::{Place, Written, by_localhost, folder_of, names_a_socket, place, wants_folder};
use super::quotes::{Dialect, Quotes};
use super::setting::{Setting, Value};
use super::source::Source;
use super::table::{App, Role, SocketRule};
use super::url::{self, Parsed};
use super::url_form::unproved;
use crate::Takes;

/// A connection, as one application interprets its settings.
pub(super) struct Lookup {
    pub(super) address: Option<Address>,
    /// The address of a server whose protocol looptax does not speak.
    pub(super) unspoken: Option<Unspoken>,
    pub(super) takes: Option<Takes>,
    pub(super) why: String,
    /// Whether the connection fails, or does not reach the socket in its settings.
    pub(super) fails: bool,
    /// Whether the transport is not known because the URL has a form that was not tested with the application's driver.
    pub(super) is_untried: bool,
    pub(super) credentials: Credentials,
}

impl Default for Lookup {
    fn default() -> Self {
        Self::unknown(String::new())
    }
}

impl Lookup {
    fn unknown(why: String) -> Self {
        let credentials = Credentials::Unknown(why.clone());
        Self { address: None, unspoken: None, takes: None, credentials, fails: false, is_untried: false, why }
    }
}

/// Interprets the settings of an application's connection.
pub(super) fn look_up(bound: &Bound, source: &Source<'_>) -> Lookup {
    let mut lookup = look_up_place(bound, source);
    if let Some(address) = &mut lookup.address {
        address.conditions.extend(bound.conditions.iter().cloned());
    }
    lookup
}

fn look_up_place(bound: &Bound, source: &Source<'_>) -> Lookup {
    let text = |role: Role| {
        let found = bound.roles.get(&role).filter(|it| !is_unset(&it.value, source))?;
        Some(text_of(found, source).map(without_nothing))
    };
    if let Some(doubt) = &bound.doubt {
        return Lookup::unknown(doubt.clone());
    }
    if let Some(name) = unproved_socket(bound) {
        return Lookup::unknown(format!("looptax does not know whether the program reads `{name}`"));
    }
    match text(Role::Url) {
        Some(Ok(it)) if !it.is_empty() => {
            let login = (text(Role::User), text(Role::Password));
            return look_up_url(bound.app, &it, login, text(Role::Socket));
        }
        Some(Err(why)) => return Lookup::unknown(format!("the server's address is {why}")),
        _ => {}
    }
    let mut values: BTreeMap<Role, String> = BTreeMap::new();
    for role in [Role::Host, Role::Hostaddr, Role::Port, Role::Socket, Role::Scheme] {
        match text(role) {
            Some(Ok(text)) => {
                values.insert(role, text);
            }
            Some(Err(why)) => return Lookup::unknown(format!("the server's address is {why}")),
            None => {}
        }
    }
    let value = |role: Role| values.get(&role).map(|it| &**it);
    let written = Written {
        host: value(Role::Host),
        hostaddr: value(Role::Hostaddr),
        port: value(Role::Port),
        socket: value(Role::Socket),
        scheme: value(Role::Scheme),
    };
    let place = match place(bound.app, &written) {
        Ok(place) => place,
        Err(why) => return Lookup::unknown(why),
    };
    let is_said = |it: &String| !it.is_empty() && bound.app.all_databases.as_ref() != Some(it);
    let or_none = |role: Role| text(role).and_then(Result::ok).filter(is_said);
    let credentials = credentials(bound.app, text(Role::User), text(Role::Password));
    let is_spoken = bound.app.kind.protocol().is_some();
    let unspoken = (!is_spoken).then(|| Unspoken {
        host: place.host.clone(),
        port: place.port,
        socket: place.socket.clone(),
        ..Unspoken::bare(bound.app.kind)
    });
    let address = address(bound.app, place.clone(), or_none, text(Role::Password));
    Lookup {
        address,
        unspoken,
        takes: Some(place.takes),
        why: place.why,
        fails: place.fails,
        is_untried: false,
        credentials,
    }
}

/// For a guessed application without a host setting: the name of its socket setting, if the usual drivers use a
/// different name.
fn unproved_socket(bound: &Bound) -> Option<&str> {
    let socket = bound.roles.get(&Role::Socket)?;
    let name = socket.path.last()?;
    let is_alone = bound.app.is_guess() && !bound.roles.contains_key(&Role::Host);
    let is_odd = match name.to_lowercase().as_str() {
        "db_unix_socket" | "unixsocket" => bound.app.kind == Kind::Mysql,
        "socket" => bound.app.kind == Kind::Mysql && matches!(socket.quotes, Quotes::Around(_, Dialect::Script)),
        "db_socket" => bound.app.kind == Kind::Postgres,
        _ => false,
    };
    (is_alone && is_odd).then_some(name.as_str())
}

type Asked = Option<Result<String, String>>;

/// Interprets a URL. Other settings may give the user and the password, and a socket that overrides the URL's host.
fn look_up_url(app: &App, text: &str, (user, password): (Asked, Asked), beside: Asked) -> Lookup {
    let common = url::common(text);
    let text = common.as_deref().unwrap_or(text);
    if let Some(why) = unproved(app, text) {
        return Lookup { is_untried: true, ..Lookup::unknown(why) };
    }
    let mut unspoken = None;
    let (mut address, host, mut socket) = match url::parse_as(app.kind, text) {
        Some(Parsed::Spoken { address, .. }) => {
            let (host, socket) = (address.host.clone(), address.socket.clone());
            (Some(address), host, socket)
        }
        Some(Parsed::Unspoken(it)) => {
            let (host, socket) = (it.host.clone(), it.socket.clone());
            unspoken = Some(it);
            (None, host, socket)
        }
        None => return Lookup::unknown("looptax cannot read the URL".to_owned()),
    };
    if app.socket_rule == SocketRule::Wins && socket.is_none() {
        match beside {
            Some(Ok(path)) if names_a_socket(&path) => socket = Some(PathBuf::from(path)),
            Some(Err(why)) => {
                return Lookup::unknown(format!("the socket setting is {why}"));
            }
            _ => {}
        }
    }
    let (takes, mut why) = taken_by_url(app, text, host.as_deref(), &mut socket);
    let file = address.as_ref().filter(|it| it.protocol == Protocol::Postgres && app.writes_folder());
    let file = file.and_then(|_| folder_of(socket.as_deref()?.to_str()?));
    if let Some((folder, port)) = &file {
        why = wants_folder(&socket.take().unwrap_or_default().to_string_lossy(), *port);
        socket = Some(PathBuf::from(folder));
    }
    let known = address.as_mut();
    let (own_user, own_password) = known.map(|it| (it.user.take(), it.password.take())).unwrap_or_default();
    let user = own_user.map(Ok).or(user);
    let password = match own_password {
        Some(password) => Some(Ok(password.reveal().to_owned())),
        None => password,
    };
    let credentials = credentials(app, user.clone(), password.clone());
    Lookup {
        takes: Some(takes),
        why,
        fails: file.is_some(),
        is_untried: false,
        credentials,
        unspoken,
        address: address.map(|address| Address {
            port: file.map_or(address.port, |(_, port)| port),
            socket,
            user: user.and_then(Result::ok),
            password: password.and_then(Result::ok).map(Secret::new),
            ..address
        }),
    }
}

/// The transport of a URL, with the reason. Removes a socket that the driver ignores.
fn taken_by_url(app: &App, text: &str, host: Option<&str>, socket: &mut Option<PathBuf>) -> (Takes, String) {
    let is_local = matches!(host, None | Some("localhost" | "none"));
    let needs_localhost = match app.socket_rule {
        SocketRule::Wins | SocketRule::Loopback => false,
        SocketRule::Localhost => true,
        SocketRule::Driver => !url::takes_any_socket(text),
    };
    if needs_localhost && !is_local && socket.take().is_some() {
        let host = host.unwrap_or_default();
        let why = format!("the socket in the URL is ignored, because the URL's host is {host}, not localhost");
        return (Takes::Tcp, why);
    }
    match (socket, host) {
        (Some(path), _) => (Takes::Unix, format!("{} is the socket", path.display())),
        (None, None | Some("localhost")) if app.socket_rule == SocketRule::Driver => {
            if needs_localhost {
                (Takes::Unix, "the C library uses its usual socket".to_owned())
            } else {
                (Takes::Tcp, "a driver in Python uses TCP if no socket is given".to_owned())
            }
        }
        (None, None) => (app.nowhere.unwrap_or(Takes::Tcp), "the URL has no host".to_owned()),
        (None, Some("localhost")) => by_localhost(app),
        (None, Some(host)) => (Takes::Tcp, format!("the URL's host is {host}")),
    }
}

fn address(
    app: &App,
    place: Place,
    or_none: impl Fn(Role) -> Option<String>,
    password: Option<Result<String, String>>,
) -> Option<Address> {
    Some(Address {
        host: place.host,
        port: place.port,
        user: or_none(Role::User),
        // For SQL servers, an empty password in the file is a known password. For other kinds of server, an empty
        // password means no password.
        password: password.and_then(Result::ok).filter(|it| !it.is_empty() || has_accounts(app)).map(Secret::new),
        database: or_none(Role::Database),
        socket: place.socket,
        ..Address::bare(app.kind.protocol()?)
    })
}

/// Whether the server needs a user name.
fn has_accounts(app: &App) -> bool {
    matches!(app.kind.protocol(), Some(Protocol::Mysql | Protocol::Postgres))
}

/// Whether the user and the password are known: looptax never guesses them to log in.
fn credentials(
    app: &App,
    user: Option<Result<String, String>>,
    password: Option<Result<String, String>>,
) -> Credentials {
    let needs = has_accounts(app);
    let unknown = |what: &str, why: &str| Credentials::Unknown(format!("the {what} is {why}"));
    match (user, password) {
        (Some(Err(why)), _) => unknown("user", &why),
        (_, Some(Err(why))) => unknown("password", &why),
        (None, _) if needs => unknown("user", "not in the settings"),
        (Some(Ok(user)), _) if needs && user.is_empty() => unknown("user", "not in the settings"),
        (_, None) if needs => unknown("password", "not in the settings"),
        _ => Credentials::Known,
    }
}

/// Returns a setting's value as text.
///
/// # Errors
/// Why the text is not known, as words.
pub(super) fn text_of(setting: &Setting, source: &Source<'_>) -> Result<String, String> {
    if let Some(doubt) = &setting.doubt {
        return Err(doubt.clone());
    }
    match &setting.value {
        Value::Text(text) => Ok(text.clone()),
        Value::Hidden => Err("an expression that only the program can evaluate".to_owned()),
        Value::Variable { name, fallback } => {
            let known = source.environment.and_then(|it| it.get(name));
            // The fallback is certain only if the environment is known.
            let found = known.or(fallback.as_ref().filter(|_| source.environment.is_some()));
            found.cloned().ok_or_else(|| format!("the environment variable {name}"))
        }
    }
}

/// Whether the value is a variable that the environment does not set; `false` if the environment is not known.
pub(super) fn is_unset(value: &Value, source: &Source<'_>) -> bool {
    let is_missing = |name: &String| { source.environment }.is_some_and(|it| !it.contains_key(name));
    matches!(value, Value::Variable { name, fallback: None } if is_missing(name))
}

/// Returns an empty text in place of a word that means an empty value in Laravel's `.env` or in Odoo.
fn without_nothing(text: String) -> String {
    match &*text {
        "null" | "(null)" | "empty" | "(empty)" | "False" | "None" => String::new(),
        _ => text,
    }
}
