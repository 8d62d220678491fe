//! Waits for the key `q`, in a thread that sleeps until a key is pressed.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::OwnedFd;

use super::tty;

/// The thread that waits for keys; it ends when this value is dropped.
pub(super) struct Keys {
    end: OwnedFd,
    thread: Option<JoinHandle<()>>,
}

impl Keys {
    /// Starts to wait for keys on the controlling terminal; `None` if there is no such terminal.
    pub(super) fn listen(stop: Arc<AtomicBool>) -> Option<Self> {
        let keyboard = tty::keyboard().ok()?;
        let end = eventfd(0, EventfdFlags::CLOEXEC).ok()?;
        let its_end = end.try_clone().ok()?;
        let listening =
            thread::Builder::new().name("keys".to_owned()).spawn(move || wait_for_q(keyboard, &its_end, &stop)).ok()?;
        Some(Self { end, thread: Some(listening) })
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        let _ = rustix::io::write(&self.end, &1_u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn wait_for_q(mut keyboard: File, end: &OwnedFd, stop: &AtomicBool) {
    let mut typed = [0; 64];
    while is_typed(&keyboard, end) {
        match keyboard.read(&mut typed) {
            Ok(0) => return,
            Ok(n) if typed[..n].iter().any(|key| matches!(key, b'q' | b'Q')) => {
                stop.store(true, Ordering::Relaxed);
                return;
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return,
        }
    }
}

/// Waits until a key is pressed; returns false if the view has ended.
fn is_typed(keyboard: &File, end: &OwnedFd) -> bool {
    loop {
        let mut fds = [PollFd::new(keyboard, PollFlags::IN), PollFd::from_borrowed_fd(end.as_fd(), PollFlags::IN)];
        match poll(&mut fds, None) {
            Ok(_) if !fds[1].revents().is_empty() => return false,
            Ok(_) if !fds[0].revents().is_empty() => return true,
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}
