//! Copies the settings of the program's socket to the socket that replaces it.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use crate::sys::socket;

/// Options that both kinds of sockets have and that programs often set.
const COMMON: [i32; 5] =
    [libc::SO_RCVTIMEO, libc::SO_SNDTIMEO, libc::SO_LINGER, libc::SO_KEEPALIVE, libc::SO_REUSEADDR];
/// Options that hardly any program sets. If a program sets one of them, the filter sees the call.
const RARE: [i32; 5] = [libc::SO_OOBINLINE, libc::SO_RCVLOWAT, libc::SO_PRIORITY, libc::SO_MARK, libc::SO_DONTROUTE];
const MAX_COPIED_BYTES: usize = 16;
/// The bits that show which buffer sizes the program has set explicitly, with the options for these sizes. Source:
/// linux/socket.h, `SOCK_SNDBUF_LOCK` and `SOCK_RCVBUF_LOCK`.
const LOCKED: [(i32, i32); 2] = [(1, libc::SO_SNDBUF), (2, libc::SO_RCVBUF)];

/// Options that a Unix socket does not have, or whose effect would be missing on a Unix socket: completions of
/// zero-copy sending, timestamps of received data.
const OF_TCP_ALONE: [i32; 4] = [libc::SO_ZEROCOPY, libc::SO_TIMESTAMP, libc::SO_TIMESTAMPNS, libc::SO_TIMESTAMPING];

/// Returns whether all settings of the program's socket can also be made on a Unix socket. `has_rare` is whether the
/// program may have set an option that the filter sees.
///
/// Signals (`O_ASYNC`) cannot be carried over: a signal contains the number of the descriptor on which signals were
/// enabled. The supervisor would enable them on its own descriptor, so a signal would contain the number of that
/// descriptor.
pub(super) fn are_of_both_kinds(old: &OwnedFd, status_flags: i32, has_rare: bool) -> bool {
    let is_off = |name: &i32| socket::number(old.as_fd(), libc::SOL_SOCKET, *name).is_ok_and(|value| value == 0);
    status_flags & libc::O_ASYNC == 0 && (!has_rare || OF_TCP_ALONE.iter().all(is_off))
}

/// Gives the new socket the settings of the old one.
pub(super) fn copy(old: &OwnedFd, new: &OwnedFd, status_flags: i32, has_rare: bool) -> io::Result<()> {
    let (old, new) = (old.as_fd(), new.as_fd());
    // If an option of `OF_TCP_ALONE` is on at this point, the program has set it after `connect`. Such an option is
    // copied when the socket becomes a TCP socket again.
    let rare = RARE.iter().chain(&OF_TCP_ALONE).filter(|_| has_rare);
    for name in COMMON.iter().chain(rare).copied() {
        let mut value = [0; MAX_COPIED_BYTES];
        let Ok(n_bytes) = socket::option(old, libc::SOL_SOCKET, name, &mut value) else {
            continue;
        };
        // On a new socket these options are 0, except for `SO_RCVLOWAT`, which is 1.
        let is_default = match name {
            libc::SO_RCVLOWAT => value[..n_bytes] == 1_i32.to_ne_bytes(),
            _ => value[..n_bytes].iter().all(|byte| *byte == 0),
        };
        if !is_default {
            let _ = socket::set_option(new, libc::SOL_SOCKET, name, &value[..n_bytes]);
        }
    }
    let locks = socket::number(old, libc::SOL_SOCKET, libc::SO_BUF_LOCK).unwrap_or_default();
    for (_, name) in LOCKED.iter().filter(|(bit, _)| locks & bit != 0) {
        // The kernel returns twice the requested value: socket(7).
        let n_bytes = socket::number(old, libc::SOL_SOCKET, *name)? / 2;
        let _ = socket::set_option(new, libc::SOL_SOCKET, *name, &n_bytes.to_ne_bytes());
    }
    // The new socket was made non-blocking.
    if status_flags & libc::O_NONBLOCK != 0 {
        return Ok(());
    }
    socket::set_status_flags(new, 0)
}
