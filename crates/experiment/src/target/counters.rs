//! The server's own count of requests, with which looptax's count is compared.
//!
//! The counter is read before and after a comparison on a server that no other program uses.

use std::collections::BTreeSet;
use std::thread;
use std::time::Duration;

use looptax_bench::path::{Conversation, Limits, SitePage, Workload};
use looptax_model::dsn::Protocol;
use looptax_wire::redis::Value;

use super::Target;

/// Number of requests that looptax sends to read a pool's count once. The first request asks which process serves the
/// connection, the second request asks for the count.
const OWN_REQUESTS: u64 = 2;

/// A counter of the server, and its value when this `Counter` was made.
pub(crate) struct Counter {
    pub name: String,
    kinds: Kinds,
    start: u64,
}

enum Kinds {
    /// The sum of these rows of MySQL's `SHOW GLOBAL STATUS`.
    Status(BTreeSet<&'static str>),
    /// The number of committed transactions in this PostgreSQL database.
    Commits,
    Sessions,
    Calls(&'static [&'static str]),
    /// memcached's counters, added up over all its processes.
    Stats(&'static [&'static str]),
    /// `metrics.commands` of `MongoDB`'s serverStatus.
    Commands(&'static str),
    Received,
    /// The number of queries that `PgBouncer` has passed on.
    Passed,
    /// The number of requests that PHP-FPM's pools have accepted, including the requests for the count.
    Accepted,
    /// The number of requests for pages to which looptax's own upstream has replied.
    Pages,
}

impl Counter {
    /// Reads the target's counter; `None` if the server has no suitable counter.
    pub(crate) fn start(target: &Target) -> Option<Self> {
        let kinds = if target.is_pooled {
            passed(&target.workload).filter(|_| target.has_console())?
        } else {
            kinds(&target.workload, target.protocol)?
        };
        // A new session prepares its statements again, and the number of sessions is not counted here. So looptax
        // cannot predict by how much the counter grows.
        if matches!(kinds, Kinds::Commits | Kinds::Passed) && target.reconnect_every.is_some() {
            return None;
        }
        let name = match &kinds {
            Kinds::Status(names) => names.iter().copied().collect::<Vec<_>>().join(" + "),
            Kinds::Commits => "pg_stat_database.xact_commit".to_owned(),
            Kinds::Sessions => "pg_stat_database.sessions".to_owned(),
            Kinds::Received => "total_connections_received".to_owned(),
            Kinds::Passed => "PgBouncer's total_query_count".to_owned(),
            Kinds::Accepted => "`accepted conn` of the pools' status pages".to_owned(),
            Kinds::Pages => "its own count of pages".to_owned(),
            Kinds::Commands(name) => format!("metrics.commands.{name}.total"),
            Kinds::Calls(names) => format!("commandstats calls of {}", names.join(" + ")),
            Kinds::Stats(names) => {
                let n_processes = target.pids.len();
                format!("{} of {n_processes} processes", names.join(" + "))
            }
        };
        let start = read(target, &kinds)?;
        Some(Self { name, kinds, start })
    }

    /// Returns by how much the counter has grown since its start.
    pub(crate) fn grown(&self, target: &Target) -> Option<u64> {
        read(target, &self.kinds)?.checked_sub(self.start)
    }

    /// Returns by how much the counter should have grown after `n_requests` on `n_connections` connections.
    pub(crate) fn expected(&self, target: &Target, n_requests: u64, n_connections: u64) -> u64 {
        match self.kinds {
            Kinds::Status(_) => n_requests * target.workload.n_statements() as u64,
            // Each statement that is prepared also counts as a transaction.
            Kinds::Commits => n_requests + n_connections * n_prepared(target),
            // Each connection has also sent a query that asks which process serves the connection.
            Kinds::Passed => {
                n_requests * target.workload.n_statements() as u64 + n_connections * (n_prepared(target) + 1)
            }
            // The server also counts the few connections that prove the arms; the comparison of the two counts allows
            // for them.
            Kinds::Sessions | Kinds::Received | Kinds::Pages | Kinds::Commands(_) => n_requests,
            // Each connection has sent a request that asks which process serves the connection, and each pool got two
            // requests for its count.
            Kinds::Accepted => n_requests + n_connections + OWN_REQUESTS * target.pools.len() as u64,
            Kinds::Calls(_) | Kinds::Stats(_) => {
                let per_request = match target.workload {
                    Workload::DumpValues { n_keys, .. } => n_keys,
                    _ => target.sending.pipeline as u64,
                };
                n_requests * per_request
            }
        }
    }
}

fn kinds(workload: &Workload, protocol: Protocol) -> Option<Kinds> {
    match (protocol, workload) {
        (Protocol::Fastcgi, _) => Some(Kinds::Accepted),
        (Protocol::Mongodb, workload) => Some(Kinds::Commands(match workload {
            Workload::FindOne { .. } => "find",
            Workload::InsertOne { .. } => "insert",
            _ => "ping",
        })),
        // A running application does not report counts to its clients.
        (Protocol::Http, page) => (*page != Workload::Page(SitePage::Named)).then_some(Kinds::Pages),
        (Protocol::Mysql, Workload::Dump { .. }) => Some(Kinds::Status(["Com_select"].into())),
        (Protocol::Mysql, Workload::Connect) => Some(Kinds::Status(["Connections"].into())),
        (Protocol::Postgres, Workload::Connect) => Some(Kinds::Sessions),
        (Protocol::Redis, Workload::Connect) => Some(Kinds::Received),
        (Protocol::Mysql, workload) => {
            let steps = workload.transaction()?.steps;
            steps.iter().map(|step| status_of(&step.sql)).collect::<Option<_>>().map(Kinds::Status)
        }
        // looptax does not know how many transactions a script contains.
        (Protocol::Postgres, Workload::Script { .. }) => None,
        (Protocol::Postgres, _) => Some(Kinds::Commits),
        (Protocol::Memcached, workload) => Some(Kinds::Stats(match workload {
            Workload::Set { .. } => &["cmd_set"],
            Workload::Mixed { .. } => &["cmd_get", "cmd_set"],
            _ => &["cmd_get"],
        })),
        (_, Workload::Get { .. } | Workload::DumpValues { .. } | Workload::Ping) if protocol == Protocol::Redis => {
            Some(Kinds::Calls(&["get"]))
        }
        (_, Workload::Set { .. }) => Some(Kinds::Calls(&["set"])),
        (_, Workload::Mixed { .. }) => Some(Kinds::Calls(&["get", "set"])),
        (_, Workload::Incr { .. }) => Some(Kinds::Calls(&["incr"])),
        (_, Workload::Lpush { .. }) => Some(Kinds::Calls(&["lpush"])),
        _ => None,
    }
}

/// Returns the pooler's counter for a workload whose connections stay open; `None` if the pooler has no counter for it.
fn passed(workload: &Workload) -> Option<Kinds> {
    let is_counted = workload.transaction().is_some();
    is_counted.then_some(Kinds::Passed)
}

/// Returns MySQL's counter for a statement, according to the statement's first word.
fn status_of(sql: &str) -> Option<&'static str> {
    Some(match sql.split_whitespace().next()? {
        "BEGIN" => "Com_begin",
        "COMMIT" => "Com_commit",
        "SELECT" => "Com_select",
        "INSERT" => "Com_insert",
        "UPDATE" => "Com_update",
        "DELETE" => "Com_delete",
        _ => return None,
    })
}

/// Returns the number of statements that each connection prepares: one for each different text.
fn n_prepared(target: &Target) -> u64 {
    if target.sending.sent == looptax_wire::Sent::Text {
        return 0;
    }
    let steps = target.workload.transaction().map(|it| it.steps);
    let texts: BTreeSet<String> = steps.into_iter().flatten().map(|step| step.sql).collect();
    texts.len() as u64
}

fn read(target: &Target, kinds: &Kinds) -> Option<u64> {
    if matches!(kinds, Kinds::Passed) {
        return total(&mut target.console()?, "total_query_count");
    }
    if matches!(kinds, Kinds::Accepted) {
        return { target.pools.iter() }.map(|pool| target.ask(pool)?.count().ok()).sum();
    }
    let mut processes = target.converse_with_each(Limits::default()).ok()?;
    processes.iter_mut().map(|it| read_from(it, kinds)).sum()
}

fn read_from(conversation: &mut Conversation, kinds: &Kinds) -> Option<u64> {
    match kinds {
        Kinds::Status(names) => status(conversation, names),
        Kinds::Commits => of_database(conversation, "xact_commit"),
        Kinds::Sessions => of_database(conversation, "sessions"),
        Kinds::Received => received(conversation),
        Kinds::Passed => total(conversation, "total_query_count"),
        Kinds::Accepted | Kinds::Pages => conversation.count().ok(),
        Kinds::Calls(names) => calls(conversation, names),
        Kinds::Stats(names) => stats(conversation, names),
        Kinds::Commands(name) => commands(conversation, name),
    }
}

/// Maximum number of checks whether the backends (server processes) of closed connections have ended, with
/// `BACKEND_PAUSE` between two checks. A backend reports its counts only when it ends, a moment after its connection
/// has closed.
const BACKEND_LOOKS: u32 = 60;
const BACKEND_PAUSE: Duration = Duration::from_millis(50);

fn of_database(conversation: &mut Conversation, column: &str) -> Option<u64> {
    const OTHERS: &str = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' \
                          AND datname = current_database() AND pid <> pg_backend_pid()";
    for _ in 0..BACKEND_LOOKS {
        if conversation.number::<u64>(OTHERS).ok()? == 0 {
            break;
        }
        thread::sleep(BACKEND_PAUSE);
    }
    let sql = format!("SELECT {column} FROM pg_stat_database WHERE datname = current_database()");
    conversation.number(&sql).ok()
}

fn status(conversation: &mut Conversation, names: &BTreeSet<&'static str>) -> Option<u64> {
    let rows = conversation
        .rows::<2>("SHOW GLOBAL STATUS WHERE Variable_name = 'Connections' OR Variable_name LIKE 'Com\\_%'")
        .ok()?;
    let of_name = |name: &&'static str| -> Option<u64> {
        let mut named = rows.iter().filter(|it| it[0].as_deref() == Some(*name));
        let value = named.next()?[1].as_ref()?.parse().ok()?;
        named.next().is_none().then_some(value)
    };
    names.iter().map(of_name).sum()
}

fn info(conversation: &mut Conversation, section: &str) -> Option<String> {
    let command = vec![b"INFO".to_vec(), section.as_bytes().to_vec()];
    let Value::Bulk(Some(text)) = conversation.pipeline(&[command]).ok()?.pop()? else {
        return None;
    };
    Some(String::from_utf8_lossy(&text).into_owned())
}

fn received(conversation: &mut Conversation) -> Option<u64> {
    let text = info(conversation, "stats")?;
    let mut lines = text.lines();
    lines.find_map(|line| line.strip_prefix("total_connections_received:")?.parse().ok())
}

fn calls(conversation: &mut Conversation, names: &[&str]) -> Option<u64> {
    let text = info(conversation, "commandstats")?;
    // `INFO` itself is always in the list, so an empty list is not a usable reply.
    text.lines().find(|it| it.starts_with("cmdstat_"))?;
    Some(names.iter().map(|name| calls_of(&text, name)).sum())
}

/// Returns the sum of memcached's counters with these names.
fn stats(conversation: &mut Conversation, names: &[&str]) -> Option<u64> {
    let found = conversation.stats("").ok()?;
    let of_name = |name: &&str| -> Option<u64> {
        let (_, value) = found.iter().find(|(it, _)| it == name)?;
        value.parse().ok()
    };
    names.iter().map(of_name).sum()
}

/// Returns how often one command was received; 0 if it was never received.
fn commands(conversation: &mut Conversation, name: &str) -> Option<u64> {
    let status = conversation.mongodb().ok()?.status().ok()?;
    // `serverStatus` itself is always in the list, so an empty list is not a usable reply.
    status.commands.first()?;
    let own = status.commands.iter().filter(|it| it.0 == name);
    Some(own.map(|it| it.1).sum())
}

/// Reads one of the totals from `PgBouncer`'s console.
///
/// # Source
/// pgbouncer.org, "usage", `SHOW TOTALS`.
fn total(console: &mut Conversation, name: &str) -> Option<u64> {
    let mut rows = console.rows_of_users::<2>("SHOW TOTALS").ok()?.into_iter();
    let [_, value] = rows.find(|it| it[0].as_deref() == Some(name))?;
    value?.parse().ok()
}

/// Returns the number of calls of one command; 0 if it was never called.
fn calls_of(text: &str, name: &str) -> u64 {
    let start = format!("cmdstat_{name}:calls=");
    text.lines().find_map(|line| line.strip_prefix(&start)?.split(',').next()?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read_by_command() {
        let text = "# Commandstats\r\ncmdstat_getex:calls=9,usec=1\r\ncmdstat_get:calls=42,usec=7\r\n";
        assert_eq!(calls_of(text, "get"), 42);
        assert_eq!(calls_of(text, "set"), 0);
    }
}
