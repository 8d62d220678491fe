//! TLS: whether the URL or the server demands it, and what this means for a socket.

use std::fmt;

use looptax_model::dsn::{Address, Arm, Kind, Protocol};
use looptax_model::record::{Outcome, Point, PointCode, Topic};

/// Makes the point about TLS on the socket. `None` if the URL does not demand TLS, and the server accepts the login
/// without TLS too (`is_alone` is false).
///
/// # Source
/// PostgreSQL refuses each request for TLS on a socket (`backend_startup.c`). The source of each driver shows how the
/// driver reacts.
pub fn demanded_tls(address: &Address, is_alone: bool) -> Option<Point> {
    let (demand, next, how) = match address.tls.as_deref() {
        Some(demand) => (
            format!("the URL says `{demand}`"),
            match direct(demand) {
                Some(both) => format!(
                    "remove `{demand}` from the connection over the socket, whose data does not leave this machine; \
                     {both}"
                ),
                None => format!(
                    "remove `{demand}` from the connection over the socket, whose data does not leave this machine"
                ),
            },
            "read the URL",
        ),
        None if is_alone => (
            "over TCP the server accepts this login only with TLS".to_owned(),
            "for the socket, remove the setting that makes the driver insist on TLS although the connection does not \
             leave the machine"
                .to_owned(),
            "the server refused the login over TCP without TLS, and accepted it with TLS",
        ),
        None => return None,
    };
    let (code, outcome, what) = match address.protocol {
        Protocol::Mysql => (
            PointCode::TlsOnSocket,
            Outcome::Note,
            format!("{demand}: if the driver uses TLS over the socket too, the cost of TLS remains"),
        ),
        Protocol::Postgres => (
            PointCode::TlsNotOnSocket,
            Outcome::Unknown,
            format!(
                "{demand}, and PostgreSQL has no TLS on its socket: libpq, lib/pq, pgx and asyncpg ignore the demand \
                 there; node-pg, Npgsql, sqlx, tokio-postgres and pgjdbc fail"
            ),
        ),
        Protocol::Redis
        | Protocol::Memcached
        | Protocol::Mongodb
        | Protocol::Fastcgi
        | Protocol::Http
        | Protocol::Echo => (
            PointCode::TlsNotOnSocket,
            Outcome::Note,
            format!("{demand}, and the server's socket has no TLS: configure the socket's path in the driver instead"),
        ),
    };
    Some(Point::new(Topic::Tls, code, outcome, what, how).with_next(next))
}

/// Describes what libpq does because of `sslnegotiation=direct`; `None` if `demand` does not contain this option.
///
/// # Source
/// psql 17.12: with sslmode `require` or stricter, it connects over the socket without TLS. With a weaker sslmode it
/// refuses every connection, over the socket too.
fn direct(demand: &str) -> Option<&'static str> {
    demand.to_ascii_lowercase().contains("sslnegotiation=direct").then_some(
        "also remove `sslnegotiation=direct`: with this option, libpq 17 and later refuse every connection, over the \
         socket too, unless sslmode is require, verify-ca or verify-full",
    )
}

/// Makes the point that sockets satisfy `require_secure_transport` of MySQL and MariaDB; `None` if the setting is off
/// or not known.
///
/// # Source
/// dev.mysql.com, server system variables; mariadb.com, the variable of that name.
pub fn secure_transport(is_required: Option<bool>) -> Option<Point> {
    is_required?.then(|| {
        Point::new(
            Topic::Tls,
            PointCode::SocketCountsAsSecure,
            Outcome::Pass,
            "require_secure_transport is on; a connection over the socket counts as secure even without TLS",
            "queried @@require_secure_transport",
        )
    })
}

/// A session of this machine that uses TLS, according to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SealedSession {
    /// Whether the session uses the socket; if not, it uses TCP.
    pub is_on_socket: bool,
    pub user: String,
    /// The name that the program reported; may be empty.
    pub program: String,
    /// The driver and its version, as the driver reported them; may be empty.
    pub library: String,
}

impl SealedSession {
    /// Whether the program belongs to MariaDB. Such programs request TLS themselves and report their names. MariaDB's
    /// library, which other programs use too, requests TLS only if the program does.
    fn is_of_mariadbs_programs(&self) -> bool {
        let is_named = ["mariadb", "mysql"].iter().any(|name| self.program.starts_with(name));
        is_named && self.library.starts_with("libmariadb")
    }
}

impl fmt::Display for SealedSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&*self.program, &*self.library) {
            ("", "") => f.write_str("a program without a name")?,
            ("", name) | (name, "") => f.write_str(name)?,
            (program, library) => write!(f, "{program} ({library})")?,
        }
        write!(f, " of `{}`", self.user)
    }
}

/// Makes the points about this machine's sessions that use TLS, one for each transport. `target` is the server's URL,
/// and `kind` the name of its kind.
///
/// # Source
/// `cargo lab clients tls` shows which programs use TLS on which transport, and how to switch TLS off.
pub fn sealed_sessions(kind: &str, target: &str, sessions: &[SealedSession]) -> Vec<Point> {
    let (on_socket, over_tcp): (Vec<_>, Vec<_>) = sessions.iter().partition(|it| it.is_on_socket);
    let how = match kind {
        "postgres" => "queried pg_stat_ssl and pg_stat_activity",
        _ => "queried performance_schema.threads for sessions whose connection is SSL/TLS",
    };
    let point = |sessions: &[&SealedSession], code, transport, ends: &str| {
        let what = format!(
            "encrypted {transport} now: {}; within one machine, TLS does not protect data from root",
            counted(sessions)
        );
        let is_on_socket = code == PointCode::SessionsSealedOnSocket;
        let next = format!("{ends}; {}", measures(kind, target, is_on_socket));
        (!sessions.is_empty()).then(|| Point::new(Topic::Tls, code, Outcome::Note, what, how).with_next(next))
    };
    let is_of_programs = on_socket.iter().any(|it| it.is_of_mariadbs_programs());
    let ends_on_socket = if is_of_programs { ends_tls(kind, true) } else { INSISTS };
    [
        point(&on_socket, PointCode::SessionsSealedOnSocket, "on the socket", ends_on_socket),
        point(&over_tcp, PointCode::SessionsSealedOverTcp, "over TCP from this machine", ends_tls(kind, false)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

const INSISTS: &str = "remove the setting that makes the driver insist on TLS";

/// Describes how to switch off TLS inside the machine. `server_kind` is the name of the kind of server. MariaDB's own
/// programs have no option that affects only one transport.
///
/// # Source
/// The same as for [`sealed_sessions`]. The groups of option files were tried with mariadb 11.8.9.
pub fn ends_tls(server_kind: &str, is_on_socket: bool) -> &'static str {
    match (server_kind, is_on_socket) {
        (_, true) => {
            "MariaDB's own programs use TLS on the socket too: pass --skip-ssl with --socket to each of these \
             programs; or write skip-ssl and socket into a group such as [client-mariadb_socket], which programs read \
             only with --defaults-group-suffix=_socket (skip-ssl in [client-mariadb] turns off TLS to other machines \
             too); other programs use TLS on the socket if their settings demand TLS"
        }
        ("mysql" | "mariadb" | "percona", _) => {
            "turn TLS off for 127.0.0.1 (MySQL's programs: --ssl-mode=DISABLED, MariaDB's programs: --skip-ssl), \
             unless the account demands TLS; on the socket MySQL's programs do not use TLS, but MariaDB's programs use \
             TLS unless you pass --skip-ssl"
        }
        ("postgres", _) => {
            "use the socket, on which PostgreSQL has no TLS; or, if pg_hba.conf accepts the login without TLS, set \
             sslmode=disable for 127.0.0.1"
        }
        _ => "turn TLS off for 127.0.0.1, or use a socket without TLS if the server has such a socket",
    }
}

/// Describes the commands that measure what TLS costs, for a server of this kind with this URL.
pub fn measures(server_kind: &str, target: &str, is_on_socket: bool) -> String {
    let arms = if is_on_socket { "unix,tls-unix" } else { "unix,tls" };
    let of_request = format!("`looptax compare {target} --arms {arms}` measures how much a request saves");
    match server_kind {
        "mysql" | "mariadb" | "postgres" => {
            format!(
                "{of_request}, and `looptax compare private:{server_kind} --arms {arms} --workload connect` measures how \
                 much a connection saves"
            )
        }
        _ => of_request,
    }
}

/// Returns the command that measures what TLS costs on a private server of this kind; `None` if there is no such
/// server.
pub fn measures_tls(server_kind: &str) -> Option<String> {
    measures_arm(server_kind, Arm::Tls)
}

/// Returns the command that measures the cost of a container's proxy in front of a private server of this kind; `None`
/// if there is no such server.
pub fn measures_proxy(server_kind: &str, proxy: &str) -> Option<String> {
    // pasta's program may have the name of a processor's feature at its end: `passt.avx2`.
    let arm = match proxy.split('.').next() {
        Some("docker-proxy") => Arm::Proxy,
        Some("pasta" | "passt") => Arm::Pasta,
        _ => return None,
    };
    measures_arm(server_kind, arm)
}

fn measures_arm(server_kind: &str, arm: Arm) -> Option<String> {
    let facts = { Kind::ALL.into_iter() }.find(|it| it.name() == server_kind)?.facts();
    let private = facts.private.as_ref().filter(|_| facts.pools.is_none())?;
    let has_it = !private.lacks.iter().any(|(lacking, _)| *lacking == arm);
    has_it.then(|| {
        format!("looptax compare private:{server_kind} -c 1 --placement same --arms unix,tcp,{} measures", arm.name())
    })
}

/// Counts the sessions by program and user, the most frequent first: ``mysql (libmariadb 3.4.10) of `u` (3 sessions),
/// …``.
fn counted(sessions: &[&SealedSession]) -> String {
    let mut names: Vec<(String, usize)> = Vec::new();
    for session in sessions {
        let name = session.to_string();
        match names.iter_mut().find(|it| it.0 == name) {
            Some(known) => known.1 += 1,
            None => names.push((name, 1)),
        }
    }
    names.sort_by_key(|it| std::cmp::Reverse(it.1));
    let n_more = names.len().saturating_sub(MOST_NAMES);
    let named = names.into_iter().take(MOST_NAMES);
    let mut words: Vec<String> =
        named.map(|(name, n)| if n > 1 { format!("{name} ({n} sessions)") } else { name }).collect();
    if n_more > 0 {
        words.push(format!("{n_more} more"));
    }
    words.join(", ")
}

const MOST_NAMES: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_proxy_that_is_an_arm_can_be_measured() {
        let arm =
            |kind, proxy| measures_proxy(kind, proxy).and_then(|it| it.split("unix,tcp,").nth(1).map(str::to_owned));
        assert_eq!(arm("redis", "docker-proxy").as_deref(), Some("proxy measures"));
        assert_eq!(arm("redis", "passt.avx2").as_deref(), Some("pasta measures"));
        assert_eq!(arm("redis", "haproxy"), None);
        assert_eq!(arm("memcached", "pasta"), None);
    }

    #[test]
    fn encrypted_sessions_are_named_with_what_ends_them_there() {
        let session = |is_on_socket, library: &str| SealedSession {
            is_on_socket,
            user: "u".to_owned(),
            program: "mysql".to_owned(),
            library: library.to_owned(),
        };
        let other = SealedSession { program: "worker".to_owned(), ..session(true, "libmariadb 3.4.10") };
        let (maria, mysql) = ("libmariadb 3.4.10", "libmysql 9.7.4");
        for (kind, sessions, expected) in [
            ("mysql", vec![], &[][..]),
            ("mysql", vec![session(true, maria); 2], &["--skip-ssl with --socket"]),
            ("mysql", vec![session(true, mysql)], &["insist on TLS"]),
            ("mariadb", vec![other], &["insist on TLS"]),
            ("mysql", vec![session(false, mysql)], &["on the socket MySQL's programs do not"]),
            ("mysql", vec![session(false, maria)], &["unless you pass --skip-ssl"]),
            ("postgres", vec![session(false, "")], &["on which PostgreSQL has no TLS"]),
            ("mysql", vec![session(true, maria), session(false, mysql)], &["--skip-ssl with", "on the socket MySQL's"]),
        ] {
            let points = sealed_sessions(kind, "mysql://u@127.0.0.1/", &sessions);
            assert_eq!(points.len(), expected.len(), "{sessions:?}");
            for (point, expected) in points.iter().zip(expected) {
                assert!(point.next.as_deref().unwrap().contains(expected), "{point:?}");
                assert_eq!(point.outcome, Outcome::Note);
            }
        }
        let points = sealed_sessions("mysql", "mysql://u@127.0.0.1/", &[session(true, maria), session(true, maria)]);
        assert!(points[0].what.contains("mysql (libmariadb 3.4.10) of `u` (2 sessions)"), "{points:?}");
    }

    fn outcome(url: &str) -> Option<Outcome> {
        let address = Address::parse(url).unwrap();
        demanded_tls(&address, false).map(|point| point.outcome)
    }

    #[test]
    fn a_demand_in_the_url_is_told_and_a_wish_is_not() {
        for demand in ["sslmode=require", "sslmode=verify-full", "ssl=true"] {
            let url = format!("postgres://u@127.0.0.1/d?{demand}");
            assert_eq!(outcome(&url), Some(Outcome::Unknown), "{url}");
        }
        for demand in ["ssl-mode=REQUIRED", "tls=true", "useSSL=true", "sslMode=VERIFY_CA"] {
            let url = format!("mysql://u@127.0.0.1/d?{demand}");
            assert_eq!(outcome(&url), Some(Outcome::Note), "{url}");
        }
        for wish in ["sslmode=prefer", "sslmode=disable", "ssl=false", "ssl-mode=PREFERRED"] {
            assert_eq!(outcome(&format!("postgres://u@h/d?{wish}")), None, "{wish}");
        }
    }

    #[test]
    fn direct_negotiation_goes_with_its_sslmode() {
        let next = |url: &str| demanded_tls(&Address::parse(url).unwrap(), false).unwrap().next.unwrap();
        let both = next("host=h sslmode=require sslnegotiation=direct");
        assert!(both.contains("remove `sslmode=require sslnegotiation=direct`") && both.contains("libpq 17"), "{both}");
        assert!(!next("host=h sslmode=require").contains("libpq 17"));
    }

    #[test]
    fn a_socket_counts_as_secure() {
        assert_eq!(secure_transport(None), None);
        assert_eq!(secure_transport(Some(false)), None);
        let point = secure_transport(Some(true)).unwrap();
        assert_eq!(point.outcome, Outcome::Pass);
    }
}
