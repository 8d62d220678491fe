//! The server: whether both endpoints belong to the same server, whether the queue of the socket is long enough for a
//! burst, and which features of TCP are lost.

use looptax_model::record::{Outcome, Point, PointCode, Topic};

use crate::connects::{Connects, on_full_socket};

/// A burst of connections, which arrive together when the clients start.
#[derive(Debug, Clone, Copy)]
pub struct Burst<'a> {
    /// The backlog passed to listen(2), as the kernel reports it.
    pub backlog: u32,
    /// How many connections arrive together; `None` if not known.
    pub n_connections: Option<u32>,
    /// The source of `n_connections`, in words.
    pub from: &'a str,
    /// `net.core.somaxconn` in the server's namespace, which limits each backlog; `None` if it cannot be read.
    pub somaxconn: Option<u32>,
    /// The possible clients whose way of connecting looptax knows.
    pub clients: &'a [&'static Connects],
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Confinement {
    /// Not confined: the label means "unconfined".
    None,
    /// Not confined, like all processes on this machine: the kernel has no security module.
    Absent,
    Label(String),
    Unknown,
}

/// Checks whether both endpoints belong to the same server, by the answer that the server gives over each of them.
pub fn same_server(tcp: Option<&str>, unix: Option<&str>, how: &str) -> Point {
    let point = |code, outcome, what: String| Point::new(Topic::SameServer, code, outcome, what, how);
    match (tcp, unix) {
        (Some(tcp), Some(unix)) if tcp == unix => {
            point(PointCode::ServerSame, Outcome::Pass, "TCP and the socket lead to the same server".to_owned())
        }
        (Some(tcp), Some(unix)) => point(
            PointCode::ServersDiffer,
            Outcome::Fail,
            format!("two servers: over TCP {tcp}, over the socket {unix}"),
        )
        .with_next("find out which of the two servers the application uses: `looptax find` lists both"),
        _ => point(
            PointCode::ServerSameUnknown,
            Outcome::Unknown,
            "without a login over TCP and over the socket, looptax cannot tell whether both lead to the same server"
                .to_owned(),
        ),
    }
}

/// Checks whether the queue is long enough for a burst of connections that arrive while the server accepts none. If the
/// queue is full, a socket returns EAGAIN immediately, but over TCP the kernel tries again.
///
/// `setting` is the server's setting for its backlog; `how` describes how the backlog was found.
///
/// # Source
/// The kernel's `net/unix/af_unix.c`, `unix_recvq_full`: one connection more than the backlog may wait.
pub fn backlog(burst: Burst<'_>, setting: &str, how: &str) -> Point {
    let Burst { backlog, n_connections, from, somaxconn, clients } = burst;
    let room = backlog.saturating_add(1);
    let point = |code, outcome, what: String| Point::new(Topic::Backlog, code, outcome, what, how);
    let Some(n) = n_connections else {
        let what = format!(
            "{room} connections may wait on the socket; looptax does not know how many connections arrive together"
        );
        let next = "pass the number with --connections: the application's workers times the connections of each worker";
        return point(PointCode::BacklogUnknown, Outcome::Note, what).with_next(next);
    };
    if n <= room {
        let what = format!("{room} connections may wait, and {n} arrive together ({from})");
        return point(PointCode::BacklogEnough, Outcome::Pass, what);
    }
    let (code, outcome, becomes) = if clients.is_empty() {
        let words = "; if more connections wait, connect(2) on the socket fails with EAGAIN for a client that does not \
                     wait, but over TCP the kernel tries again";
        (PointCode::BacklogShort, Outcome::Fail, words.to_owned())
    } else if clients.iter().all(|it| it.blocks) {
        (PointCode::BacklogWaits, Outcome::Note, format!("; {}", on_full_socket(clients)))
    } else {
        let words = format!(
            "; if more connections wait, clients get EAGAIN on the socket ({}), but over TCP the kernel tries again",
            on_full_socket(clients)
        );
        (PointCode::BacklogShort, Outcome::Fail, words)
    };
    let what = format!(
        "the queue is too small for {n} connections that arrive together ({from}): only {room} can wait on the socket \
         until the server accepts them{becomes}"
    );
    point(code, outcome, what).with_next(match somaxconn {
        Some(most) if most < n => format!(
            "sysctl net.core.somaxconn={n} (now {most}), {setting} to {n}, and restart the server; or keep connections \
             open"
        ),
        _ => format!("{setting} to {n} and restart the server; or keep connections open"),
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
            format!(
                "{client} is confined as `{label}`: the policy of SELinux or AppArmor decides what {client} may do"
            ),
        )
        .with_next("after the switch look for denials: ausearch -m avc -ts recent, or dmesg | grep -i apparmor"),
        Confinement::Unknown => point(
            PointCode::ConfinementUnknown,
            Outcome::Unknown,
            format!("looptax cannot determine whether SELinux or AppArmor confines {client}"),
        )
        .with_next("pass the client's process with --pid"),
    }
}

/// Features of TCP that a socket does not have, whatever the server.
pub fn losses() -> Point {
    Point::new(
        Topic::Losses,
        PointCode::TcpToolsBlind,
        Outcome::Note,
        "tcpdump and proxies no longer see these connections, and firewall rules and accounts can no longer refer to \
         them by address; clients on other machines still need TCP",
        "this applies to every Unix socket",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connects_to;

    #[test]
    fn two_servers_behind_one_name_are_told() {
        let outcome = |tcp, unix| same_server(tcp, unix, "asked").outcome;
        assert_eq!(outcome(Some("a"), Some("a")), Outcome::Pass);
        assert_eq!(outcome(Some("a"), Some("b")), Outcome::Fail);
        assert_eq!(outcome(Some("a"), None), Outcome::Unknown);
    }

    #[test]
    fn one_more_than_the_backlog_may_come_at_once() {
        let of = |backlog, n: Option<u32>| backlog_of(backlog, n, 4096, Some("php"));
        assert_eq!(of(80, Some(81)).code, PointCode::BacklogEnough);
        assert_eq!(of(80, Some(82)).outcome, Outcome::Fail);
        assert!(of(80, None).what.contains("81 connections may wait"));
        assert_eq!(of(80, None).outcome, Outcome::Note);
    }

    #[test]
    fn the_limit_of_the_kernel_is_raised_with_the_servers_where_it_is_lower() {
        let next = |somaxconn| backlog_of(80, Some(200), somaxconn, None).next.unwrap();
        assert!(next(128).contains("somaxconn=200 (now 128)"));
        assert!(!next(4096).contains("somaxconn"));
    }

    #[test]
    fn what_becomes_of_the_rest_hangs_on_the_driver() {
        let of = |word| backlog_of(80, Some(200), 4096, Some(word));
        assert_eq!(of("java").code, PointCode::BacklogWaits);
        assert!(of("java").what.ends_with("waits: MariaDB Connector/J"));
        assert!(of("php").what.contains("fails immediately: PHP's mysqlnd"));
        let unknown = of("cobol").what;
        assert!(unknown.contains("tries again for at most 1.05 s: libmariadb"), "{unknown}");
        assert!(unknown.contains("go-sql-driver"), "{unknown}");
    }

    fn backlog_of(backlog: u32, n_connections: Option<u32>, somaxconn: u32, word: Option<&str>) -> Point {
        let clients = connects_to("mariadb", word);
        let burst = Burst {
            backlog,
            n_connections,
            from: "that is --connections",
            somaxconn: Some(somaxconn),
            clients: &clients,
        };
        super::backlog(burst, "set `back_log`", "asked the kernel")
    }
}
