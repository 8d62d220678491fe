//! A memory of sockets, by the numbers that the kernel never gives to another.

use std::collections::HashSet;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::sys::socket;

/// Sockets remembered, in each of two generations: the older one is forgotten when there are too many.
const MAX_REMEMBERED: usize = 4_096;

#[derive(Debug, Default)]
pub(crate) struct Sockets {
    generations: Mutex<[HashSet<u64>; 2]>,
}

impl Sockets {
    /// Takes a socket in. One that the kernel has no number for is not.
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

    /// Takes a socket out; whether it was in.
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
