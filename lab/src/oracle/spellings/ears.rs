//! Listeners at every place of a kind's ground, which record the place of each connection.
//!
//! The fake servers accept every login. Each connection that was opened before [`Ears::take`] is in its result.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv6Addr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, bail};
use looptax_model::dsn::Protocol;
use looptax_testkit::fake::{self, Answer, Script, Speaks};
use rustix::event::{PollFd, PollFlags, poll};

use super::ground::{Ground, Place};

enum Ear {
    Tcp(TcpListener),
    Unix(UnixListener, Place),
}

/// The listeners for one kind of server. Their threads end with the program.
pub(crate) struct Ears {
    all: Vec<Ear>,
    script: Script,
    came: Mutex<Vec<Place>>,
}

impl Ears {
    /// Returns the listeners for a kind; they are opened only once.
    pub(crate) fn at(ground: Ground) -> Result<Arc<Self>> {
        static OPEN: Mutex<Vec<(Protocol, Arc<Ears>)>> = Mutex::new(Vec::new());
        let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, ears)) = open.iter().find(|(protocol, _)| *protocol == ground.protocol) {
            return Ok(Arc::clone(ears));
        }
        let ears = Self::open(ground)?;
        open.push((ground.protocol, Arc::clone(&ears)));
        Ok(ears)
    }

    fn open(ground: Ground) -> Result<Arc<Self>> {
        let mut ears = Vec::new();
        for port in ground.ports() {
            // This socket also accepts IPv4.
            let listener = TcpListener::bind((Ipv6Addr::UNSPECIFIED, port));
            ears.push(Ear::Tcp(listener.with_context(|| format!("cannot listen on port {port}"))?));
        }
        for path in ground.sockets() {
            fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
            let listener = UnixListener::bind(&path);
            let listener = listener.with_context(|| format!("cannot listen at {}", path.display()))?;
            ears.push(Ear::Unix(listener, Place::Socket(path)));
        }
        for name in ground.names() {
            let address = SocketAddr::from_abstract_name(&name)?;
            ears.push(Ear::Unix(UnixListener::bind_addr(&address)?, Place::Abstract(name)));
        }
        for ear in &ears {
            match ear {
                Ear::Tcp(it) => it.set_nonblocking(true)?,
                Ear::Unix(it, _) => it.set_nonblocking(true)?,
            }
        }
        let speaks = match ground.protocol {
            Protocol::Mysql => Speaks::Mysql,
            Protocol::Postgres => Speaks::Postgres,
            Protocol::Redis => Speaks::Redis,
            Protocol::Memcached => Speaks::Memcached,
            Protocol::Mongodb => Speaks::Mongodb,
            other => bail!("no fake server speaks {other}"),
        };
        // memcached answers that it has no value; any other server sends one row.
        let answer = if speaks == Speaks::Memcached { Answer::Empty } else { Answer::Cells("1") };
        let ears = Arc::new(Self { all: ears, script: Script::new(speaks, answer), came: Mutex::default() });
        let listening = Arc::clone(&ears);
        thread::spawn(move || listening.listen());
        Ok(ears)
    }

    /// Returns the places of the connections since the last call, in order.
    pub(crate) fn take(&self) -> Vec<Place> {
        self.sweep();
        std::mem::take(&mut self.came.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn listen(&self) {
        let fds: Vec<BorrowedFd<'_>> = self.all.iter().map(Ear::fd).collect();
        loop {
            let mut fds: Vec<PollFd<'_>> = fds.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
            // The result does not matter, because the sweep checks all listeners anyway.
            poll(&mut fds, None).ok();
            self.sweep();
        }
    }

    /// Accepts all waiting connections. The lock is held from each connection until it is recorded.
    fn sweep(&self) {
        let mut came = self.came.lock().unwrap_or_else(PoisonError::into_inner);
        for ear in &self.all {
            while let Ok(place) = ear.take_in(self.script) {
                came.push(place);
            }
        }
    }
}

impl Ear {
    fn fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(it) => it.as_fd(),
            Self::Unix(it, _) => it.as_fd(),
        }
    }

    fn take_in(&self, script: Script) -> io::Result<Place> {
        match self {
            Self::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                let own = stream.local_addr()?;
                let ip = match own.ip() {
                    IpAddr::V6(ip) => ip.to_canonical(),
                    ip @ IpAddr::V4(_) => ip,
                };
                fake::serve_one(stream, script);
                Ok(Place::Tcp(ip, own.port()))
            }
            Self::Unix(listener, place) => {
                let (stream, _) = listener.accept()?;
                fake::serve_one(stream, script);
                Ok(place.clone())
            }
        }
    }
}
