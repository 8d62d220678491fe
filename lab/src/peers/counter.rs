//! A server's own count of its requests, with which the reports of load generators are checked.

use anyhow::{Context, Result, bail};
use looptax_bench::path::Conversation;
use looptax_wire::redis::Value;

use super::work::Work;
use crate::servers::wait_until;

/// A server's counts since its start; `None` if the server does not count.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) requests: Option<u64>,
    pub(crate) opened: Option<u64>,
}

impl Counts {
    pub(crate) fn since(self, before: Self) -> Self {
        let less = |now: Option<u64>, before: Option<u64>| now?.checked_sub(before?);
        Self { requests: less(self.requests, before.requests), opened: less(self.opened, before.opened) }
    }
}

/// Returns how many requests of this work the server has answered since its start.
///
/// `PostgreSQL` also counts our own queries: a handful among thousands.
pub(crate) fn answered(questions: &mut Conversation, work: Work) -> Result<u64> {
    match work {
        Work::PointSelect => status(questions, "Com_stmt_execute"),
        Work::ReadWrite => status(questions, "Com_commit"),
        Work::Select => status(questions, "Com_select"),
        Work::SelectOnly => {
            settle(questions)?;
            let sql = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()";
            number(questions, sql, 0)
        }
        Work::Get { .. } => gets(questions),
        Work::Hello => Ok(questions.count()?),
        Work::Cached => stat(questions, "cmd_get"),
        Work::PooledSelectOnly | Work::Page | Work::PhpPage | Work::PingPong { .. } | Work::Stream { .. } => {
            bail!("there is no server to ask")
        }
    }
}

/// Returns how many connections the server has accepted since its start; `None` if the server does not count them.
pub(crate) fn opened(questions: &mut Conversation, work: Work) -> Result<Option<u64>> {
    let n = match work {
        Work::PointSelect | Work::ReadWrite | Work::Select => status(questions, "Connections")?,
        Work::SelectOnly => {
            settle(questions)?;
            let sql = "SELECT sessions FROM pg_stat_database WHERE datname = current_database()";
            number(questions, sql, 0)?
        }
        Work::Get { .. } => info(questions, "stats", |stats| after(stats, "total_connections_received:"))?,
        Work::Cached => stat(questions, "total_connections")?,
        _ => return Ok(None),
    };
    Ok(Some(n))
}

fn status(questions: &mut Conversation, name: &str) -> Result<u64> {
    let sql = format!("SHOW GLOBAL STATUS LIKE '{name}'");
    number(questions, &sql, 1)
}

/// Waits until no other client is connected: a `PostgreSQL` process adds its counts to the total only when it ends.
fn settle(questions: &mut Conversation) -> Result<()> {
    let sql = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' \
               AND pid <> pg_backend_pid()";
    wait_until("a client of PostgreSQL is still connected", || Ok(number(questions, sql, 0)? == 0))
}

/// Returns the number in a column of the first row.
fn number(questions: &mut Conversation, sql: &str, column: usize) -> Result<u64> {
    let rows = questions.query(sql)?;
    let cell = rows.into_iter().next().and_then(|row| row.into_iter().nth(column));
    let text = cell.flatten().with_context(|| format!("no answer to `{sql}`"))?;
    text.parse().with_context(|| format!("`{text}` is not a number"))
}

/// Returns one of memcached's statistics.
fn stat(questions: &mut Conversation, name: &str) -> Result<u64> {
    let stats = questions.stats("")?;
    let value = stats.into_iter().find(|it| it.0 == name).map(|it| it.1);
    let text = value.with_context(|| format!("memcached has no `{name}`"))?;
    text.parse().with_context(|| format!("`{text}` is not a number"))
}

fn gets(questions: &mut Conversation) -> Result<u64> {
    info(questions, "commandstats", |stats| calls_of(stats, "get"))
}

fn info(questions: &mut Conversation, section: &str, read: impl Fn(&str) -> u64) -> Result<u64> {
    let command = vec![b"INFO".to_vec(), section.as_bytes().to_vec()];
    let replies = questions.pipeline(&[command])?;
    match replies.into_iter().next() {
        Some(Value::Bulk(Some(stats))) => Ok(read(&String::from_utf8_lossy(&stats))),
        other => bail!("Redis answers INFO with {other:?}"),
    }
}

/// Returns the number of calls from the line `cmdstat_get:calls=123,…`; 0 if the command was never called, because its
/// line is then missing.
fn calls_of(stats: &str, command: &str) -> u64 {
    after(stats, &format!("cmdstat_{command}:calls="))
}

/// Returns the number after a name; 0 if the name is missing.
fn after(stats: &str, name: &str) -> u64 {
    let rest = stats.split_once(name).map_or("", |(_, rest)| rest);
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next();
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_calls_of_one_command() {
        let stats = "cmdstat_getset:calls=9,usec=1\r\ncmdstat_get:calls=100000,usec=14433\r\n";
        assert_eq!(calls_of(stats, "get"), 100_000);
        assert_eq!(calls_of(stats, "set"), 0);
    }
}
