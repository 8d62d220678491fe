//! Remembers sockets, by their cookies, which the kernel never reuses.

use std::collections::HashSet;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::sys::socket;

/// Maximum number of sockets that are remembered in each of two generations; when there are more, the older generation
/// is forgotten.
const MAX_REMEMBERED: usize = 4_096;

#[derive(Debug, Default)]
pub(crate) struct Sockets {
    generations: Mutex<[HashSet<u64>; 2]>,
}

impl Sockets {
    /// Adds a socket, unless the kernel has no cookie for it.
    pub(crate) fn remember(&self, socket: &OwnedFd) {
        let Ok(cookie) = socket::cookie(socket.as_fd(), libc::SO_COOKIE) else {
            return;
        };
        let mut generations = self.generations();
        if generations[0].len() >= MAX_REMEMBERED {
            let [young, old] = &mut *generations;
            *old = std::mem::take(young);
        }
        generations[0].insert(cookie);
    }

    /// Removes a socket; true if it was remembered.
    pub(crate) fn forget(&self, socket: &OwnedFd) -> bool {
        let Ok(cookie) = socket::cookie(socket.as_fd(), libc::SO_COOKIE) else {
            return false;
        };
        let mut generations = self.generations();
        generations.iter_mut().any(|it| it.remove(&cookie))
    }

    fn generations(&self) -> MutexGuard<'_, [HashSet<u64>; 2]> {
        self.generations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_forgotten_once() {
        let sockets = Sockets::default();
        let [one, other] = [(); 2].map(|()| socket::stream(libc::AF_UNIX).unwrap());
        sockets.remember(&one);
        assert!(!sockets.forget(&other));
        assert!(sockets.forget(&one));
        assert!(!sockets.forget(&one));
    }
}
