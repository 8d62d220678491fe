//! Who listens on a socket that a person named, and whether it is who listens on the port.
//!
//! Only a connection shows whether anybody listens; it is closed at once, without a byte.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use looptax_redirect::SocketName;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use super::pairs::listening;

/// The process that listens on a socket, where the kernel tells.
pub(super) struct Listener {
    pid: Option<i32>,
    socket: String,
}

impl Listener {
    /// Connects to it; the words of an error go after its name.
    pub(super) fn of(to: &SocketName) -> Result<Self, String> {
        if let SocketName::Path(path) = to
            && let Ok(found) = fs::metadata(path)
            && !found.file_type().is_socket()
        {
            return Err("is no socket".to_owned());
        }
        let pid = connected(to).map_err(|error| {
            let error = io::Error::from(error);
            let is_there = error.kind() == io::ErrorKind::ConnectionRefused;
            let who = if is_there { ": nobody listens" } else { "" };
            format!("cannot be reached now ({error}{who})")
        })?;
        Ok(Self {
            pid,
            socket: super::candidate::shown(to),
        })
    }
}

/// The process behind a socket that takes connections.
///
/// # Source
/// unix(7), `SO_PEERCRED`: of whoever called `listen`; 0 where it is in no namespace of ours.
fn connected(to: &SocketName) -> Result<Option<i32>, Errno> {
    let address = match to {
        SocketName::Path(path) => SocketAddrUnix::new(path)?,
        SocketName::Abstract(name) => SocketAddrUnix::new_abstract_name(name)?,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket: OwnedFd =
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match rustix::net::connect(socket.as_fd(), &address) {
        Ok(()) => Ok(sockopt::socket_peercred(&socket)
            .ok()
            .map(|it| it.pid.as_raw_pid())
            .filter(|pid| *pid > 0)),
        // Its queue is full: somebody is there.
        Err(Errno::AGAIN) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A warning where the process on the socket listens on other ports than this one, as far as that can be seen. A
/// container's server has ports of its own, behind a proxy that holds ours.
pub(super) fn is_another(listener: &Listener, port: SocketAddr) -> Option<String> {
    let pid = listener.pid?;
    let process = Path::new("/proc").join(pid.to_string());
    let network = |folder: &Path| fs::read_link(folder.join("ns/net")).ok();
    if network(&process) != network(Path::new("/proc/self")) {
        return None;
    }
    let mut wanted = listening("tcp", port.port());
    wanted.extend(listening("tcp6", port.port()));
    let links: Vec<_> = wanted.iter().map(|it| format!("socket:[{it}]")).collect();
    let mut held = fs::read_dir(process.join("fd")).ok()?.flatten();
    let holds_it = held.any(|it| {
        let target = fs::read_link(it.path()).unwrap_or_default();
        links.iter().any(|link| target.as_os_str() == link.as_str())
    });
    let name = fs::read_to_string(process.join("comm")).ok()?;
    let name = name.trim();
    (!links.is_empty() && !holds_it).then(|| {
        format!(
            "{} belongs to {name}, pid {pid}, which does not listen on {port}: is it the same server?",
            listener.socket
        )
    })
}
