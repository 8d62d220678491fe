//! Options of TCP, IP and IPv6, which a Unix socket does not have, and options that would reveal a Unix socket.
//!
//! Each option is tried on a fresh TCP socket of ours, so the program gets the same errors and lengths as from TCP.
//! Values that the program sets are remembered, and returned when the program reads them.

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use super::{moved, outcome, read_length, write_answer};
use crate::page::Page;
use crate::supervisor::Supervisor;
use crate::sys::{errno, own_pid, process, socket};
use crate::tag::Tag;
use looptax_host::kernel;
use looptax_host::seccomp::{Answer, Call};

/// Longest value that is read; `TCP_INFO` has some 280 bytes.
const MAX_VALUE_BYTES: usize = 512;
/// Maximum number of values that are remembered, in each of two generations.
const MAX_REMEMBERED: usize = 8_192;
/// Source: `net/tcp_states.h`.
const STATE_ESTABLISHED: u8 = 1;

/// Options that change how bytes travel and that looptax cannot imitate: encryption in the kernel, signatures, repair,
/// receiving without copies. Source: linux/tcp.h.
const REFUSED: [i32; 5] =
    [libc::TCP_ULP, libc::TCP_REPAIR, libc::TCP_MD5SIG, libc::TCP_MD5SIG_EXT, libc::TCP_ZEROCOPY_RECEIVE];
/// Options that are carried over to the moved socket, because programs set them before `connect` and read them after
/// it. Source: linux/tcp.h, linux/in.h, linux/in6.h.
const CARRIED: [(i32, i32); 24] = [
    (libc::SOL_SOCKET, libc::SO_REUSEPORT),
    (libc::IPPROTO_TCP, libc::TCP_NODELAY),
    (libc::IPPROTO_TCP, libc::TCP_CORK),
    (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE),
    (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL),
    (libc::IPPROTO_TCP, libc::TCP_KEEPCNT),
    (libc::IPPROTO_TCP, libc::TCP_SYNCNT),
    (libc::IPPROTO_TCP, libc::TCP_LINGER2),
    (libc::IPPROTO_TCP, libc::TCP_DEFER_ACCEPT),
    (libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP),
    (libc::IPPROTO_TCP, libc::TCP_QUICKACK),
    (libc::IPPROTO_TCP, libc::TCP_CONGESTION),
    (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT),
    (libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT),
    (libc::IPPROTO_TCP, libc::TCP_FASTOPEN_CONNECT),
    (libc::IPPROTO_IP, libc::IP_TOS),
    (libc::IPPROTO_IP, libc::IP_TTL),
    (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER),
    (libc::IPPROTO_IP, libc::IP_RECVERR),
    (libc::IPPROTO_IP, libc::IP_FREEBIND),
    (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY),
    (libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS),
    (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
    (libc::IPPROTO_IPV6, libc::IPV6_RECVERR),
];
/// Options that are accepted before `connect`; a connected socket refuses them with EINVAL. Source: `net/ipv4/tcp.c`,
/// `net/ipv6/ipv6_sockglue.c`.
const OF_CLOSED: [(i32, i32); 3] = [
    (libc::IPPROTO_TCP, libc::TCP_FASTOPEN),
    (libc::IPPROTO_TCP, libc::TCP_FASTOPEN_CONNECT),
    (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY),
];
/// Options that every kind of socket has, and whose values differ between a Unix socket and a TCP socket.
const OF_ANY_KIND: [i32; 3] = [libc::SO_REUSEPORT, libc::SO_DOMAIN, libc::SO_PROTOCOL];
/// Length of the longest value of a carried option: the name of a congestion control algorithm. Source: linux/tcp.h,
/// `TCP_CA_NAME_MAX`.
const MAX_CARRIED_BYTES: usize = 16;

const FAMILIES: [i32; 2] = [libc::AF_INET, libc::AF_INET6];

/// An option of a socket; the socket is identified by its cookie, which is never reused.
type Key = (u64, i32, i32);

/// The options that programs have set. If there are too many, the older generation is forgotten.
#[derive(Debug, Default)]
pub(crate) struct Options {
    generations: Mutex<[HashMap<Key, Vec<u8>>; 2]>,
    /// The default values of `CARRIED` on a new socket, by family.
    usual: [Vec<Option<Vec<u8>>>; 2],
}

impl Options {
    pub(crate) fn new() -> Self {
        let usual = |family| {
            let fresh = socket::stream(family).ok();
            let value = |option| value_of(fresh.as_ref()?, option);
            CARRIED.map(value).to_vec()
        };
        Self { generations: Mutex::default(), usual: FAMILIES.map(usual) }
    }

    fn remember(&self, key: Key, value: &[u8]) {
        let mut generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        if generations[0].len() >= MAX_REMEMBERED {
            let [young, old] = &mut *generations;
            *old = std::mem::take(young);
        }
        generations[0].insert(key, value.to_vec());
    }

    fn recall(&self, key: Key) -> Option<Vec<u8>> {
        let generations = self.generations.lock().unwrap_or_else(PoisonError::into_inner);
        generations.iter().find_map(|it| it.get(&key).cloned())
    }

    /// Remembers the options that were set on a TCP socket, for the socket that replaces it.
    pub(crate) fn carry_over(&self, old: &OwnedFd, new: &OwnedFd, family: i32) {
        let Ok(cookie) = socket::cookie(new.as_fd(), libc::SO_COOKIE) else {
            return;
        };
        let usual = &self.usual[usize::from(family != FAMILIES[0])];
        for ((level, name), usual) in CARRIED.into_iter().zip(usual) {
            let now = value_of(old, (level, name));
            if let Some(now) = now.filter(|now| Some(now) != usual.as_ref()) {
                self.remember((cookie, level, name), &now);
            }
        }
    }

    /// Sets on a TCP socket the options that were set on the moved socket that it replaces.
    pub(crate) fn carry_back(&self, old: &OwnedFd, new: &OwnedFd) {
        let Ok(cookie) = socket::cookie(old.as_fd(), libc::SO_COOKIE) else {
            return;
        };
        for (level, name) in CARRIED {
            if let Some(value) = self.recall((cookie, level, name)) {
                let _ = socket::set_option(new.as_fd(), level, name, &value);
            }
        }
    }
}

/// Returns the value of a socket's option; `None` if the socket does not have this option.
fn value_of(socket: &OwnedFd, (level, name): (i32, i32)) -> Option<Vec<u8>> {
    let mut value = [0; MAX_CARRIED_BYTES];
    let n_bytes = socket::option(socket.as_fd(), level, name, &mut value).ok()?;
    Some(value[..n_bytes.min(MAX_CARRIED_BYTES)].to_vec())
}

/// Records in the page whether a program may inherit a socket on which options were set earlier. If this is unknown,
/// records that a program may inherit such a socket.
pub(crate) fn note_inherited(page: &Page) {
    let may_be_set = are_inherited().unwrap_or(true);
    page.has_set_options.store(may_be_set, Ordering::SeqCst);
}

/// Returns whether this process holds a TCP socket that a program may inherit. The supervisor has not seen the options
/// that were set earlier on an inherited socket.
fn are_inherited() -> io::Result<bool> {
    let own = process::pidfd_open(own_pid(), 0)?;
    let names = kernel::names("/proc/self/fd")?;
    let numbers = names.filter_map(|it| it.to_str()?.parse().ok());
    let is_tcp = |fd| {
        let copy = process::pidfd_getfd(own.as_fd(), fd);
        copy.is_ok_and(|it| socket::number(it.as_fd(), libc::IPPROTO_TCP, libc::TCP_NODELAY).is_ok())
    };
    Ok({ numbers }.any(is_tcp))
}

/// Answers `setsockopt` and `getsockopt`.
pub(crate) fn answer(supervisor: &Supervisor, call: &Call) -> Answer {
    let (level, name) = (call.args[1] as i32, call.args[2] as i32);
    let Some((file, tag)) = moved(call, supervisor.features) else {
        if i64::from(call.number) == libc::SYS_setsockopt {
            let has_set = &supervisor.page.has_set_options;
            has_set.store(true, Ordering::SeqCst);
        }
        return Answer::GoOn;
    };
    let Ok(cookie) = socket::cookie(file.as_fd(), libc::SO_COOKIE) else {
        return Answer::GoOn;
    };
    let key = (cookie, level, name);
    if level == libc::SOL_SOCKET && !OF_ANY_KIND.contains(&name) {
        return Answer::GoOn;
    }
    if i64::from(call.number) == libc::SYS_setsockopt {
        // Family and protocol cannot be set; the kernel returns the same error for every socket.
        if level == libc::SOL_SOCKET && name != libc::SO_REUSEPORT {
            return Answer::GoOn;
        }
        set(supervisor, call, tag, key)
    } else {
        get(supervisor, call, tag, key)
    }
}

fn is_refused(level: i32, name: i32) -> bool {
    level == libc::IPPROTO_TCP && REFUSED.contains(&name)
}

fn set(supervisor: &Supervisor, call: &Call, tag: Tag, key: Key) -> Answer {
    let (_, level, name) = key;
    if is_refused(level, name) {
        return Answer::Fail(libc::ENOPROTOOPT);
    }
    let Ok(n_given) = usize::try_from(call.args[4] as i32) else {
        return Answer::Fail(libc::EINVAL);
    };
    let mut value = [0; MAX_VALUE_BYTES];
    let n_bytes = n_given.min(MAX_VALUE_BYTES);
    match process::read_memory(call.tid, call.args[3], &mut value[..n_bytes]) {
        Ok(n_read) if n_read == n_bytes => {}
        _ => return Answer::Fail(libc::EFAULT),
    }
    // Most programs set `TCP_NODELAY`, and setting it cannot fail, so no fresh socket is needed to try it.
    if (level, name) == (libc::IPPROTO_TCP, libc::TCP_NODELAY)
        && let Some(number) = value[..n_bytes].first_chunk()
    {
        let is_on = i32::from(i32::from_ne_bytes(*number) != 0);
        supervisor.options.remember(key, &is_on.to_ne_bytes());
        return Answer::Done;
    }
    let Ok(fresh) = socket::stream(tag.family()) else {
        return Answer::Done;
    };
    if let Err(error) = socket::set_option(fresh.as_fd(), level, name, &value[..n_bytes]) {
        return Answer::Fail(errno(&error));
    }
    if OF_CLOSED.contains(&(level, name)) {
        return Answer::Fail(libc::EINVAL);
    }
    let mut now = [0; MAX_VALUE_BYTES];
    if let Ok(n_bytes) = socket::option(fresh.as_fd(), level, name, &mut now) {
        supervisor.options.remember(key, &now[..n_bytes]);
    }
    Answer::Done
}

fn get(supervisor: &Supervisor, call: &Call, tag: Tag, key: Key) -> Answer {
    let (_, level, name) = key;
    let room = match read_length(call, call.args[4]) {
        Ok(room) => room,
        Err(errno) => return Answer::Fail(errno),
    };
    let value = match value(supervisor, tag, key, room) {
        Ok(value) => value,
        Err(errno) => return Answer::Fail(errno),
    };
    debug_assert!(!is_refused(level, name) || value.is_empty());
    if !supervisor.listener.still_waits(call.id) {
        return Answer::GoOn;
    }
    let n_bytes = value.len().min(room);
    let length = (call.args[4], n_bytes);
    let written = write_answer(call, (call.args[3], &value), room, length);
    outcome(&written)
}

/// Returns the option's value, or the error number. The value may be longer than `room`.
fn value(supervisor: &Supervisor, tag: Tag, key: Key, room: usize) -> Result<Vec<u8>, i32> {
    let (_, level, name) = key;
    match (level, name) {
        (libc::SOL_SOCKET, libc::SO_DOMAIN) => return Ok(tag.family().to_ne_bytes().to_vec()),
        (libc::SOL_SOCKET, libc::SO_PROTOCOL) => {
            return Ok(libc::IPPROTO_TCP.to_ne_bytes().to_vec());
        }
        _ => {}
    }
    if is_refused(level, name) {
        return Err(libc::ENOPROTOOPT);
    }
    let was_set = supervisor.options.recall(key);
    // For an IP option, the number of bytes that the kernel returns depends on the value and on `room`.
    let is_told_by_kernel = level == libc::IPPROTO_IP || level == libc::IPPROTO_IPV6;
    if let Some(value) = &was_set
        && !is_told_by_kernel
    {
        return Ok(value.clone());
    }
    let fresh = socket::stream(tag.family()).map_err(|error| errno(&error))?;
    if let Some(value) = was_set {
        let _ = socket::set_option(fresh.as_fd(), level, name, &value);
    }
    let mut value = vec![0; room.min(MAX_VALUE_BYTES)];
    let n_bytes = socket::option(fresh.as_fd(), level, name, &mut value);
    value.truncate(n_bytes.map_err(|error| errno(&error))?);
    if level == libc::IPPROTO_TCP
        && name == libc::TCP_INFO
        && let Some(state) = value.first_mut()
    {
        *state = STATE_ESTABLISHED;
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_older_half_is_forgotten_when_there_are_too_many() {
        let options = Options::default();
        for cookie in 0..2 * MAX_REMEMBERED as u64 {
            options.remember((cookie, 6, 1), &[1]);
        }
        assert_eq!(options.recall((0, 6, 1)), Some(vec![1]));
        options.remember((u64::MAX, 6, 1), &[2]);
        assert_eq!(options.recall((0, 6, 1)), None);
        assert_eq!(options.recall((MAX_REMEMBERED as u64, 6, 1)), Some(vec![1]));
        assert_eq!(options.recall((u64::MAX, 6, 1)), Some(vec![2]));
    }
}
