//! The server's own view of our connections, asked from inside one of them.
//!
//! One question per epoch from one connection lists the connections of every arm. Finding the
//! other arm's connections in that list, with the local port that the kernel gave us, proves both
//! their transport and that they end in the same server.

mod activity;
mod by_kernel;
mod memcached;
mod pooled;
mod seen;
mod work;

use std::net::{IpAddr, SocketAddr};

use looptax_dsn::Protocol;
use looptax_wire::WireError;

use crate::conversation::ProtocolConnection;
use crate::error::ASK_CONNECTIONS;
use crate::{Conversation, Link, PathError};
pub use activity::ServerCounts;
pub use seen::{ClientSeen, SeenAs, ServerView};
pub use work::ServerWork;

impl Conversation {
    /// Asks the server who it is and how it sees the connections `ids`.
    ///
    /// # Errors
    /// [`PathError::Protocol`] when the server refuses the question; [`PathError::NoWorker`] when it is
    /// memcached and none of its threads is known to serve connections.
    pub fn server_view(&mut self, ids: &[u64]) -> Result<ServerView, PathError> {
        let endpoint = self.endpoint().to_string();
        let answer = match &mut self.connection {
            ProtocolConnection::Mysql(it) => mysql(it, ids),
            ProtocolConnection::Postgres(it) => postgres(it, ids),
            ProtocolConnection::Redis(it) => redis(it, ids),
            ProtocolConnection::Memcached(it) => memcached::server_view(it, &self.facts, ids),
            ProtocolConnection::Echo(it) => Ok(echo(it, ids)),
            // They tell nothing, or each connection of itself alone: see `ServerView::by_kernel`.
            ProtocolConnection::Mongodb(_)
            | ProtocolConnection::Fastcgi(_)
            | ProtocolConnection::Http(_) => Err(WireError::Unsupported {
                what: "a list of its clients".to_owned(),
            }),
        };
        let view = answer.map_err(|source| PathError::Protocol {
            action: ASK_CONNECTIONS,
            endpoint,
            source,
        })?;
        match view.server_pid {
            Some(pid) if self.protocol() == Protocol::Memcached && !view.has_workers() => {
                Err(PathError::NoWorker { pid })
            }
            _ => Ok(view),
        }
    }
}

impl Conversation {
    /// The process of PostgreSQL that serves this connection right now, and where that sees it come from: through a
    /// pooler it is the pooler's connection.
    ///
    /// # Errors
    /// [`PathError::Protocol`] when the server refuses the question, or is no PostgreSQL.
    pub fn backend(&mut self) -> Result<(u32, SeenAs), PathError> {
        let rows = match &mut self.connection {
            ProtocolConnection::Postgres(it) => it.query(
                "SELECT pid, host(client_addr), client_port FROM pg_stat_activity WHERE pid = pg_backend_pid()",
            ),
            _ => Err(WireError::Unsupported {
                what: "a backend process".to_owned(),
            }),
        };
        let told = rows.and_then(|rows| {
            let row = rows.first();
            let pid = row.and_then(|row| number(row, 0));
            pid.zip(row.map(postgres_client)).ok_or_else(|| {
                WireError::malformed("PostgreSQL", ASK_CONNECTIONS, "a row of its own", &[])
            })
        });
        told.map_err(|source| PathError::Protocol {
            action: ASK_CONNECTIONS,
            endpoint: self.endpoint().to_string(),
            source,
        })
    }

    /// Whether one server is behind both, where it lists an account's own connections alone: a lock that the other
    /// takes under a name that nobody else has is seen with its connection's number. It is given back at once.
    ///
    /// # Errors
    /// [`PathError::Protocol`] when the server refuses, or speaks no SQL.
    ///
    /// # Source
    /// dev.mysql.com and mariadb.com, `GET_LOCK`, `IS_USED_LOCK`: of the whole server, and no right is needed.
    pub fn is_one_server_with(&mut self, other: &mut Self) -> Result<bool, PathError> {
        let own = std::process::id();
        let id = other.connection_id();
        let name = format!("looptax_{own}_{id}_{}", self.connection_id());
        let held = other.first_cell(&format!("SELECT GET_LOCK('{name}', 0)"))?;
        let holder = self.first_cell(&format!("SELECT IS_USED_LOCK('{name}')"))?;
        other.first_cell(&format!("SELECT RELEASE_LOCK('{name}')"))?;
        Ok(held.as_deref() == Some("1") && holder == Some(id.to_string()))
    }

    fn first_cell(&mut self, sql: &str) -> Result<Option<String>, PathError> {
        let rows = self.query(sql).map_err(|source| PathError::Protocol {
            action: "ask whether one server is behind both",
            endpoint: self.endpoint().to_string(),
            source,
        })?;
        Ok(rows
            .into_iter()
            .next()
            .and_then(|row| row.into_iter().next()?))
    }
}

type Row = Vec<Option<Vec<u8>>>;

fn text(row: &Row, column: usize) -> Option<String> {
    row.get(column)?
        .as_ref()
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

fn number<T: std::str::FromStr>(row: &Row, column: usize) -> Option<T> {
    text(row, column)?.parse().ok()
}

fn list(ids: &[u64]) -> String {
    ids.iter().map(u64::to_string).collect::<Vec<_>>().join(",")
}

/// `MariaDB` lists kernel thread ids in its process list, `MySQL` in `performance_schema.threads`.
fn mysql(
    connection: &mut looptax_wire::mysql::Connection<Link>,
    ids: &[u64],
) -> Result<ServerView, WireError> {
    let identity = connection
        .query(
            "SHOW GLOBAL VARIABLES WHERE Variable_name IN \
             ('server_uuid','server_uid','datadir','hostname','pid_file','port','socket')",
        )?
        .iter()
        .map(|row| {
            format!(
                "{}={}",
                text(row, 0).unwrap_or_default(),
                text(row, 1).unwrap_or_default()
            )
        })
        .collect::<Vec<_>>()
        .join(" ");
    let ids = list(ids);
    let of_ids = format!("FROM information_schema.PROCESSLIST p WHERE p.ID IN ({ids})");
    let rows = if connection.is_mariadb() {
        connection.query(&format!("SELECT p.ID, p.HOST, p.TID {of_ids}"))?
    } else {
        let threads = "LEFT JOIN performance_schema.threads t ON t.PROCESSLIST_ID = p.ID WHERE";
        let with_threads = of_ids.replace("WHERE", threads);
        let asked = connection.query(&format!(
            "SELECT p.ID, p.HOST, t.THREAD_OS_ID {with_threads}"
        ));
        match asked {
            // The threads are for whoever may read that schema; the connections are everybody's own.
            Err(WireError::Server { .. }) => {
                connection.query(&format!("SELECT p.ID, p.HOST, NULL {of_ids}"))?
            }
            asked => asked?,
        }
    };
    let clients = rows
        .iter()
        .filter_map(|row| {
            Some(ClientSeen {
                connection_id: number(row, 0)?,
                seen_as: mysql_host(&text(row, 1)?),
                // A thread pool gives 0: no thread belongs to one connection then.
                worker: number(row, 2).filter(|tid| *tid != 0),
                behind: None,
            })
        })
        .collect();
    Ok(ServerView {
        identity,
        server_pid: None,
        clients,
    })
}

/// `localhost` alone is the socket; `127.0.0.1:40000` or `localhost:40000` is TCP from that port.
fn mysql_host(host: &str) -> SeenAs {
    if host == "localhost" || host.is_empty() {
        return SeenAs::Socket;
    }
    let resolved = host.replacen("localhost:", "127.0.0.1:", 1);
    // An IPv6 address has no brackets there.
    let of_parts = |(address, port): (&str, &str)| -> Option<SocketAddr> {
        Some(SocketAddr::new(address.parse().ok()?, port.parse().ok()?))
    };
    let address = resolved.rsplit_once(':').and_then(of_parts);
    address.map_or_else(|| SeenAs::Other(host.to_owned()), SeenAs::Tcp)
}

fn postgres(
    connection: &mut looptax_wire::postgres::Connection<Link>,
    ids: &[u64],
) -> Result<ServerView, WireError> {
    let identity = connection.query(
        "SELECT pg_postmaster_start_time()::text, current_setting('data_directory', true), \
         current_setting('port')",
    );
    // `data_directory` is for members of pg_read_all_settings only; the start time alone tells
    // two clusters apart to the microsecond.
    let identity = match identity {
        Ok(rows) => rows,
        Err(WireError::Server { .. }) => connection
            .query("SELECT pg_postmaster_start_time()::text, '', current_setting('port')")?,
        Err(other) => return Err(other),
    };
    let identity = identity.first().map_or_else(String::new, |row| {
        format!(
            "started={} data={} port={}",
            text(row, 0).unwrap_or_default(),
            text(row, 1).unwrap_or_default(),
            text(row, 2).unwrap_or_default()
        )
    });
    let rows = connection.query(&format!(
        "SELECT pid, host(client_addr), client_port FROM pg_stat_activity WHERE pid IN ({})",
        list(ids)
    ))?;
    let clients = rows
        .iter()
        .filter_map(|row| {
            let pid = number(row, 0)?;
            Some(ClientSeen {
                connection_id: u64::from(pid),
                seen_as: postgres_client(row),
                worker: Some(pid),
                behind: None,
            })
        })
        .collect();
    Ok(ServerView {
        identity,
        server_pid: None,
        clients,
    })
}

/// No address and port -1 is the socket.
fn postgres_client(row: &Row) -> SeenAs {
    match (text(row, 1), number::<i32>(row, 2)) {
        (None, Some(-1)) => SeenAs::Socket,
        (Some(address), Some(port)) => match (address.parse::<IpAddr>(), u16::try_from(port)) {
            (Ok(address), Ok(port)) => SeenAs::Tcp(SocketAddr::new(address, port)),
            _ => SeenAs::Other(format!("{address}:{port}")),
        },
        (address, port) => SeenAs::Other(format!("{address:?} {port:?}")),
    }
}

fn redis(
    connection: &mut looptax_wire::redis::Connection<Link>,
    ids: &[u64],
) -> Result<ServerView, WireError> {
    let info = redis_text(connection, &[b"INFO", b"server"])?;
    let field = |name: &str| {
        info.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .map(|it| it.trim().to_owned())
    };
    let server_pid = field("process_id").and_then(|pid| pid.parse().ok());
    let identity = format!("run_id={}", field("run_id").unwrap_or_default());
    let clients = redis_text(connection, &[b"CLIENT", b"LIST"])?
        .lines()
        .filter_map(|line| redis_client(line, server_pid))
        .filter(|client| ids.contains(&client.connection_id))
        .collect();
    Ok(ServerView {
        identity,
        server_pid,
        clients,
    })
}

fn redis_text(
    connection: &mut looptax_wire::redis::Connection<Link>,
    words: &[&[u8]],
) -> Result<String, WireError> {
    match connection.command(words)? {
        looptax_wire::redis::Value::Bulk(Some(bytes)) => {
            Ok(String::from_utf8_lossy(&bytes).into_owned())
        }
        looptax_wire::redis::Value::Error { code, message } => {
            Err(WireError::Server { code, message })
        }
        _ => Err(WireError::Malformed {
            protocol: "Redis",
            action: ASK_CONNECTIONS,
            expected: "a bulk string",
            found: "another type".to_owned(),
        }),
    }
}

/// One line of `CLIENT LIST`: flag `U` and an address with port 0 is the socket.
fn redis_client(line: &str, server_pid: Option<u32>) -> Option<ClientSeen> {
    let field = |name: &str| {
        line.split(' ')
            .find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
    };
    let address = field("addr")?;
    let seen_as = if field("flags").is_some_and(|flags| flags.contains('U')) {
        SeenAs::Socket
    } else {
        address
            .parse()
            .map_or_else(|_| SeenAs::Other(address.to_owned()), SeenAs::Tcp)
    };
    // One thread serves all; io-threads, where switched on, share the work of every connection.
    Some(ClientSeen {
        connection_id: field("id")?.parse().ok()?,
        seen_as,
        worker: server_pid,
        behind: None,
    })
}

/// The echo server greets every connection with its pid and the thread that serves it.
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
        assert_eq!(
            mysql_host("127.0.0.1:40000"),
            SeenAs::Tcp("127.0.0.1:40000".parse().unwrap())
        );
        assert_eq!(
            mysql_host("localhost:40000"),
            SeenAs::Tcp("127.0.0.1:40000".parse().unwrap())
        );
        assert_eq!(
            mysql_host("::1:40000"),
            SeenAs::Tcp("[::1]:40000".parse().unwrap())
        );
        assert_eq!(
            mysql_host("db.example:1"),
            SeenAs::Other("db.example:1".to_owned())
        );
    }

    #[test]
    fn redis_lines_tell_socket_from_tcp() {
        let tcp = "id=7 addr=127.0.0.1:40002 laddr=127.0.0.1:6379 fd=9 name= flags=N db=0";
        let unix = "id=8 addr=/run/redis.sock:0 laddr=/run/redis.sock:0 fd=10 name= flags=U db=0";
        let seen =
            |line| redis_client(line, Some(5)).map(|client| (client.connection_id, client.seen_as));
        assert_eq!(
            seen(tcp),
            Some((7, SeenAs::Tcp("127.0.0.1:40002".parse().unwrap())))
        );
        assert_eq!(seen(unix), Some((8, SeenAs::Socket)));
        assert_eq!(seen("id=x nonsense"), None);
    }

    #[test]
    fn postgres_rows_tell_socket_from_tcp() {
        let row = |address: Option<&str>, port: &str| -> Row {
            vec![
                Some(b"9".to_vec()),
                address.map(|it| it.as_bytes().to_vec()),
                Some(port.as_bytes().to_vec()),
            ]
        };
        assert_eq!(postgres_client(&row(None, "-1")), SeenAs::Socket);
        assert_eq!(
            postgres_client(&row(Some("127.0.0.1"), "40003")),
            SeenAs::Tcp("127.0.0.1:40003".parse().unwrap())
        );
        assert_eq!(
            postgres_client(&row(Some("::1"), "1")),
            SeenAs::Tcp("[::1]:1".parse().unwrap())
        );
    }
}
