//! A server's work so far, to be read before and after a load: how many requests it served, and how long they took.

use looptax_model::dsn::Protocol;
use looptax_wire::WireError;
use looptax_wire::redis::Connection;

use super::{MYSQL, POSTGRES, REDIS, redis_text};
use crate::path::answers::{number, only, parsed, table, unfit};
use crate::path::conversation::ProtocolConnection;
use crate::path::error::ASK_CONNECTIONS;
use crate::path::{Conversation, Link, PathError};

/// A server's count of all clients' requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServerWork {
    pub counter: &'static str,
    /// Requests since the server started, including those that read this count.
    pub n_requests: u64,
    /// The number of requests by which each reading increases `n_requests`.
    pub n_own: u64,
    /// Time that the server spent in requests, by the server's clock, µs; `None` if the server does not report it.
    pub busy_us: Option<f64>,
}

impl Conversation {
    /// Queries the server's work so far; `None` if it keeps no count.
    ///
    /// # Errors
    /// [`PathError::Protocol`] if the server refuses the query or has ended.
    ///
    /// # Source
    /// `Questions`, `events_statements_summary_global_by_event_name`: dev.mysql.com and mariadb.com. `pg_stat_database`:
    /// postgresql.org, `active_time` since version 14. `commandstats`: redis.io, INFO. `cmd_get`, `cmd_set`, `cmd_touch`:
    /// memcached's doc/protocol.txt. `metrics.commands`: mongodb.com, serverStatus.
    pub fn work(&mut self) -> Result<Option<ServerWork>, PathError> {
        let endpoint = self.endpoint().to_string();
        let answer = match &mut self.connection {
            ProtocolConnection::Mysql(it) => mysql(it).map(Some),
            ProtocolConnection::Postgres(it) => postgres(it).map(Some),
            ProtocolConnection::Redis(it) => redis(it).map(Some),
            ProtocolConnection::Memcached(it) => it.stats("").and_then(|stats| memcached(&stats).map(Some)),
            // If the server lists any commands, ours are among them.
            ProtocolConnection::Mongodb(it) => it.status().map(|status| {
                (!status.commands.is_empty()).then(|| ServerWork {
                    counter: "metrics.commands",
                    n_requests: status.commands.iter().map(|it| it.1).sum(),
                    n_own: 1,
                    busy_us: None,
                })
            }),
            ProtocolConnection::Fastcgi(_) | ProtocolConnection::Http(_) | ProtocolConnection::Echo(_) => Ok(None),
        };
        answer.map_err(|source| PathError::Protocol { action: ASK_CONNECTIONS, endpoint, source })
    }
}

fn mysql(connection: &mut looptax_wire::mysql::Connection<Link>) -> Result<ServerWork, WireError> {
    let busy = connection.query(
        "SELECT CAST(SUM(SUM_TIMER_WAIT) / 1000000 AS UNSIGNED) \
         FROM performance_schema.events_statements_summary_global_by_event_name",
    );
    let busy_us = match busy {
        // Only some accounts may read this table.
        Err(WireError::Server { .. }) => None,
        busy => {
            let [us] = only(MYSQL, table(MYSQL, busy?)?)?;
            us.map(|us| parsed::<u64>(MYSQL, &us)).transpose()?
        }
    };
    // In MariaDB this table is empty unless a setting enables it.
    let busy_us = busy_us.filter(|us| *us > 0);
    let questions = connection.query("SHOW GLOBAL STATUS LIKE 'Questions'")?;
    let [_, questions] = only(MYSQL, table(MYSQL, questions)?)?;
    Ok(ServerWork {
        counter: "Questions",
        n_requests: number(MYSQL, questions)?,
        n_own: 2,
        busy_us: busy_us.map(|us: u64| us as f64),
    })
}

fn postgres(connection: &mut looptax_wire::postgres::Connection<Link>) -> Result<ServerWork, WireError> {
    let of = |what: &str| format!("SELECT {what} FROM pg_stat_database WHERE datname = current_database()");
    let cell = |rows| {
        let [cell] = only(POSTGRES, table(POSTGRES, rows)?)?;
        number::<u64>(POSTGRES, cell)
    };
    let busy_us = match connection.ask(&of("round(active_time * 1000)::bigint")) {
        // PostgreSQL before version 14.
        Err(WireError::Server { .. }) => None,
        busy => Some(cell(busy?)?),
    };
    let n = connection.ask(&of("xact_commit + xact_rollback"))?;
    Ok(ServerWork {
        counter: "transactions of pg_stat_database",
        n_requests: cell(n)?,
        n_own: 2,
        busy_us: busy_us.map(|us| us as f64),
    })
}

fn redis(connection: &mut Connection<Link>) -> Result<ServerWork, WireError> {
    let stats = redis_text(connection, &[b"INFO", b"commandstats"])?;
    let (mut n_requests, mut busy_us) = (0_u64, 0_u64);
    let told = stats.lines().filter(|it| it.starts_with("cmdstat_"));
    for line in told {
        let told = calls(line).ok_or_else(|| unfit(REDIS, "calls and their time", line.as_bytes()));
        let (calls, us) = told?;
        n_requests = n_requests.saturating_add(calls);
        busy_us = busy_us.saturating_add(us);
    }
    // At least our own commands must be counted.
    if n_requests == 0 {
        return Err(unfit(REDIS, "counts of commands", stats.as_bytes()));
    }
    Ok(ServerWork { counter: "commandstats", n_requests, n_own: 1, busy_us: Some(busy_us as f64) })
}

/// Parses `cmdstat_get:calls=21,usec=175,usec_per_call=8.33` into calls and µs.
fn calls(line: &str) -> Option<(u64, u64)> {
    let (_, figures) = line.trim().strip_prefix("cmdstat_")?.split_once(':')?;
    let figure = |name: &str| {
        let mut figures = figures.split(',').filter_map(|it| it.split_once('='));
        figures.find(|it| it.0 == name)?.1.parse().ok()
    };
    Some((figure("calls")?, figure("usec")?))
}

fn memcached(stats: &[(String, String)]) -> Result<ServerWork, WireError> {
    let title = Protocol::Memcached.title();
    let mut n_requests = 0_u64;
    for name in ["cmd_get", "cmd_set", "cmd_touch"] {
        let found = stats.iter().find(|it| it.0 == name).map(|it| it.1.clone());
        n_requests = n_requests.saturating_add(number(title, found)?);
    }
    Ok(ServerWork { counter: "cmd_get, cmd_set and cmd_touch", n_requests, n_own: 0, busy_us: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_redis_have_their_time() {
        let line = "cmdstat_get:calls=21,usec=175,usec_per_call=8.33,rejected_calls=0\r";
        assert_eq!(calls(line), Some((21, 175)));
        assert_eq!(calls("cmdstat_client|list:calls=1,usec=9"), Some((1, 9)));
        assert_eq!(calls("# Commandstats"), None);
    }
}
