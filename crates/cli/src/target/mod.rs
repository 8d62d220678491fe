//! A target made ready: a private server started and filled, or a running one looked at.

pub(crate) mod care;
pub(crate) mod counters;
mod room;
mod running;
mod scratch;
pub(crate) mod workloads;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use looptax_bench::{Distribution, KeyShare, KeySpace, ServerThreads};
use looptax_path::{
    Arm, Conversation, Endpoint, Limits, Link, PathError, Protocol, Sending, Workload,
};
use looptax_redirect::Beside;
use looptax_script::{Presets, ScriptSet};
use looptax_servers::{Config, Kind, PrivateServer, Reaper, echo};
use looptax_wire::Login;

use crate::failure::Failure;
use crate::redirect_arm::RedirectArm;
use crate::script;
use crate::settings::Compare;
use crate::settings::target::TargetSpec;
use scratch::Scratch;
use workloads::Place;

/// Connections kept free for our own questions, beside the measured ones.
const SPARE_CONNECTIONS: u32 = 16;
/// Connections that whole commands may open on a private server, by half.
const MOST_OF_COMMANDS: u32 = 256;

/// What it takes to start private servers.
pub(crate) struct Host {
    pub(crate) self_exe: PathBuf,
    pub(crate) scratch_root: PathBuf,
    pub(crate) reaper: Reaper,
    /// Where the arm `redirect` takes part.
    supervisor: Option<Arc<Beside>>,
}

impl Host {
    /// Finds ourselves, starts the reaper, and clears up after a crashed run.
    pub(crate) fn new(supervisor: Option<Arc<Beside>>) -> Result<Self, Failure> {
        let self_exe = std::env::current_exe()?;
        let scratch_root = std::env::temp_dir();
        looptax_servers::leftovers::sweep(&scratch_root);
        let reaper = Reaper::start(&self_exe)?;
        Ok(Self {
            self_exe,
            scratch_root,
            reaper,
            supervisor,
        })
    }
}

/// A server that can be connected to.
pub(crate) struct Target {
    /// `mariadb`, `postgres` …
    pub(crate) kind: String,
    pub(crate) version: String,
    /// What the user calls it; without a password.
    pub(crate) name: String,
    pub(crate) protocol: Protocol,
    pub(crate) login: Login,
    pub(crate) workload: Workload,
    pub(crate) sending: Sending,
    pub(crate) distribution: Distribution,
    /// Requests of one connection, where it is then opened anew.
    pub(crate) reconnect_every: Option<u32>,
    /// A user's own transaction, in the workload's place.
    pub(crate) script: Option<Script>,
    pub(crate) n_keys: u64,
    pub(crate) threads: ServerThreads,
    /// The server's processes, where known; several where each arm has its own.
    pub(crate) pids: Vec<u32>,
    pub(crate) settings: Vec<(String, String)>,
    /// Others use it: watch them, and stop when they suffer.
    pub(crate) is_cared_for: bool,
    /// One, or those of the processes that serve the arm.
    sockets: Vec<PathBuf>,
    /// As `sockets`.
    addresses: Vec<SocketAddr>,
    /// Where that arm takes part.
    pub(crate) redirect: Option<Arc<RedirectArm>>,
    private: Option<PrivateServer>,
    /// With the connection that made it: a full server takes no new one to clear up by.
    scratch: Option<(Scratch, Conversation)>,
}

impl Target {
    /// Starts or finds the server and makes the workload's data ready.
    pub(crate) fn open(
        spec: &TargetSpec,
        settings: &Compare,
        host: &Host,
    ) -> Result<Self, Failure> {
        let mut target = match spec {
            TargetSpec::Private(kind) => Self::start(*kind, settings, host),
            TargetSpec::Running(spec) => running::open(spec, settings),
        }?;
        if let Some(supervisor) = &host.supervisor {
            let arms = [Arm::Redirect, Arm::Unix].map(|arm| target.endpoints(arm));
            let [from, to] = arms;
            let pairs = from?.into_iter().zip(to?);
            let arm = RedirectArm::start(supervisor, pairs.map(Into::into))?;
            target.redirect = Some(Arc::new(arm));
        }
        Ok(target)
    }

    fn start(kind: Kind, settings: &Compare, host: &Host) -> Result<Self, Failure> {
        let most = match &settings.exec {
            Some(_) => MOST_OF_COMMANDS,
            None => connections(settings, true).into_iter().max().unwrap_or(1),
        };
        let config = Config {
            kind,
            self_exe: host.self_exe.clone(),
            scratch_root: host.scratch_root.clone(),
            max_connections: 2 * most + SPARE_CONNECTIONS,
            rows: settings.rows,
            listening: looptax_servers::Listening::default(),
        };
        let workload = private_workload(kind, settings)?;
        room::check(
            &workload,
            &settings.requests,
            settings.rows,
            &host.scratch_root,
        )?;
        let server = PrivateServer::start(&config, &host.reaper)?;
        let target = Self {
            kind: kind.name().to_owned(),
            version: server.version.clone(),
            name: if kind == Kind::Echo {
                "echo".to_owned()
            } else {
                format!("private:{kind}")
            },
            protocol: protocol_of(kind),
            login: server.login.clone(),
            workload,
            sending: sending(settings),
            distribution: settings.requests.distribution,
            reconnect_every: settings.requests.reconnect_every,
            script: Script::read(protocol_of(kind), settings)?,
            n_keys: u64::from(settings.rows),
            threads: if has_one_thread(&server) {
                ServerThreads::Single
            } else {
                threads_of(protocol_of(kind))
            },
            pids: server.instances.iter().map(|it| it.pid).collect(),
            settings: server.settings.clone(),
            is_cared_for: false,
            sockets: server
                .instances
                .iter()
                .filter_map(|it| it.socket.clone())
                .collect(),
            addresses: server.instances.iter().filter_map(|it| it.tcp).collect(),
            redirect: None,
            private: Some(server),
            scratch: None,
        };
        target.fill(settings)?;
        Ok(target)
    }

    fn fill(&self, settings: &Compare) -> Result<(), Failure> {
        let limits = Limits {
            io: fill_limit(settings.rows),
            ..Limits::default()
        };
        for mut conversation in self.converse_with_each(limits)? {
            workloads::fill(
                &self.workload,
                &mut conversation,
                &settings.requests,
                settings.rows,
            )?;
        }
        Ok(())
    }

    /// The keys that requests ask for: writers keep out of one another's way.
    pub(crate) fn keys(&self) -> KeySpace {
        KeySpace {
            n: self.n_keys,
            share: if self.workload.writes() {
                KeyShare::Own
            } else {
                KeyShare::All
            },
            distribution: self.distribution,
        }
    }

    /// Where an arm leads: to one place, or to one for each process that serves it.
    pub(crate) fn endpoints(&self, arm: Arm) -> Result<Vec<Endpoint>, PathError> {
        match arm {
            Arm::Unix => self.sockets.iter().map(|it| Endpoint::unix(it)).collect(),
            Arm::Tcp | Arm::Redirect => {
                Ok(self.addresses.iter().copied().map(Endpoint::Tcp).collect())
            }
        }
    }

    /// Where an arm leads, or its first process.
    pub(crate) fn endpoint(&self, arm: Arm) -> Result<Endpoint, PathError> {
        Ok(self.endpoints(arm)?.swap_remove(0))
    }

    /// The server's process, where it is known and the only one.
    pub(crate) fn pid(&self) -> Option<u32> {
        match self.pids[..] {
            [pid] => Some(pid),
            _ => None,
        }
    }

    /// Processes that serve each arm and no other; `None` where one server is behind all arms.
    pub(crate) fn processes_per_arm(&self) -> Option<usize> {
        (self.pids.len() > 1).then_some(self.sockets.len())
    }

    /// A connection for questions.
    pub(crate) fn converse(&self, arm: Arm) -> Result<Conversation, PathError> {
        self.talk_to(&self.endpoint(arm)?, Limits::default())
    }

    /// A connection for questions to each process that holds data of its own.
    pub(crate) fn converse_with_each(
        &self,
        limits: Limits,
    ) -> Result<Vec<Conversation>, PathError> {
        let mut endpoints = self.endpoints(Arm::Unix)?;
        if self.processes_per_arm().is_some() {
            endpoints.extend(self.endpoints(Arm::Tcp)?);
        }
        let talk = |endpoint| self.talk_to(endpoint, limits);
        endpoints.iter().map(talk).collect()
    }

    /// A connection to one of our endpoints, as the workload needs it.
    pub(crate) fn talk_to(
        &self,
        endpoint: &Endpoint,
        limits: Limits,
    ) -> Result<Conversation, PathError> {
        self.talk_over(Link::open(endpoint, limits)?, limits)
    }

    /// The same over a connection that is open already.
    pub(crate) fn talk_over(&self, link: Link, limits: Limits) -> Result<Conversation, PathError> {
        match &self.workload {
            Workload::Echo(echo) => Conversation::echo_over(link, echo, limits),
            _ => Conversation::over(link, self.protocol, &self.login, limits),
        }
    }

    /// Whether we started it.
    pub(crate) fn is_private(&self) -> bool {
        self.private.is_some()
    }

    /// How the private server ended, if it did, with the end of its log.
    pub(crate) fn has_exited(&mut self) -> Option<String> {
        self.private.as_mut()?.has_exited()
    }

    /// Drops what we wrote, stops what we started.
    pub(crate) fn close(mut self) -> Result<(), Failure> {
        if let Some((scratch, mut keeper)) = self.scratch.take()
            && scratch.drop_from(&mut keeper).is_err()
        {
            // The server may have closed a connection that said nothing for so long.
            scratch.drop_from(&mut self.converse(Arm::Unix)?)?;
        }
        if let Some(server) = self.private.take() {
            server.stop()?;
        }
        Ok(())
    }
}

/// Longest wait for one statement that fills a private server. An index over all rows is one; of ten
/// million it took over 10 s on 2 cores, and a slow disk may need many times that.
fn fill_limit(n_rows: u32) -> Duration {
    const PER_ROW: Duration = Duration::from_micros(100);
    Limits::default().io + PER_ROW * n_rows
}

fn sending(settings: &Compare) -> Sending {
    Sending {
        sent: settings.requests.sent,
        pipeline: settings.requests.pipeline as usize,
    }
}

/// A user's own transaction with what its variables start from.
pub(crate) struct Script {
    pub(crate) set: Arc<ScriptSet>,
    scale: u32,
    seed: u64,
}

impl Script {
    fn read(protocol: Protocol, settings: &Compare) -> Result<Option<Self>, Failure> {
        let set = script::read(protocol, &settings.requests)?;
        Ok(set.map(|set| Self {
            set,
            scale: workloads::scale(settings.rows),
            seed: settings.seed,
        }))
    }

    /// For the connection with this number.
    pub(crate) fn presets(&self, client_id: usize) -> Presets {
        Presets {
            client_id: i64::try_from(client_id).unwrap_or(i64::MAX),
            scale: i64::from(self.scale),
            random_seed: self.seed.cast_signed(),
            default_seed: self.seed.cast_signed(),
        }
    }
}

/// The numbers of connections to compare at.
pub(crate) fn connections(settings: &Compare, is_private: bool) -> Vec<u32> {
    let is_one = !is_private || settings.requests.are_dumps();
    let default = if is_one { vec![1] } else { vec![1, 16] };
    settings.connections.clone().unwrap_or(default)
}

pub(crate) fn protocol_of(kind: Kind) -> Protocol {
    match kind {
        Kind::Mariadb | Kind::Mysql => Protocol::Mysql,
        Kind::Postgres => Protocol::Postgres,
        Kind::Redis | Kind::Valkey => Protocol::Redis,
        Kind::Memcached => Protocol::Memcached,
        Kind::Echo => Protocol::Echo,
    }
}

/// Whether it said so itself: the echo server with very many connections.
fn has_one_thread(server: &PrivateServer) -> bool {
    let (name, value) = echo::ONE_THREAD;
    let mut settings = server.settings.iter();
    settings.any(|it| it.0 == name && it.1 == value)
}

fn threads_of(protocol: Protocol) -> ServerThreads {
    match protocol {
        Protocol::Redis | Protocol::Memcached => ServerThreads::Single,
        Protocol::Mysql | Protocol::Postgres | Protocol::Echo => ServerThreads::PerConnection,
    }
}

/// What a private server of this kind is asked.
///
/// # Errors
/// A usage failure when it cannot be asked that.
pub(crate) fn private_workload(kind: Kind, settings: &Compare) -> Result<Workload, Failure> {
    script::read(protocol_of(kind), &settings.requests)?;
    let place = Place::private(settings.rows);
    workloads::make(protocol_of(kind), &settings.requests, &place)
}
