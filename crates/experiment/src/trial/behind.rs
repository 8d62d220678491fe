//! Finds out which process listens on the sockets of servers that were not known before the application started, such
//! as the application's own PHP-FPM behind nginx.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};

use looptax_host::kernel;
use looptax_redirect::SocketName;
use rustix::net::sockopt;

use crate::trial::ask::{Ask, Server};
use crate::trial::program::Program;

/// Returns the same trial, with the names of the servers taken from the processes that are listening now.
pub(crate) fn with_names(ask: &Ask, program: &Program) -> Ask {
    let named = |server: &Server| match (server.pid, listener(&server.to)) {
        (None, Some((pid, name))) => {
            let is_own = program.has(pid);
            Server { kind: name, pid: (!is_own).then_some(pid), is_own, ..server.clone() }
        }
        _ => server.clone(),
    };
    Ask { servers: ask.servers.iter().map(named).collect(), ..ask.clone() }
}

/// Returns the process that called `listen` on a socket, with its program's name. Returns `None` if no process accepts
/// connections on the socket, or if the process is not visible in looptax's namespaces.
///
/// # Source
/// unix(7), `SO_PEERCRED`.
fn listener(to: &SocketName) -> Option<(u32, String)> {
    let address = match to {
        SocketName::Path(path) => SocketAddr::from_pathname(path).ok()?,
        SocketName::Abstract(name) => SocketAddr::from_abstract_name(name).ok()?,
    };
    let stream = UnixStream::connect_addr(&address).ok()?;
    let pid = sockopt::socket_peercred(&stream).ok()?.pid;
    let pid = u32::try_from(pid.as_raw_pid()).ok().filter(|pid| *pid > 0)?;
    let name = kernel::text(format!("/proc/{pid}/comm")).ok()?;
    Some((pid, name.trim_end().to_owned()))
}
