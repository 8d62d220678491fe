//! The data that a restart of a server would lose, from the server's own figures.

use std::collections::BTreeMap;

use looptax_wire::WireError;

use super::redis_text;
use crate::path::answers::{number, only, table};
use crate::path::conversation::ProtocolConnection;
use crate::path::error::ASK_CONNECTIONS;
use crate::path::{Conversation, PathError};

/// Facts about a server before a restart. A fact is `None` if the server does not report it, or does not report it to
/// this account.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BeforeRestart {
    /// The configuration file that the server was started with, under the path that the server sees.
    pub config_file: Option<String>,
    /// Connections of clients, including ours.
    pub n_clients: Option<u64>,
    /// Servers that replicate this one.
    pub n_replicas: Option<u64>,
    /// Keys or items that the server holds in memory.
    pub n_items: Option<u64>,
    pub saved: Option<Saved>,
}

/// How a server that holds its data in memory saves the data to disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Saved {
    /// The data are not stored.
    Never,
    /// Every change is appended to a file.
    Appended,
    /// The server takes snapshots.
    Snapshots {
        /// How long ago the last snapshot was taken, by the server's clock; `None` if there is no snapshot, or the
        /// server does not report it.
        ago_s: Option<u64>,
        n_changes_since: u64,
        /// Whether the server takes a snapshot when it ends; `None` if the server does not report this.
        takes_one_at_end: Option<bool>,
    },
}

impl Conversation {
    /// Queries what a restart would lose. A cheap query.
    ///
    /// # Errors
    /// [`PathError::Protocol`] if the server refuses the query or has ended.
    ///
    /// # Source
    /// redis.io, INFO and CONFIG GET; memcached's doc/protocol.txt; `Threads_connected` of MySQL and MariaDB;
    /// `pg_stat_activity`.
    pub fn before_restart(&mut self) -> Result<BeforeRestart, PathError> {
        let endpoint = self.endpoint().to_string();
        let answer = match &mut self.connection {
            ProtocolConnection::Redis(it) => redis(it),
            ProtocolConnection::Memcached(it) => it.stats("").map(|stats| {
                let count = |name: &str| {
                    let (_, value) = stats.iter().find(|(own, _)| own == name)?;
                    value.parse().ok()
                };
                BeforeRestart {
                    n_clients: count("curr_connections"),
                    n_items: count("curr_items"),
                    saved: Some(Saved::Never),
                    ..BeforeRestart::default()
                }
            }),
            ProtocolConnection::Mysql(it) => it
                .query("SHOW GLOBAL STATUS LIKE 'Threads_connected'")
                .and_then(|rows| only(super::MYSQL, table::<2>(super::MYSQL, rows)?))
                .and_then(|[_, n]| number(super::MYSQL, n))
                .map(only_clients),
            ProtocolConnection::Postgres(it) => it
                .ask("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'")
                .and_then(|rows| only(super::POSTGRES, table::<1>(super::POSTGRES, rows)?))
                .and_then(|[n]| number(super::POSTGRES, n))
                .map(only_clients),
            ProtocolConnection::Mongodb(_)
            | ProtocolConnection::Fastcgi(_)
            | ProtocolConnection::Http(_)
            | ProtocolConnection::Echo(_) => Ok(BeforeRestart::default()),
        };
        answer.map_err(|source| PathError::Protocol { action: ASK_CONNECTIONS, endpoint, source })
    }
}

fn only_clients(n: u64) -> BeforeRestart {
    BeforeRestart { n_clients: Some(n), ..BeforeRestart::default() }
}

fn redis(connection: &mut looptax_wire::redis::Connection<crate::path::Link>) -> Result<BeforeRestart, WireError> {
    let info = redis_text(connection, &[b"INFO"])?;
    // The account may not be allowed to read settings, and versions before 7 do not have the second setting.
    let points = setting(connection, b"save");
    let at_end =
        points.map(|points| saves_at_end(&points, &setting(connection, b"shutdown-on-sigterm").unwrap_or_default()));
    Ok(of_info(&info, at_end))
}

fn setting(connection: &mut looptax_wire::redis::Connection<crate::path::Link>, name: &[u8]) -> Option<String> {
    let looptax_wire::redis::Value::Array(Some(all)) = connection.command(&[b"CONFIG", b"GET", name]).ok()? else {
        return None;
    };
    match &*all {
        [_, looptax_wire::redis::Value::Bulk(Some(value))] => Some(String::from_utf8_lossy(value).into_owned()),
        _ => None,
    }
}

/// Returns whether Redis takes a snapshot when SIGTERM ends it. By default, Redis does this if `points` is not empty,
/// because Redis then also takes snapshots by itself. `on_sigterm` may demand or forbid the snapshot.
///
/// # Source
/// redis.conf of Redis 7; tested with Redis 7.0 and Valkey 9.1 (2026-11-28) by comparing the keys before and after.
fn saves_at_end(points: &str, on_sigterm: &str) -> bool {
    let is_told = |word| on_sigterm.split_whitespace().any(|it| it == word);
    is_told("save") || !points.is_empty() && !is_told("nosave")
}

/// Parses Redis's `INFO`; `takes_one_at_end` is whether Redis takes a snapshot when it ends.
fn of_info(info: &str, takes_one_at_end: Option<bool>) -> BeforeRestart {
    let lines: BTreeMap<&str, &str> = info.lines().filter_map(|it| it.trim().split_once(':')).collect();
    let count = |name: &str| lines.get(name)?.parse::<u64>().ok();
    let keys = |(name, value): (&&str, &&str)| {
        name.strip_prefix("db")?.parse::<u32>().ok()?;
        value.strip_prefix("keys=")?.split(',').next()?.parse::<u64>().ok()
    };
    let saved = match (count("aof_enabled"), count("rdb_last_save_time"), count("rdb_changes_since_last_save")) {
        (Some(1), _, _) => Some(Saved::Appended),
        (_, Some(at_s), Some(n_changes_since)) => {
            // Redis reports this since version 6.
            let now_s = count("server_time_usec").map(|it| it / 1_000_000);
            // If there is no snapshot, Redis reports its start time instead.
            let has_one = count("rdb_saves") != Some(0);
            let ago_s = now_s.filter(|_| has_one).map(|now_s| now_s.saturating_sub(at_s));
            Some(Saved::Snapshots { ago_s, n_changes_since, takes_one_at_end })
        }
        _ => None,
    };
    BeforeRestart {
        config_file: lines.get("config_file").filter(|it| !it.is_empty()).map(|it| (*it).to_owned()),
        n_clients: count("connected_clients"),
        n_replicas: count("connected_slaves"),
        n_items: info.contains("# Keyspace").then(|| lines.iter().filter_map(keys).sum()),
        saved,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redis_tells_its_file_its_keys_and_its_last_snapshot() {
        let info = "# Server\r\nserver_time_usec:1700000012000001\r\nconfig_file:/etc/redis/redis.conf\r\n# Clients\r\nconnected_clients:3\r\n# Persistence\r\nrdb_changes_since_last_save:7\r\nrdb_last_save_time:1700000000\r\naof_enabled:0\r\nconnected_slaves:1\r\n# Keyspace\r\ndb0:keys=40,expires=0,avg_ttl=0\r\ndb12:keys=2,expires=0\r\n";
        let expected = BeforeRestart {
            config_file: Some("/etc/redis/redis.conf".to_owned()),
            n_clients: Some(3),
            n_replicas: Some(1),
            n_items: Some(42),
            saved: Some(Saved::Snapshots { ago_s: Some(12), n_changes_since: 7, takes_one_at_end: Some(true) }),
        };
        assert_eq!(of_info(info, Some(true)), expected);
        assert_eq!(of_info(&info.replace("aof_enabled:0", "aof_enabled:1"), None).saved, Some(Saved::Appended));
        let silent = of_info("config_file:\r\n", None);
        assert_eq!(silent, BeforeRestart::default());
    }

    #[test]
    fn it_saves_at_its_end_as_the_servers_were_seen_to() {
        for (points, on_sigterm, expected) in [
            ("3600 1", "default", true),
            ("", "default", false),
            ("3600 1", "", true),
            ("3600 1", "nosave", false),
            ("3600 1", "nosave now", false),
            ("", "save", true),
            ("", "now force", false),
        ] {
            assert_eq!(saves_at_end(points, on_sigterm), expected, "{points:?} {on_sigterm}");
        }
    }
}
