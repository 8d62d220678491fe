//! `connect` to a mapped address: puts a connected Unix socket in the place of the program's socket, or leaves the
//! connection on TCP in any case of doubt.
//!
//! Until the program's descriptor is replaced, every failure leaves the program as it was, and its own call continues.
//! After that the call has succeeded, whatever else happens.

mod calls;
mod disconnect;
mod exchange;
mod fresh;
mod holders;
mod settings;

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::Ordering;

use crate::answers;
use crate::caller::{Caller, Person};
use crate::page::Slot;
use crate::steering::Fate;
use crate::supervisor::Supervisor;
use crate::sys::{errno, fork, process, socket};
use crate::tag::{Tag, parse_raw};
use crate::{DieAt, FallbackReason};
use exchange::Exchange;
use looptax_host::seccomp::{Answer, Call};

/// Length of the longest address that is read: a `sockaddr_in6`.
const ADDRESS_BYTES: usize = 28;
/// Length of the longest address that the kernel accepts: a `sockaddr_storage`.
const MAX_ADDRESS_BYTES: usize = 128;
/// The address family with which `connect` dissolves a connection.
const UNSPECIFIED: [u8; 2] = (libc::AF_UNSPEC as u16).to_ne_bytes();
/// `TCP_INFO` starts with the state. Source: `net/tcp_states.h`, `TCP_CLOSE`.
const STATE_IDLE: u8 = 7;

/// Why a call is not answered, so that its connection stays on TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Left {
    reason: FallbackReason,
    errno: i32,
}

enum Outcome {
    /// The call continues unchanged: it is not about a socket that looptax moves, or it no longer exists.
    Foreign,
    /// The connection stays on TCP because its route is not moved now.
    Steered,
    /// The connection was moved, or the program repeats a call that moved it.
    Moved { is_non_blocking: bool },
    /// The program's socket was moved before. `is_first_question` is true if the program got the answer "in progress"
    /// and has not called `connect` again since.
    Connected { is_first_question: bool },
}

impl From<FallbackReason> for Left {
    fn from(reason: FallbackReason) -> Self {
        Self { reason, errno: 0 }
    }
}

fn failed(reason: FallbackReason) -> impl Fn(io::Error) -> Left {
    move |error| Left { reason, errno: errno(&error) }
}

/// A call's mapped address, and what to do about it.
#[derive(Clone, Copy)]
struct Mapped {
    peer: SocketAddr,
    route_idx: usize,
    /// Whether the address's route is not moved at the moment. Even then, calls on a socket that was moved earlier are
    /// answered.
    is_left: bool,
}

/// A call of `connect` with its mapped address, and facts about its caller.
struct Asked<'a> {
    call: &'a Call,
    fd: i32,
    peer: SocketAddr,
    route_idx: usize,
    caller: &'a Caller,
    person: &'a Person,
}

pub(crate) fn answer(supervisor: &Supervisor, call: &Call, slot: &Slot, counted_in: &mut Option<u32>) -> Answer {
    let Some(bytes) = address(call) else {
        return Answer::GoOn;
    };
    if bytes.first_chunk() == Some(&UNSPECIFIED) {
        return disconnect::answer(supervisor, call, slot);
    }
    let peer = parse_raw(&bytes);
    let Some((peer, route_idx)) = peer.and_then(|it| Some((it, supervisor.mapping.find(it)?))) else {
        return elsewhere(supervisor, call, &bytes);
    };
    let decision = supervisor.steering.map(|it| it.decide(route_idx));
    *counted_in = decision.map(|it| it.slice);
    let count = |fate: Fate| {
        if let (Some(steering), Some(decision)) = (supervisor.steering, decision) {
            steering.count(decision.slice, route_idx, fate);
        }
    };
    let mapped = Mapped { peer, route_idx, is_left: decision.is_some_and(|it| !it.is_moved) };
    match handle(supervisor, call, slot, mapped) {
        Ok((Outcome::Foreign, _)) => Answer::GoOn,
        Ok((Outcome::Steered, _)) => {
            count(Fate::Left);
            Answer::GoOn
        }
        Ok((Outcome::Moved { is_non_blocking }, pid)) => {
            supervisor.note_moved(route_idx, pid);
            count(Fate::Moved);
            supervisor.die_at(DieAt::Replaced);
            success(is_non_blocking)
        }
        Ok((Outcome::Connected { is_first_question }, _)) if is_first_question => Answer::Done,
        Ok((Outcome::Connected { .. }, _)) => Answer::Fail(libc::EISCONN),
        Err((left, pid)) => {
            supervisor.note_left(route_idx, pid, left.reason, left.errno);
            count(Fate::Fallen);
            Answer::GoOn
        }
    }
}

/// Answers a `connect` to an address that is not mapped: a moved socket is already connected, whatever the address is.
fn elsewhere(supervisor: &Supervisor, call: &Call, address: &[u8]) -> Answer {
    let is_inet = |family: i32| address.starts_with(&(family as u16).to_ne_bytes());
    if !is_inet(libc::AF_INET) && !is_inet(libc::AF_INET6) {
        return Answer::GoOn;
    }
    match answers::moved(call, supervisor.features) {
        Some((socket, _)) if supervisor.on_their_way.forget(&socket) => Answer::Done,
        Some(_) => Answer::Fail(libc::EISCONN),
        None => Answer::GoOn,
    }
}

/// Returns TCP's answer for a connection that will succeed: for a non-blocking socket over loopback, TCP reports "in
/// progress" whatever the result, and programs then wait for the event that reports the result.
fn success(is_non_blocking: bool) -> Answer {
    if is_non_blocking { Answer::Fail(libc::EINPROGRESS) } else { Answer::Done }
}

/// Returns the bytes of the address in a call; `None` if it cannot be a mapped address.
fn address(call: &Call) -> Option<Vec<u8>> {
    let mut bytes = [0; MAX_ADDRESS_BYTES];
    let wanted = bytes.get_mut(..call.args[2] as u32 as usize)?;
    let n_read = process::read_memory(call.tid, call.args[1], wanted).ok()?;
    // An address that extends beyond the program's memory is invalid, even if its first bytes would be enough.
    (n_read == wanted.len()).then(|| wanted[..n_read.min(ADDRESS_BYTES)].to_vec())
}

fn handle(supervisor: &Supervisor, call: &Call, slot: &Slot, mapped: Mapped) -> Result<(Outcome, u32), (Left, u32)> {
    let unknown = |left| (left, call.tid as u32);
    let hidden = failed(FallbackReason::Hidden);
    let fd = call.args[0] as i32;
    let features = supervisor.features;
    let (caller, old) = match Caller::with_file(call.tid, fd, features) {
        Ok(found) => found,
        Err(error) if errno(&error) == libc::EBADF => return Ok((Outcome::Foreign, 0)),
        Err(_) if mapped.is_left => return Ok((Outcome::Steered, 0)),
        Err(error) => return Err(unknown(hidden(error))),
    };
    let Mapped { peer, route_idx, .. } = mapped;
    if mapped.is_left && matches!(kind(peer, &old), Kind::Idle { .. } | Kind::Bound) {
        return Ok((Outcome::Steered, 0));
    }
    let person = caller.look(&supervisor.own, &supervisor.page.changes, features);
    let person = person.map_err(|it| unknown(hidden(it)))?;
    let asked = Asked { call, fd, peer, route_idx, caller: &caller, person: &person };
    let pid = person.pid as u32;
    match kind(peer, &old) {
        Kind::Foreign => Ok((Outcome::Foreign, pid)),
        Kind::Moved if supervisor.is_repeated(call, &old) => Ok((moved(&old), pid)),
        Kind::Moved => {
            let is_first_question = supervisor.on_their_way.forget(&old);
            Ok((Outcome::Connected { is_first_question }, pid))
        }
        Kind::Idle { own_port } => {
            let outcome = asked.bring(supervisor, slot, old, own_port);
            outcome.map(|it| (it, pid)).map_err(|it| (it, pid))
        }
        Kind::Bound => Err((FallbackReason::Bound.into(), pid)),
    }
}

/// Returns the outcome for a socket that was moved, depending on whether the program made it non-blocking.
fn moved(socket: &OwnedFd) -> Outcome {
    let flags = socket::status_flags(socket.as_fd()).unwrap_or_default();
    Outcome::Moved { is_non_blocking: flags & libc::O_NONBLOCK != 0 }
}

/// The kind of the socket that the program asks to connect.
enum Kind {
    /// The socket is not a TCP stream socket, its family differs from the address's, or it is already connecting,
    /// connected or listening. The kernel handles the call.
    Foreign,
    Moved,
    /// A TCP socket that is not connected. After an earlier attempt, the socket still shows the port of that attempt,
    /// although it has given up the port.
    Idle {
        own_port: Option<u16>,
    },
    /// A TCP socket with an address that the program chose.
    Bound,
}

/// Returns the kind of a socket that is to be connected to this address.
fn kind(peer: SocketAddr, old: &OwnedFd) -> Kind {
    let old = old.as_fd();
    let Ok(name) = socket::own_name(old) else {
        return Kind::Foreign;
    };
    if Tag::read(&name).is_some() {
        return Kind::Moved;
    }
    let wanted = family(peer);
    if name.family() != wanted || is_of_other_family(peer, old) {
        return Kind::Foreign;
    }
    let mut state = [0];
    // Sockets of other kinds do not have this state. If the socket is already connecting, the program only asks for the
    // progress of that connection.
    let told = socket::option(old, libc::IPPROTO_TCP, libc::TCP_INFO, &mut state);
    if told.is_err() || state[0] != STATE_IDLE {
        return Kind::Foreign;
    }
    let own = parse_raw(name.bytes());
    // A socket with a chosen address is bound even if it has no port yet, because the server may have other rules for
    // this address.
    if own.is_some_and(|it| !it.ip().is_unspecified()) {
        return Kind::Bound;
    }
    let own_port = own.map(|it| it.port()).filter(|port| *port != 0);
    if own_port.is_some() && socket::has_chosen_port(old, wanted).unwrap_or(true) {
        return Kind::Bound;
    }
    Kind::Idle { own_port }
}

/// Returns whether the socket cannot reach `peer`, because the socket is only for IPv6 and `peer` is an IPv4 address
/// inside an IPv6 one.
fn is_of_other_family(peer: SocketAddr, old: BorrowedFd<'_>) -> bool {
    let is_mapped = matches!(peer, SocketAddr::V6(it) if it.ip().to_ipv4_mapped().is_some());
    is_mapped && socket::number(old, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY).is_ok_and(|it| it != 0)
}

fn family(address: SocketAddr) -> i32 {
    if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 }
}

impl Asked<'_> {
    /// Connects a Unix socket and puts it in the place of `old`.
    fn bring(
        &self,
        supervisor: &Supervisor,
        slot: &Slot,
        old: OwnedFd,
        own_port: Option<u16>,
    ) -> Result<Outcome, Left> {
        let features = supervisor.features;
        self.may_be_moved(supervisor, &old)?;
        let flags = socket::status_flags(old.as_fd()).map_err(failed(FallbackReason::Failed))?;
        let has_rare = supervisor.page.has_set_options.load(Ordering::SeqCst);
        if !settings::are_of_both_kinds(&old, flags, has_rare) {
            return Err(FallbackReason::Option.into());
        }
        let inode = process::inode(old.as_fd()).map_err(failed(FallbackReason::Failed))?;
        // The process's descriptors may differ from those of this thread.
        if !features.has_thread_pidfd && !self.is_still(inode, &old, features.has_kcmp) {
            return Ok(Outcome::Foreign);
        }
        let is_only_thread = process::n_threads(self.call.tid).is_ok_and(|it| it == 1);
        let watches = self.watches(supervisor, &[self.fd], &old, inode)?;
        let new = self.connected(supervisor, &old, own_port)?;
        settings::copy(&old, &new, flags, has_rare).map_err(failed(FallbackReason::Failed))?;
        if has_rare {
            supervisor.options.carry_over(&old, &new, family(self.peer));
        }
        supervisor.expect_answer(self.call, &new);
        let is_non_blocking = flags & libc::O_NONBLOCK != 0;
        if is_non_blocking {
            supervisor.on_their_way.remember(&new);
        }
        let exchange = Exchange { asked: self, supervisor, slot, inode, new, is_only_thread };
        let is_moved = exchange.run(old, &watches)?;
        Ok(if is_moved { Outcome::Moved { is_non_blocking } } else { Outcome::Foreign })
    }

    fn may_be_moved(&self, supervisor: &Supervisor, old: &OwnedFd) -> Result<(), Left> {
        let (tid, own) = (self.call.tid, &supervisor.own);
        if !own.shares_network(tid, old.as_fd(), supervisor.features) {
            return Err(FallbackReason::OtherNetwork.into());
        }
        if own.is_confined(tid, &supervisor.page.changes) {
            return Err(FallbackReason::Confined.into());
        }
        if let Some(reason) = own.objection(tid, self.person) {
            return Err(reason.into());
        }
        let to = &supervisor.mapping.routes[self.route_idx].to;
        if !self.person.world.shares_socket(tid, to) {
            return Err(FallbackReason::OtherRoot.into());
        }
        let is_demanded = supervisor.processes.is_demanded(
            self.caller,
            self.person.pid,
            supervisor.features,
            &supervisor.mapping,
            self.route_idx,
        );
        if is_demanded {
            return Err(FallbackReason::Demanded.into());
        }
        Ok(())
    }
}

/// Finishes a call whose supervisor died while it replaced the program's descriptor.
pub(crate) fn finish(supervisor: &Supervisor, call: &Call) -> Answer {
    let found = || -> io::Result<Option<Outcome>> {
        let fd = call.args[0] as i32;
        let (_, file) = Caller::with_file(call.tid, fd, supervisor.features)?;
        if Tag::read(&socket::own_name(file.as_fd())?).is_none() {
            return Ok(None);
        }
        Ok(Some(moved(&file)))
    };
    if let Ok(Some(Outcome::Moved { is_non_blocking })) = found() {
        return success(is_non_blocking);
    }
    let peer = address(call).and_then(|bytes| parse_raw(&bytes));
    if let Some(route_idx) = peer.and_then(|peer| supervisor.mapping.find(peer)) {
        supervisor.note_left(route_idx, call.tid as u32, FallbackReason::Crashed, 0);
        if let Some(steering) = supervisor.steering {
            steering.count(steering.decide(route_idx).slice, route_idx, Fate::Fallen);
        }
    }
    Answer::GoOn
}

/// Kills this process, for tests.
pub(crate) fn die() {
    fork::raise(libc::SIGKILL);
}
