//! The query that asks the server about a connection, and the check of its answer.

use std::net::SocketAddr;

use looptax_model::dsn::{Kind, Protocol};

use super::case::{Case, PLAIN};
use super::dialogue::Answer;
use super::server::Server;

/// Query for user and database in hexadecimal digits, because clients use various character sets, and for the client's
/// address as the server sees it.
const MYSQL: &str = "SELECT CONCAT_WS(' ', HEX(CONVERT(CURRENT_USER() USING utf8mb4)), \
    IFNULL(HEX(CONVERT(DATABASE() USING utf8mb4)), '-'), \
    (SELECT HOST FROM information_schema.processlist WHERE ID = CONNECTION_ID()))";
const POSTGRES: &str = "SELECT concat_ws(' ', \
    upper(encode(convert_to(session_user::text, 'UTF8'), 'hex')), \
    upper(encode(convert_to(current_database()::text, 'UTF8'), 'hex')), \
    (SELECT coalesce(host(client_addr), 'socket') FROM pg_stat_activity \
     WHERE pid = pg_backend_pid()))";

/// Returns the query, in SQL if the server supports SQL.
pub(crate) fn query(kind: Kind) -> &'static str {
    match kind {
        Kind::Mariadb | Kind::Mysql => MYSQL,
        Kind::Postgres => POSTGRES,
        _ => "",
    }
}

pub(crate) struct Login {
    pub(crate) user: String,
    pub(crate) password: String,
    pub(crate) database: String,
}

/// Returns the login of [`super::driver::Driver::plain`].
pub(crate) fn plain_login(server: &Server) -> Login {
    let text = |part: Option<&str>| part.unwrap_or_default().to_owned();
    Login {
        user: text(PLAIN.user(server.kind)),
        password: text(PLAIN.password(server.kind)),
        database: text(PLAIN.database(server.kind)),
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Connection {
    user: String,
    database: String,
    is_socket: bool,
}

/// Parses an answer; `None` if it cannot be parsed.
fn read(kind: Kind, seen: &str) -> Option<Connection> {
    match kind.protocol() {
        Some(Protocol::Mysql | Protocol::Postgres) => {
            let mut words = seen.split(' ');
            let (user, database, place) = (words.next()?, words.next()?, words.next()?);
            Some(Connection {
                user: user.to_owned(),
                database: database.to_owned(),
                // For a connection over TCP, MySQL adds the port.
                is_socket: place == if kind == Kind::Postgres { "socket" } else { "localhost" },
            })
        }
        Some(Protocol::Redis) => {
            let field = |name: &str| {
                let mut words = seen.split(' ');
                words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
            };
            Some(Connection {
                user: field("user")?.to_owned(),
                database: field("db")?.to_owned(),
                is_socket: field("flags")?.contains('U'),
            })
        }
        Some(Protocol::Memcached) => {
            Some(Connection { user: String::new(), database: String::new(), is_socket: seen == "socket" })
        }
        Some(Protocol::Mongodb) => {
            let mut words = seen.split(' ');
            let (user, database, place) = (words.next()?, words.next()?, words.next()?);
            Some(Connection {
                user: user.to_owned(),
                database: database.to_owned(),
                // For a client on its socket, FerretDB reports `invalid AddrPort`.
                is_socket: place.parse::<SocketAddr>().is_err(),
            })
        }
        Some(Protocol::Fastcgi | Protocol::Http | Protocol::Echo) | None => None,
    }
}

fn wanted(kind: Kind, case: &Case) -> Connection {
    let (user, database) = match kind.protocol() {
        Some(Protocol::Mysql) => (hex(&format!("{}@%", case.user)), case.database.map_or_else(|| "-".to_owned(), hex)),
        // Without a database, PostgreSQL uses the database with the user's name.
        Some(Protocol::Postgres) => (hex(case.user), hex(case.database.unwrap_or(case.user))),
        Some(Protocol::Redis) => {
            (case.user(kind).unwrap_or("default").to_owned(), case.database(kind).unwrap_or("0").to_owned())
        }
        Some(Protocol::Mongodb) => {
            (hex(case.user(kind).unwrap_or_default()), hex(case.database(kind).unwrap_or_default()))
        }
        Some(Protocol::Memcached | Protocol::Fastcgi | Protocol::Http | Protocol::Echo) | None => {
            (String::new(), String::new())
        }
    };
    Connection { user, database, is_socket: true }
}

fn hex(text: &str) -> String {
    let digits: Vec<String> = text.bytes().map(|byte| format!("{byte:02X}")).collect();
    digits.concat()
}

/// Returns what is wrong with the answer; `None` if the server reported what it should.
pub(crate) fn objection(kind: Kind, case: &Case, answer: &Answer) -> Option<String> {
    let seen = match answer {
        Answer::Seen(seen) => seen,
        Answer::Error(words) => return Some(words.clone()),
    };
    let Some(found) = read(kind, seen.trim()) else {
        return Some(format!("cannot read the answer `{seen}`"));
    };
    let wanted = wanted(kind, case);
    if !found.is_socket {
        return Some("it came over TCP".to_owned());
    }
    (found != wanted).then(|| format!("the server sees {found:?}, not {wanted:?}"))
}

/// Returns the transport of a connection to a host, as `looptax dsn` names it; `None` if the answer does not show the
/// transport.
pub(crate) fn transport(kind: Kind, answer: &Answer) -> Option<&'static str> {
    let is_socket = match answer {
        Answer::Seen(seen) => read(kind, seen.trim())?.is_socket,
        // The driver looked for a socket and did not find one.
        Answer::Error(words) if words.contains(".s.PGSQL.") || words.contains("through socket") => true,
        Answer::Error(_) => return None,
    };
    Some(if is_socket { "the socket" } else { "TCP" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialects::case::CASES;

    #[test]
    fn the_servers_answer_is_held_against_the_case() {
        let case = CASES.iter().find(|it| it.user == "comma").unwrap();
        let seen = |text: &str| Answer::Seen(text.to_owned());
        let check = |kind, text: &str| objection(kind, case, &seen(text)).is_none();
        assert!(check(Kind::Mariadb, "636F6D6D614025 73686F70 localhost"));
        assert!(!check(Kind::Mariadb, "636F6D6D614025 73686F70 127.0.0.1:4711"));
        assert!(!check(Kind::Mariadb, "636F6D6D614025 - localhost"));
        assert!(check(Kind::Postgres, "636F6D6D61 73686F70 socket"));
        assert!(!check(Kind::Postgres, "636F6D6D61 73686F70 127.0.0.1"));
        assert!(check(Kind::Redis, "id=3 addr=/s.sock:0 flags=U db=3 user=default"));
        assert!(!check(Kind::Redis, "id=3 addr=/s.sock:0 flags=N db=3 user=default"));
        assert!(check(Kind::Ferretdb, "636F6D6D61 73686F70 invalid-AddrPort"));
        assert!(!check(Kind::Ferretdb, "636F6D6D61 73686F70 127.0.0.1:4711"));
        assert!(check(Kind::Memcached, "socket") && !check(Kind::Memcached, "tcp"));
        assert!(objection(Kind::Redis, case, &Answer::Error("no".to_owned())).is_some());
    }
}
