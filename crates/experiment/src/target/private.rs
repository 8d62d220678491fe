//! Starts a private server for the requested arms, and fills it.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use crate::servers::pooler::{self, PoolMode};
use crate::servers::{Config, Listening, PrivateServer, echo};
use looptax_bench::ServerThreads;
use looptax_bench::path::{Endpoint, Limits, TlsClient, host_of};
use looptax_model::dsn::{Arm, Kind};
use looptax_model::failure::Failure;
use looptax_wire::{Login, Salted, Sent};

use super::host::Host;
use super::{Script, Target, connections, private_workload, room, sending, threads_of, workloads};
use crate::arms::target_arms::TargetArms;
use crate::spec::Experiment;

/// Number of connections for looptax's own queries, in addition to the measured connections.
const SPARE_CONNECTIONS: u32 = 16;
/// Maximum number of connections that looptax adds to a server's limit, because a busy server may not have closed the
/// connections of the previous epoch yet. If the server needs only few connections, looptax adds fewer.
const MOST_CLOSING: u32 = 512;
/// Number of connections per arm for which a private server is prepared if `--exec` runs commands.
const MOST_OF_COMMANDS: u32 = 256;

pub(super) fn start(kind: Kind, arms: &[Arm], settings: &Experiment, host: &Host) -> Result<Target, Failure> {
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
        pool_mode: settings.pool_mode,
    };
    let further = config.listening.addresses.clone();
    let workload = private_workload(kind, settings)?;
    check_pooling(kind, settings)?;
    room::check(&workload, &settings.requests, settings.rows, &host.scratch_root)?;
    let mut server = PrivateServer::start(&config, &host.reaper)?;
    let mut arms = TargetArms::to_container(arms, &host.machine, &mut server, &host.self_exe)?;
    let authority = server.authority.as_deref();
    let trusted = authority.map(TlsClient::trusting).transpose();
    arms.tls = trusted.map_err(Failure::new)?;
    arms.pooler_pids.clone_from(&server.pooler_pids);
    let all = || server.instances.iter();
    let mut target = Target {
        kind: kind.name().to_owned(),
        version: server.version.clone(),
        name: if kind == Kind::Echo { "echo".to_owned() } else { format!("private:{kind}") },
        protocol: server.protocol,
        login: Login { salted: Salted::kept(), ..server.login.clone() },
        workload,
        sending: sending(settings),
        distribution: settings.requests.distribution,
        reconnect_every: settings.requests.reconnect_every,
        script: Script::read(server.protocol, settings)?,
        n_keys: u64::from(settings.rows),
        threads: threads(&server, settings),
        pids: pids(&server),
        settings: server.settings.clone(),
        offers_tls: None,
        asks: if kind.is_pooler() { [Arm::UnixUnix, Arm::TcpUnix] } else { [Arm::Unix, Arm::Tcp] },
        is_pooled: kind.is_pooler(),
        meetings: None,
        over_tcp: pooler::over_tcp(kind),
        console: pooler::console(kind),
        has_load_limits: false,
        reaper: None,
        sockets: all().filter_map(|it| it.socket.clone()).collect(),
        addresses: all().filter_map(|it| it.tcp).collect(),
        tls_addresses: all().filter_map(|it| it.tls).collect(),
        abstract_names: all().filter_map(|it| it.abstract_name.clone()).collect(),
        pools: pools(&server, &further),
        arms,
        private: Some(server),
        scratch: None,
    };
    fill(&mut target, settings)?;
    Ok(target)
}

fn threads(server: &PrivateServer, settings: &Experiment) -> ServerThreads {
    if has_one_thread(server) {
        ServerThreads::Single
    } else if server.kind.is_pooler() && settings.pool_mode != PoolMode::Session {
        ServerThreads::Tree
    } else {
        threads_of(server.protocol)
    }
}

/// Returns the processes of the server; for a pooler, the process of the server behind the pooler.
fn pids(server: &PrivateServer) -> Vec<u32> {
    let mut pids: Vec<u32> = server.instances.iter().map(|it| it.pid).collect();
    pids.dedup();
    pids
}

/// Returns an error for a mode that the pooler does not have, and for prepared statements that the pooler would lose.
fn check_pooling(kind: Kind, settings: &Experiment) -> Result<(), Failure> {
    let (title, mode) = (kind.facts().title, settings.pool_mode);
    if !pooler::has_mode(kind, mode) {
        return Err(Failure::usage(
            format!("{title} does not have the pool mode {}", mode.name()),
            "leave out --pool-mode: this pooler pools only by session",
        ));
    }
    if !kind.is_pooler() || settings.requests.sent == Sent::Text {
        return Ok(());
    }
    let (version, keeps_prepared) = pooler::keeps_prepared(kind, mode)?;
    if keeps_prepared {
        return Ok(());
    }
    Err(Failure::usage(
        format!(
            "{title} {version} keeps prepared statements only within a client's session, but --pool-mode is {}",
            mode.name()
        ),
        "pass --protocol text, which prepares nothing; PgBouncer 1.21 and newer keep prepared statements in every mode",
    ))
}

/// Returns the addresses of PHP-FPM's pools; empty for other kinds.
fn pools(server: &PrivateServer, further: &[IpAddr]) -> Vec<Endpoint> {
    if server.kind != Kind::PhpFpm {
        return Vec::new();
    }
    let port = server.tcp.port();
    let further = further.iter().map(|it| SocketAddr::new(*it, port));
    let addresses = [server.tcp].into_iter().chain(further).map(Endpoint::Tcp);
    [Endpoint::Unix(server.socket.clone())].into_iter().chain(addresses).collect()
}

fn fill(target: &mut Target, settings: &Experiment) -> Result<(), Failure> {
    let limits = Limits { io: fill_limit(settings.rows), ..Limits::default() };
    for mut conversation in target.converse_with_each(limits)? {
        target.offers_tls = conversation.offers_tls();
        workloads::fill(&target.workload, &mut conversation, &settings.requests, "", settings.rows)?;
    }
    Ok(())
}

/// Returns the addresses on which a private server must listen for these arms.
fn listening(arms: &[Arm]) -> Listening {
    let address = |arm: &Arm| -> Option<IpAddr> {
        match arm {
            Arm::Tcp6 => Some(Ipv6Addr::LOCALHOST.into()),
            _ => Some(host_of(*arm)?.container_address().into()),
        }
    };
    let mut addresses: Vec<IpAddr> = arms.iter().filter_map(address).collect();
    addresses.sort();
    addresses.dedup();
    Listening { addresses, has_tls: arms.iter().any(|arm| arm.is_tls()), has_abstract: arms.contains(&Arm::Abstract) }
}

/// Returns the time limit for one statement that fills a private server. The slowest statement makes an index over all
/// rows: with ten million rows it took over 10 s on 2 cores, and with a slow disk it may take many times as long.
fn fill_limit(n_rows: u32) -> Duration {
    const PER_ROW: Duration = Duration::from_micros(100);
    Limits::default().io + PER_ROW * n_rows
}

/// Whether the server reports that it has only one thread, as the echo server does for very many connections.
fn has_one_thread(server: &PrivateServer) -> bool {
    let (name, value) = echo::ONE_THREAD;
    let mut settings = server.settings.iter();
    settings.any(|it| it.0 == name && it.1 == value)
}
