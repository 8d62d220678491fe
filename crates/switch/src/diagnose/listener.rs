//! Finds the process that listens on a socket, and whether it is the one that listens on a port: of a socket that a
//! person named to `moving`, and for `check` if it does not log in.
//!
//! Only a connection shows whether anybody listens; it is closed at once, without a byte.

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

    /// Connects to it; the words of an error go after its name.
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

/// The process behind a socket that takes connections.
///
/// # Source
/// unix(7), `SO_PEERCRED`: the process that called `listen`; 0 if it is not in a namespace of ours.
fn connected(to: &SocketName) -> Result<Option<i32>, Errno> {
    let address = match to {
        SocketName::Path(path) => SocketAddrUnix::new(path)?,
        SocketName::Abstract(name) => SocketAddrUnix::new_abstract_name(name)?,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket: OwnedFd = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match rustix::net::connect(socket.as_fd(), &address) {
        Ok(()) => Ok(sockopt::socket_peercred(&socket).ok().map(|it| it.pid.as_raw_pid()).filter(|pid| *pid > 0)),
        // Its queue is full: somebody is there.
        Err(Errno::AGAIN) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The process on the socket, if another one listens on this port and it does not, as far as that can be seen. A
/// container's server has its own ports, behind a proxy that holds ours; init listens for others.
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

/// The sockets that listen on the port, by inode: `tcp` has only those of IPv4, `tcp6` those of IPv6.
///
/// # Source
/// `proc_pid_net(5)`: local address, state and inode are the second, fourth and tenth column; `0A` listens.
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
