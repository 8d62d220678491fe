//! Makes a new Unix socket that is connected with the rights of the program's user.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::Ordering;

use super::{Asked, Left, failed};
use crate::supervisor::Supervisor;
use crate::sys::identity::run_as;
use crate::sys::{errno, socket};
use crate::tag::Tag;
use crate::{FallbackReason, Route};

/// How long looptax waits for a place in the socket's queue, if the program itself would wait; after this time the
/// connection stays on TCP.
const QUEUE_PATIENCE_MS: u64 = 1_000;
/// Number of names that are tried, because an earlier supervisor with our process id may have used the same names.
const NAME_TRIES: usize = 8;

impl Asked<'_> {
    /// Makes a new socket that is connected with the caller's rights, not with ours.
    pub(super) fn connected(
        &self,
        supervisor: &Supervisor,
        old: &OwnedFd,
        own_port: Option<u16>,
    ) -> Result<OwnedFd, Left> {
        let connect = || -> Result<OwnedFd, Left> {
            let new = socket::stream(libc::AF_UNIX).map_err(failed(FallbackReason::Failed))?;
            let named = self.name(supervisor, &new, own_port);
            named.map_err(failed(FallbackReason::Failed))?;
            let Route { to, owner, .. } = &supervisor.mapping.routes[self.route_idx];
            let mut connected = socket::connect(new.as_fd(), to);
            if connected.as_ref().is_err_and(|it| errno(it) == libc::EAGAIN)
                && let Some(patience_ms) = patience_ms(old)
                && supervisor.may_wait()
            {
                connected = socket::connect_patiently(new.as_fd(), to, patience_ms);
            }
            connected.map_err(|it| refusal(&it))?;
            // The path may lead to another user's socket by now.
            if let Some(wanted) = owner {
                let found = socket::owner(new.as_fd());
                let found = found.map_err(failed(FallbackReason::Failed))?;
                if ![0, wanted.uid].contains(&found.uid) || found.bound != wanted.bound {
                    return Err(FallbackReason::Stranger.into());
                }
            }
            Ok(new)
        };
        let identity = &self.person.identity;
        run_as(&supervisor.own.identity, identity, connect).map_err(failed(FallbackReason::Credentials))?
    }

    fn name(&self, supervisor: &Supervisor, new: &OwnedFd, own_port: Option<u16>) -> io::Result<()> {
        let mut result = Ok(());
        for _ in 0..NAME_TRIES {
            let serial = supervisor.page.serial.fetch_add(1, Ordering::Relaxed);
            let mut tag = Tag::new(self.peer, serial);
            tag.own_port = own_port.unwrap_or(tag.own_port);
            let name = tag.name(supervisor.maker, serial);
            result = socket::bind_abstract(new.as_fd(), &name);
            if !result.as_ref().is_err_and(|it| errno(it) == libc::EADDRINUSE) {
                break;
            }
        }
        result
    }
}

/// Returns how long the program would wait for a place in the queue; `None` if it would not wait.
fn patience_ms(old: &OwnedFd) -> Option<u64> {
    let flags = socket::status_flags(old.as_fd()).ok()?;
    if flags & libc::O_NONBLOCK != 0 {
        return None;
    }
    let its_own = socket::send_timeout_ms(old.as_fd()).unwrap_or_default();
    // Half of the program's time limit is for this attempt, the other half for TCP; zero means no limit.
    Some(match its_own {
        0 => QUEUE_PATIENCE_MS,
        ms => (ms / 2).clamp(1, QUEUE_PATIENCE_MS),
    })
}

fn refusal(error: &io::Error) -> Left {
    let errno = errno(error);
    let reason = match errno {
        libc::ENOENT | libc::ENOTDIR => FallbackReason::NoSocket,
        libc::ECONNREFUSED => FallbackReason::Refused,
        libc::EACCES | libc::EPERM => FallbackReason::Denied,
        libc::EAGAIN => FallbackReason::Full,
        _ => FallbackReason::Failed,
    };
    Left { reason, errno }
}
