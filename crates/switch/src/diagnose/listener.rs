//! Finds the process that listens on a socket, and whether the same process listens on a port. Called by `moving` for a
//! socket that a person passed, and by `check` if the check includes no login.
//!
//! Only a connection shows whether a process listens. looptax closes the connection immediately, and sends no byte.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use looptax_host::{kernel, read};
use looptax_redirect::SocketName;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

/// systemd, which opens sockets for the services that it starts.
const INIT: i32 = 1;

/// The process that listens on a socket, if the kernel reports it.
pub(crate) struct Listener {
    pid: Option<i32>,
}

impl Listener {
    pub(crate) fn pid(&self) -> Option<u32> {
        self.pid.and_then(|it| u32::try_from(it).ok())
    }

    /// Connects to the socket, to find the process. The caller puts the socket's name before the error's text.
    pub(crate) fn of(to: &SocketName) -> Result<Self, String> {
        if let SocketName::Path(path) = to
            && read::exists(path)
            && !read::is_socket(path)
        {
            return Err("is not a socket".to_owned());
        }
        let pid = connected(to).map_err(|error| {
            let error = io::Error::from(error);
            let is_there = error.kind() == io::ErrorKind::ConnectionRefused;
            let who = if is_there { ": no process listens" } else { "" };
            format!("cannot be reached now ({error}{who})")
        })?;
        Ok(Self { pid })
    }
}

/// Returns the process that listens on the socket, if the socket accepts connections.
///
/// # Source
/// unix(7), `SO_PEERCRED`: the process that called `listen`; 0 if this process is not in a process namespace that
/// looptax sees.
fn connected(to: &SocketName) -> Result<Option<i32>, Errno> {
    let address = match to {
        SocketName::Path(path) => SocketAddrUnix::new(path)?,
        SocketName::Abstract(name) => SocketAddrUnix::new_abstract_name(name)?,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket: OwnedFd = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match rustix::net::connect(socket.as_fd(), &address) {
        Ok(()) => Ok(sockopt::socket_peercred(&socket).ok().map(|it| it.pid.as_raw_pid()).filter(|pid| *pid > 0)),
        // The queue is full, so a process listens.
        Err(Errno::AGAIN) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Describes the process that listens on the socket, if looptax sees that this process does not listen on the port, and
/// that another process does. Returns `None` for a server in a container, because the container has its own ports and a
/// proxy listens on this port. Also returns `None` for init, because it listens on behalf of other programs.
pub(crate) fn another(listener: &Listener, port: SocketAddr) -> Option<String> {
    let pid = listener.pid.filter(|it| *it != INIT)?;
    let process = Path::new("/proc").join(pid.to_string());
    let network = |folder: &Path| kernel::link(folder.join("ns/net")).ok();
    if network(&process) != network(Path::new("/proc/self")) {
        return None;
    }
    let mut wanted = listening("tcp", port.port());
    wanted.extend(listening("tcp6", port.port()));
    let links: Vec<_> = wanted.iter().map(|it| format!("socket:[{it}]")).collect();
    let fds = process.join("fd");
    let mut held = kernel::names(&fds).ok()?;
    let holds_it = held.any(|it| {
        let target = kernel::link(fds.join(it)).unwrap_or_default();
        links.iter().any(|link| target.as_os_str() == link.as_str())
    });
    let name = kernel::text(process.join("comm")).ok()?;
    let name = name.trim();
    (!links.is_empty() && !holds_it).then(|| format!("{name}, pid {pid}, which does not listen on {port}"))
}

/// Returns the inodes of the sockets that listen on the port; the table `tcp` has only IPv4 sockets, `tcp6` IPv6
/// sockets.
///
/// # Source
/// `proc_pid_net(5)`: the second column is the local address, the fourth the state, the tenth the inode; `0A` means
/// listening.
pub(crate) fn listening(table: &str, port: u16) -> Vec<u64> {
    let table = kernel::text(format!("/proc/net/{table}")).unwrap_or_default();
    let lines = table.lines().skip(1);
    let found = lines.filter_map(|line| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let is_it = words.get(1)?.ends_with(&format!(":{port:04X}")) && *words.get(3)? == "0A";
        words.get(9).filter(|_| is_it)?.parse().ok()
    });
    found.collect()
}
