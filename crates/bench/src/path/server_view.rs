//! The server's own view of our connections, queried over one of them.
//!
//! One query per epoch over one connection lists the connections of every arm. If the list contains the other arm's
//! connections, with the local ports that the kernel gave us, these connections use their arm's transport and end in
//! the same server.

mod activity;
mod answering;
mod by_kernel;
mod memcached;
mod pooled;
mod restarting;
mod seen;
mod work;

use std::net::{IpAddr, SocketAddr};

use looptax_model::dsn::Protocol;
use looptax_wire::WireError;

use crate::path::answers::{number, only, parsed, table, unfit, value};
use crate::path::conversation::ProtocolConnection;
use crate::path::error::{ASK, ASK_CONNECTIONS};
use crate::path::{Conversation, Link, PathError};
pub use activity::ServerCounts;
pub use restarting::{BeforeRestart, Saved};
pub use seen::{Backend, ClientSeen, SeenAs, ServerView};
pub use work::ServerWork;

impl Conversation {
    /// Queries the server's identity and its view of the connections `ids`.
    ///
    /// # Errors
    /// [`PathError::Protocol`] if the server refuses the query; [`PathError::NoWorker`] if it is memcached and none of
    /// its threads is known to serve connections.
    pub fn server_view(&mut self, ids: &[u64]) -> Result<ServerView, PathError> {
        let endpoint = self.endpoint().to_string();
        let answer = match &mut self.connection {
            ProtocolConnection::Mysql(it) => mysql(it, ids),
            ProtocolConnection::Postgres(it) => postgres(it, ids),
            ProtocolConnection::Redis(it) => redis(it, ids),
            ProtocolConnection::Memcached(it) => memcached::server_view(it, &self.facts, ids),
            ProtocolConnection::Echo(it) => Ok(echo(it, ids)),
            // Servers of these protocols do not report connections, or report to each connection only this connection:
            // see `ServerView::by_kernel`.
            ProtocolConnection::Mongodb(_) | ProtocolConnection::Fastcgi(_) | ProtocolConnection::Http(_) => {
                Err(WireError::Unsupported { what: "a list of its clients".to_owned() })
            }
        };
        let view = answer.map_err(|source| PathError::Protocol { action: ASK_CONNECTIONS, endpoint, source })?;
        match view.server_pid {
            Some(pid) if self.protocol() == Protocol::Memcached && !view.has_workers() => {
                Err(PathError::NoWorker { pid })
            }
            _ => Ok(view),
        }
    }
}

impl Conversation {
    /// Returns the PostgreSQL process that serves this connection right now, and the origin of its client as that
    /// process sees it. With a pooler, the pooler is the client.
    ///
    /// # Errors
    /// [`PathError::Protocol`] if the server refuses the query or is not PostgreSQL.
    pub fn backend(&mut self) -> Result<Backend, PathError> {
        let told = if self.protocol() == Protocol::Postgres {
            self.row(
                "SELECT pid, host(client_addr), client_port, pg_postmaster_start_time()::text, current_setting('port') \
                 FROM pg_stat_activity WHERE pid = pg_backend_pid()",
            )
            .and_then(postgres_backend)
        } else {
            Err(WireError::Unsupported { what: "a backend process".to_owned() })
        };
        told.map_err(|source| PathError::Protocol {
            action: ASK_CONNECTIONS,
            endpoint: self.endpoint().to_string(),
            source,
        })
    }

    /// Returns whether both connections lead to one server, for servers that show an account only its own connections.
    /// The connection `other` takes a lock under a unique name, and this connection checks that the server reports
    /// `other` as the holder. The lock is then released immediately.
    ///
    /// # Errors
    /// [`PathError::Protocol`] if the server refuses, or does not speak SQL.
    ///
    /// # Source
    /// dev.mysql.com and mariadb.com, `GET_LOCK`, `IS_USED_LOCK`: a lock applies to the whole server, and needs no
    /// privilege.
    pub fn is_one_server_with(&mut self, other: &mut Self) -> Result<bool, PathError> {
        let own = std::process::id();
        let id = other.connection_id();
        let name = format!("looptax_{own}_{id}_{}", self.connection_id());
        let held = other.ask_lock(&format!("SELECT GET_LOCK('{name}', 0)"))?;
        let holder = self.ask_lock(&format!("SELECT IS_USED_LOCK('{name}')"))?;
        other.ask_lock(&format!("SELECT RELEASE_LOCK('{name}')"))?;
        Ok(held.as_deref() == Some("1") && holder == Some(id.to_string()))
    }

    fn ask_lock(&mut self, sql: &str) -> Result<Option<String>, PathError> {
        let told = self.cell_or_null(sql);
        told.map_err(|source| PathError::Protocol {
            action: "ask whether both connections lead to one server",
            endpoint: self.endpoint().to_string(),
            source,
        })
    }
}

const MYSQL: &str = Protocol::Mysql.title();
const POSTGRES: &str = Protocol::Postgres.title();
const REDIS: &str = Protocol::Redis.title();

fn list(ids: &[u64]) -> String {
    ids.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

/// Queries MySQL or MariaDB. `MariaDB` reports kernel thread ids in its process list, `MySQL` in
/// `performance_schema.threads`.
fn mysql(connection: &mut looptax_wire::mysql::Connection<Link>, ids: &[u64]) -> Result<ServerView, WireError> {
    let variables = connection.query(
        "SHOW GLOBAL VARIABLES WHERE Variable_name IN \
         ('server_uuid','server_uid','datadir','hostname','pid_file','port','socket')",
    )?;
    let identity = mysql_identity(table(MYSQL, variables)?)?;
    let ids = list(ids);
    let of_ids = format!("FROM information_schema.PROCESSLIST p WHERE p.ID IN ({ids})");
    let rows = if connection.is_mariadb() {
        connection.query(&format!("SELECT p.ID, p.HOST, p.TID {of_ids}"))?
    } else {
        let threads = "LEFT JOIN performance_schema.threads t ON t.PROCESSLIST_ID = p.ID WHERE";
        let with_threads = of_ids.replace("WHERE", threads);
        let asked = connection.query(&format!("SELECT p.ID, p.HOST, t.THREAD_OS_ID {with_threads}"));
        match asked {
            // Only some accounts may read `performance_schema.threads`; every account may read its own connections.
            Err(WireError::Server { .. }) => connection.query(&format!("SELECT p.ID, p.HOST, NULL {of_ids}"))?,
            asked => asked?,
        }
    };
    let client = |[id, host, thread]: [Option<String>; 3]| -> Result<ClientSeen, WireError> {
        let thread = thread.map(|it| parsed::<u32>(MYSQL, &it)).transpose()?;
        Ok(ClientSeen {
            connection_id: number(MYSQL, id)?,
            seen_as: mysql_host(&value(MYSQL, host)?),
            // A server with a thread pool reports 0: then no thread belongs to one connection.
            worker: thread.filter(|tid| *tid != 0),
            behind: None,
        })
    };
    let rows = table(MYSQL, rows)?.into_iter();
    Ok(ServerView { identity, server_pid: None, clients: rows.map(client).collect::<Result<_, _>>()? })
}

/// Returns the identity of a server: its data folder, and a name or number that no other server has.
fn mysql_identity(variables: Vec<[Option<String>; 2]>) -> Result<String, WireError> {
    const OWN: [&str; 3] = ["server_uuid", "server_uid", "hostname"];
    let pair = |[name, told]: [Option<String>; 2]| {
        // Only the value of a variable may be NULL.
        Ok((value(MYSQL, name)?, told.unwrap_or_default()))
    };
    let variables: Vec<(String, String)> = { variables.into_iter() }.map(pair).collect::<Result<_, WireError>>()?;
    let told = |name: &str| {
        let mut named = variables.iter().filter(|it| it.0.eq_ignore_ascii_case(name));
        let value = named.next().map_or("", |it| it.1.as_str());
        // A variable that is listed twice is ignored.
        if named.next().is_some() { "" } else { value }
    };
    parsed::<u16>(MYSQL, told("port"))?;
    let has_data = told("datadir").starts_with('/');
    if !has_data || OWN.iter().all(|name| told(name).is_empty()) {
        return Err(unfit(MYSQL, "variables that identify the server", &[]));
    }
    let shown = variables.iter().map(|(name, value)| format!("{name}={value}"));
    Ok(shown.collect::<Vec<_>>().join(" "))
}

/// Parses a host: `localhost` without a port means the socket; `127.0.0.1:40000` or `localhost:40000` means TCP from
/// that port.
fn mysql_host(host: &str) -> SeenAs {
    if host == "localhost" || host.is_empty() {
        return SeenAs::Socket;
    }
    let resolved = host.replacen("localhost:", "127.0.0.1:", 1);
    // In this form an IPv6 address has no brackets.
    let of_parts = |(address, port): (&str, &str)| -> Option<SocketAddr> {
        Some(SocketAddr::new(address.parse().ok()?, port.parse().ok()?))
    };
    let address = resolved.rsplit_once(':').and_then(of_parts);
    address.map_or_else(|| SeenAs::Other(host.to_owned()), SeenAs::Tcp)
}

fn postgres(connection: &mut looptax_wire::postgres::Connection<Link>, ids: &[u64]) -> Result<ServerView, WireError> {
    // Only members of pg_read_all_settings can read `data_directory`. For other users, the view `pg_settings` has no
    // row for this setting. `current_setting` is not used, because it would leave an error in the server's log. Even
    // without the folder, the start time, in microseconds, distinguishes two clusters.
    let identity = connection.ask(
        "SELECT pg_postmaster_start_time()::text, (SELECT setting FROM pg_catalog.pg_settings WHERE name = 'data_directory'), \
         current_setting('port')",
    )?;
    let identity = postgres_identity(only(POSTGRES, table(POSTGRES, identity)?)?)?;
    let rows = connection.ask(&format!(
        "SELECT pid, host(client_addr), client_port FROM pg_stat_activity WHERE pid IN ({})",
        list(ids)
    ))?;
    let client = |row| {
        let (pid, seen_as) = postgres_session(row)?;
        Ok(ClientSeen { connection_id: u64::from(pid), seen_as, worker: Some(pid), behind: None })
    };
    let rows = table(POSTGRES, rows)?.into_iter();
    Ok(ServerView { identity, server_pid: None, clients: rows.map(client).collect::<Result<_, WireError>>()? })
}

/// Returns the identity of a server, after a check that the start time begins with a year.
fn postgres_identity([started, data, port]: [Option<String>; 3]) -> Result<String, WireError> {
    let started = value(POSTGRES, started)?;
    let has_year = started.bytes().take(4).filter(u8::is_ascii_digit).count() == 4;
    if !has_year {
        return Err(unfit(POSTGRES, "a time", started.as_bytes()));
    }
    let port: u16 = number(POSTGRES, port)?;
    let data = data.unwrap_or_default();
    Ok(format!("started={started} data={data} port={port}"))
}

fn postgres_backend(row: [Option<String>; 5]) -> Result<Backend, WireError> {
    let [pid, address, client_port, started, port] = row;
    let (pid, seen_as) = postgres_session([pid, address, client_port])?;
    Ok(Backend { pid, seen_as, identity: postgres_identity([started, None, port])? })
}

/// Returns the process id and the origin of a session.
fn postgres_session([pid, address, port]: [Option<String>; 3]) -> Result<(u32, SeenAs), WireError> {
    let port = port.map(|it| parsed::<i32>(POSTGRES, &it)).transpose()?;
    Ok((number(POSTGRES, pid)?, postgres_client(address, port)))
}

/// Returns the origin of a client. Over the socket, the address is missing and the port is -1.
fn postgres_client(address: Option<String>, port: Option<i32>) -> SeenAs {
    match (address, port) {
        (None, Some(-1)) => SeenAs::Socket,
        (Some(address), Some(port)) => match (address.parse::<IpAddr>(), u16::try_from(port)) {
            (Ok(address), Ok(port)) => SeenAs::Tcp(SocketAddr::new(address, port)),
            _ => SeenAs::Other(format!("{address}:{port}")),
        },
        (address, port) => SeenAs::Other(format!("{address:?} {port:?}")),
    }
}

fn redis(connection: &mut looptax_wire::redis::Connection<Link>, ids: &[u64]) -> Result<ServerView, WireError> {
    let info = redis_text(connection, &[b"INFO", b"server"])?;
    let field = |name: &str| {
        info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(|it| it.trim().to_owned())
    };
    // Servers that are compatible with Redis also report a `redis_version`.
    if field("redis_version").is_none() {
        return Err(unfit(REDIS, "a text with `redis_version`", info.as_bytes()));
    }
    let server_pid = field("process_id");
    let server_pid = server_pid.map(|it| parsed(REDIS, &it)).transpose()?;
    // Without a run id the server cannot be distinguished from another.
    let run_id = field("run_id").filter(|it| !it.is_empty());
    let run_id = run_id.ok_or_else(|| WireError::Unsupported { what: "an identifier of the server".to_owned() })?;
    let identity = format!("run_id={run_id}");
    let list = redis_clients(connection, server_pid)?.into_iter();
    let clients = list.filter(|client| ids.contains(&client.connection_id)).collect();
    Ok(ServerView { identity, server_pid, clients })
}

fn redis_text(connection: &mut looptax_wire::redis::Connection<Link>, words: &[&[u8]]) -> Result<String, WireError> {
    match connection.command(words)? {
        looptax_wire::redis::Value::Bulk(Some(bytes)) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        looptax_wire::redis::Value::Error { code, message } => Err(WireError::Server { code, message }),
        _ => Err(WireError::Malformed {
            protocol: REDIS,
            action: ASK,
            expected: "a bulk string",
            found: "another type".to_owned(),
        }),
    }
}

/// Returns all clients, including us.
fn redis_clients(
    connection: &mut looptax_wire::redis::Connection<Link>,
    server_pid: Option<u32>,
) -> Result<Vec<ClientSeen>, WireError> {
    let own = connection.connection_id();
    let list = redis_text(connection, &[b"CLIENT", b"LIST"])?;
    let client = |line: &str| {
        let client = redis_client(line, server_pid);
        client.ok_or_else(|| unfit(REDIS, "a client's line", line.as_bytes()))
    };
    let clients: Vec<ClientSeen> = list.lines().map(client).collect::<Result<_, _>>()?;
    if own != 0 && !clients.iter().any(|it| it.connection_id == own) {
        return Err(unfit(REDIS, "a list that contains our own connection", list.as_bytes()));
    }
    Ok(clients)
}

/// Parses a line of `CLIENT LIST`: flag `U` and an address with port 0 mean the socket.
fn redis_client(line: &str, server_pid: Option<u32>) -> Option<ClientSeen> {
    let field = |name: &str| line.split(' ').find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    let address = field("addr")?;
    let seen_as = if field("flags").is_some_and(|flags| flags.contains('U')) {
        SeenAs::Socket
    } else {
        address.parse().map_or_else(|_| SeenAs::Other(address.to_owned()), SeenAs::Tcp)
    };
    // One thread serves all connections; io-threads, if enabled, share the work of each connection.
    Some(ClientSeen { connection_id: field("id")?.parse().ok()?, seen_as, worker: server_pid, behind: None })
}

/// Makes the view from the greeting, with which the echo server sends each connection its pid and the id of the serving
/// thread.
fn echo(connection: &looptax_wire::echo::Connection<Link>, ids: &[u64]) -> ServerView {
    let pid = connection.server_pid();
    ServerView {
        identity: format!("pid={pid}"),
        server_pid: Some(pid),
        clients: ids
            .iter()
            .map(|id| ClientSeen {
                connection_id: *id,
                seen_as: SeenAs::Untold,
                worker: u32::try_from(*id).ok(),
                behind: None,
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mysql_hosts_tell_socket_from_tcp() {
        assert_eq!(mysql_host("localhost"), SeenAs::Socket);
        assert_eq!(mysql_host("127.0.0.1:40000"), SeenAs::Tcp("127.0.0.1:40000".parse().unwrap()));
        assert_eq!(mysql_host("localhost:40000"), SeenAs::Tcp("127.0.0.1:40000".parse().unwrap()));
        assert_eq!(mysql_host("::1:40000"), SeenAs::Tcp("[::1]:40000".parse().unwrap()));
        assert_eq!(mysql_host("db.example:1"), SeenAs::Other("db.example:1".to_owned()));
    }

    #[test]
    fn redis_lines_tell_socket_from_tcp() {
        let tcp = "id=7 addr=127.0.0.1:40002 laddr=127.0.0.1:6379 fd=9 name= flags=N db=0";
        let unix = "id=8 addr=/run/redis.sock:0 laddr=/run/redis.sock:0 fd=10 name= flags=U db=0";
        let seen = |line| redis_client(line, Some(5)).map(|client| (client.connection_id, client.seen_as));
        assert_eq!(seen(tcp), Some((7, SeenAs::Tcp("127.0.0.1:40002".parse().unwrap()))));
        assert_eq!(seen(unix), Some((8, SeenAs::Socket)));
        assert_eq!(seen("id=x nonsense"), None);
    }

    #[test]
    fn postgres_rows_tell_socket_from_tcp() {
        let session = |address: Option<&str>, port: &str| {
            let cell = |text: &str| Some(text.to_owned());
            postgres_session([cell("9"), address.and_then(cell), cell(port)])
        };
        let seen = |address, port| session(address, port).unwrap().1;
        assert_eq!(seen(None, "-1"), SeenAs::Socket);
        assert_eq!(seen(Some("127.0.0.1"), "40003"), SeenAs::Tcp("127.0.0.1:40003".parse().unwrap()));
        assert_eq!(seen(Some("::1"), "1"), SeenAs::Tcp("[::1]:1".parse().unwrap()));
        assert!(session(None, "abc").is_err());
        assert!(postgres_session([None, None, None]).is_err());
    }

    #[test]
    fn r44_a_server_without_names_of_its_own_is_not_known() {
        let cell = |text: &str| Some(text.to_owned());
        let pair = |name: &str, value: &str| [cell(name), cell(value)];
        let named = || vec![pair("datadir", "/var/lib/mysql/"), pair("port", "3306"), pair("hostname", "db")];
        assert!(mysql_identity(named()).unwrap().contains("hostname=db"));
        for lost in 0..3 {
            let mut some = named();
            some.remove(lost);
            assert!(mysql_identity(some).is_err(), "{lost}");
        }
        let twice = [named(), named()].concat();
        assert!(mysql_identity(twice).is_err());
        assert!(mysql_identity(vec![pair("abc", "abc")]).is_err());
        assert!(mysql_identity(vec![[None, None]]).is_err());
        let told = |started: &str, port: &str| postgres_identity([cell(started), None, cell(port)]);
        assert!(told("2026-11-01 10:00:00.1+00", "5432").is_ok());
        for (started, port) in [("abc", "5432"), ("", "5432"), ("2026-11-01", "-1")] {
            assert!(told(started, port).is_err(), "{started} {port}");
        }
    }
}
