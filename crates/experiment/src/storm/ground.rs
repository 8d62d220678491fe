//! The private server to which storms connect; looptax sets the queue lengths of the server's listening sockets.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::mpsc;
use std::thread;

use looptax_bench::path::{Endpoint, Fate, Storm, first_question, refuses};
use looptax_host::kernel;
use looptax_model::dsn::{Arm, Kind, Protocol};
use looptax_model::failure::Failure;
use looptax_wire::{fastcgi, site};
use rustix::net::{SocketAddrUnix, getsockname, listen, sockopt};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::stopped::Stopped;
use super::{PATIENCE, Spec, somaxconn};
use crate::servers::pooler::PoolMode;
use crate::servers::{Config, Listening, PrivateServer, Reaper};

/// Number of connections that the server accepts in addition to those of the current and the previous storm.
const SPARE_CONNECTIONS: u32 = 16;
/// Number of rows: storms need no data.
const ROWS: u32 = 1;

/// A private server without data.
pub struct Ground {
    // This is the first field, so that looptax's descriptors of the listening sockets are closed before the server
    // ends.
    listeners: Vec<OwnedFd>,
    server: PrivateServer,
    /// The first bytes that a client sends to the server.
    question: Vec<u8>,
}

impl Ground {
    /// Starts a server that accepts twice as many connections as the largest storm has.
    ///
    /// `around` has the path of the looptax program, the folder for scratch folders, and the reaper, which ends the
    /// server after looptax has ended.
    pub fn start(kind: Kind, most_connections: u32, around: (&Path, &Path, &Reaper)) -> Result<Self, Failure> {
        let (self_exe, scratch_root, reaper) = around;
        // A process of PHP-FPM serves one connection after the other, so no further processes are needed.
        let most = if kind == Kind::PhpFpm { 0 } else { 2 * most_connections };
        let config = Config {
            kind,
            self_exe: self_exe.to_owned(),
            scratch_root: scratch_root.to_owned(),
            max_connections: most + SPARE_CONNECTIONS,
            rows: ROWS,
            listening: Listening::default(),
            pool_mode: PoolMode::default(),
        };
        let server = PrivateServer::start(&config, reaper)?;
        let question = question(&server)?;
        let mut ground = Self { listeners: Vec::new(), server, question };
        for arm in [Arm::Unix, Arm::Tcp] {
            let held = ground.roots().iter().find_map(|pid| hold(*pid, &ground.endpoint(arm)).ok().flatten());
            ground.listeners.extend(held);
        }
        Ok(ground)
    }

    pub fn version(&self) -> &str {
        &self.server.version
    }

    pub fn server(&self) -> &PrivateServer {
        &self.server
    }

    /// Calls listen(2) again with this backlog on both listening sockets, and returns the length of the queue that the
    /// kernel has set. With `None` the sockets keep the backlog that the server requested, and the length of that queue
    /// is returned.
    ///
    /// # Errors
    /// The kernel does not give looptax the descriptors of the server's sockets.
    pub fn set_queue(&mut self, queue: Option<u32>) -> Result<u32, Failure> {
        let Some(queue) = queue else {
            return Ok(own_queue(&self.server).unwrap_or_default());
        };
        if self.listeners.len() < 2 {
            return Err(Failure::usage(
                "cannot set the queues of the server's sockets: the kernel does not give looptax the server's \
                 descriptors",
                "run looptax as root, on Linux 5.6 or newer: pidfd_getfd(2) needs the right to trace the server",
            ));
        }
        for listener in &self.listeners {
            listen(listener, i32::try_from(queue).unwrap_or(i32::MAX)).map_err(io::Error::from)?;
        }
        Ok(somaxconn().map_or(queue, |most| most.min(queue)))
    }

    pub fn endpoint(&self, arm: Arm) -> Endpoint {
        if arm.is_unix() { Endpoint::Unix(self.server.socket.clone()) } else { Endpoint::Tcp(self.server.tcp) }
    }

    /// Makes one storm. If the spec has a stall, the server is stopped during the stall, which begins together with the
    /// storm.
    ///
    /// # Errors
    /// The server cannot be stopped, or a signal ended the storm.
    pub fn storm(&self, spec: &Spec, arm: Arm, n: u32) -> io::Result<Vec<Fate>> {
        let storm = Storm {
            endpoint: &self.endpoint(arm),
            n_connections: n,
            gap: spec.gap(),
            blocks: spec.client.blocks,
            pauses: spec.client.pauses().collect(),
            ends_with_second: spec.client.ends_with_second,
            limit: spec.client.limit().filter(|_| !arm.is_unix()),
            question: &self.question,
            stays: self.server.protocol != Protocol::Fastcgi,
            refuses: refuses(self.server.protocol),
            patience: spec.stall + spec.gap() * n + PATIENCE,
        };
        if spec.stall.is_zero() {
            return storm.run(&|| ());
        }
        self.stalled(spec, |begun| storm.run(begun))
    }

    /// Stops the server and runs `doing`. `doing` calls its argument when the stall begins; the server continues when
    /// the stall is over, at the latest when `doing` returns.
    pub fn stalled<T>(&self, spec: &Spec, doing: impl FnOnce(&(dyn Fn() + Sync)) -> io::Result<T>) -> io::Result<T> {
        let stopped = Stopped::stop(&self.roots())?;
        let (begin, begun) = mpsc::sync_channel::<()>(1);
        thread::scope(|scope| {
            scope.spawn(move || {
                if begun.recv().is_ok() {
                    thread::sleep(spec.stall);
                }
                drop(stopped);
            });
            doing(&move || {
                begin.try_send(()).ok();
            })
        })
    }

    pub fn end(self) -> Result<(), Failure> {
        let Self { listeners, server, .. } = self;
        drop(listeners);
        Ok(server.stop()?)
    }

    /// Returns the processes that listen or relay connections. All other processes of the server are descendants of
    /// these processes.
    fn roots(&self) -> Vec<u32> {
        let instances = self.server.instances.iter().map(|it| it.pid);
        instances.chain(self.server.pooler_pids.iter().copied()).collect()
    }
}

/// Returns the listening socket of a process at this endpoint, as a descriptor in this process.
fn hold(pid: u32, endpoint: &Endpoint) -> io::Result<Option<OwnedFd>> {
    let number = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::NotFound)?;
    let process = pidfd_open(number, PidfdFlags::empty())?;
    for name in kernel::names(format!("/proc/{pid}/fd"))? {
        let Some(number) = name.to_str().and_then(|it| it.parse().ok()) else { continue };
        let fd = pidfd_getfd(&process, number, PidfdGetfdFlags::empty())?;
        if is_listening_at(&fd, endpoint) {
            return Ok(Some(fd));
        }
    }
    Ok(None)
}

fn is_listening_at(fd: impl AsFd, endpoint: &Endpoint) -> bool {
    let fd = fd.as_fd();
    if !sockopt::socket_acceptconn(fd).unwrap_or(false) {
        return false;
    }
    let Ok(name) = getsockname(fd) else { return false };
    match endpoint {
        Endpoint::Unix(path) => SocketAddrUnix::try_from(name).is_ok_and(|it| {
            let own = SocketAddrUnix::new(path);
            own.is_ok_and(|own| own.path() == it.path())
        }),
        Endpoint::Tcp(address) => std::net::SocketAddr::try_from(name).is_ok_and(|it| it.port() == address.port()),
        Endpoint::Abstract(_) => false,
    }
}

/// Returns the queue length of the server's socket, as the kernel reports it.
fn own_queue(server: &PrivateServer) -> Option<u32> {
    let process = looptax_host::discover::process(server.pid)?;
    let endpoints = looptax_host::discover::listens_on(&process);
    endpoints.iter().map(|it| it.queue.backlog).min()
}

/// Returns the first bytes that a client of this server sends; empty if the server sends first.
fn question(server: &PrivateServer) -> Result<Vec<u8>, Failure> {
    if server.protocol != Protocol::Fastcgi {
        return Ok(first_question(server.protocol).unwrap_or_default().to_vec());
    }
    let script = site::script(server.login.place(), site::HELLO);
    let params = [("SCRIPT_NAME", &*script), ("SCRIPT_FILENAME", &script), ("REQUEST_METHOD", "GET")];
    fastcgi::encode(&params).map_err(Failure::new)
}
