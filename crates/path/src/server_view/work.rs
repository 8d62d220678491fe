//! What a server has done so far, for whoever asks before and after: how many requests, and how long they took it.

use looptax_wire::WireError;
use looptax_wire::redis::Connection;

use super::{number, redis_text};
use crate::conversation::ProtocolConnection;
use crate::error::ASK_CONNECTIONS;
use crate::{Conversation, Link, PathError};

/// What a server counts of everybody's requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServerWork {
    /// The counter's own name.
    pub counter: &'static str,
    /// Requests since it started, those that ask for this among them.
    pub n_requests: u64,
    /// How many of these each asking for this adds.
    pub n_own: u64,
    /// Time in requests by its own clock, µs; `None` where it does not tell.
    pub busy_us: Option<f64>,
}

impl Conversation {
    /// Asks what the server has done so far; `None` where it keeps no count.
    ///
    /// # Errors
    /// [`PathError::Protocol`] when the server refuses the question, or is gone.
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
            ProtocolConnection::Memcached(it) => it.stats("").map(|stats| Some(memcached(&stats))),
            ProtocolConnection::Mongodb(it) => it.status().map(|status| {
                Some(ServerWork {
                    counter: "metrics.commands",
                    n_requests: status.commands.iter().map(|it| it.1).sum(),
                    n_own: 1,
                    busy_us: None,
                })
            }),
            ProtocolConnection::Fastcgi(_)
            | ProtocolConnection::Http(_)
            | ProtocolConnection::Echo(_) => Ok(None),
        };
        answer.map_err(|source| PathError::Protocol {
            action: ASK_CONNECTIONS,
            endpoint,
            source,
        })
    }
}

fn mysql(connection: &mut looptax_wire::mysql::Connection<Link>) -> Result<ServerWork, WireError> {
    let busy = connection.query(
        "SELECT CAST(SUM(SUM_TIMER_WAIT) / 1000000 AS UNSIGNED) \
         FROM performance_schema.events_statements_summary_global_by_event_name",
    );
    let busy = match busy {
        // Only some accounts may look there.
        Err(WireError::Server { .. }) => Vec::new(),
        busy => busy?,
    };
    // MariaDB has the table without anything in it, unless it was told to keep it.
    let busy_us = busy
        .first()
        .and_then(|row| number(row, 0))
        .filter(|us: &u64| *us > 0);
    let questions = connection.query("SHOW GLOBAL STATUS LIKE 'Questions'")?;
    Ok(ServerWork {
        counter: "Questions",
        n_requests: questions
            .first()
            .and_then(|row| number(row, 1))
            .unwrap_or(0),
        n_own: 2,
        busy_us: busy_us.map(|us: u64| us as f64),
    })
}

fn postgres(
    connection: &mut looptax_wire::postgres::Connection<Link>,
) -> Result<ServerWork, WireError> {
    let of = |what: &str| {
        format!("SELECT {what} FROM pg_stat_database WHERE datname = current_database()")
    };
    let busy = match connection.query(&of("round(active_time * 1000)::bigint")) {
        // Before version 14.
        Err(WireError::Server { .. }) => Vec::new(),
        busy => busy?,
    };
    let n = connection.query(&of("xact_commit + xact_rollback"))?;
    Ok(ServerWork {
        counter: "transactions of pg_stat_database",
        n_requests: n.first().and_then(|row| number(row, 0)).unwrap_or(0),
        n_own: 2,
        busy_us: busy
            .first()
            .and_then(|row| number(row, 0))
            .map(|us: u64| us as f64),
    })
}

fn redis(connection: &mut Connection<Link>) -> Result<ServerWork, WireError> {
    let stats = redis_text(connection, &[b"INFO", b"commandstats"])?;
    let (mut n_requests, mut busy_us) = (0, 0);
    for (calls, us) in stats.lines().filter_map(calls) {
        n_requests += calls;
        busy_us += us;
    }
    Ok(ServerWork {
        counter: "commandstats",
        n_requests,
        n_own: 1,
        busy_us: Some(busy_us as f64),
    })
}

/// `cmdstat_get:calls=21,usec=175,usec_per_call=8.33`: calls and µs.
fn calls(line: &str) -> Option<(u64, u64)> {
    let (_, figures) = line.trim().strip_prefix("cmdstat_")?.split_once(':')?;
    let figure = |name: &str| {
        let mut figures = figures.split(',').filter_map(|it| it.split_once('='));
        figures.find(|it| it.0 == name)?.1.parse().ok()
    };
    Some((figure("calls")?, figure("usec")?))
}

fn memcached(stats: &[(String, String)]) -> ServerWork {
    let count = |wanted: &str| -> u64 {
        let found = stats.iter().find(|(name, _)| name == wanted);
        found.and_then(|(_, value)| value.parse().ok()).unwrap_or(0)
    };
    ServerWork {
        counter: "cmd_get, cmd_set and cmd_touch",
        n_requests: count("cmd_get") + count("cmd_set") + count("cmd_touch"),
        n_own: 0,
        busy_us: None,
    }
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
