//! The table of findings: which client is connected to which server, over which transport, and what that costs.

use looptax_model::record::{EndpointTransport, FILE_GONE, FILE_REPLACED, Found, FoundClient, FoundServer};

use super::{Sender, count, with_ends};
use crate::anonymous::Names;
use crate::column::{Column, Kind, Row, Table, Value};
use crate::text::{known, text};

/// One row for each combination of client, server and transport.
pub const FINDINGS: Table = Table {
    name: "findings",
    doc: "The connections that `looptax find` saw: each row is for one process, one server on the same machine, and \
        one transport.",
    key: &["report_id", "n"],
    columns: &[
        Column { name: "report_id", kind: Kind::Text, doc: "The report that contains the finding." },
        Column { name: "host_id", kind: Kind::Text, doc: "The machine's number." },
        Column { name: "at", kind: Kind::Time, doc: "When looptax saw the connections, by the machine's own clock." },
        Column { name: "n", kind: Kind::Count, doc: "The finding's number within the report, from 0." },
        Column { name: "server", kind: Kind::Word, doc: "Kind of the server, such as mariadb, postgres or redis." },
        Column {
            name: "server_version",
            kind: Kind::Word,
            doc: "The server's version, if the server's program reports it.",
        },
        Column {
            name: "server_home",
            kind: Kind::Word,
            doc: "The manager of the server's process, such as service or docker; empty if there is none.",
        },
        Column {
            name: "has_socket",
            kind: Kind::Flag,
            doc: "Whether the server has a Unix socket that a client can connect to.",
        },
        Column { name: "client", kind: Kind::Text, doc: "The client's program; hashed with --anonymous." },
        Column {
            name: "client_user",
            kind: Kind::Text,
            doc: "The user that the client runs as; hashed with --anonymous.",
        },
        Column {
            name: "client_home",
            kind: Kind::Word,
            doc: "The manager of the client's process, such as service or docker; empty if there is none.",
        },
        Column { name: "way", kind: Kind::Word, doc: "Transport: unix, loopback, loopback6, own address or bridge." },
        Column { name: "is_tcp", kind: Kind::Flag, doc: "Whether the transport is TCP." },
        Column { name: "connections", kind: Kind::Count, doc: "Number of open connections." },
        Column {
            name: "requests_per_s",
            kind: Kind::Number,
            doc: "Requests per second over all these connections. If the kernel did not count requests, looptax \
                counted TCP segments with data instead.",
        },
        Column {
            name: "opened_per_s",
            kind: Kind::Number,
            doc: "Connections opened per second, including those that were closed again; no value if the kernel did \
                not count.",
        },
        Column {
            name: "median_us",
            kind: Kind::Number,
            doc: "Half of the requests took less than this, in microseconds; no value if the kernel did not count.",
        },
        Column {
            name: "cpu_ms_per_s",
            kind: Kind::Number,
            doc: "Extra CPU time of TCP compared with the socket, ms per second: an estimate.",
        },
        Column { name: "cpu_ms_per_s_lo", kind: Kind::Number, doc: "Lower end of the interval." },
        Column { name: "cpu_ms_per_s_hi", kind: Kind::Number, doc: "Upper end of the interval." },
        Column {
            name: "fell_back",
            kind: Kind::Flag,
            doc: "Whether a switch moved this program to the server's socket, and the program uses TCP again.",
        },
    ],
};

/// Maximum number of findings in a report. If there are more, the findings with the most requests are kept.
const MOST: usize = 2_000;

/// A client that a switch had moved to a server's socket and that uses TCP again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FallenClient {
    pub pid: u32,
    /// The process id of the server. Connections of the same client to other servers are not affected.
    pub server_pid: u32,
}

/// Returns the rows, and the number of rows that are left out. The row with the most requests comes first. `fallen`
/// contains the clients that a switch had moved and that use TCP again.
pub fn rows(sender: &Sender, found: &Found, fallen: &[FallenClient], names: &Names) -> (Vec<Row>, usize) {
    let server_of = |client: &FoundClient| found.servers.iter().find(|it| it.pid == client.server_pid);
    let mut pairs: Vec<(&FoundClient, &FoundServer)> =
        { found.clients.iter() }.filter_map(|client| Some((client, server_of(client)?))).collect();
    let rate = |client: &FoundClient| client.peer.requests_per_s.unwrap_or(0.0);
    pairs.sort_by(|(one, _), (other, _)| rate(other).total_cmp(&rate(one)));
    let n_left_out = pairs.len().saturating_sub(MOST);
    let kept = pairs.into_iter().take(MOST).enumerate();
    let rows = kept.map(|(n, (client, server))| row(sender, n, (client, server), fallen, names));
    (rows.collect(), n_left_out)
}

fn row(
    sender: &Sender,
    n: usize,
    (client, server): (&FoundClient, &FoundServer),
    fallen: &[FallenClient],
    names: &Names,
) -> Row {
    let peer = &client.peer;
    let name = |name: &Option<String>| Value::Text(names.shown(name.as_deref().unwrap_or_default()));
    let mut row: Row = sender.values().into();
    row.extend([
        count(n),
        text(&server.kind),
        known(server.version.as_deref()),
        text(home(server.home.as_deref())),
        Value::Flag(has_socket(server)),
        name(&peer.program),
        name(&peer.user),
        text(home(peer.home.as_deref())),
        text(&peer.way.to_string()),
        Value::Flag(peer.way.is_tcp()),
        Value::Count(peer.n_connections),
        Value::Number(peer.requests_per_s.filter(|it| it.is_finite())),
        Value::Number(peer.opened_per_s.filter(|it| it.is_finite())),
        Value::Number(peer.p50_us.filter(|it| it.is_finite())),
    ]);
    row.extend(with_ends(client.cpu_ms_per_s.as_ref()));
    let server_pid = server.pid;
    let has_fallen = peer.pid.is_some_and(|pid| fallen.contains(&FallenClient { pid, server_pid }));
    row.push(Value::Flag(peer.way.is_tcp() && has_fallen));
    row
}

/// Returns the kind of a process's home (container, service, …) without its name. A name such as `docker 3f2a…` or
/// `php8.2-fpm.service` reveals too much, and a fleet has too many different names.
fn home(home: Option<&str>) -> &str {
    match home {
        None => "",
        Some(home) => match home.split_once(' ') {
            Some((sort, _)) => sort,
            None if home.ends_with(".service") => "service",
            None => "other",
        },
    }
}

/// Whether the server has a socket to which a client could connect.
fn has_socket(server: &FoundServer) -> bool {
    server.endpoints.iter().any(|it| {
        let is_gone = matches!(it.file.as_deref(), Some(FILE_GONE | FILE_REPLACED));
        it.transport != EndpointTransport::Tcp && !is_gone
    })
}
