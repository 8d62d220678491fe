//! Endpoints that gave no answer in time: looptax does not wait for one of them twice.
//!
//! A command that asks a server many things, each over its own connection and with its own time limit, would otherwise
//! wait as often as it asks and then report one limit. The rule: while a [`WaitOnce`] lives, an endpoint that was
//! silent for the whole of a limit is not connected to again; a new attempt gets the first error at once. An endpoint
//! that answers, however slowly, is waited for as ever. A connection that was silent is over in any case.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use looptax_host::read;
use looptax_wire::WireError;

use crate::path::error::LOG_IN;
use crate::path::{Endpoint, PathError};

/// Remembers silent endpoints while it lives. It is the whole process's: threads of one command ask one server.
#[derive(Debug)]
pub struct WaitOnce(());

/// Which endpoint it is. The path of a socket may lead over a descriptor whose number another socket has later.
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
    /// Begins to remember, or goes on where another one does already.
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

/// Notes that an endpoint gave no answer for so long.
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
/// [`PathError::Protocol`], as the first time.
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
        // Held, so that no other test has its number.
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
        // Other tests of this process may remember meanwhile; then it is forgotten with the last of them.
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
