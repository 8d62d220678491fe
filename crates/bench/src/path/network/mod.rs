//! looptax's own network namespaces: one represents the container, the others its hosts.
//!
//! Nothing outside of these namespaces is changed. The interfaces, addresses and rules are in namespaces that have no
//! name. The kernel removes them when the last process in these namespaces has ended, even if the process was killed.
//!
//! The process that calls [`Network::enter`] moves into the container. The servers that it starts are in the container,
//! too, and they use the container's loopback. To open connections from a host, a thread calls
//! [`Network::move_to_host`].
//!
//! ```text
//! host:  bridge 10.77.0.1 ── veth ── container: 10.77.0.2, servers
//! nat:   bridge 10.78.0.1 ── veth ── container: 10.78.0.2
//! ```
//!
//! Address translation has a separate host, because with its rules the kernel tracks every connection in the namespace.

mod nat;
mod netlink;
mod sidecar;
mod user;

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use looptax_host::kernel;
use looptax_model::failure::Explain;
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

pub use nat::has_nft;
use netlink::Netlink;
pub use sidecar::{in_sidecar, move_to_sidecar};
pub use user::may_make_namespaces;

/// The host that connections to the container come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    /// Reaches the container by its address or through a port proxy.
    Plain,
    /// Reaches the container through a published port, which the kernel translates.
    Nat,
}

impl Host {
    pub fn address(self) -> Ipv4Addr {
        Ipv4Addr::new(10, self.subnet(), 0, 1)
    }

    /// Returns the container's address on this host's bridge.
    pub fn container_address(self) -> Ipv4Addr {
        Ipv4Addr::new(10, self.subnet(), 0, 2)
    }

    /// Returns an address on this host's bridge that nothing uses.
    pub fn unused_address(self) -> Ipv4Addr {
        Ipv4Addr::new(10, self.subnet(), 0, 3)
    }

    /// Returns the second byte of the host's addresses. The number is chosen for this project; the namespaces contain
    /// no other network.
    fn subnet(self) -> u8 {
        match self {
            Self::Plain => 77,
            Self::Nat => 78,
        }
    }

    fn interface(self) -> &'static str {
        match self {
            Self::Plain => "eth0",
            Self::Nat => "eth1",
        }
    }
}

/// Why looptax could not make its network.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action}")]
pub struct NetworkError {
    action: &'static str,
    #[source]
    source: io::Error,
}

impl Explain for NetworkError {}

fn failed(action: &'static str) -> impl Fn(io::Error) -> NetworkError {
    move |source| NetworkError { action, source }
}

/// The namespaces. The kernel removes a namespace when the last thread and the last server in it have ended.
#[derive(Debug)]
pub struct Network {
    container: OwnedFd,
    hosts: Vec<(Host, OwnedFd)>,
}

/// The name of a host's bridge.
pub const BRIDGE: &str = "br0";
const HOST_END: &str = "veth0";

impl Network {
    /// Makes the namespaces and moves this process into the container.
    ///
    /// Without root rights, this function first moves the process into a separate user namespace, with the same user
    /// and group numbers. So call this function while the process has only one thread.
    ///
    /// # Errors
    /// [`NetworkError`] with the step that failed. The process is then in its earlier namespace. Without root rights it
    /// may be unable to go back; it is then in a new namespace that has loopback.
    pub fn enter(hosts: &[Host]) -> Result<Self, NetworkError> {
        let before = own_namespace().map_err(failed("find our network namespace"))?;
        get_right()?;
        Self::make(hosts).inspect_err(|_| {
            if move_into(&before).is_err() {
                // If this fails, the first connection shows it.
                let up = Netlink::open().and_then(|mut netlink| netlink.set_up("lo"));
                up.ok();
            }
        })
    }

    fn make(hosts: &[Host]) -> Result<Self, NetworkError> {
        let mut made = Vec::new();
        for host in hosts {
            made.push((*host, new_namespace()?));
            Netlink::open()
                .and_then(|mut netlink| prepare_host(&mut netlink, *host))
                .map_err(failed("make a bridge"))?;
        }
        let container = new_namespace()?;
        let network = Self { container, hosts: made };
        Netlink::open().and_then(|mut netlink| netlink.set_up("lo")).map_err(failed("switch loopback on"))?;
        for (host, namespace) in &network.hosts {
            network.connect(*host, namespace).map_err(failed("connect host and container"))?;
        }
        Ok(network)
    }

    /// Makes a pair of interfaces that connects the host's bridge with the container.
    fn connect(&self, host: Host, namespace: &OwnedFd) -> io::Result<()> {
        move_into(namespace)?;
        let made = Netlink::open().and_then(|mut netlink| {
            netlink.add_veth(HOST_END, host.interface(), self.container.as_raw_fd())?;
            netlink.put_on_bridge(HOST_END, BRIDGE)?;
            netlink.set_up(HOST_END)
        });
        move_into(&self.container)?;
        made?;
        let mut netlink = Netlink::open()?;
        netlink.add_address(host.interface(), host.container_address())?;
        netlink.set_up(host.interface())
    }

    /// Moves the calling thread, and the processes and threads that it starts afterwards, to a host.
    ///
    /// # Errors
    /// The kernel's refusal; [`io::ErrorKind::NotFound`] for a host that [`Network::enter`] did not make.
    pub fn move_to_host(&self, host: Host) -> io::Result<()> {
        let found = self.hosts.iter().find(|(it, _)| *it == host);
        let (_, namespace) = found.ok_or(io::ErrorKind::NotFound)?;
        move_into(namespace)
    }

    /// Returns the container's network namespace, for a program that enters it.
    ///
    /// # Errors
    /// No descriptor is left.
    pub fn container(&self) -> io::Result<OwnedFd> {
        self.container.try_clone()
    }

    /// Runs `work` on a host, and moves the calling thread back into the container.
    ///
    /// # Errors
    /// As [`Network::move_to_host`].
    pub fn on_host<T>(&self, host: Host, work: impl FnOnce() -> T) -> io::Result<T> {
        self.move_to_host(host)?;
        let done = work();
        move_into(&self.container)?;
        Ok(done)
    }
}

/// Makes sure that this process may make network namespaces: if it may not, moves it into a user namespace in which it
/// may.
///
/// # Errors
/// [`NetworkError`] if the user namespace cannot be made.
pub fn get_right() -> Result<(), NetworkError> {
    if may_make_namespaces() {
        return Ok(());
    }
    user::become_root_of_ours().map_err(failed("make a user namespace"))
}

/// Returns the name of the calling thread's network namespace, as in `/proc`: `net:[4026531840]`.
pub fn namespace_name() -> Option<String> {
    let link = kernel::link("/proc/thread-self/ns/net").ok()?;
    Some(link.to_string_lossy().into_owned())
}

/// Makes a namespace and moves the calling thread into it.
fn new_namespace() -> Result<OwnedFd, NetworkError> {
    // SAFETY: the table of open files stays shared.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNET) }
        .map_err(io::Error::from)
        .and_then(|()| own_namespace())
        .map_err(failed("make a network namespace"))
}

fn own_namespace() -> io::Result<OwnedFd> {
    kernel::open("/proc/thread-self/ns/net").map(OwnedFd::from)
}

fn move_into(namespace: &OwnedFd) -> io::Result<()> {
    Ok(move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?)
}

fn prepare_host(netlink: &mut Netlink, host: Host) -> io::Result<()> {
    netlink.set_up("lo")?;
    netlink.add_bridge(BRIDGE)?;
    netlink.add_address(BRIDGE, host.address())?;
    netlink.set_up(BRIDGE)
}
