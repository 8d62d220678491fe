//! Whether another looptax measures on this machine right now.
//!
//! A name in the abstract namespace of sockets: the kernel forgets it with us, however we end, and
//! nothing lies about on a disk. Seen only within one network namespace.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

const NAME: &str = "looptax is measuring";

/// Holds the machine-wide lock while this value lives; holds nothing if another run has it.
pub struct Claim {
    _held: Option<UnixListener>,
    has_other: bool,
}

impl Claim {
    /// Takes the lock, or notes that another run has it.
    pub fn take() -> Self {
        let held = hold(NAME);
        let has_other = held
            .as_ref()
            .is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse);
        Self {
            _held: held.ok(),
            has_other,
        }
    }

    /// A warning for whoever waits, where another run has it: two runs disturb each other.
    pub fn warning(&self) -> Option<&'static str> {
        let words = "warning: another looptax is measuring on this machine, and the two disturb each other: wait for it, \
                     or expect wide intervals\n";
        self.has_other.then_some(words)
    }

    /// What a reader of the record has to know.
    pub fn problem(&self) -> Option<String> {
        let words = "another looptax was measuring on this machine when this run began; the two disturb each other";
        self.has_other.then(|| words.to_owned())
    }
}

fn hold(name: &str) -> io::Result<UnixListener> {
    UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_held_once_and_free_again_afterwards() {
        let name = format!("looptax test {}", std::process::id());
        let held = hold(&name).unwrap();
        let second = hold(&name).unwrap_err();
        assert_eq!(second.kind(), io::ErrorKind::AddrInUse);
        drop(held);
        hold(&name).unwrap();
    }
}
