//! A storm: many simultaneous connects, each made as a client library makes it, and their outcomes.
//!
//! This is not the measured loop: times are only as exact as the wake-up of a poll. Called by the storms of an
//! experiment, and by the proof of a switch.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{PoisonError, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use looptax_host::waiting;
use looptax_model::dsn::Protocol;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, recv, send, socket_with, sockopt,
};
use rustix::time::{ClockId, clock_gettime};

use crate::path::Endpoint;

/// The longest time that poll waits before the clock is read again.
const STEP: Duration = Duration::from_millis(50);
/// The stack size of a connecting thread, which needs little.
const STACK_BYTES: usize = 128 << 10;
/// looptax reads at most this many bytes of an answer. This is enough to identify the answer.
const ANSWER_BYTES: usize = 256;

/// The connects to make, and how to make them.
#[derive(Debug, Clone)]
pub struct Storm<'a> {
    pub endpoint: &'a Endpoint,
    pub n_connections: u32,
    /// Time between two connects; zero if all are made together.
    pub gap: Duration,
    /// Whether connect(2) waits for a free place in a Unix socket's queue.
    pub blocks: bool,
    /// Pauses before further attempts after EAGAIN. If the attempt after the last pause fails too, the connect has
    /// failed.
    pub pauses: Vec<Duration>,
    /// Whether the client stops trying when the clock shows a later second than at the first attempt. The connect then
    /// fails without a further attempt.
    pub ends_with_second: bool,
    /// Time limit for a connect over TCP.
    pub limit: Option<Duration>,
    /// The bytes to send after the connect; empty if the server sends first.
    pub question: &'a [u8],
    /// Whether a connection stays open until the end of the storm; a web server's connection to PHP is closed after its
    /// answer.
    pub stays: bool,
    /// Returns whether an answer refuses the connection.
    pub refuses: fn(&[u8]) -> bool,
    /// A connection without an answer after this time, counted from the first connect, has failed.
    pub patience: Duration,
}

/// Returns the bytes that make a server of this protocol answer; empty if the server sends first, `None` if the bytes
/// depend on the data that it serves.
pub fn first_question(protocol: Protocol) -> Option<&'static [u8]> {
    match protocol {
        // "SSLRequest", which every server process answers with one byte.
        Protocol::Postgres => Some(&[0, 0, 0, 8, 4, 210, 22, 47]),
        Protocol::Redis => Some(b"PING\r\n"),
        Protocol::Memcached => Some(b"version\r\n"),
        Protocol::Mysql => Some(b""),
        Protocol::Fastcgi | Protocol::Mongodb | Protocol::Http | Protocol::Echo => None,
    }
}

/// Returns the test for an answer with which a server of this protocol reports too many connections.
pub fn refuses(protocol: Protocol) -> fn(&[u8]) -> bool {
    match protocol {
        // An error packet instead of the greeting.
        Protocol::Mysql => |answer| answer.get(4) == Some(&0xff),
        Protocol::Postgres => |answer| answer.first() == Some(&b'E'),
        Protocol::Redis => |answer| answer.starts_with(b"-ERR"),
        _ => |_| false,
    }
}

/// The result of one connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fate {
    /// Time from the first connect to the moment at which this connect was due.
    pub due: Duration,
    /// Time from the first connect to the answer or the failure of this connect.
    pub at: Duration,
    /// The name of the error, if the connect failed.
    pub error: Option<String>,
}

#[allow(clippy::disallowed_methods, reason = "the duration of connects is the measured value")]
impl Storm<'_> {
    /// Makes all connects, waits for their answers, and finally closes the open connections. `begun` is called just
    /// before the first connect.
    ///
    /// # Errors
    /// A signal, or threads that cannot be started. A failed connect is not an error but a [`Fate`].
    pub fn run(&self, begun: &(dyn Fn() + Sync)) -> io::Result<Vec<Fate>> {
        if self.blocks && matches!(self.endpoint, Endpoint::Unix(_)) {
            return self.with_threads(begun);
        }
        begun();
        let clock = Instant::now();
        let mut all: Vec<Try> = (0..self.n_connections).map(|idx| Try::due_at(self.gap * idx)).collect();
        loop {
            waiting::goes_on()?;
            let mut next = STEP;
            for one in &mut all {
                let now = clock.elapsed();
                let left = one.step(self, now);
                next = next.min(left);
            }
            if all.iter().all(|it| it.fate.is_some()) {
                return Ok(all.into_iter().filter_map(|it| it.fate).collect());
            }
            wait(&mut all, next)?;
        }
    }

    fn connect(&self, fd: &OwnedFd) -> Result<(), Errno> {
        match self.endpoint {
            Endpoint::Unix(path) => rustix::net::connect(fd, &SocketAddrUnix::new(path)?),
            Endpoint::Abstract(name) => rustix::net::connect(fd, &SocketAddrUnix::new_abstract_name(name)?),
            Endpoint::Tcp(address) => rustix::net::connect(fd, address),
        }
    }

    fn socket(&self, flags: SocketFlags) -> Result<OwnedFd, Errno> {
        let family = match self.endpoint {
            Endpoint::Tcp(address) if address.is_ipv6() => AddressFamily::INET6,
            Endpoint::Tcp(_) => AddressFamily::INET,
            Endpoint::Unix(_) | Endpoint::Abstract(_) => AddressFamily::UNIX,
        };
        socket_with(family, SocketType::STREAM, flags | SocketFlags::CLOEXEC, None)
    }

    /// Makes each connect in a separate thread, which waits in the kernel.
    fn with_threads(&self, begun: &(dyn Fn() + Sync)) -> io::Result<Vec<Fate>> {
        let gate: RwLock<Option<Instant>> = RwLock::new(None);
        thread::scope(|scope| {
            let mut closed = gate.write().unwrap_or_else(PoisonError::into_inner);
            let mut threads = Vec::new();
            for idx in 0..self.n_connections {
                let gate = &gate;
                let one = move || {
                    let clock = (*gate.read().unwrap_or_else(PoisonError::into_inner))?;
                    let due = self.gap * idx;
                    thread::sleep(due.saturating_sub(clock.elapsed()));
                    let fd = self.wait_in_kernel();
                    let at = clock.elapsed();
                    let error = fd.as_ref().err().map(|errno| name_of(*errno));
                    Some((Fate { due, at, error }, fd.ok()))
                };
                threads.push(thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, one)?);
            }
            begun();
            *closed = Some(Instant::now());
            drop(closed);
            let ended: Vec<_> = threads.into_iter().map(|it| it.join().ok().flatten()).collect();
            waiting::goes_on()?;
            Ok(ended.into_iter().flatten().map(|(fate, _fd)| fate).collect())
        })
    }

    fn wait_in_kernel(&self) -> Result<OwnedFd, Errno> {
        let fd = self.socket(SocketFlags::empty())?;
        for timeout in [sockopt::Timeout::Send, sockopt::Timeout::Recv] {
            sockopt::set_socket_timeout(&fd, timeout, Some(self.patience))?;
        }
        self.connect(&fd)?;
        send(&fd, self.question, SendFlags::NOSIGNAL)?;
        let mut answer = [0; ANSWER_BYTES];
        match recv(&fd, &mut answer, RecvFlags::empty())?.0 {
            0 => Err(Errno::CONNRESET),
            n if (self.refuses)(&answer[..n]) => Err(Errno::ACCESS),
            _ => Ok(fd),
        }
    }
}

/// Waits until at least one descriptor is ready or the time is over, and marks the ready descriptors.
fn wait(all: &mut [Try], most: Duration) -> io::Result<()> {
    let mut waiting: Vec<&mut Try> = all.iter_mut().filter(|it| it.fd.is_some() && it.fate.is_none()).collect();
    let ready: Vec<bool> = {
        let watched = waiting.iter().filter_map(|it| Some((it.fd.as_ref()?, it.state)));
        let mut fds: Vec<PollFd<'_>> = watched
            .map(|(fd, state)| {
                let flags = if state == State::Connecting { PollFlags::OUT } else { PollFlags::IN };
                PollFd::from_borrowed_fd(fd.as_fd(), flags)
            })
            .collect();
        let most = Timespec { tv_sec: most.as_secs().cast_signed(), tv_nsec: most.subsec_nanos().into() };
        match poll(&mut fds, Some(&most)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
        fds.iter().map(|it| !it.revents().is_empty()).collect()
    };
    for (one, is_ready) in waiting.iter_mut().zip(ready) {
        one.is_ready = is_ready;
    }
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The connect is to be tried at this time.
    Due(Duration),
    /// TCP only: the handshake has begun and is not over.
    Connecting,
    Asked,
}

struct Try {
    state: State,
    first_due: Duration,
    n_pauses: usize,
    /// The clock's second at the first attempt.
    first_second: Option<i64>,
    fd: Option<OwnedFd>,
    is_ready: bool,
    fate: Option<Fate>,
}

impl Try {
    fn due_at(due: Duration) -> Self {
        Self {
            state: State::Due(due),
            first_due: due,
            n_pauses: 0,
            first_second: None,
            fd: None,
            is_ready: false,
            fate: None,
        }
    }

    /// Does everything that can be done now. Returns how long the next step has to wait, unless the descriptor becomes
    /// ready earlier.
    fn step(&mut self, storm: &Storm<'_>, now: Duration) -> Duration {
        if self.fate.is_some() {
            return Duration::MAX;
        }
        if now > storm.patience {
            self.fail(now, format!("no answer in {} s", storm.patience.as_secs()));
            return Duration::MAX;
        }
        let limit = storm.limit.map(|limit| self.first_due + limit);
        match self.state {
            State::Due(at) if at > now => return at.saturating_sub(now),
            State::Due(_) => self.try_now(storm, now),
            State::Connecting if self.is_ready => {
                let Some(fd) = &self.fd else { return Duration::MAX };
                match sockopt::socket_error(fd) {
                    Ok(Ok(())) => self.ask(storm, now),
                    Ok(Err(errno)) | Err(errno) => self.fail(now, name_of(errno)),
                }
            }
            State::Connecting if limit.is_some_and(|limit| now >= limit) => self.fail(now, name_of(Errno::TIMEDOUT)),
            State::Connecting => return limit.map_or(Duration::MAX, |limit| limit.saturating_sub(now)),
            State::Asked if self.is_ready => self.read(storm, now),
            State::Asked => {}
        }
        self.is_ready = false;
        match (self.state, &self.fate) {
            (State::Due(at), None) => at.saturating_sub(now),
            _ => Duration::MAX,
        }
    }

    fn try_now(&mut self, storm: &Storm<'_>, now: Duration) {
        let first = *self.first_second.get_or_insert_with(second);
        let connected = storm.socket(SocketFlags::NONBLOCK).and_then(|fd| {
            let connected = storm.connect(&fd);
            self.fd = Some(fd);
            connected
        });
        match connected {
            Ok(()) => self.ask(storm, now),
            Err(Errno::INPROGRESS) => self.state = State::Connecting,
            Err(Errno::AGAIN)
                if self.n_pauses < storm.pauses.len() && !(storm.ends_with_second && second() != first) =>
            {
                self.fd = None;
                self.state = State::Due(now + storm.pauses[self.n_pauses]);
                self.n_pauses += 1;
            }
            Err(errno) => self.fail(now, name_of(errno)),
        }
    }

    fn ask(&mut self, storm: &Storm<'_>, now: Duration) {
        self.state = State::Asked;
        let Some(fd) = &self.fd else { return };
        // The question is a few bytes, which fit into the buffer of a new connection.
        if let Err(errno) = send(fd, storm.question, SendFlags::NOSIGNAL) {
            self.fail(now, name_of(errno));
        }
    }

    fn read(&mut self, storm: &Storm<'_>, now: Duration) {
        let Some(fd) = &self.fd else { return };
        let mut answer = [0; ANSWER_BYTES];
        match recv(fd, &mut answer, RecvFlags::empty()) {
            Ok((0, _)) => self.fail(now, name_of(Errno::CONNRESET)),
            Ok((n, _)) if (storm.refuses)(&answer[..n]) => self.fail(now, name_of(Errno::ACCESS)),
            Ok(_) => {
                self.fate = Some(Fate { due: self.first_due, at: now, error: None });
                self.fd.take_if(|_| !storm.stays);
            }
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(errno) => self.fail(now, name_of(errno)),
        }
    }

    fn fail(&mut self, at: Duration, error: String) {
        self.fd = None;
        self.fate = Some(Fate { due: self.first_due, at, error: Some(error) });
    }
}

/// Returns the clock's current second, as time(2) returns it.
fn second() -> i64 {
    clock_gettime(ClockId::Realtime).tv_sec
}

/// Returns the name of an error from errno(3); `refused by the server` is looptax's own.
fn name_of(errno: Errno) -> String {
    let name = match errno {
        Errno::AGAIN => "EAGAIN",
        Errno::TIMEDOUT => "ETIMEDOUT",
        Errno::CONNREFUSED => "ECONNREFUSED",
        Errno::CONNRESET => "ECONNRESET",
        Errno::PIPE => "EPIPE",
        Errno::NOENT => "ENOENT",
        Errno::MFILE => "EMFILE",
        Errno::ADDRNOTAVAIL => "EADDRNOTAVAIL",
        Errno::ACCESS => "refused by the server",
        other => return format!("errno {}", other.raw_os_error()),
    };
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::{UnixListener, UnixStream};

    /// Counts the connects and the failures with EAGAIN on a socket that accepts no connection and has this backlog.
    #[track_caller]
    fn check(blocks: bool, pauses: &[u64], backlog: i32, n: u32, expected: (usize, usize)) {
        let fates = fates(blocks, (pauses, false), backlog, n);
        let with = |error: &str| fates.iter().filter(|it| it.error.as_deref() == Some(error)).count();
        assert_eq!((fates.len(), with("EAGAIN")), expected, "{fates:?}");
    }

    fn fates(blocks: bool, (pauses, ends_with_second): (&[u64], bool), backlog: i32, n: u32) -> Vec<Fate> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let listener = UnixListener::bind(&path).unwrap();
        rustix::net::listen(&listener, backlog).unwrap();
        // Takes the only place in the queue.
        let _before = ends_with_second.then(|| UnixStream::connect(&path).unwrap());
        let storm = Storm {
            endpoint: &Endpoint::Unix(path),
            n_connections: n,
            gap: Duration::ZERO,
            blocks,
            pauses: pauses.iter().map(|ms| Duration::from_millis(*ms)).collect(),
            ends_with_second,
            limit: None,
            question: b"",
            stays: true,
            refuses: |_| false,
            patience: Duration::from_millis(if ends_with_second { 60_000 } else { 200 }),
        };
        storm.run(&|| ()).unwrap()
    }

    #[test]
    fn r49_a_client_that_tries_until_the_clocks_next_second_fails_with_that() {
        let pauses = [1_000_u64, 1, 1, 1, 1_000_000];
        let begun = clock_gettime(ClockId::Realtime);
        let fates = fates(false, (&pauses, true), 0, 1);
        let ended = clock_gettime(ClockId::Realtime);
        assert_eq!(fates[0].error.as_deref(), Some("EAGAIN"), "{fates:?}");
        // The last pause, which is longer than the storm, was not begun.
        assert!(ended.tv_sec > begun.tv_sec, "{fates:?}");
    }

    #[test]
    fn one_more_than_the_backlog_waits_and_the_rest_fails() {
        check(false, &[], 5, 20, (20, 14));
        check(false, &[], 19, 20, (20, 0));
        check(false, &[1, 2], 5, 20, (20, 14));
    }
}
