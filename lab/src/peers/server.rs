//! The server that looptax and the peer load: a private server of one of looptax's kinds, filled once, or the peer's
//! own server.
//!
//! A private server is started as looptax starts its own servers, with the same settings and rows. It reports itself
//! how many requests it answered.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use looptax_bench::path::{Conversation, Endpoint, Limits};
use looptax_experiment::servers::dataset;
use looptax_model::dsn::{Arm, Kind, Protocol};
use looptax_wire::Login;

use super::case::Case;
use super::counter::{self, Counts};
use super::nginx::{Nginx, Upstream};
use super::port::{free_port, is_listening};
use super::tool::{Address, Tool};
use super::tools::{own, pgbench};
use super::work::{KEY_PREFIX, ROWS, Work};
use crate::servers::{self, Ours};

/// Number of connections in addition to those of looptax's two arms, for queries.
const SPARE_CONNECTIONS: u32 = 16;

pub(crate) struct Server {
    pub(crate) at: Address,
    /// The server's description, for the head of the table.
    pub(crate) words: String,
    process: Process,
    /// The addresses at which the requests are counted: the server's socket and port.
    listens: (PathBuf, u16),
}

enum Process {
    Private(Box<Private>),
    Own(Ours),
    Nginx(Nginx),
}

struct Private {
    server: servers::Private,
    questions: Conversation,
    /// The nginx that sends requests to PHP-FPM.
    _front: Option<Nginx>,
    /// Number of our own queries by arm, on separate connections, for a server that counts each arm separately.
    n_asked: [u64; 2],
}

impl Private {
    /// Returns the counts of one arm. Each of PHP-FPM's pools, and each of memcached's processes, listens at one
    /// address.
    fn counts_of(&mut self, arm: Arm, listens: &(PathBuf, u16)) -> Result<Counts> {
        let endpoint = match arm {
            Arm::Tcp => Endpoint::Tcp((Ipv4Addr::LOCALHOST, listens.1).into()),
            _ => Endpoint::unix(&listens.0)?,
        };
        let server = &self.server;
        let mut questions = Conversation::open(server.protocol, &endpoint, &server.login, Limits::default())?;
        let n_asked = &mut self.n_asked[usize::from(arm == Arm::Tcp)];
        *n_asked += 1;
        if server.protocol == Protocol::Fastcgi {
            // The first request of each of our connections asks which process answers, so a query makes two requests.
            // PHP-FPM's count of accepted connections really counts requests.
            let requests = questions.count()?.checked_sub(2 * *n_asked);
            return Ok(Counts { requests, opened: None });
        }
        let requests = Some(counter::answered(&mut questions, Work::Cached)?);
        let opened = counter::opened(&mut questions, Work::Cached)?.and_then(|it| it.checked_sub(*n_asked));
        Ok(Counts { requests, opened })
    }
}

impl Server {
    /// Starts the servers that the case needs, with `looptax` as the reaper.
    pub(crate) fn start(case: &Case, looptax: &Path) -> Result<Self> {
        match (case.kind(), case.tool.server) {
            (Some(kind), _) => Self::start_private(kind, case, looptax),
            (None, _) if case.work == Work::Page => {
                let nginx = Nginx::start(None)?;
                let at = Address { socket: nginx.socket(), ..Address::of_port(nginx.port) };
                let listens = (at.socket.clone(), at.port);
                Ok(Self { at, words: "nginx".to_owned(), process: Process::Nginx(nginx), listens })
            }
            (None, Some(_)) => Self::start_own(case.tool),
            (None, None) => bail!("{} has no server", case.tool.name),
        }
    }

    fn start_private(kind: Kind, case: &Case, looptax: &Path) -> Result<Self> {
        // Twice the connections of both arms, because a pooler may still be closing the previous connections when the
        // next ones are opened.
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
        fill(&mut questions, &server.login, case.work, &at)?;
        let listens = (at.socket.clone(), at.port);
        let words = format!("{}, {ROWS} rows", server.name());
        let private = |front| Box::new(Private { server, questions, _front: front, n_asked: [0; 2] });
        if case.work != Work::PhpPage {
            return Ok(Self { at, words, process: Process::Private(private(None)), listens });
        }
        let nginx = Nginx::start(Some(&Upstream { at: &at, stays_open: !case.reconnects }))?;
        let at = Address::of_port(nginx.port);
        let process = Process::Private(private(Some(nginx)));
        Ok(Self { at, words: format!("{words}, behind nginx"), process, listens })
    }

    fn start_own(tool: &Tool) -> Result<Self> {
        let server = tool.server.context("the tool has no server")?;
        let port = free_port()?;
        let mut command = server(port);
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null());
        let process = Process::Own(Ours::start(quiet.stderr(Stdio::null()))?);
        let what = format!("the server of {} does not listen", tool.name);
        servers::wait_until(&what, || Ok(is_listening(port)))?;
        Ok(Self {
            at: Address::of_port(port),
            listens: (PathBuf::new(), port),
            words: format!("{} with its own server, looptax with its own", tool.name),
            process,
        })
    }

    /// Returns the address as `looptax watch` writes it.
    pub(crate) fn address(&self, arm: Arm) -> String {
        let (socket, port) = &self.listens;
        if arm == Arm::Tcp { format!("127.0.0.1:{port}") } else { socket.display().to_string() }
    }

    pub(crate) fn pid(&self) -> u32 {
        match &self.process {
            Process::Private(private) => private.server.pid,
            Process::Own(child) => child.0.id(),
            Process::Nginx(nginx) => nginx.pid(),
        }
    }

    /// Returns how many requests the server has answered since its start; `None` if the server does not count.
    pub(crate) fn answered(&mut self, work: Work) -> Result<Option<u64>> {
        match &mut self.process {
            // The pooler's backends live longer than clients, and add their counts only after a long idle time.
            Process::Private(_) if work == Work::PooledSelectOnly => Ok(None),
            Process::Private(private) => counter::answered(&mut private.questions, work).map(Some),
            Process::Own(_) | Process::Nginx(_) => Ok(None),
        }
    }

    /// Returns the server's own counts since its start, without our own questions.
    pub(crate) fn counts(&mut self, work: Work, arm: Arm) -> Result<Counts> {
        match &mut self.process {
            Process::Nginx(nginx) => nginx.counts(),
            Process::Private(private) => {
                if matches!(work, Work::PhpPage | Work::Cached) {
                    return private.counts_of(arm, &self.listens);
                }
                if work == Work::PooledSelectOnly {
                    return Ok(Counts::default());
                }
                let questions = &mut private.questions;
                let requests = counter::answered(questions, work)?;
                Ok(Counts { requests: Some(requests), opened: counter::opened(questions, work)? })
            }
            Process::Own(_) => Ok(Counts::default()),
        }
    }

    pub(crate) fn stop(self) -> Result<()> {
        match self.process {
            Process::Private(private) => private.server.stop(),
            Process::Own(_) | Process::Nginx(_) => Ok(()),
        }
    }
}

fn fill(questions: &mut Conversation, login: &Login, work: Work, at: &Address) -> Result<()> {
    match questions.protocol() {
        Protocol::Mysql => dataset::populate_mysql(|sql| questions.execute(sql), "", ROWS)?,
        Protocol::Redis => fill_redis(questions)?,
        Protocol::Http | Protocol::Fastcgi => {}
        Protocol::Memcached => {
            let pairs = [(own::KEY.to_owned(), vec![b'x'; dataset::KEY_VALUE_BYTES])];
            questions.store(&pairs)?;
            let tcp = Endpoint::Tcp((Ipv4Addr::LOCALHOST, at.port).into());
            Conversation::open(Protocol::Memcached, &tcp, login, Limits::default())?.store(&pairs)?;
        }
        _ if matches!(work, Work::SelectOnly | Work::PooledSelectOnly) => pgbench::fill(at)?,
        _ => bail!("the lab does not know how to fill the server"),
    }
    Ok(())
}

/// Stores the keys that redis-benchmark requests. On a server that looptax did not start, looptax requests its own
/// scratch keys, with the same length, number, value size and time to live.
fn fill_redis(questions: &mut Conversation) -> Result<()> {
    const PER_PIPELINE: usize = 1000;
    const KEY_TTL_S: &[u8] = b"3600";
    let value = vec![b'x'; dataset::KEY_VALUE_BYTES];
    // The keys begin at 0, as redis-benchmark draws them.
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
