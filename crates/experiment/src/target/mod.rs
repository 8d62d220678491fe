//! A target made ready: a private server started and filled, or a running one looked at.

pub(crate) mod counters;
pub(crate) mod load_limits;
mod room;
mod running;
mod scratch;
pub(crate) mod workloads;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use looptax_bench::{Distribution, KeyShare, KeySpace, ServerThreads};
use looptax_dsn::Arm;
use looptax_dsn::{Kind, Protocol};
use looptax_failure::Failure;
use looptax_path::host_of;
use looptax_path::{Conversation, Endpoint, Limits, Link, PathError, Sending, TlsClient, Workload};
use looptax_script::{Presets, ScriptSet};
use looptax_servers::{Config, Listening, PrivateServer, Reaper, echo};
use looptax_wire::Login;

use crate::arms::Machine;
use crate::arms::redirect::RedirectArm;
use crate::arms::ways::Ways;
use crate::script;
use crate::spec::Experiment;
use crate::spec::target::TargetSpec;
use scratch::Scratch;
use workloads::Place;

/// The address whose connections are spliced: of loopback, and nobody else's.
pub(crate) const SPLICED: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
/// Connections kept free for our own questions, beside the measured ones.
const SPARE_CONNECTIONS: u32 = 16;
/// Connections of the epoch before that a busy server may not have seen the end of yet, at most: they are many
/// only where the server also has room for many.
const MOST_CLOSING: u32 = 512;
/// Connections that whole commands may open on a private server, by half.
const MOST_OF_COMMANDS: u32 = 256;

/// Asks a person for the password of a server that is shown so; `None` where there is nobody to ask.
pub type AskPassword = fn(&str) -> Option<io::Result<String>>;

/// For runs in which nobody is there to be asked.
pub fn ask_nobody(_shown: &str) -> Option<io::Result<String>> {
    None
}

/// What it takes to start private servers.
pub struct Host {
    /// The program that private servers' helpers are started from.
    pub self_exe: PathBuf,
    /// Where scratch folders are made.
    pub scratch_root: PathBuf,
    /// What stops servers when this process is gone.
    pub reaper: Reaper,
    machine: Machine,
    ask: AskPassword,
}

impl Host {
    /// Finds ourselves, starts the reaper, and clears up after a crashed run.
    pub fn new(machine: Machine, ask: AskPassword) -> Result<Self, Failure> {
        let self_exe = std::env::current_exe()?;
        let scratch_root = std::env::temp_dir();
        looptax_servers::leftovers::sweep(&scratch_root);
        let reaper = Reaper::start(&self_exe)?;
        Ok(Self {
            self_exe,
            scratch_root,
            reaper,
            machine,
            ask,
        })
    }
}

/// A server that can be connected to.
pub struct Target {
    /// `mariadb`, `postgres` …
    pub(crate) kind: String,
    /// As the server says it.
    pub(crate) version: String,
    /// What the user calls it; without a password.
    pub(crate) name: String,
    pub(crate) protocol: Protocol,
    pub(crate) login: Login,
    /// What is asked of it.
    pub(crate) workload: Workload,
    pub(crate) sending: Sending,
    pub(crate) distribution: Distribution,
    /// Requests of one connection, where it is then opened anew.
    pub(crate) reconnect_every: Option<u32>,
    /// A user's own transaction, in the workload's place.
    pub(crate) script: Option<Script>,
    pub(crate) n_keys: u64,
    /// How it serves connections.
    pub(crate) threads: ServerThreads,
    /// The server's processes, where known; several where each arm has its own.
    pub(crate) pids: Vec<u32>,
    pub(crate) settings: Vec<(String, String)>,
    /// Whether it offers TLS on the port of `tcp`, where it tells.
    pub(crate) offers_tls: Option<bool>,
    /// Others use it: they are watched, and measuring stops when they suffer.
    pub(crate) has_load_limits: bool,
    /// One, or those of the processes that serve the arm.
    sockets: Vec<PathBuf>,
    /// As `sockets`.
    addresses: Vec<SocketAddr>,
    /// Where TLS is spoken, if it is.
    tls_addresses: Vec<SocketAddr>,
    /// Abstract sockets, without the zero byte before their names.
    abstract_names: Vec<Vec<u8>>,
    pub(crate) ways: Ways,
    private: Option<PrivateServer>,
    /// With the connection that made it: a full server takes no new one to clear up by.
    scratch: Option<(Scratch, Conversation)>,
}

impl Target {
    /// Starts or finds the server and makes the workload's data ready.
    pub fn open(
        spec: &TargetSpec,
        arms: &[Arm],
        settings: &Experiment,
        host: &Host,
    ) -> Result<Self, Failure> {
        let mut target = match spec {
            TargetSpec::Private(kind) => Self::start(*kind, arms, settings, host),
            TargetSpec::Running(spec) => running::open(spec, arms, settings, host.ask),
        }?;
        if let Some(supervisor) = host
            .machine
            .supervisor()
            .filter(|_| arms.contains(&Arm::Redirect))
        {
            let arms = [Arm::Redirect, Arm::Unix].map(|arm| target.endpoints(arm));
            let [from, to] = arms;
            let pairs = from?.into_iter().zip(to?);
            let redirect = RedirectArm::start(supervisor, pairs.map(Into::into))?;
            target.ways.add_redirect(redirect);
        }
        if settings.is_from_namespace
            && let Some(folder) = target
                .sockets
                .first()
                .and_then(|it| it.parent().map(Path::to_owned))
        {
            target.ways.add_sidecar(&folder)?;
        }
        if arms.contains(&Arm::Sockmap) {
            let addresses = target.addresses.iter();
            let spliced = addresses.map(|it| SocketAddr::new(SPLICED.into(), it.port()));
            target.ways.splice(&host.machine, spliced)?;
        }
        Ok(target)
    }

    fn start(
        kind: Kind,
        arms: &[Arm],
        settings: &Experiment,
        host: &Host,
    ) -> Result<Self, Failure> {
        let most = match &settings.exec {
            Some(_) => MOST_OF_COMMANDS,
            None => connections(settings, true).into_iter().max().unwrap_or(1),
        };
        let config = Config {
            kind,
            self_exe: host.self_exe.clone(),
            scratch_root: host.scratch_root.clone(),
            max_connections: 2 * most + (2 * most).min(MOST_CLOSING) + SPARE_CONNECTIONS,
            rows: settings.rows,
            listening: listening(arms),
        };
        let workload = private_workload(kind, settings)?;
        room::check(
            &workload,
            &settings.requests,
            settings.rows,
            &host.scratch_root,
        )?;
        let mut server = PrivateServer::start(&config, &host.reaper)?;
        let mut ways = Ways::to_container(arms, &host.machine, &mut server, &host.self_exe)?;
        let authority = server.authority.as_deref();
        let trusted = authority.map(TlsClient::trusting).transpose();
        ways.tls = trusted.map_err(Failure::new)?;
        let all = || server.instances.iter();
        let mut target = Self {
            kind: kind.name().to_owned(),
            version: server.version.clone(),
            name: if kind == Kind::Echo {
                "echo".to_owned()
            } else {
                format!("private:{kind}")
            },
            protocol: server.protocol,
            login: server.login.clone(),
            workload,
            sending: sending(settings),
            distribution: settings.requests.distribution,
            reconnect_every: settings.requests.reconnect_every,
            script: Script::read(server.protocol, settings)?,
            n_keys: u64::from(settings.rows),
            threads: if has_one_thread(&server) {
                ServerThreads::Single
            } else {
                threads_of(server.protocol)
            },
            pids: server.instances.iter().map(|it| it.pid).collect(),
            settings: server.settings.clone(),
            offers_tls: None,
            has_load_limits: false,
            sockets: all().filter_map(|it| it.socket.clone()).collect(),
            addresses: all().filter_map(|it| it.tcp).collect(),
            tls_addresses: all().filter_map(|it| it.tls).collect(),
            abstract_names: all().filter_map(|it| it.abstract_name.clone()).collect(),
            ways,
            private: Some(server),
            scratch: None,
        };
        target.fill(settings)?;
        Ok(target)
    }

    fn fill(&mut self, settings: &Experiment) -> Result<(), Failure> {
        let limits = Limits {
            io: fill_limit(settings.rows),
            ..Limits::default()
        };
        for mut conversation in self.converse_with_each(limits)? {
            self.offers_tls = conversation.offers_tls();
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
    pub fn keys(&self) -> KeySpace {
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
    pub fn endpoints(&self, arm: Arm) -> Result<Vec<Endpoint>, PathError> {
        let ports = self.addresses.iter().map(SocketAddr::port);
        let on = |address: IpAddr| {
            let ports = ports.clone();
            ports
                .map(|port| Endpoint::Tcp(SocketAddr::new(address, port)))
                .collect()
        };
        let at = |addresses: &[SocketAddr]| addresses.iter().copied().map(Endpoint::Tcp).collect();
        Ok(match arm {
            Arm::Unix | Arm::TlsUnix => {
                let paths = self.sockets.iter();
                return paths.map(|it| Endpoint::unix(it)).collect();
            }
            Arm::Abstract => {
                let names = self.abstract_names.iter().cloned();
                names.map(Endpoint::Abstract).collect()
            }
            Arm::Tcp | Arm::Redirect => at(&self.addresses),
            Arm::Tls => at(&self.tls_addresses),
            Arm::Tcp6 => on(Ipv6Addr::LOCALHOST.into()),
            Arm::Bridge => on(looptax_path::Host::Plain.container_address().into()),
            Arm::Nat => on(looptax_path::Host::Nat.address().into()),
            // On the loopback of the host that the proxy is on.
            Arm::Proxy => on(Ipv4Addr::LOCALHOST.into()),
            Arm::Sockmap => on(SPLICED.into()),
        })
    }

    /// Whether requests open and close their own connections.
    pub fn opens_within_requests(&self) -> bool {
        self.workload == Workload::Connect || self.reconnect_every.is_some()
    }

    /// Where an arm leads, or its first process.
    pub fn endpoint(&self, arm: Arm) -> Result<Endpoint, PathError> {
        Ok(self.endpoints(arm)?.swap_remove(0))
    }

    /// The server's process, where it is known and the only one.
    pub fn pid(&self) -> Option<u32> {
        match self.pids[..] {
            [pid] => Some(pid),
            _ => None,
        }
    }

    /// Processes that serve each arm and no other; `None` where one server is behind all arms.
    pub fn processes_per_arm(&self) -> Option<usize> {
        (self.pids.len() > 1).then_some(self.sockets.len())
    }

    /// A connection for questions.
    pub fn converse(&self, arm: Arm) -> Result<Conversation, PathError> {
        self.converse_at(arm, &self.endpoint(arm)?, Limits::default())
    }

    /// A connection for questions to each process that holds data of its own.
    pub fn converse_with_each(&self, limits: Limits) -> Result<Vec<Conversation>, PathError> {
        let converse_on = |arm| {
            let endpoints = self.endpoints(arm)?.into_iter();
            let conversations = endpoints.map(|endpoint| self.converse_at(arm, &endpoint, limits));
            conversations.collect::<Result<Vec<_>, PathError>>()
        };
        let mut conversations = converse_on(Arm::Unix)?;
        if self.processes_per_arm().is_some() {
            conversations.extend(converse_on(Arm::Tcp)?);
        }
        Ok(conversations)
    }

    /// A connection of this process to one of an arm's endpoints, as the workload needs it.
    fn converse_at(
        &self,
        arm: Arm,
        endpoint: &Endpoint,
        limits: Limits,
    ) -> Result<Conversation, PathError> {
        self.converse_over(arm, Link::open(endpoint, limits)?, limits)
    }

    /// The same over a connection that is open already.
    pub fn converse_over(
        &self,
        arm: Arm,
        link: Link,
        limits: Limits,
    ) -> Result<Conversation, PathError> {
        match (&self.workload, self.ways.tls(arm)) {
            (Workload::Echo(echo), _) => Conversation::echo_over(link, echo, limits),
            (_, None) => Conversation::over(link, self.protocol, &self.login, limits),
            (_, Some(tls)) => Conversation::over_tls(link, self.protocol, &self.login, tls, limits),
        }
    }

    /// Whether we started it.
    pub fn is_private(&self) -> bool {
        self.private.is_some()
    }

    /// How the private server ended, if it did, with the end of its log.
    pub fn has_exited(&mut self) -> Option<String> {
        self.private.as_mut()?.has_exited()
    }

    /// Drops what we wrote, stops what we started.
    pub fn close(mut self) -> Result<(), Failure> {
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

/// Where a private server has to listen for these arms.
fn listening(arms: &[Arm]) -> Listening {
    let address = |arm: &Arm| -> Option<IpAddr> {
        match arm {
            Arm::Tcp6 => Some(Ipv6Addr::LOCALHOST.into()),
            Arm::Sockmap => Some(SPLICED.into()),
            _ => Some(host_of(*arm)?.container_address().into()),
        }
    };
    let mut addresses: Vec<IpAddr> = arms.iter().filter_map(address).collect();
    addresses.sort();
    addresses.dedup();
    Listening {
        addresses,
        has_tls: arms.iter().any(|arm| arm.is_tls()),
        has_abstract: arms.contains(&Arm::Abstract),
    }
}

/// Longest wait for one statement that fills a private server. An index over all rows is one; of ten
/// million it took over 10 s on 2 cores, and a slow disk may need many times that.
fn fill_limit(n_rows: u32) -> Duration {
    const PER_ROW: Duration = Duration::from_micros(100);
    Limits::default().io + PER_ROW * n_rows
}

fn sending(settings: &Experiment) -> Sending {
    Sending {
        sent: settings.requests.sent,
        pipeline: settings.requests.pipeline as usize,
    }
}

/// A user's own transaction with what its variables start from.
pub(crate) struct Script {
    pub set: Arc<ScriptSet>,
    scale: u32,
    seed: u64,
}

impl Script {
    fn read(protocol: Protocol, settings: &Experiment) -> Result<Option<Self>, Failure> {
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
pub(crate) fn connections(settings: &Experiment, is_private: bool) -> Vec<u32> {
    let is_one = !is_private || settings.requests.are_dumps();
    let default = if is_one { vec![1] } else { vec![1, 16] };
    settings.connections.clone().unwrap_or(default)
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
pub(crate) fn private_workload(kind: Kind, settings: &Experiment) -> Result<Workload, Failure> {
    let protocol = looptax_servers::protocol_of(kind)?;
    script::read(protocol, &settings.requests)?;
    let place = Place::private(settings.rows);
    workloads::make(protocol, &settings.requests, &place)
}
