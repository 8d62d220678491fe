//! Publishes a private server's port on another address through a process that copies the bytes: a port proxy, as
//! Docker does on 127.0.0.1, or `pasta`, as rootless Podman does.
//!
//! The port proxy is the real `docker-proxy` if it is installed, otherwise looptax's own copy loop, [`serve`].

mod copy;

use std::env;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use copy::serve;
use looptax_host::program::find_program;
use looptax_host::read::may;
use rustix::fs::Access;
use rustix::thread::CapabilitySet;

use crate::servers::ServerError;
use crate::servers::child::{ChildGuard, Waited};
use crate::servers::process::StopSignal;
use crate::servers::scratch::Scratch;
use crate::servers::spawn::{Input, Program};

const DOCKER_PROXY: &str = "docker-proxy";
/// Folders that may contain `docker-proxy` if it is not in PATH.
const USUAL_FOLDERS: [&str; 3] = ["/usr/bin", "/usr/sbin", "/usr/libexec/docker"];

/// The program that forwards ports for rootless Podman; in Debian's package passt.
pub const PASTA: &str = "pasta";
/// The host's address on which `pasta` listens. It differs from the port proxy's address, because both use the server's
/// port. `pasta` copies the bytes between sockets only for clients on loopback; other clients pass its own TCP stack.
pub const PASTA_LISTENS: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// `docker-proxy` reports on descriptor 3 that it listens, so a shell opens a file as descriptor 3 before it starts
/// `docker-proxy`.
const WITH_STATUS_FILE: &str = "status=$1; shift; exec 3>\"$status\"; exec \"$@\"";

/// How long a proxy may take until it listens.
const READY_LIMIT: Duration = Duration::from_secs(10);
/// How long a proxy may take to relay one connection.
const ANSWER_LIMIT: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Published {
    /// The address on which the proxy listens.
    pub on: SocketAddr,
    /// The address to which the proxy connects.
    pub to: SocketAddr,
}

/// The program that copies the bytes.
#[derive(Debug)]
pub enum By {
    Proxy,
    Pasta(Container),
}

/// The facts about a container that `pasta` needs.
#[derive(Debug)]
pub struct Container {
    pub network: OwnedFd,
    /// The host's interface to the container.
    pub interface: &'static str,
    pub gateway: Ipv4Addr,
    /// An address of the container's network that nothing uses.
    pub unused: Ipv4Addr,
}

/// Returns the name of the port proxy: `docker-proxy`, or looptax's own loop.
pub fn program_name() -> &'static str {
    match docker_proxy() {
        Some(_) => DOCKER_PROXY,
        None => "looptax's own copy loop",
    }
}

fn docker_proxy() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .filter(|folder| folder.is_absolute())
        .chain(USUAL_FOLDERS.iter().map(PathBuf::from))
        .map(|folder| folder.join(DOCKER_PROXY))
        .find(|file| looptax_host::program::is_executable(file))
}

/// Starts the proxy in the calling thread's network namespace, and waits until it listens.
pub(crate) fn start<'a>(
    published: Published,
    by: By,
    self_exe: &Path,
    scratch: &'a Scratch,
) -> Result<ChildGuard<'a>, ServerError> {
    let program = match (by, docker_proxy()) {
        (By::Pasta(container), _) => by_pasta(published, container)?,
        (By::Proxy, Some(path)) => by_docker(published, &path, scratch),
        (By::Proxy, None) => {
            let [on, to] = [published.on, published.to].map(|it| it.to_string());
            let args = ["internal", "port-proxy", "--on", &on, "--to", &to];
            Program::new(self_exe.to_owned(), args.map(str::to_owned).to_vec())
        }
    };
    let mut guard = ChildGuard::spawn(&program, StopSignal::Term, scratch)?;
    let failed = |how| ServerError::Proxy { how, log_tail: scratch.log_tail() };
    let listens = |_| TcpStream::connect_timeout(&published.on, ANSWER_LIMIT).is_ok();
    match guard.wait(READY_LIMIT, listens)? {
        Waited::Ready => Ok(guard),
        Waited::Ended(status) => Err(failed(format!("ended ({status})"))),
        Waited::TooLong => Err(failed(format!("does not listen after {READY_LIMIT:?}"))),
    }
}

/// Source: docker-proxy 20.10 to 28, `-h`.
fn by_docker(Published { on, to }: Published, path: &Path, scratch: &Scratch) -> Program {
    let status = scratch.path(&format!("proxy-{}", on.port()));
    let words = [
        "-c",
        WITH_STATUS_FILE,
        "docker-proxy",
        &status.display().to_string(),
        &path.display().to_string(),
        "-proto",
        "tcp",
        "-host-ip",
        &on.ip().to_string(),
        "-host-port",
        &on.port().to_string(),
        "-container-ip",
        &to.ip().to_string(),
        "-container-port",
        &to.port().to_string(),
    ];
    Program::new(PathBuf::from("/bin/sh"), words.map(str::to_owned).to_vec())
}

/// Returns the reason why `pasta` cannot be started; `None` if it can.
pub fn obstacle_to_pasta() -> Option<&'static str> {
    if find_program(PASTA).is_err() {
        return Some("the program `pasta` is needed: install the package passt");
    }
    let tun = may(Path::new("/dev/net/tun"), Access::READ_OK | Access::WRITE_OK);
    tun.is_err().then_some("`pasta` needs /dev/net/tun, which is missing or which this user may not open")
}

/// `pasta` makes an interface in the container, which stays unused: the addresses of this interface are given only
/// because `pasta` would otherwise need a default route. Without UDP ports, and without ports from the container to the
/// host.
///
/// Source: pasta(1), 2023-03-09.
fn by_pasta(Published { on, .. }: Published, container: Container) -> Result<Program, ServerError> {
    let path = find_program(PASTA).map_err(|source| ServerError::Spawn { program: PASTA.into(), source })?;
    let [gateway, unused] = [container.gateway, container.unused].map(|it| it.to_string());
    let (port, name) = (format!("{}/{}", on.ip(), on.port()), format!("pasta{}", on.port()));
    let mut args =
        vec!["--foreground", "--quiet", "--ipv4-only", "--interface", container.interface, "--ns-ifname", &name];
    args.extend(["--address", &unused, "--netmask", "24", "--gateway", &gateway, "--mac-addr", "02:00:00:00:00:01"]);
    args.extend(["--tcp-ports", &port, "--udp-ports", "none", "--tcp-ns", "none", "--udp-ns", "none"]);
    // pasta drops the rights to open another process's namespaces, and newer versions close all descriptors but the
    // first three.
    args.extend(["--netns-only", "--netns", "/proc/self/fd/0"]);
    if rustix::process::geteuid().is_root() {
        // Otherwise pasta changes to an unprivileged user, who may not enter root's namespaces.
        args.extend(["--runas", "0"]);
    }
    let rights = CapabilitySet::SYS_ADMIN | CapabilitySet::NET_ADMIN;
    Ok(Program {
        rights,
        input: Input::Open(Arc::new(container.network)),
        ..Program::new(path, args.into_iter().map(str::to_owned).collect())
    })
}

/// Listens on an address, for [`serve`].
///
/// # Errors
/// The address cannot be bound.
pub fn listen(on: SocketAddr) -> io::Result<TcpListener> {
    TcpListener::bind(on)
}
