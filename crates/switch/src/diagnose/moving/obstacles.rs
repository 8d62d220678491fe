//! Finds the reasons not to move a server's port: the port's protocol, and logins that would end differently.
//!
//! The program logs in as it does over TCP and does not know that it uses a socket. If looptax does not know the
//! account and the login may end differently over the socket, the connections stay on TCP.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use looptax_advise::check::{Hba, Origin};
use looptax_host::discover::Server;
use looptax_model::dsn::{Kind, OverSocket, PARAMETERS, Protocol};
use looptax_redirect::Demand;

use super::candidate::Candidate;
use super::pooler;
use crate::diagnose::check::hba_file;

/// The maximum number of bytes read from a list of hosts; real lists are shorter.
const MOST_HOSTS_BYTES: u64 = 1 << 20;

/// The time limit for an answer. A server on this machine answers immediately.
const PATIENCE: Duration = Duration::from_secs(1);

/// A setting by which a program demands TLS, and the values of the setting that do not demand TLS. The setting's name
/// contains only letters and digits, and in some cases a `?` or `&` before them. PostgreSQL refuses TLS on its socket.
/// With other servers, a program may demand TLS for a reason that looptax does not know.
type Said = (&'static str, &'static [&'static str]);

const FALSE: &[&str] = &["false", "off", "no", "0"];

/// Settings that are not in libpq's [`PARAMETERS`]. They are settings of libpq, pgjdbc, asyncpg and node-postgres, and
/// of drivers whose settings have the same names as libpq's (`PGSSLMODE` also ends in `sslmode`).
const OF_POSTGRES: &[Said] = &[
    ("sslmode", &["disable", "allow", "prefer"]),
    ("requiressl", FALSE),
    ("sslnegotiation", &["postgres"]),
    ("sslrootcertsystem", &[]),
    ("ssltrue", &[]),
    ("sslrequire", &[]),
    ("sslverify", &[]),
    ("sslrejectunauthorized", &[]),
];

/// Settings of Connector/J, of MariaDB's driver, of go-sql-driver, and of the command-line clients, whose options may
/// be shortened. go-sql-driver's setting `tls` is too short to be recognised without the character before it.
const OF_MYSQL: &[Said] = &[
    ("sslmode", &["disable", "prefer"]),
    ("sslmrequire", &[]),
    ("sslmorequire", &[]),
    ("sslmodrequire", &[]),
    ("sslmverify", &[]),
    ("sslmoverify", &[]),
    ("sslmodverify", &[]),
    ("usessl", FALSE),
    ("requiressl", FALSE),
    ("sslverifyservercert", FALSE),
    ("?tls", &["false", "preferred", "version"]),
    ("&tls", &["false", "preferred", "version"]),
];

/// Returns the settings that keep a process on TCP if they are in its arguments or environment.
pub(super) fn demands(kind: Kind) -> Vec<Demand> {
    let all = match kind.protocol() {
        Some(Protocol::Postgres) => OF_POSTGRES,
        Some(Protocol::Mysql) => OF_MYSQL,
        _ => &[],
    };
    let demand = |words: String, harmless: &[&str]| Demand {
        words,
        harmless: harmless.iter().map(|it| (*it).to_owned()).collect(),
    };
    let of_libpq = PARAMETERS.iter().filter_map(|it| match it.over_socket {
        OverSocket::FailsUnless(harmless) => Some(demand(it.name.replace('_', ""), harmless)),
        _ => None,
    });
    let of_libpq = of_libpq.filter(|_| kind.protocol() == Some(Protocol::Postgres));
    all.iter().map(|(words, harmless)| demand((*words).to_owned(), harmless)).chain(of_libpq).collect()
}

/// For a server with Redis's protocol: returns the reason to leave the port on TCP, if the port's answer to a PING
/// shows a reason. `None` for other servers.
pub(super) fn of_port(pair: &Candidate, server: &Server) -> Option<String> {
    let first = *pair.from.first()?;
    if server.kind.protocol() != Some(Protocol::Redis) {
        return None;
    }
    match first_answer(first).as_ref() {
        // The port gives this answer to a client that comes through a proxy; the socket would accept that client.
        Ok(b"-DENIED") => Some("the port refuses clients on other machines, such as a proxy".to_owned()),
        // A server that requires a password answers PING with an error that demands the password.
        Ok([b'+' | b'-', ..]) => None,
        _ => Some("the port does not answer in plain text: the server speaks TLS, or hangs".to_owned()),
    }
}

/// Returns the first bytes of the answer to a PING in Redis's own protocol.
fn first_answer(address: SocketAddr) -> std::io::Result<[u8; 7]> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"PING\r\n")?;
    let mut first = [0; 7];
    stream.read_exact(&mut first)?;
    Ok(first)
}

/// The findings about logins over the socket, from reading the server's settings and rules only.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Logins {
    /// A login over the socket has the same result as a login over TCP. The text, if there is one, warns that the
    /// server may still use older rules than those in its file.
    Same(Option<String>),
    /// Logins may end differently: the reason, and whether the socket may admit an account that TCP refuses.
    Differ { why: String, gets_more: bool },
    /// Only a login with an account can show how logins end.
    Open,
}

const UNKNOWN: &str = "pass --login DSN to try the login, or --map to move the port without a check";
/// The end of the message for servers where one working login proves nothing about other logins.
const ONLY_MAP: &str = "--map moves the port without a check";

/// Determines whether every login over the socket ends as it does over TCP. `is_direct` means that connections to the
/// port lead directly to the server.
pub(super) fn of_logins(pair: &Candidate, server: &Server, is_direct: bool) -> Logins {
    match server.kind {
        Kind::Mysql | Kind::Percona if !is_before_version_8(server) => Logins::Differ {
            why: format!(
                "if MySQL 8 or later no longer has a password in its cache, MySQL accepts the password over the \
                 socket only in clear text, but a client that treats the socket like TCP without TLS sends no \
                 password in clear text; {UNKNOWN}"
            ),
            gets_more: false,
        },
        Kind::Mysql | Kind::Percona | Kind::Mariadb => Logins::Open,
        Kind::Postgres => rules(pair, server, is_direct),
        // Other kinds of server admit the same accounts over each transport, unless a pooler's setting decides
        // otherwise.
        kind => { kind.facts().logins.as_ref() }
            .and_then(|setting| pooler::difference(setting, &server.process))
            .map_or(Logins::Same(None), gets_more),
    }
}

/// The warning, printed at the start, about a port for which looptax does not know how logins end.
pub(super) const OPEN: &str = "looptax does not know the account: on the socket the account is user@localhost \
                               instead of user@127.0.0.1. The server may refuse user@localhost, give this account \
                               other rights, or need no password for it. Pass --login DSN to try the login; \
                               --require-login leaves the port on TCP";

/// Returns the result for a socket that admits, or may admit, an account that TCP refuses.
fn gets_more(why: impl std::fmt::Display) -> Logins {
    Logins::Differ { why: format!("{why}; {ONLY_MAP}"), gets_more: true }
}

fn is_before_version_8(server: &Server) -> bool {
    let version = server.version.as_deref().unwrap_or_default();
    let major = version.split('.').next().and_then(|it| it.parse::<u32>().ok());
    major.is_some_and(|major| major < 8)
}

fn rules(pair: &Candidate, server: &Server, is_direct: bool) -> Logins {
    let Some(file) = hba_file(server) else {
        return gets_more("looptax cannot read the server's pg_hba.conf, which may treat sockets differently");
    };
    let origins: Vec<Origin> = if is_direct {
        let known = |from: &SocketAddr| Origin::Known { ip: from.ip(), is_localhost: is_localhost(server, from.ip()) };
        pair.from.iter().map(known).collect()
    } else {
        vec![Origin::Unknown]
    };
    let hba = Hba::parse(&file.text);
    let difference = hba.difference(&origins);
    match (hba.surplus(&origins), difference) {
        (Some(surplus), _) => gets_more(surplus.words(&file.path)),
        (None, Some(difference)) => {
            Logins::Differ { why: format!("{}; {UNKNOWN}", difference.words(&file.path)), gets_more: false }
        }
        (None, None) => Logins::Same(file.is_changed.then(|| {
            format!(
                "{} was changed after the server started: the new rules apply only if the server was reloaded after \
                 the change and accepted the rules (the server's log shows whether it did; from PostgreSQL 10 on, \
                 pg_hba_file_rules lists the rejected lines)",
                file.path
            )
        })),
    }
}

/// Whether the server resolves this address to the name `localhost`. Only the first name of the address in the server's
/// `/etc/hosts` counts.
///
/// # Source
/// hosts(5); PostgreSQL, src/backend/libpq/hba.c, `check_hostname`.
fn is_localhost(server: &Server, ip: IpAddr) -> bool {
    let view = server.process.view();
    let hosts = view.and_then(|it| it.read(Path::new("/etc/hosts"), MOST_HOSTS_BYTES));
    let hosts = hosts.unwrap_or_default();
    let hosts = String::from_utf8_lossy(&hosts);
    let mut lines = hosts.lines().filter_map(|line| {
        let line = line.split('#').next()?;
        let (address, names) = line.trim().split_once([' ', '\t'])?;
        (address.parse() == Ok(ip)).then(|| names.split_ascii_whitespace().next())
    });
    let first = lines.next().flatten();
    first.is_some_and(|name| name.eq_ignore_ascii_case("localhost"))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::thread;

    use looptax_redirect::SocketName;

    use super::*;

    #[track_caller]
    fn check(answer: &'static str, expected: Option<&str>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            client.read_exact(&mut [0; 6]).unwrap();
            client.write_all(answer.as_bytes()).unwrap();
        });
        let pair = Candidate::new(vec![address], SocketName::Path("/nowhere".into()));
        let server_of = Server {
            kind: Kind::Redis,
            version: None,
            name: "redis-server".to_owned(),
            process: looptax_host::discover::process(std::process::id()).unwrap(),
            is_hidden: false,
            endpoints: Vec::new(),
        };
        let found = of_port(&pair, &server_of);
        server.join().unwrap();
        let is_so = match (&found, expected) {
            (Some(found), Some(words)) => found.contains(words),
            (found, expected) => found.is_none() && expected.is_none(),
        };
        assert!(is_so, "{answer:?}: {found:?}");
    }

    #[test]
    fn r18_a_redis_that_refuses_the_port_to_strangers_is_not_moved_to_its_socket() {
        check("+PONG\r\n", None);
        check("-NOAUTH Authentication required.\r\n", None);
        check("-DENIED Redis is running in protected mode\r\n", Some("refuses"));
        check("\x15\x03\x01\0\x02\x02\x0a", Some("speaks TLS"));
        check("", Some("speaks TLS"));
    }
}
