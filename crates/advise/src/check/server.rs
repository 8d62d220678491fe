//! The server's side: is it the same one behind both, has it room for a burst, and what is lost.

use looptax_model::record::{Outcome, Point, PointCode, Topic};

/// What comes at once when the clients start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    /// Connections that may wait on the socket, as the kernel has it.
    pub backlog: u32,
    /// Connections that come at the same time.
    pub n_connections: u32,
    /// `net.core.somaxconn`, which caps every backlog, where it can be read.
    pub somaxconn: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confinement {
    /// Nothing: an unconfined label.
    None,
    /// Nothing, and nobody else: the kernel has no module for it.
    Absent,
    Label(String),
    Unknown,
}

/// Whether both endpoints lead to one server, by what it says of itself over each.
pub fn same_server(tcp: Option<&str>, unix: Option<&str>, how: &str) -> Point {
    let point = |code, outcome, what: String| Point::new(Topic::SameServer, code, outcome, what, how);
    match (tcp, unix) {
        (Some(tcp), Some(unix)) if tcp == unix => {
            point(PointCode::ServerSame, Outcome::Pass, "one server is behind both".to_owned())
        }
        (Some(tcp), Some(unix)) => point(
            PointCode::ServersDiffer,
            Outcome::Fail,
            format!("two servers: over TCP {tcp}, over the socket {unix}"),
        )
        .with_next("look which of them the application means: `looptax find` lists both"),
        _ => point(PointCode::ServerSameUnknown, Outcome::Unknown, "not known without a login over both".to_owned()),
    }
}

/// Whether a burst of connections finds room: a full queue means EAGAIN at once on a socket, where TCP
/// tries again.
///
/// `setting` is what the server calls its backlog.
pub fn backlog(burst: Burst, setting: &str, how: &str) -> Point {
    let Burst { backlog, n_connections, somaxconn } = burst;
    let wanted = n_connections.saturating_mul(2);
    // Twice as many as come at once: facts of drivers that do not wait.
    if backlog >= wanted {
        return Point::new(
            Topic::Backlog,
            PointCode::BacklogEnough,
            Outcome::Pass,
            format!("{backlog} connections may wait, {n_connections} come at once"),
            how,
        );
    }
    Point::new(
        Topic::Backlog,
        PointCode::BacklogShort,
        Outcome::Fail,
        format!(
            "{backlog} connections may wait and {n_connections} come at once: on a full socket connect fails at once with EAGAIN, where TCP tries again (PHP, libpq, Python with a time limit, Go do not wait)"
        ),
        how,
    )
    .with_next(match somaxconn {
        Some(most) if most < wanted => format!(
            "sysctl net.core.somaxconn={wanted} (now {most}), {setting} to {wanted}, restart the server; or keep connections open"
        ),
        _ => format!("{setting} to {wanted} and restart the server; or keep connections open"),
    })
}

pub fn confinement(confinement: &Confinement, client: &str) -> Point {
    const HOW: &str = "read /proc/PID/attr/current";
    let point = |code, outcome, what: String| Point::new(Topic::Confinement, code, outcome, what, HOW);
    match confinement {
        Confinement::None | Confinement::Absent => {
            point(PointCode::NotConfined, Outcome::Pass, format!("nothing confines {client}"))
        }
        Confinement::Label(label) => point(
            PointCode::Confined,
            Outcome::Unknown,
            format!("{client} is confined as `{label}`: what that allows is the policy's"),
        )
        .with_next("after the switch look for denials: ausearch -m avc -ts recent, or dmesg | grep -i apparmor"),
        Confinement::Unknown => point(
            PointCode::ConfinementUnknown,
            Outcome::Unknown,
            format!("whether something confines {client} cannot be seen"),
        )
        .with_next("name its process with --pid"),
    }
}

/// What works on TCP and not on a socket, whatever the server.
pub fn losses() -> Point {
    Point::new(
        Topic::Losses,
        PointCode::TcpToolsBlind,
        Outcome::Note,
        "tcpdump, firewall rules by address, accounts by address and proxies no longer see these connections; clients on other machines still need TCP",
        "known of sockets",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_servers_behind_one_name_are_told() {
        let outcome = |tcp, unix| same_server(tcp, unix, "asked").outcome;
        assert_eq!(outcome(Some("a"), Some("a")), Outcome::Pass);
        assert_eq!(outcome(Some("a"), Some("b")), Outcome::Fail);
        assert_eq!(outcome(Some("a"), None), Outcome::Unknown);
    }

    #[test]
    fn a_burst_needs_twice_its_size() {
        let outcome = |backlog, n_connections| {
            let burst = Burst { backlog, n_connections, somaxconn: None };
            backlog_of(burst).outcome
        };
        assert_eq!(outcome(80, 40), Outcome::Pass);
        assert_eq!(outcome(80, 41), Outcome::Fail);
        assert_eq!(outcome(4096, 1), Outcome::Pass);
        let next = |somaxconn| {
            let burst = Burst { backlog: 80, n_connections: 100, somaxconn: Some(somaxconn) };
            backlog_of(burst).next.unwrap()
        };
        assert!(next(128).contains("somaxconn=200 (now 128)"));
        assert!(!next(4096).contains("somaxconn"));
    }

    fn backlog_of(burst: Burst) -> Point {
        backlog(burst, "back_log", "asked the kernel")
    }
}
