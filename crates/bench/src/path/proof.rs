//! Compares a connection with the properties of its arm. The data are the connection's own facts and the server's view
//! of the connection.

use std::net::SocketAddr;

use looptax_model::dsn::Arm;

use crate::path::endpoint::has_family;
use crate::path::{Family, LinkFacts, PathError, Relayed, SeenAs, ServerView};

/// The evidence that a connection belongs to its arm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// Address family from `getsockname`.
    pub family: Family,
    /// Pid of the listening process from `SO_PEERCRED` (Unix sockets only).
    pub peer_pid: Option<u32>,
    pub server_view: String,
    /// Different for each server instance.
    pub server_identity: String,
    /// The kernel thread or process that serves the connection, if known.
    pub worker: Option<u32>,
}

/// Proves one connection.
///
/// The server's view must come from a connection of the baseline arm. If this view lists a connection of the other arm,
/// with our own local port, then that connection ends in the same server.
///
/// With memcached, each arm has a separate process, and each process has its own view. In that case the identities of
/// the two processes are compared.
///
/// Behind a port proxy the server sees the proxy's connection; `relayed`, which comes from [`relayed_by`], lists all
/// connections of the proxy.
///
/// [`relayed_by`]: crate::path::relayed_by
///
/// # Errors
/// [`PathError::Unproved`] if the family is not the arm's, or if the server does not list the connection or sees
/// another origin.
pub fn prove(
    arm: Arm,
    connection_id: u64,
    facts: &LinkFacts,
    view: &ServerView,
    relayed: Option<&Relayed>,
) -> Result<Proof, PathError> {
    let unproved = |found: String| PathError::Unproved { arm: arm.name(), connection_id, found };
    if !has_family(arm, facts.family) {
        return Err(unproved(format!("its address family is {:?}", facts.family)));
    }
    if facts.tls.is_some() != arm.is_tls() {
        return Err(unproved(format!("its TLS parameters are {:?}", facts.tls)));
    }
    let seen = view
        .clients
        .iter()
        .find(|client| client.connection_id == connection_id)
        .ok_or_else(|| unproved("the baseline arm's server does not list this connection".to_owned()))?;
    let server_view = match (&seen.seen_as, arm) {
        (SeenAs::Socket, arm) if arm.is_unix() => "local socket".to_owned(),
        (SeenAs::SocketOf(pid), arm) if arm.is_unix() && facts.peer_pid == Some(*pid) => {
            format!("local socket of process {pid}")
        }
        (SeenAs::Tcp(address), arm) if arm.is_relayed() && is_relayed(relayed, facts, *address) => {
            format!("TCP from {address}, the proxy's address")
        }
        (SeenAs::Tcp(address), arm) if !arm.is_unix() && !arm.is_relayed() && Some(*address) == facts.local => {
            format!("TCP from {address}")
        }
        (SeenAs::Untold, _) => "greeted by the same process".to_owned(),
        (other, _) => {
            return Err(unproved(format!("the server sees {other:?}, but our end is {:?}", facts.local)));
        }
    };
    let server_view = match (arm.second_hop(), &seen.behind) {
        (None, None) => server_view,
        (Some(Arm::Unix), Some(SeenAs::Socket)) => {
            format!("{server_view}; from the pooler to the server, a local socket")
        }
        (Some(Arm::Tcp), Some(SeenAs::Tcp(address))) => {
            format!("{server_view}; from the pooler to the server, TCP from {address}")
        }
        (hop, behind) => {
            return Err(unproved(format!(
                "looptax expected {hop:?} from the pooler to the server, but the server sees {behind:?}"
            )));
        }
    };
    Ok(Proof {
        family: facts.family,
        peer_pid: facts.peer_pid,
        server_view,
        server_identity: view.identity.clone(),
        worker: seen.worker,
    })
}

/// Returns whether the proxy holds our connection and also the connection that the server sees.
fn is_relayed(relayed: Option<&Relayed>, facts: &LinkFacts, seen: SocketAddr) -> bool {
    let ours = facts.local;
    relayed.is_some_and(|relayed| {
        ours.is_some_and(|ours| relayed.accepted.contains(&ours)) && relayed.opened.contains(&seen)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::{ClientSeen, TlsFacts};

    fn facts(family: Family, local: Option<&str>) -> LinkFacts {
        LinkFacts {
            family,
            local: local.map(|it| it.parse().unwrap()),
            peer_pid: None,
            nodelay: None,
            send_buffer_bytes: 0,
            receive_buffer_bytes: 0,
            tls: None,
        }
    }

    fn server_view(seen_as: SeenAs) -> ServerView {
        ServerView {
            identity: "x".to_owned(),
            server_pid: None,
            clients: vec![ClientSeen { connection_id: 7, seen_as, worker: None, behind: None }],
        }
    }

    #[track_caller]
    fn check(arm: Arm, id: u64, facts: &LinkFacts, seen: SeenAs, expected: bool) {
        let proof = prove(arm, id, facts, &server_view(seen), None);
        assert_eq!(proof.is_ok(), expected);
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
        check(Arm::Tcp, 7, &tcp, SeenAs::Socket, false); // redirected without our knowledge
        check(Arm::Unix, 7, &tcp, here.clone(), false); // the family is not the arm's
        check(Arm::Redirect, 7, &unix, SeenAs::Socket, true);
        check(Arm::Redirect, 7, &tcp, here.clone(), false); // the connection stayed on TCP
        check(Arm::Redirect, 7, &unix, here.clone(), false); // the server's view decides
        let of_nine = LinkFacts { peer_pid: Some(9), ..unix };
        check(Arm::Unix, 7, &of_nine, SeenAs::SocketOf(9), true);
        check(Arm::Unix, 7, &of_nine, SeenAs::SocketOf(8), false); // another process answers
        check(Arm::Tcp, 7, &tcp, SeenAs::SocketOf(9), false);
        check(Arm::Tcp, 8, &tcp, here.clone(), false); // another server: the id is not in its list
        check(Arm::Tls, 7, &tcp, here.clone(), false); // without TLS
        let sealed = LinkFacts {
            tls: Some(TlsFacts { version: "TLSv1.3".to_owned(), cipher: "X".to_owned(), is_resumed: false }),
            ..tcp.clone()
        };
        check(Arm::Tls, 7, &sealed, here.clone(), true);
        check(Arm::Tcp, 7, &sealed, here, false); // with TLS on an arm without TLS
    }

    #[test]
    fn behind_a_pooler_the_second_hop_has_to_be_the_arm_s_too() {
        let unix = facts(Family::Unix, None);
        let proof = |arm, behind| {
            let mut view = server_view(SeenAs::Socket);
            view.clients[0].behind = behind;
            prove(arm, 7, &unix, &view, None).is_ok()
        };
        let tcp = || Some(SeenAs::Tcp("127.0.0.1:40000".parse().unwrap()));
        assert!(proof(Arm::UnixUnix, Some(SeenAs::Socket)));
        assert!(proof(Arm::UnixTcp, tcp()));
        assert!(!proof(Arm::UnixUnix, tcp()));
        assert!(!proof(Arm::UnixTcp, Some(SeenAs::Socket)));
        assert!(!proof(Arm::UnixTcp, None)); // the server was not asked
        assert!(!proof(Arm::Unix, tcp())); // a pooler in an arm without one
        assert!(!proof(Arm::TcpTcp, tcp())); // the first hop is a socket
    }

    #[test]
    fn a_proxy_has_to_hold_both_ends() {
        let ours: SocketAddr = "127.0.0.1:40000".parse().unwrap();
        let its: SocketAddr = "10.77.0.1:50000".parse().unwrap();
        let tcp = facts(Family::Inet, Some("127.0.0.1:40000"));
        let proof = |accepted: &[SocketAddr], opened: &[SocketAddr], seen| {
            let relayed = Relayed { accepted: accepted.to_vec(), opened: opened.to_vec() };
            let view = server_view(SeenAs::Tcp(seen));
            prove(Arm::Proxy, 7, &tcp, &view, Some(&relayed)).is_ok()
        };
        assert!(proof(&[ours], &[its], its));
        assert!(!proof(&[], &[its], its)); // our connection leads elsewhere
        assert!(!proof(&[ours], &[], its)); // the server's connection comes from elsewhere
        assert!(!proof(&[ours], &[its], ours)); // no proxy between the two ends
    }
}
