//! Before the program starts, tries its known connections over both transports.
//!
//! looptax finds these connections in `--login`, and in URLs with a user in the program's arguments and environment.
//! Each connection is checked as by `looptax check`.

use looptax_host::discover::Server;
use looptax_model::dsn::{Address, Protocol};
use looptax_model::failure::Failure;
use looptax_model::record::{Outcome, Point, PointCode, Topic};
use looptax_redirect::SocketName;

use super::candidate::Candidate;
use super::wanted::Wanted;
use crate::diagnose::check::{Client, Question, points};
use crate::diagnose::local::own_address;
use crate::diagnose::socket_of::Near;

/// The result of trying the known connections to a port.
pub(super) enum Verdict {
    /// All known connections would work.
    Works {
        words: Vec<String>,
        /// Whether a person passed one of these connections with `--login`. Otherwise all of them were found in the
        /// program's arguments and environment.
        is_told: bool,
    },
    /// One of the connections would fail, for this reason.
    Fails(String),
    Unknown,
}

/// Topics whose problems do not make a login fail. If the queue is full, the client waits.
const HARMLESS: [Topic; 1] = [Topic::Backlog];

/// The point about an account that demands TLS over both transports: the result depends on the driver, which may omit
/// TLS on a socket.
const OF_DRIVERS: PointCode = PointCode::AccountDemandsTls;

/// Points about an account that TCP refuses and the socket admits, or that has more rights over the socket. `check`
/// reports this as an advantage, but `run` must not give a program more rights than the program has over TCP, unless a
/// person requests this.
const MORE: [PointCode; 5] = [
    PointCode::AccountSocketOnly,
    PointCode::AccountGetsMore,
    PointCode::LoginFailsOverTcp,
    // A client that has to use TLS stays on TCP.
    PointCode::TlsOnSocket,
    PointCode::TlsNotOnSocket,
];

/// The topics that are about the login itself.
const LOGINS: [Topic; 2] = [Topic::Account, Topic::Login];

/// The text that is appended to a refusal's message if the login was tried without a password.
const NO_PASSWORD: &str = "; the URL of --login has no password: write the password into the URL, or into \
    LOOPTAX_PASSWORD";

/// Tries the known connections to this port over both transports.
pub(super) fn verdict(pair: &Candidate, args: &Wanted<'_>, servers: &[Server]) -> Result<Verdict, Failure> {
    let mut words = Vec::new();
    let mut is_told = false;
    let addresses = addresses(args)?;
    let known = addresses.iter().enumerate();
    for (idx, address) in known.filter(|(_, it)| is_for(it, pair)) {
        if let Some(demand) = &address.tls {
            return Ok(Verdict::Fails(demanded(demand, address.protocol)));
        }
        let user = address.user.as_deref();
        let client = Client::find(None, None)?;
        let points = points(Question {
            // looptax passes the socket, because it would not find a container's server by its port: the server listens
            // in another network namespace.
            socket: match &pair.to {
                SocketName::Path(path) => Some(path),
                SocketName::Abstract(_) => None,
            },
            n_connections: Some(1),
            ..Question::of(address, &client, Near::us(servers))
        })?;
        let fails = |it: &&Point| {
            it.outcome == Outcome::Fail && !HARMLESS.contains(&it.topic)
                || MORE.contains(&it.code)
                || it.code == OF_DRIVERS
        };
        let who = user.map_or_else(String::new, |user| format!("`{user}`: "));
        if let Some(point) = points.iter().find(fails) {
            return Ok(Verdict::Fails(format!("{who}{}", point.what)));
        }
        let login = points.iter().find(|it| LOGINS.contains(&it.topic));
        match login {
            Some(login) if login.outcome != Outcome::Unknown => {}
            Some(login) if has_password(address) => {
                return Ok(Verdict::Fails(format!("{who}{}", login.what)));
            }
            // A person passed this login with `--login`, so looptax has to report that the login failed.
            Some(login) if idx < args.login.len() => {
                return Ok(Verdict::Fails(format!("{who}{}{NO_PASSWORD}", login.what)));
            }
            // The connection has a password that looptax does not know, so a refused login shows nothing.
            _ => continue,
        }
        let whose = user.map_or_else(String::new, |user| format!(" of `{user}`"));
        is_told |= idx < args.login.len();
        let said = format!("the login{whose} works over the socket, too");
        if !words.contains(&said) {
            words.push(said);
        }
    }
    Ok(if words.is_empty() { Verdict::Unknown } else { Verdict::Works { words, is_told } })
}

/// Explains why a connection that demands TLS stays on TCP. MySQL and MariaDB also offer TLS on their sockets, but a
/// program may demand TLS for a reason that looptax does not know.
fn demanded(demand: &str, protocol: Protocol) -> String {
    match protocol {
        Protocol::Postgres => {
            format!("a connection sets `{demand}`, and PostgreSQL has no TLS on its socket")
        }
        _ => {
            format!("a connection sets `{demand}`, and a connection that demands TLS stays on TCP")
        }
    }
}

/// Whether looptax tried the connection with a password: the password in the address, or the password in
/// `LOOPTAX_PASSWORD`.
fn has_password(address: &Address) -> bool {
    address.password.is_some() || std::env::var_os("LOOPTAX_PASSWORD").is_some()
}

/// Parses the addresses of `--login`.
pub(super) fn told(args: &Wanted<'_>) -> Result<Vec<Address>, Failure> {
    let wrong = |error| {
        Failure::usage(
            format!("--login: {error}"),
            "pass the address of a connection, for example --login mysql://user@127.0.0.1:3306/db",
        )
    };
    let parsed = args.login.iter().map(|text| Address::parse_login(text));
    parsed.map(|it| it.map_err(wrong)).collect()
}

/// Returns a message for each `--login` whose address does not belong to any of these ports.
pub fn unfitting(args: &Wanted<'_>, candidates: &[Candidate]) -> Result<Vec<String>, Failure> {
    let told = told(args)?;
    let unfitting = told.iter().filter(|address| !candidates.iter().any(|it| is_for(address, it)));
    let words = unfitting.map(|address| {
        let host = address.host.as_deref().unwrap_or("localhost");
        let port = address.port;
        format!("--login has the address {host}:{port}, but no connections to that address are moved")
    });
    Ok(words.collect())
}

/// Returns the known connections, to all ports.
fn addresses(args: &Wanted<'_>) -> Result<Vec<Address>, Failure> {
    let mut found = told(args)?;
    if !args.no_login {
        let arguments = args.command.iter().map(|it| it.to_string_lossy().into_owned());
        let environment = std::env::vars_os()
            .filter(|(name, _)| name != "LOOPTAX_PASSWORD")
            .map(|(_, value)| value.to_string_lossy().into_owned());
        found.extend(arguments.chain(environment).filter_map(|it| spelled(&it)));
    }
    Ok(found)
}

/// Returns the address in an argument's URL, if the URL contains a user and no socket. The argument is the URL itself,
/// or contains the URL after another character, such as an equals sign.
fn spelled(word: &str) -> Option<Address> {
    let scheme_end = word.find("://")?;
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.:".contains(c);
    let start = word[..scheme_end].rfind(|c| !is_scheme(c)).map_or(0, |at| at + 1);
    let url = word[start..].trim_end_matches(['"', '\'', ')', ';']);
    let url = url.strip_prefix("jdbc:").unwrap_or(url);
    let address = Address::parse_login(url).ok()?;
    (address.user.is_some() && address.socket.is_none()).then_some(address)
}

fn is_for(address: &Address, pair: &Candidate) -> bool {
    let host = address.host.as_deref().unwrap_or("localhost");
    let ip = own_address(host);
    let mut from = pair.from.iter();
    from.any(|own| own.port() == address.port && ip.is_some_and(|ip| ip == own.ip() || host == "localhost"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, expected: Option<(&str, u16, &str)>) {
        let found = spelled(word);
        let found = found.as_ref().map(|address| {
            let host = address.host.as_deref().unwrap_or_default();
            (host, address.port, address.user.as_deref().unwrap_or_default())
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn urls_are_found_in_words_of_any_kind() {
        check("mysql://u:p@127.0.0.1:3307/d", Some(("127.0.0.1", 3307, "u")));
        check(
            "--spring.datasource.url=jdbc:mariadb://127.0.0.1:3306/d?user=u&password=p",
            Some(("127.0.0.1", 3306, "u")),
        );
        check("jdbc:postgresql://localhost/d?user=u", Some(("localhost", 5432, "u")));
    }

    #[test]
    fn what_names_nobody_or_no_server_is_passed_over() {
        for word in ["https://u:p@example.org/", "mysql://127.0.0.1/d", "://", "mysql:u@h", "--", ""] {
            check(word, None);
        }
    }
}
