//! Prepares the machine for the arms of a run, and chooses the arms that are possible.
//!
//! [`Machine`] is made once, while the process has one thread: it holds the network namespaces and the supervisor of
//! `redirect`. [`choose`] decides for each target which arms it has, and gives a reason for each arm that the target
//! lacks. [`target_arms::TargetArms`] holds the parts that belong to one target: threads in other namespaces, port
//! proxies, TLS.
//!
//! For `bridge`, `nat` and `proxy`, looptax itself moves into a network namespace that represents the container, so
//! private servers start there and listen on its loopback. Another namespace represents the host: a thread in it opens
//! the arm's connections, and starts the client threads if requests open their own connections. A connection stays in
//! the namespace in which it was opened, so any thread of the load engine can use it. The namespaces have no name and
//! no file: each ends with its last process.
//!
//! TLS begins during the login, as the protocol specifies. Under load, the connection passes each outgoing message
//! through the TLS state before it sends the message, and each incoming message after it has received the message.

mod arm_thread;
pub(crate) mod redirect;
pub(crate) mod target_arms;

use std::net::{Ipv6Addr, TcpListener};
use std::sync::Arc;

use looptax_bench::path::host_of;
use looptax_bench::path::{Host, Network, get_right, has_nft, may_make_namespaces};
use looptax_model::dsn::Arm;
use looptax_model::dsn::{Kind, Protocol};
use looptax_model::failure::Failure;
use looptax_redirect::OwnThreads;

use crate::servers::publish;
use crate::spec::Experiment;
use crate::spec::target::TargetSpec;

/// The parts of a run's arms that are made once for the machine.
pub struct Machine {
    /// `None` if no arm needs the network; `Err` with the reason if the network could not be made.
    network: Result<Option<Arc<Network>>, String>,
    supervisor: Result<Option<Arc<OwnThreads>>, String>,
    /// `Err` with the reason if an arm needs a thread with separate namespaces and the kernel does not allow such a
    /// thread.
    sidecar: Result<(), String>,
    ipv6: Result<(), String>,
    has_nft: bool,
}

/// A requested arm that is not possible.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Missing {
    pub arm: Arm,
    /// The reason, with the next step, in one line.
    pub why: String,
}

impl Machine {
    /// Makes the parts that the arms need. After this call, the process may be in a container that looptax has made.
    ///
    /// Call it while the process has no other thread.
    pub fn make(settings: &Experiment) -> Self {
        let asks_for = |arm: Arm| settings.arms.contains(&arm);
        let is_private = |it: &TargetSpec| matches!(it, TargetSpec::Private(_));
        let mut hosts: Vec<Host> = settings.arms.iter().filter_map(|arm| host_of(*arm)).collect();
        hosts.sort_by_key(|host| host.address());
        hosts.dedup();
        let had_right = may_make_namespaces();
        let sidecar = if settings.is_from_namespace {
            get_right().map_err(|error| no_network(&error.into(), had_right))
        } else {
            Ok(())
        };
        let network = if hosts.is_empty() || !settings.targets.iter().all(is_private) {
            Ok(None)
        } else {
            let entered = Network::enter(&hosts).map_err(|error| no_network(&error.into(), had_right));
            entered.map(|network| Some(Arc::new(network)))
        };
        let supervisor = if asks_for(Arm::Redirect) { redirect::supervisor().map(Some) } else { Ok(None) };
        Self {
            network,
            supervisor: supervisor.map_err(|failure| one_line(&failure)),
            sidecar,
            ipv6: if asks_for(Arm::Tcp6) { ipv6() } else { Ok(()) },
            has_nft: asks_for(Arm::Nat) && has_nft(),
        }
    }

    /// Makes a machine without any of these parts, for runs that use only unix and tcp.
    pub fn plain() -> Self {
        Self { network: Ok(None), supervisor: Ok(None), sidecar: Ok(()), ipv6: Ok(()), has_nft: false }
    }

    /// Returns the network of containers, if an arm needs it.
    pub fn network(&self) -> Option<&Arc<Network>> {
        self.network.as_ref().ok()?.as_ref()
    }

    /// Returns the supervisor of the arm `redirect`, if this arm was requested.
    pub fn supervisor(&self) -> Option<&Arc<OwnThreads>> {
        self.supervisor.as_ref().ok()?.as_ref()
    }

    /// Returns the reason why an arm is not possible on this machine; `None` if it is possible.
    fn obstacle(&self, arm: Arm) -> Option<String> {
        let why = |it: Result<(), &String>| it.err().cloned();
        match arm {
            Arm::Redirect => why(self.supervisor.as_ref().map(drop)),
            Arm::Unix | Arm::TlsUnix => why(self.sidecar.as_ref().copied()),
            Arm::Tcp6 => why(self.ipv6.as_ref().copied()),
            Arm::Nat if !self.has_nft => Some("the program `nft` is needed: install the package nftables".to_owned()),
            Arm::Bridge | Arm::Nat | Arm::Proxy => why(self.network.as_ref().map(drop)),
            Arm::Pasta => {
                let why_not = why(self.network.as_ref().map(drop));
                why_not.or_else(|| publish::obstacle_to_pasta().map(str::to_owned))
            }
            _ => None,
        }
    }
}

/// Chooses the arms that a target has, baseline first, and lists the requested arms that it does not have.
///
/// # Errors
/// A usage failure if the baseline is missing, or if no arm is left to compare with it.
pub(crate) fn choose(asked: &[Arm], spec: &TargetSpec, machine: &Machine) -> Result<(Vec<Arm>, Vec<Missing>), Failure> {
    let mut missing: Vec<Missing> = Vec::new();
    let mut arms = Vec::new();
    for arm in asked {
        let why = not_of(*arm, spec).or_else(|| machine.obstacle(*arm));
        match why {
            None => arms.push(*arm),
            Some(why) if missing.iter().all(|it| it.arm != *arm) => {
                missing.push(Missing { arm: *arm, why });
            }
            Some(_) => {}
        }
    }
    if arms.len() >= 2 && arms[0] == asked[0] {
        return Ok((arms, missing));
    }
    let why: Vec<String> = missing.iter().map(|Missing { arm, why }| format!("{arm}: {why}")).collect();
    Err(Failure::usage(
        format!("{} cannot be compared over these arms: {}", spec.name(), why.join("; ")),
        match spec {
            TargetSpec::Running(running) if running.tls.is_some() => {
                "pass --arms unix,tls to compare the Unix socket with TLS over TCP"
            }
            _ => "`looptax help targets` lists the arms; unix and tcp are always available",
        },
    ))
}

/// Returns the reason why a target does not have an arm; `None` if it has the arm.
fn not_of(arm: Arm, spec: &TargetSpec) -> Option<String> {
    let why = match spec {
        _ if arm.second_hop().is_some() != spec.kind().is_pooler() => Some(
            "an arm through a pooler has two hops (unix+unix, tcp+unix, unix+tcp, tcp+tcp); every other arm has one \
             hop",
        ),
        TargetSpec::Private(kind) => not_of_private(arm, *kind),
        TargetSpec::Running(running) => match (&running.tls, &running.no_tls) {
            // If the URL demands TLS, the arm `unix` remains possible: only TCP needs TLS, because traffic over a
            // socket never leaves the machine.
            (Some(wish), _) if !arm.is_tls() && arm != Arm::Unix => {
                return Some(format!("`{wish}` in the URL demands TLS"));
            }
            (Some(_), _) if arm == Arm::Tls => None,
            (_, Some(wish)) if arm.is_tls() => {
                return Some(format!("`{wish}` in the URL forbids TLS"));
            }
            _ => not_of_running(arm, running.protocol),
        },
    };
    why.map(str::to_owned)
}

fn not_of_private(arm: Arm, kind: Kind) -> Option<&'static str> {
    let private = kind.facts().private.as_ref()?;
    let mut lacks = private.lacks.iter();
    lacks.find(|it| it.0 == arm).map(|it| it.1)
}

fn not_of_running(arm: Arm, protocol: Protocol) -> Option<&'static str> {
    match (arm, protocol) {
        (Arm::Unix | Arm::Tcp | Arm::Redirect, _)
        | (Arm::Tls, Protocol::Mysql | Protocol::Postgres)
        | (Arm::TlsUnix, Protocol::Mysql) => None,
        (Arm::Tls, Protocol::Mongodb) => Some("looptax does not support TLS with MongoDB"),
        (Arm::Tls, _) => Some("the server accepts TLS on a separate port: pass the address of this port as rediss://…"),
        (Arm::Tcp6, _) => {
            Some("looptax measures a running server at the address in the URL: write [::1] as the URL's host")
        }
        (Arm::TlsUnix, _) => Some("the server does not support TLS on its socket; MySQL and MariaDB do"),
        _ => Some("only a server that looptax starts itself has this arm: private:KIND"),
    }
}

fn ipv6() -> Result<(), String> {
    match TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("this machine has no IPv6 loopback ({error})")),
    }
}

fn no_network(error: &Failure, had_right: bool) -> String {
    let next = if had_right {
        "the kernel, or the sandbox around looptax, forbids network namespaces"
    } else {
        "run looptax as root, or allow user namespaces for all users (sysctl kernel.unprivileged_userns_clone, \
         user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns)"
    };
    format!("cannot make a separate network namespace: {error:#}; {next}")
}

/// Renders a failure with its causes and the next step.
fn one_line(failure: &Failure) -> String {
    match failure.hint() {
        Some(hint) => format!("{failure:#}; {hint}"),
        None => format!("{failure:#}"),
    }
}
