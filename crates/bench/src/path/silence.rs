//! Endpoints that gave no answer in time: looptax does not wait for any of them a second time.
//!
//! Some commands send many queries to a server, each over a new connection with a separate time limit. So that such a
//! command does not wait for each query, it holds a [`WaitOnce`]: meanwhile looptax does not connect again to an
//! endpoint that was silent for a whole time limit, and a new attempt immediately gets the first error again. An
//! endpoint that answers, however slowly, is used as before. A connection that was silent is never used again.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use looptax_host::read;
use looptax_wire::WireError;

use crate::path::error::LOG_IN;
use crate::path::{Endpoint, PathError};

/// Remembers silent endpoints while it lives. The memory belongs to the whole process: the threads of a command use the
/// same server.
#[derive(Debug)]
pub struct WaitOnce(());

/// The identity of an endpoint. A socket's file is identified by its inode: its path may contain a descriptor's number,
/// which may later mean another socket.
#[derive(Debug, PartialEq, Eq)]
enum Identity {
    File { device: u64, inode: u64 },
    Named(Endpoint),
}

#[derive(Debug)]
struct Memory {
    n_holders: usize,
    silent: Vec<(Identity, Duration)>,
}

static MEMORY: Mutex<Memory> = Mutex::new(Memory { n_holders: 0, silent: Vec::new() });

impl WaitOnce {
    /// Begins to remember; if another `WaitOnce` lives, both use the same memory.
    #[must_use]
    pub fn begin() -> Self {
        with(|memory| memory.n_holders += 1);
        Self(())
    }
}

impl Drop for WaitOnce {
    fn drop(&mut self) {
        with(|memory| {
            memory.n_holders -= 1;
            if memory.n_holders == 0 {
                memory.silent.clear();
            }
        });
    }
}

/// Records that an endpoint gave no answer for the time `after`.
pub(crate) fn note(endpoint: &Endpoint, after: Duration) {
    let identity = Identity::from(endpoint);
    with(|memory| {
        if memory.n_holders > 0 {
            memory.silent.push((identity, after));
        }
    });
}

/// Refuses an endpoint that gave no answer before.
///
/// # Errors
/// [`PathError::Protocol`], as at the first attempt.
pub(crate) fn refuse(endpoint: &Endpoint) -> Result<(), PathError> {
    let known = with(|memory| {
        if memory.silent.is_empty() {
            return None;
        }
        let identity = Identity::from(endpoint);
        let mut silent = memory.silent.iter();
        silent.find_map(|(known, after)| (*known == identity).then_some(*after))
    });
    let Some(after) = known else {
        return Ok(());
    };
    Err(PathError::Protocol {
        action: LOG_IN,
        endpoint: endpoint.to_string(),
        source: WireError::Timeout { action: LOG_IN, after },
    })
}

fn with<T>(work: impl FnOnce(&mut Memory) -> T) -> T {
    work(&mut MEMORY.lock().unwrap_or_else(PoisonError::into_inner))
}

impl From<&Endpoint> for Identity {
    fn from(endpoint: &Endpoint) -> Self {
        match endpoint {
            Endpoint::Unix(path) => match read::look(path) {
                Ok(Some(file)) => Self::File { device: file.st_dev, inode: file.st_ino },
                Ok(None) | Err(_) => Self::Named(endpoint.clone()),
            },
            Endpoint::Abstract(_) | Endpoint::Tcp(_) => Self::Named(endpoint.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::unix::net::UnixListener;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    #[test]
    fn a_silent_endpoint_is_refused_while_somebody_remembers() {
        // Keeps the port open, so that no other test gets the same port number.
        let held = TcpListener::bind("127.0.0.1:0").unwrap();
        let endpoint = Endpoint::Tcp(held.local_addr().unwrap());
        let other = Endpoint::Tcp("127.0.0.2:1".parse().unwrap());
        note(&endpoint, LIMIT);
        let first = WaitOnce::begin();
        assert!(refuse(&endpoint).is_ok(), "noted before");
        let second = WaitOnce::begin();
        note(&endpoint, LIMIT);
        drop(first);
        let refused = looptax_model::failure::with_causes(&refuse(&endpoint).unwrap_err());
        assert!(refused.contains("no answer within 10s"), "{refused}");
        assert!(refuse(&other).is_ok());
        drop(second);
        // Other tests of this process may hold a `WaitOnce` at the same time; the endpoint is then forgotten when the
        // last of these is dropped.
        if with(|memory| memory.n_holders == 0) {
            assert!(refuse(&endpoint).is_ok());
        }
    }

    #[test]
    fn a_socket_is_the_same_one_by_any_path_and_another_one_in_its_place_is_not() {
        let folder = looptax_testkit::scratch::Scratch::new();
        let path = folder.file("s");
        let link = folder.file("l");
        let held = UnixListener::bind(&path).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let identity = |path: &std::path::Path| Identity::from(&Endpoint::Unix(path.to_owned()));
        assert_eq!(identity(&path), identity(&link));
        let first = identity(&path);
        std::fs::rename(&path, folder.file("kept")).unwrap();
        let other = UnixListener::bind(&path).unwrap();
        assert_ne!(identity(&path), first);
        drop((held, other));
    }
}
