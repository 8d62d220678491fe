//! A server's figures about the connections of a user, without our own connections: which of them are open now, and how
//! many there have been so far.

use looptax_wire::WireError;
use looptax_wire::redis::Connection;

use super::{ClientSeen, MYSQL, POSTGRES, REDIS, SeenAs, mysql_host, postgres_session, redis_client, redis_text};
use crate::path::answers::{number, only, parsed, table, unfit, value};
use crate::path::conversation::ProtocolConnection;
use crate::path::error::ASK_CONNECTIONS;
use crate::path::{Conversation, Link, PathError};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ServerCounts {
    /// Connections of all users since the server started; for PostgreSQL, sessions of the database. `None` if the
    /// server does not report this number.
    pub n_connections: Option<u64>,
    /// Logins of all users that the server refused since it started. `None` if the server does not report this number.
    pub n_refused: Option<u64>,
    /// Connections that are open now, if the server may count a connection late; 0 if the server counts each connection
    /// immediately.
    pub n_uncounted: u64,
}

impl Conversation {
    /// Lists the other sessions of `user`, the account with which we are logged in. A cheap query.
    ///
    /// # Errors
    /// [`PathError::Protocol`] if the server refuses the query or has ended.
    pub fn other_sessions(&mut self, user: &str) -> Result<Vec<ClientSeen>, PathError> {
        let endpoint = self.endpoint().to_string();
        let answer = match &mut self.connection {
            ProtocolConnection::Mysql(it) => mysql_sessions(it, user),
            ProtocolConnection::Postgres(it) => postgres_sessions(it),
            ProtocolConnection::Redis(it) => redis_sessions(it),
            ProtocolConnection::Memcached(_)
            | ProtocolConnection::Mongodb(_)
            | ProtocolConnection::Fastcgi(_)
            | ProtocolConnection::Http(_)
            | ProtocolConnection::Echo(_) => Ok(Vec::new()),
        };
        answer.map_err(|source| PathError::Protocol { action: ASK_CONNECTIONS, endpoint, source })
    }

    /// Queries the server's counts so far; meant to be called now and then.
    ///
    /// # Errors
    /// [`PathError::Protocol`] if the server refuses the query or has ended.
    ///
    /// # Source
    /// `Connections` and `Aborted_connects`: dev.mysql.com and mariadb.com, server status variables. `sessions` of
    /// `pg_stat_database`: postgresql.org, since version 14. `total_connections_received`, `errorstat_*`: redis.io,
    /// INFO. `total_connections`: memcached's doc/protocol.txt.
    /// `connections.totalCreated`: mongodb.com, serverStatus.
    pub fn counts(&mut self) -> Result<ServerCounts, PathError> {
        let endpoint = self.endpoint().to_string();
        let answer = match &mut self.connection {
            ProtocolConnection::Mysql(it) => mysql_counts(it),
            ProtocolConnection::Postgres(it) => postgres_counts(it),
            ProtocolConnection::Redis(it) => redis_counts(it),
            ProtocolConnection::Mongodb(it) => it
                .status()
                .map(|status| ServerCounts { n_connections: status.n_connections, ..ServerCounts::default() }),
            ProtocolConnection::Memcached(it) => it.stats("").map(|stats| ServerCounts {
                n_connections: { stats.iter() }
                    .find(|(name, _)| name == "total_connections")
                    .and_then(|(_, value)| value.parse().ok()),
                ..ServerCounts::default()
            }),
            ProtocolConnection::Fastcgi(_) | ProtocolConnection::Http(_) | ProtocolConnection::Echo(_) => {
                Ok(ServerCounts::default())
            }
        };
        answer.map_err(|source| PathError::Protocol { action: ASK_CONNECTIONS, endpoint, source })
    }
}

fn session(connection_id: u64, seen_as: SeenAs) -> ClientSeen {
    ClientSeen { connection_id, seen_as, worker: None, behind: None }
}

fn mysql_sessions(
    connection: &mut looptax_wire::mysql::Connection<Link>,
    user: &str,
) -> Result<Vec<ClientSeen>, WireError> {
    let quoted = user.replace('\\', "\\\\").replace('\'', "''");
    let sessions = connection.query(&format!(
        "SELECT ID, HOST FROM information_schema.PROCESSLIST WHERE USER = '{quoted}' AND ID <> CONNECTION_ID()"
    ))?;
    let told = table(MYSQL, sessions)?.into_iter();
    told.map(|[id, host]| {
        let host = value(MYSQL, host)?;
        Ok(session(number(MYSQL, id)?, mysql_host(&host)))
    })
    .collect()
}

fn mysql_counts(connection: &mut looptax_wire::mysql::Connection<Link>) -> Result<ServerCounts, WireError> {
    let counts = connection.query("SHOW GLOBAL STATUS WHERE Variable_name IN ('Connections', 'Aborted_connects')")?;
    let counts = table::<2>(MYSQL, counts)?;
    let count = |name: &str| {
        let mut counts = counts.iter();
        let [_, count] = counts.find(|it| it[0].as_deref() == Some(name))?;
        Some(number(MYSQL, count.clone()))
    };
    Ok(ServerCounts {
        n_connections: count("Connections").transpose()?,
        n_refused: count("Aborted_connects").transpose()?,
        n_uncounted: 0,
    })
}

fn postgres_sessions(connection: &mut looptax_wire::postgres::Connection<Link>) -> Result<Vec<ClientSeen>, WireError> {
    let sessions = connection.ask(
        "SELECT pid, host(client_addr), client_port FROM pg_stat_activity \
         WHERE usename = session_user AND pid <> pg_backend_pid() AND backend_type = 'client backend'",
    )?;
    let told = table(POSTGRES, sessions)?.into_iter();
    told.map(|row| {
        let (pid, seen_as) = postgres_session(row)?;
        Ok(session(pid.into(), seen_as))
    })
    .collect()
}

fn postgres_counts(connection: &mut looptax_wire::postgres::Connection<Link>) -> Result<ServerCounts, WireError> {
    // A session may appear in the statistics ten seconds late.
    let counted = connection.ask(
        "SELECT sessions, (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()) \
         FROM pg_stat_database WHERE datname = current_database()",
    );
    match counted {
        // PostgreSQL before version 14.
        Err(WireError::Server { .. }) => Ok(ServerCounts::default()),
        counted => {
            let [n, n_open] = only(POSTGRES, table(POSTGRES, counted?)?)?;
            let (n, n_uncounted) = (number(POSTGRES, n)?, number(POSTGRES, n_open)?);
            Ok(ServerCounts { n_connections: Some(n), n_refused: None, n_uncounted })
        }
    }
}

fn redis_sessions(connection: &mut Connection<Link>) -> Result<Vec<ClientSeen>, WireError> {
    let own = connection.connection_id();
    let list = redis_text(connection, &[b"CLIENT", b"LIST"])?;
    let user_of = |line: &str| {
        let mut words = line.split(' ');
        words.find_map(|word| word.strip_prefix("user=").map(str::to_owned))
    };
    let is_own = |line: &&str| redis_client(line, None).is_some_and(|it| it.connection_id == own);
    let ours = list.lines().find(is_own);
    let ours = ours.ok_or_else(|| unfit(REDIS, "a list that contains our own connection", list.as_bytes()))?;
    // Redis before version 6 has only one user.
    let user = user_of(ours);
    let sessions = list.lines().filter(|line| user_of(line) == user);
    let sessions = sessions.filter_map(|line| redis_client(line, None));
    Ok(sessions.filter(|it| it.connection_id != own).collect())
}

fn redis_counts(connection: &mut Connection<Link>) -> Result<ServerCounts, WireError> {
    let stats = redis_text(connection, &[b"INFO", b"stats"])?;
    // Redis reports these errors since version 6.2.
    let errors = redis_text(connection, &[b"INFO", b"errorstats"])?;
    let received = stats.lines().find_map(|line| line.strip_prefix("total_connections_received:"));
    let received = received.map(|count| parsed(REDIS, count));
    Ok(ServerCounts { n_connections: received.transpose()?, n_refused: redis_refusals(&errors), n_uncounted: 0 })
}

/// Parses lines such as `errorstat_WRONGPASS:count=2`, and counts failed logins and commands without a login. `None` if
/// there is no such section.
fn redis_refusals(errors: &str) -> Option<u64> {
    let has_section = errors.lines().any(|it| it.trim().eq_ignore_ascii_case("# errorstats"));
    let count = |line: &str| {
        let (name, count) = line.strip_prefix("errorstat_")?.split_once(":count=")?;
        let is_login = matches!(name, "WRONGPASS" | "NOAUTH");
        is_login.then(|| count.trim().parse::<u64>().ok())?
    };
    has_section.then(|| errors.lines().filter_map(count).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_redis_errors_those_of_logins_count() {
        let errors =
            "# Errorstats\r\nerrorstat_ERR:count=9\r\nerrorstat_WRONGPASS:count=2\r\nerrorstat_NOAUTH:count=3\r\n";
        assert_eq!(redis_refusals(errors), Some(5));
        assert_eq!(redis_refusals("# Errorstats\r\n"), Some(0));
        assert_eq!(redis_refusals(""), None);
    }
}
