//! The server that both ask: a private one of looptax's kinds, filled once, or the peer's own.
//!
//! A private one is started as looptax starts its own, with the same settings and rows, and says
//! itself how much it was asked.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use looptax_bench::path::Conversation;
use looptax_experiment::servers::dataset;
use looptax_model::dsn::{Kind, Protocol};

use super::case::Case;
use super::counter;
use super::tool::{Address, Tool};
use super::tools::pgbench;
use super::work::{KEY_PREFIX, ROWS, Work};
use crate::servers::{self, Ours};

/// Connections beside those of looptax's two arms: for questions.
const SPARE_CONNECTIONS: u32 = 16;

pub(crate) struct Server {
    pub(crate) at: Address,
    /// What it is, for the head of the table.
    pub(crate) words: String,
    process: Process,
}

enum Process {
    Private(Box<Private>),
    Own(Ours),
}

struct Private {
    server: servers::Private,
    questions: Conversation,
}

impl Server {
    /// Starts what the case needs, with `looptax` as the reaper.
    pub(crate) fn start(case: &Case, looptax: &Path) -> Result<Self> {
        match (case.work.kind(), case.tool.server) {
            (Some(kind), _) => Self::start_private(kind, case, looptax),
            (None, Some(_)) => Self::start_own(case.tool),
            (None, None) => bail!("{} has no server", case.tool.name),
        }
    }

    fn start_private(kind: Kind, case: &Case, looptax: &Path) -> Result<Self> {
        // Those of both arms, and of both once more: a pooler still closes the ones before when the next ones come.
        let connections = 4 * case.connections + SPARE_CONNECTIONS;
        let server = servers::Private::start(looptax, kind, connections, ROWS)?;
        let mut questions = server.talk()?;
        let at = Address {
            socket: server.socket.clone(),
            port: server.tcp.port(),
            user: server.login.user.clone(),
            password: server.login.password.reveal().to_owned(),
            database: server.login.database.clone().unwrap_or_default(),
        };
        fill(&mut questions, case.work, &at)?;
        Ok(Self {
            at,
            words: format!("{}, {ROWS} rows", server.name()),
            process: Process::Private(Box::new(Private { server, questions })),
        })
    }

    fn start_own(tool: &Tool) -> Result<Self> {
        let server = tool.server.context("the tool has no server")?;
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|listener| listener.local_addr())
            .context("no free port")?
            .port();
        let mut command = server(port);
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
        let process = Process::Own(Ours::start(quiet.stderr(Stdio::null()))?);
        let what = format!("the server of {} does not listen", tool.name);
        servers::wait_until(&what, || Ok(is_listening(port)))?;
        Ok(Self {
            at: Address {
                socket: PathBuf::new(),
                port,
                user: String::new(),
                password: String::new(),
                database: String::new(),
            },
            words: format!("{} with its own server, looptax with its own", tool.name),
            process,
        })
    }

    pub(crate) fn pid(&self) -> u32 {
        match &self.process {
            Process::Private(private) => private.server.pid,
            Process::Own(child) => child.0.id(),
        }
    }

    /// How many requests it has answered since it was started; `None` where it does not count.
    pub(crate) fn answered(&mut self, work: Work) -> Result<Option<u64>> {
        match &mut self.process {
            // Its backends outlive clients, and count at last when they are idle for long.
            Process::Private(_) if work == Work::PooledSelectOnly => Ok(None),
            Process::Private(private) => counter::answered(&mut private.questions, work).map(Some),
            Process::Own(_) => Ok(None),
        }
    }

    pub(crate) fn stop(self) -> Result<()> {
        match self.process {
            Process::Private(private) => private.server.stop(),
            Process::Own(_) => Ok(()),
        }
    }
}

fn fill(questions: &mut Conversation, work: Work, at: &Address) -> Result<()> {
    match questions.protocol() {
        Protocol::Mysql => dataset::populate_mysql(|sql| questions.execute(sql), "", ROWS)?,
        Protocol::Redis => fill_redis(questions)?,
        Protocol::Http => {}
        _ if matches!(work, Work::SelectOnly | Work::PooledSelectOnly) => pgbench::fill(at)?,
        _ => bail!("nothing is known to fill the server with"),
    }
    Ok(())
}

/// The keys that redis-benchmark asks for. On a server that it did not start looptax asks for scratch
/// keys of its own, of this length, number, value size and time to live.
fn fill_redis(questions: &mut Conversation) -> Result<()> {
    const PER_PIPELINE: usize = 1000;
    const KEY_TTL_S: &[u8] = b"3600";
    let value = vec![b'x'; dataset::KEY_VALUE_BYTES];
    // From 0 on, as redis-benchmark draws them.
    let ids: Vec<u32> = (0..ROWS).collect();
    for part in ids.chunks(PER_PIPELINE) {
        let set = |id: &u32| {
            let key = format!("{KEY_PREFIX}{id:012}").into_bytes();
            let words = [b"SET", key.as_slice(), &value, b"EX", KEY_TTL_S];
            words.map(<[u8]>::to_vec).to_vec()
        };
        let commands: Vec<_> = part.iter().map(set).collect();
        questions.pipeline(&commands)?;
    }
    Ok(())
}

/// Whether somebody listens on this port of 127.0.0.1. Asked of the kernel, because a connection made
/// to find out would be a client to the server.
fn is_listening(port: u16) -> bool {
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    lists_listener(&table, port)
}

/// Of `/proc/net/tcp`: `sl local_address rem_address st …`, in hexadecimal; state 0A is LISTEN.
fn lists_listener(table: &str, port: u16) -> bool {
    let local = format!(":{port:04X}");
    table.lines().any(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let is_here = fields.next().is_some_and(|field| field.ends_with(&local));
        is_here && fields.nth(1) == Some("0A")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_a_listener_in_the_kernels_table() {
        let table = "  sl  local_address rem_address   st tx_queue
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000
   1: 0100007F:1F91 0100007F:1F90 01 00000000:00000000\n";
        assert!(lists_listener(table, 8080));
        assert!(!lists_listener(table, 8081));
        assert!(!lists_listener("", 8080));
    }
}
