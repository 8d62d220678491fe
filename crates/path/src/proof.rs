//! Holds a connection's own facts and the server's view of it against what its arm promises.

use crate::{Arm, Census, Family, LinkFacts, PathError, SeenAs};

/// Why we believe that a connection is what its arm says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// Address family by `getsockname`.
    pub family: Family,
    /// Listening process by `SO_PEERCRED` (Unix sockets only).
    pub peer_pid: Option<u32>,
    /// The server's view, in words.
    pub server_view: String,
    /// What tells this server instance from any other.
    pub server_identity: String,
    /// Kernel thread (or process) that serves the connection, where known.
    pub worker: Option<u32>,
}

/// Proves one connection.
///
/// The census must have been taken from a connection of the baseline arm: a connection of the other
/// arm that it lists, with our own local port, ends in the same server. Where each arm has a process
/// of its own (memcached), each has its own census, and their identities are compared instead.
///
/// # Errors
/// [`PathError::Unproved`] when the family is not the arm's, when the server does not list the
/// connection, or sees it come from elsewhere.
pub fn prove(
    arm: Arm,
    connection_id: u64,
    facts: &LinkFacts,
    census: &Census,
) -> Result<Proof, PathError> {
    let unproved = |found: String| PathError::Unproved {
        arm: arm.name(),
        connection_id,
        found,
    };
    if !arm.has_family(facts.family) {
        return Err(unproved(format!("address family {:?}", facts.family)));
    }
    let seen = census
        .clients
        .iter()
        .find(|client| client.connection_id == connection_id)
        .ok_or_else(|| {
            unproved("the server behind the baseline arm does not list it".to_owned())
        })?;
    let server_view = match (&seen.seen_as, arm) {
        (SeenAs::Socket, Arm::Unix | Arm::Redirect) => "local socket".to_owned(),
        (SeenAs::SocketOf(pid), Arm::Unix | Arm::Redirect) if facts.peer_pid == Some(*pid) => {
            format!("local socket of process {pid}")
        }
        (SeenAs::Tcp(address), Arm::Tcp) if Some(*address) == facts.local => {
            format!("TCP from {address}")
        }
        (SeenAs::Untold, _) => "greeted by the same process".to_owned(),
        (other, _) => {
            return Err(unproved(format!(
                "the server sees {other:?}, we are {:?}",
                facts.local
            )));
        }
    };
    Ok(Proof {
        family: facts.family,
        peer_pid: facts.peer_pid,
        server_view,
        server_identity: census.identity.clone(),
        worker: seen.worker,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClientSeen;

    fn facts(family: Family, local: Option<&str>) -> LinkFacts {
        LinkFacts {
            family,
            local: local.map(|it| it.parse().unwrap()),
            peer_pid: None,
            nodelay: None,
            send_buffer_bytes: 0,
            receive_buffer_bytes: 0,
        }
    }

    fn census(seen_as: SeenAs) -> Census {
        Census {
            identity: "x".to_owned(),
            server_pid: None,
            clients: vec![ClientSeen {
                connection_id: 7,
                seen_as,
                worker: None,
            }],
        }
    }

    #[track_caller]
    fn check(arm: Arm, id: u64, facts: &LinkFacts, seen: SeenAs, expected: bool) {
        assert_eq!(prove(arm, id, facts, &census(seen)).is_ok(), expected);
    }

    #[test]
    fn only_what_the_server_sees_the_same_way_is_proved() {
        let unix = facts(Family::Unix, None);
        let tcp = facts(Family::Inet, Some("127.0.0.1:40000"));
        let here = SeenAs::Tcp("127.0.0.1:40000".parse().unwrap());
        let elsewhere = SeenAs::Tcp("127.0.0.1:40001".parse().unwrap());
        check(Arm::Unix, 7, &unix, SeenAs::Socket, true);
        check(Arm::Tcp, 7, &tcp, here.clone(), true);
        check(Arm::Tcp, 7, &tcp, elsewhere, false); // a proxy's port, not ours
        check(Arm::Tcp, 7, &tcp, SeenAs::Socket, false); // redirected behind our back
        check(Arm::Unix, 7, &tcp, here.clone(), false); // the family is not the arm's
        check(Arm::Redirect, 7, &unix, SeenAs::Socket, true);
        check(Arm::Redirect, 7, &tcp, here.clone(), false); // it stayed on TCP
        check(Arm::Redirect, 7, &unix, here.clone(), false); // the server has the last word
        let of_nine = LinkFacts {
            peer_pid: Some(9),
            ..unix
        };
        check(Arm::Unix, 7, &of_nine, SeenAs::SocketOf(9), true);
        check(Arm::Unix, 7, &of_nine, SeenAs::SocketOf(8), false); // another process answers
        check(Arm::Tcp, 7, &tcp, SeenAs::SocketOf(9), false);
        check(Arm::Tcp, 8, &tcp, here, false); // another server: the id is not in its list
    }
}
