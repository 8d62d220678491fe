//! The arms of a target: the namespaces from which connections are opened, the programs through which the connections
//! pass, and the encryption of the connections.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::servers::PrivateServer;
use crate::servers::publish::{self, By, Container, Published};
use looptax_bench::path::host_of;
use looptax_bench::path::{
    BRIDGE, Endpoint, Host, Limits, Link, Network, Relayed, TlsClient, in_sidecar, move_to_sidecar, relayed_by,
};
use looptax_bench::{Helper, Origin};
use looptax_model::dsn::Arm;
use looptax_model::failure::{Explain, Failure};

use super::Machine;
use super::arm_thread::{ArmThread, GoneError};
use super::redirect::{NotMoved, RedirectArm};
use crate::servers::pooler::of_hop;

/// The parts that a target's arms need in addition to plain connections of this process.
#[derive(Default)]
pub(crate) struct TargetArms {
    redirect: Option<Arc<RedirectArm>>,
    hosts: Vec<(Host, Arc<ArmThread>)>,
    sidecar: Option<Sidecar>,
    relays: Vec<Relay>,
    /// The processes of a pooler through which connections pass.
    pub pooler_pids: Vec<u32>,
    pub tls: Option<TlsClient>,
}

/// A thread in a separate namespace that shares only a folder with the server.
struct Sidecar {
    folder: PathBuf,
    thread: Arc<ArmThread>,
}

/// A process that copies an arm's bytes to the container.
struct Relay {
    arm: Arm,
    pid: u32,
    port: u16,
}

/// A thread could not be moved to the network namespace of a host.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HostError {
    #[error("cannot move a thread to the host's network namespace")]
    Move(#[from] io::Error),
    #[error(transparent)]
    Gone(#[from] GoneError),
}

impl Explain for HostError {}

impl TargetArms {
    /// Makes arms that need no other parts: this process opens their connections, some of them with TLS.
    pub(crate) fn sealed_by(tls: Option<TlsClient>) -> Self {
        Self { tls, ..Self::default() }
    }

    /// Starts the parts that these arms need outside the container of the private server: threads on the hosts, address
    /// translation, port proxies.
    pub(crate) fn to_container(
        arms: &[Arm],
        machine: &Machine,
        server: &mut PrivateServer,
        self_exe: &Path,
    ) -> Result<Self, Failure> {
        let mut made = Self::default();
        let Some(network) = machine.network() else {
            return Ok(made);
        };
        for host in arms.iter().filter_map(|arm| host_of(*arm)) {
            if made.hosts.iter().all(|(it, _)| *it != host) {
                made.hosts.push((host, thread_on(network, host)?));
            }
        }
        let ports: Vec<u16> = { server.instances.iter() }.filter_map(|it| Some(it.tcp?.port())).collect();
        for port in ports {
            if arms.contains(&Arm::Nat) {
                network.translate(port)?;
            }
            for arm in arms.iter().copied().filter(|it| it.is_relayed()) {
                let (by, on) = match arm {
                    Arm::Pasta => (By::Pasta(container(network)?), publish::PASTA_LISTENS),
                    _ => (By::Proxy, Ipv4Addr::LOCALHOST),
                };
                let published = Published {
                    on: SocketAddr::from((on, port)),
                    to: SocketAddr::from((Host::Plain.container_address(), port)),
                };
                let start = || server.publish(published, by, self_exe);
                let pid = network.on_host(Host::Plain, start)??;
                made.relays.push(Relay { arm, pid, port });
            }
        }
        Ok(made)
    }

    /// Adds the thread that opens Unix sockets in this folder; its namespaces share only the folder with the server.
    pub(crate) fn add_sidecar(&mut self, folder: &Path) -> Result<(), Failure> {
        let folder = folder.to_owned();
        let shared = folder.clone();
        let enter = move || -> Result<(), HostError> { Ok(move_to_sidecar(&shared)?) };
        let thread = Arc::new(ArmThread::start("sidecar", enter)?);
        self.sidecar = Some(Sidecar { folder, thread });
        Ok(())
    }

    /// Returns an arm's endpoint as it is named in the namespace from which the arm's connections are opened.
    pub(crate) fn seen_from_there(&self, arm: Arm, endpoint: Endpoint) -> Endpoint {
        match self.sidecar(arm) {
            Some(sidecar) => in_sidecar(&endpoint, &sidecar.folder),
            None => endpoint,
        }
    }

    fn sidecar(&self, arm: Arm) -> Option<&Sidecar> {
        let is_there = matches!(arm, Arm::Unix | Arm::TlsUnix);
        self.sidecar.as_ref().filter(|_| is_there)
    }

    /// Adds the arm `redirect`, whose connections are moved to the socket.
    pub(crate) fn add_redirect(&mut self, redirect: RedirectArm) {
        self.redirect = Some(Arc::new(redirect));
    }

    pub(crate) fn redirect(&self, arm: Arm) -> Option<&Arc<RedirectArm>> {
        self.redirect.as_ref().filter(|_| arm == Arm::Redirect)
    }

    /// Returns the thread that must open an arm's connections; `None` if any thread of this process may open them.
    fn thread_of(&self, arm: Arm) -> Option<&Arc<ArmThread>> {
        if let Some(sidecar) = self.sidecar(arm) {
            return Some(&sidecar.thread);
        }
        let wanted = host_of(arm)?;
        let found = self.hosts.iter().find(|(host, _)| *host == wanted);
        found.map(|(_, thread)| thread)
    }

    /// Opens `n` connections of an arm, in the namespace where the arm's connections start.
    pub(crate) fn open(&self, arm: Arm, endpoint: &Endpoint, limits: Limits, n: usize) -> Result<Vec<Link>, Failure> {
        if let Some(redirect) = self.redirect(arm) {
            return redirect.open(endpoint, limits, n);
        }
        if let Some(thread) = self.thread_of(arm) {
            return Ok(thread.open(endpoint, limits, n, || ())??);
        }
        let open = |_| Link::open(endpoint, limits);
        Ok((0..n).map(open).collect::<Result<_, _>>()?)
    }

    /// Checks that every connection so far was moved to the socket, as far as the supervisor's counts can show it.
    ///
    /// # Errors
    /// The error of the arm `redirect` about a connection that was not moved.
    pub(crate) fn check_moved(&self) -> Result<(), NotMoved> {
        self.redirect.as_ref().map_or(Ok(()), |it| it.check())
    }

    /// Returns the thread from which client threads must start if they open connections of this arm; `None` if any
    /// thread can start them.
    pub(crate) fn origin(&self, arm: Arm) -> Option<Arc<dyn Origin>> {
        if let Some(redirect) = self.redirect(arm) {
            return Some(Arc::clone(redirect) as Arc<dyn Origin>);
        }
        Some(Arc::clone(self.thread_of(arm)?) as Arc<dyn Origin>)
    }

    /// Returns the process that does part of an arm's work: supervisor, port proxy or pooler.
    pub(crate) fn helper(&self, arm: Arm) -> Option<Helper> {
        if let Some(redirect) = self.redirect(arm) {
            return Some(Helper { pid: redirect.supervisor_pid(), sits_with_server: false });
        }
        let relay = self.relays.iter().find(|it| it.arm == arm);
        Some(Helper { pid: self.pooler(arm).or(relay.map(|it| it.pid))?, sits_with_server: true })
    }

    /// Returns the process id of the pooler through which an arm passes, if it passes through one.
    pub(crate) fn pooler(&self, arm: Arm) -> Option<u32> {
        of_hop(arm, &self.pooler_pids).first().copied()
    }

    /// Returns how many connections the port proxies have relayed so far; `None` if the arm does not pass through a
    /// port proxy.
    pub(crate) fn relayed(&self, arm: Arm) -> Option<Relayed> {
        if !arm.is_relayed() {
            return None;
        }
        let mut all = Relayed::default();
        for relay in self.relays.iter().filter(|it| it.arm == arm) {
            let relayed = relayed_by(relay.pid, relay.port);
            all.accepted.extend(relayed.accepted);
            all.opened.extend(relayed.opened);
        }
        Some(all)
    }

    /// Returns the name of the program or network through which an arm passes, without its endpoint.
    pub(crate) fn through(&self, arm: Arm) -> Option<&'static str> {
        match arm {
            Arm::Proxy => Some(publish::program_name()),
            Arm::Pasta => Some(publish::PASTA),
            Arm::Nat => Some("address translation by nftables"),
            _ => self
                .sidecar(arm)
                .map(|_| "a folder that is shared with another network namespace and another mount namespace"),
        }
    }

    /// Returns the TLS client of an arm, if the arm is encrypted.
    pub(crate) fn tls(&self, arm: Arm) -> Option<&TlsClient> {
        self.tls.as_ref().filter(|_| arm.is_tls())
    }
}

fn container(network: &Network) -> io::Result<Container> {
    Ok(Container {
        network: network.container()?,
        interface: BRIDGE,
        gateway: Host::Plain.address(),
        unused: Host::Plain.unused_address(),
    })
}

fn thread_on(network: &Arc<Network>, host: Host) -> Result<Arc<ArmThread>, HostError> {
    let network = Arc::clone(network);
    let enter = move || -> Result<(), HostError> { Ok(network.move_to_host(host)?) };
    ArmThread::start("host", enter).map(Arc::new)
}
