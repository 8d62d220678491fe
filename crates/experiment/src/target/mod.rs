//! A target that is ready to be measured: a private server that was started and filled, or a running server that was
//! inspected.

pub(crate) mod counters;
mod host;
pub(crate) mod load_limits;
mod open;
mod private;
mod room;
mod running;
mod scratch;
mod socket;
pub(crate) mod workloads;

use std::borrow::Cow;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use crate::servers::pooler::of_hop;
use crate::servers::publish::PASTA_LISTENS;
use crate::servers::{PrivateServer, Reaper};
use looptax_bench::path::{Conversation, Endpoint, Limits, Link, PathError, Sending, Workload};
use looptax_bench::script::{Presets, ScriptSet};
use looptax_bench::{Distribution, KeyShare, KeySpace, ServerThreads};
use looptax_model::dsn::Arm;
use looptax_model::dsn::{Kind, Protocol};
use looptax_model::failure::Failure;
use looptax_model::record::Meetings;
use looptax_wire::Login;

use crate::arms::target_arms::TargetArms;
use crate::observer::Doer;
use crate::script;
use crate::spec::Experiment;
pub use host::{AskPassword, Host, ask_nobody};
use scratch::Scratch;
use workloads::Place;

/// A server to which looptax can connect.
pub struct Target {
    /// The kind of server: `mariadb`, `postgres` …
    pub(crate) kind: String,
    pub(crate) version: String,
    /// The target as the user typed it, without a password.
    pub(crate) name: String,
    pub(crate) protocol: Protocol,
    pub(crate) login: Login,
    pub(crate) workload: Workload,
    pub(crate) sending: Sending,
    pub(crate) distribution: Distribution,
    /// Number of requests after which a connection is opened again; `None` if it stays open.
    pub(crate) reconnect_every: Option<u32>,
    /// The user's own transaction, instead of a workload.
    pub(crate) script: Option<Script>,
    pub(crate) n_keys: u64,
    pub(crate) threads: ServerThreads,
    /// The server's processes, if they are known; several if each arm has its own process.
    pub(crate) pids: Vec<u32>,
    pub(crate) settings: Vec<(String, String)>,
    /// Whether the server offers TLS on the port of `tcp`; `None` if the server does not report it.
    pub(crate) offers_tls: Option<bool>,
    /// Whether connections pass through a pooler.
    pub(crate) is_pooled: bool,
    /// On which cores the server's own clients were observed.
    pub(crate) meetings: Option<Meetings>,
    /// The database name with which the pooler connects to the server over TCP; `None` if the transport does not depend
    /// on the name.
    over_tcp: Option<&'static str>,
    /// The name of the pooler's own database, which reports the pooler's counts.
    console: Option<&'static str>,
    /// Whether other clients use the server. If so, looptax stops measuring when these clients are disturbed.
    pub(crate) has_load_limits: bool,
    /// The reaper. If looptax is killed, the reaper gives the pinned threads of a running server their former cores
    /// back.
    pub(crate) reaper: Option<Reaper>,
    /// The sockets of the server's processes: one socket if one server serves all arms.
    sockets: Vec<PathBuf>,
    /// The TCP addresses of the server's processes.
    addresses: Vec<SocketAddr>,
    /// The addresses for TLS, if the server has TLS.
    tls_addresses: Vec<SocketAddr>,
    /// The names of abstract sockets, without the zero byte before the name.
    abstract_names: Vec<Vec<u8>>,
    /// The addresses of PHP-FPM's pools: each address has its own pool of processes.
    pub(crate) pools: Vec<Endpoint>,
    pub(crate) arms: TargetArms,
    /// The arms over which looptax sends its own queries, as `[socket, TCP]`. If the account requires TLS, these are
    /// arms with TLS.
    pub(crate) asks: [Arm; 2],
    private: Option<PrivateServer>,
    /// The scratch objects, and the connection that made them. The connection is kept to remove the objects, because a
    /// full server would accept no new connection.
    scratch: Option<(Scratch, Conversation)>,
}

impl Target {
    /// Returns the keys of the requests. If the workload writes, each connection has its own keys.
    pub fn keys(&self) -> KeySpace {
        KeySpace {
            n: self.n_keys,
            share: if self.workload.writes() { KeyShare::Own } else { KeyShare::All },
            distribution: self.distribution,
        }
    }

    /// Returns the endpoints of an arm, one for each process that serves the arm.
    pub fn endpoints(&self, arm: Arm) -> Result<Vec<Endpoint>, PathError> {
        let ports = self.addresses.iter().map(SocketAddr::port);
        let on = |address: IpAddr| {
            let ports = ports.clone();
            ports.map(|port| Endpoint::Tcp(SocketAddr::new(address, port))).collect()
        };
        let at = |addresses: &[SocketAddr]| addresses.iter().copied().map(Endpoint::Tcp).collect();
        Ok(match arm {
            Arm::Unix | Arm::TlsUnix | Arm::UnixUnix | Arm::UnixTcp => {
                let paths = of_hop(arm, &self.sockets).iter();
                return paths.map(|it| Endpoint::unix(it)).collect();
            }
            Arm::Abstract => {
                let names = self.abstract_names.iter().cloned();
                names.map(Endpoint::Abstract).collect()
            }
            Arm::Tcp | Arm::Redirect | Arm::TcpUnix | Arm::TcpTcp => at(of_hop(arm, &self.addresses)),
            Arm::Tls => at(&self.tls_addresses),
            Arm::Tcp6 => on(Ipv6Addr::LOCALHOST.into()),
            Arm::Bridge => on(looptax_bench::path::Host::Plain.container_address().into()),
            Arm::Nat => on(looptax_bench::path::Host::Nat.address().into()),
            // The proxies listen on loopback addresses of the host's namespace.
            Arm::Proxy => on(Ipv4Addr::LOCALHOST.into()),
            Arm::Pasta => on(PASTA_LISTENS.into()),
        })
    }

    /// Whether requests open and close their own connections.
    pub fn opens_within_requests(&self) -> bool {
        self.workload == Workload::Connect || self.reconnect_every.is_some()
    }

    /// Returns the endpoint of an arm; if several processes serve the arm, the endpoint of the first process.
    pub fn endpoint(&self, arm: Arm) -> Result<Endpoint, PathError> {
        Ok(self.endpoints(arm)?.swap_remove(0))
    }

    /// Returns the server's process, if it is known and there is only one.
    pub fn pid(&self) -> Option<u32> {
        match self.pids[..] {
            [pid] => Some(pid),
            _ => None,
        }
    }

    /// Returns the processes that a private server has started before clients connect, and that may serve any client.
    pub(crate) fn standing_pids(&self) -> Vec<u32> {
        match (self.protocol, self.pid()) {
            (Protocol::Fastcgi, Some(pid)) if self.is_private() => looptax_host::processes::children(pid),
            _ => Vec::new(),
        }
    }

    /// Returns the processes that take part in a request over one of these arms, except looptax itself.
    pub(crate) fn processes(&self, arms: &[Arm]) -> Vec<(Doer, u32)> {
        let servers = self.pids.iter().map(|pid| (Doer::Server, *pid));
        let helpers = arms.iter().filter_map(|arm| {
            let doer = match arm {
                Arm::Redirect => Doer::Supervisor,
                Arm::Proxy | Arm::Pasta => Doer::Proxy,
                _ => Doer::Pooler,
            };
            Some((doer, self.arms.helper(*arm)?.pid))
        });
        servers.chain(helpers).collect()
    }

    /// Returns the number of processes per arm, if the arms have separate processes. `None` if one server serves all
    /// arms.
    pub fn processes_per_arm(&self) -> Option<usize> {
        (self.pids.len() > 1).then_some(self.sockets.len())
    }

    pub fn converse(&self, arm: Arm) -> Result<Conversation, PathError> {
        self.converse_at(arm, &self.endpoint(arm)?, Limits::default())
    }

    /// Whether a pooler counts the queries that it passes on.
    pub(crate) fn has_console(&self) -> bool {
        self.console.is_some()
    }

    /// Opens a connection to the pooler itself.
    pub(crate) fn console(&self) -> Option<Conversation> {
        let login = Login { database: Some(self.console?.to_owned()), ..self.login.clone() };
        let link = Link::open(&self.endpoint(Arm::UnixUnix).ok()?, Limits::default()).ok()?;
        Conversation::over(link, self.protocol, &login, Limits::default()).ok()
    }

    /// Opens a connection to one pool, for looptax's own queries.
    pub(crate) fn ask(&self, pool: &Endpoint) -> Option<Conversation> {
        self.converse_at(Arm::Unix, pool, Limits::default()).ok()
    }

    /// Opens connections for looptax's own queries, one to each server process that holds its own data.
    pub fn converse_with_each(&self, limits: Limits) -> Result<Vec<Conversation>, PathError> {
        let converse_on = |arm| {
            let endpoints = self.endpoints(arm)?.into_iter();
            let conversations = endpoints.map(|endpoint| self.converse_at(arm, &endpoint, limits));
            conversations.collect::<Result<Vec<_>, PathError>>()
        };
        let [over_socket, over_tcp] = self.asks;
        let mut conversations = converse_on(over_socket)?;
        if self.processes_per_arm().is_some() {
            conversations.extend(converse_on(over_tcp)?);
        }
        Ok(conversations)
    }

    /// Opens a connection from this process to an arm's endpoint, and logs in as the workload requires.
    fn converse_at(&self, arm: Arm, endpoint: &Endpoint, limits: Limits) -> Result<Conversation, PathError> {
        self.converse_over(arm, Link::open(endpoint, limits)?, limits)
    }

    /// Logs in over an open connection of this arm, as the workload requires.
    pub fn converse_over(&self, arm: Arm, link: Link, limits: Limits) -> Result<Conversation, PathError> {
        match (&self.workload, self.arms.tls(arm)) {
            (Workload::Echo(echo), _) => Conversation::echo_over(link, echo, limits),
            (_, None) => Conversation::over(link, self.protocol, &self.login_of(arm), limits),
            (_, Some(tls)) => Conversation::over_tls(link, self.protocol, &self.login, tls, limits),
        }
    }

    /// Returns the login of an arm. Behind a pooler, the database name in the login selects the transport of the second
    /// hop.
    pub(crate) fn login_of(&self, arm: Arm) -> Cow<'_, Login> {
        match self.over_tcp {
            Some(database) if arm.second_hop() == Some(Arm::Tcp) => {
                Cow::Owned(Login { database: Some(database.to_owned()), ..self.login.clone() })
            }
            _ => Cow::Borrowed(&self.login),
        }
    }

    pub fn is_private(&self) -> bool {
        self.private.is_some()
    }

    /// Returns how the private server has ended, with the end of its log; `None` if it is still running.
    pub fn has_exited(&mut self) -> Option<String> {
        self.private.as_mut()?.has_exited()
    }

    /// Removes the data that looptax wrote, and stops the servers that it started.
    pub fn close(mut self) -> Result<(), Failure> {
        // After Ctrl-C, all other waits have ended, but the clean-up still has to wait for replies.
        looptax_host::waiting::allow_again();
        if let Some((scratch, mut keeper)) = self.scratch.take()
            && scratch.drop_from(&mut keeper).is_err()
        {
            // The server may have closed this connection because it was idle during the measurement.
            scratch.drop_from(&mut self.converse(self.asks[0])?)?;
        }
        if let Some(server) = self.private.take() {
            server.stop()?;
        }
        Ok(())
    }
}

fn sending(settings: &Experiment) -> Sending {
    Sending {
        sent: settings.requests.sent,
        pipeline: settings.requests.pipeline as usize,
        is_last: settings.requests.reconnect_every == Some(1),
    }
}

/// The user's own transaction, with the initial values of its variables.
pub(crate) struct Script {
    pub set: Arc<ScriptSet>,
    scale: u32,
    seed: u64,
}

impl Script {
    fn read(protocol: Protocol, settings: &Experiment) -> Result<Option<Self>, Failure> {
        let set = script::read(protocol, &settings.requests)?;
        Ok(set.map(|set| Self { set, scale: workloads::scale(settings.rows), seed: settings.seed }))
    }

    /// Returns the initial values for the connection with this number.
    pub(crate) fn presets(&self, client_id: usize) -> Presets {
        Presets {
            client_id: i64::try_from(client_id).unwrap_or(i64::MAX),
            scale: i64::from(self.scale),
            random_seed: self.seed.cast_signed(),
            default_seed: self.seed.cast_signed(),
        }
    }
}

/// Returns the numbers of connections to compare.
pub(crate) fn connections(settings: &Experiment, is_private: bool) -> Vec<u32> {
    let is_one = !is_private || settings.requests.are_dumps();
    let default = if is_one { vec![1] } else { vec![1, 16] };
    settings.connections.clone().unwrap_or(default)
}

fn threads_of(protocol: Protocol) -> ServerThreads {
    match protocol {
        Protocol::Redis | Protocol::Memcached => ServerThreads::Single,
        // MongoDB has a thread for each connection, but does not report which thread.
        Protocol::Mongodb => ServerThreads::Any,
        Protocol::Mysql | Protocol::Postgres | Protocol::Fastcgi | Protocol::Http | Protocol::Echo => {
            ServerThreads::PerConnection
        }
    }
}

/// Returns the workload of a private server of this kind.
///
/// # Errors
/// A usage failure if a server of this kind does not have the workload.
pub(crate) fn private_workload(kind: Kind, settings: &Experiment) -> Result<Workload, Failure> {
    let protocol = crate::servers::protocol_of(kind)?;
    script::read(protocol, &settings.requests)?;
    let place = Place::private(settings.rows);
    workloads::make(protocol, &settings.requests, &place)
}
