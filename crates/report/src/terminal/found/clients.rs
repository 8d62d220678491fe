//! The list of clients, ordered by loss, with the largest loss first.

use looptax_model::record::{Figure, Found, FoundClient, FoundListener, FoundPeer};

use super::super::columns::{Step, Table};
use super::super::lines::Lines;
use super::cells::{NOT_SEEN, dash, shown};
use super::most::{Most, Part};
use super::servers::may_be;
use crate::format::{Text, rate};

const HEADER: [&str; 9] =
    ["client", "user", "where", "server", "by", "connections", "new/s", "requests/s", "% of a core lost"];

/// The steps to narrow the table. The server's cell is not shortened: if looptax does not see the server, the cell
/// explains which server it may be.
const NARROWER: [Step; 5] = [
    Step::LeaveOut("where"),
    Step::Cut("client", 28),
    Step::LeaveOut("user"),
    Step::LeaveOut("connections"),
    Step::Cut("client", 20),
];

/// A client, and the known facts about the other end of the client's connections.
#[derive(Debug, Clone)]
struct Row {
    client: FoundClient,
    /// The other end: `mariadbd 812`, or `127.0.0.1:17306 of user mysql, may be mariadbd 812 (by its user)`.
    end: String,
    /// Whether the other end is a server, or may be a server according to some evidence.
    may_be_a_server: bool,
}

/// All clients in three groups: clients that pay, clients that may pay, and clients that do not pay. Each group is
/// sorted by loss.
#[derive(Debug)]
pub(super) struct Clients {
    paying: Sort,
    /// Clients of listening sockets for which there is no evidence of a database.
    open: Sort,
    on_socket: Sort,
}

/// The clients of one group, in two forms. In `each` every process has its own row; in `together` similar processes,
/// such as the workers of a web server, share a row.
#[derive(Debug)]
struct Sort {
    each: Vec<Row>,
    together: Vec<Row>,
}

impl Clients {
    pub(super) fn new(found: &Found, text: Text) -> Self {
        let (known, open): (Vec<Row>, Vec<Row>) = rows(found, text).into_iter().partition(|it| it.may_be_a_server);
        let (paying, free): (Vec<Row>, Vec<Row>) = known.into_iter().partition(|it| it.client.peer.way.is_tcp());
        Self { paying: Sort::new(paying), open: Sort::new(open), on_socket: Sort::new(free) }
    }

    pub(super) fn write(&self, found: &Found, most: Most, lines: &mut Lines) {
        self.paying.write(
            "over TCP: these programs pay the loopback tax",
            Part::Paying,
            "programs over TCP",
            most,
            lines,
        );
        let heading = "over TCP to a process that only root sees: these programs pay if that process is a database";
        self.open.write(heading, Part::Open, "programs that may pay", most, lines);
        self.on_socket.write("on the socket already", Part::OnSocket, "programs on the socket", most, lines);
        let is_empty = [&self.paying, &self.open, &self.on_socket].iter().all(|it| it.each.is_empty());
        if is_empty && !found.servers.is_empty() {
            let is_open = { found.servers.iter() }.any(|it| it.endpoints.is_empty());
            let words = match (found.sees_all, is_open) {
                (true, _) => "no client on this machine is connected at present",
                (false, false) => "no client on this machine is connected to the servers' known addresses at present",
                (false, true) => "only root sees which connections lead to a server with unknown sockets",
            };
            lines.wrapped(0, words);
            lines.blank();
        }
    }

    /// Returns the client with the largest loss. Leaves out looptax itself, because looptax sends requests only while
    /// it runs.
    pub(super) fn most_costly(&self) -> Option<&FoundPeer> {
        let others = self.paying.each.iter().map(|it| &it.client.peer);
        others.filter(|it| it.program.as_deref() != Some("looptax")).find(|it| it.pid.is_some())
    }
}

impl Sort {
    fn new(mut each: Vec<Row>) -> Self {
        let sort = |rows: &mut Vec<Row>| {
            rows.sort_by(|one, other| weight(&other.client).total_cmp(&weight(&one.client)));
        };
        let mut together = together(&each);
        sort(&mut each);
        sort(&mut together);
        Self { each, together }
    }

    fn write(&self, heading: &str, part: Part, name: &str, most: Most, lines: &mut Lines) {
        let text = lines.style.text();
        let most = most.of(part);
        let clients = if self.each.len() > most { &self.together } else { &self.each };
        let rows = lines.first_of(clients, most, name).iter().map(|row| cells(row, text));
        if rows.len() == 0 {
            return;
        }
        lines.heading(0, heading);
        Table::new(&HEADER, rows.collect()).narrowed_by(&NARROWER).write(lines);
        lines.blank();
    }
}

/// Returns all clients, including clients of listening sockets whose process looptax does not see.
fn rows(found: &Found, text: Text) -> Vec<Row> {
    let of_servers = found.clients.iter().map(|client| {
        let server = found.servers.iter().find(|it| it.pid == client.server_pid);
        let server = server.map_or_else(dash, |it| shown(&it.program, text));
        Row { client: client.clone(), end: format!("{server} {}", client.server_pid), may_be_a_server: true }
    });
    let of_unseen = found.listeners.iter().flat_map(|listener| {
        let may_be = may_be(listener, found, text);
        let end = end(listener, may_be.as_deref(), text);
        listener.clients.iter().map(move |peer| Row {
            // A peer of a listening socket becomes a client whose server is not known.
            client: FoundClient {
                peer: peer.clone(),
                server_pid: 0,
                via: None,
                onward: None,
                cpu_ms_per_s: None,
                cost_from: Vec::new(),
            },
            end: end.clone(),
            may_be_a_server: may_be.is_some(),
        })
    });
    of_servers.chain(of_unseen).collect()
}

fn end(listener: &FoundListener, may_be: Option<&str>, text: Text) -> String {
    let user = listener.user.as_ref();
    let user = user.map(|it| format!(" of user {}", shown(it, text)));
    let may_be = may_be.map(|it| format!(", may be {it}"));
    format!("{}{}{}", shown(&listener.address, text), user.unwrap_or_default(), may_be.unwrap_or_default())
}

/// Combines processes of the same program into one row if they reach the same server over the same transport. Returns
/// the rows.
fn together(clients: &[Row]) -> Vec<Row> {
    let mut groups: Vec<(Row, usize)> = Vec::new();
    for row in clients {
        match groups.iter_mut().find(|(group, _)| is_alike(group, row)) {
            Some((group, n_processes)) => {
                add(&mut group.client, &row.client);
                *n_processes += 1;
            }
            None => groups.push((row.clone(), 1)),
        }
    }
    let named = groups.into_iter().map(|(mut group, n_processes)| {
        if n_processes > 1 {
            let program = group.client.peer.program;
            group.client.peer.program = program.map(|it| format!("{it} ({n_processes} processes)"));
            group.client.peer.pid = None;
        }
        group
    });
    named.collect()
}

fn is_alike(one: &Row, other: &Row) -> bool {
    let traits = |it: &Row| {
        (
            it.client.peer.program.clone(),
            it.client.peer.user.clone(),
            it.client.peer.home.clone(),
            it.end.clone(),
            (it.client.peer.way, it.client.peer.is_sealed),
            it.client.via.clone(),
        )
    };
    traits(one) == traits(other)
}

/// Adds a client to a group. All these costs are rates multiplied by the same figure, so the ends of their intervals
/// can be added too.
fn add(group: &mut FoundClient, client: &FoundClient) {
    group.peer.n_connections += client.peer.n_connections;
    let sum = |one: Option<f64>, other: Option<f64>| Some(one? + other?);
    group.peer.requests_per_s = sum(group.peer.requests_per_s, client.peer.requests_per_s);
    group.peer.opened_per_s = sum(group.peer.opened_per_s, client.peer.opened_per_s);
    let costs = |it: &FoundClient| it.cpu_ms_per_s.as_ref().and_then(Figure::known).copied();
    group.cpu_ms_per_s = costs(group).zip(costs(client)).map(|(one, other)| {
        let open = |end: Option<f64>, other: Option<f64>, open| sum(end, other).unwrap_or(open);
        Figure::new(
            one.value + other.value,
            open(one.lo, other.lo, f64::NEG_INFINITY),
            open(one.hi, other.hi, f64::INFINITY),
            one.n,
        )
    });
}

/// Returns the number by which a client is sorted: its loss, or if the loss is not known, an estimate from its
/// requests.
fn weight(client: &FoundClient) -> f64 {
    let lost = client.cpu_ms_per_s.as_ref().and_then(Figure::known);
    let asks = client.peer.requests_per_s.unwrap_or(0.0);
    // A request costs about a millionth of a second, so clients without a known loss get about the right place.
    lost.map_or(asks * 1e-3, |it| it.value)
}

fn cells(row: &Row, text: Text) -> Vec<String> {
    let client = &row.client;
    let name = |name: &Option<String>| name.as_deref().map_or_else(dash, |it| shown(it, text));
    let program = client.peer.program.as_deref();
    let program = program.map_or_else(|| NOT_SEEN.to_owned(), |it| shown(it, text));
    vec![
        match client.peer.pid {
            Some(pid) => format!("{program} {pid}"),
            None => program,
        },
        name(&client.peer.user),
        name(&client.peer.home),
        row.end.clone(),
        transport(client, text),
        client.peer.n_connections.to_string(),
        client.peer.opened_per_s.filter(|it| *it > 0.0).map_or_else(dash, plain),
        client.peer.requests_per_s.map_or_else(dash, plain),
        client.cpu_ms_per_s.as_ref().map_or_else(dash, core_share),
    ]
}

fn plain(per_s: f64) -> String {
    rate(per_s).trim_end_matches("/s").to_owned()
}

fn transport(client: &FoundClient, text: Text) -> String {
    let via = client.via.as_ref();
    let via = via.map(|via| format!(" through {}", shown(via, text)));
    let onward = client.onward.as_ref();
    let onward = onward.map(|it| format!(", on to {}", shown(it, text)));
    let tls = if client.peer.is_sealed { " with TLS" } else { "" };
    format!("{}{tls}{}{}", client.peer.way, via.unwrap_or_default(), onward.unwrap_or_default())
}

/// A share of a core below this limit, in percent, is not printed as a figure: all its printed digits would be zero.
const LEAST_SHOWN_PCT: f64 = 0.05;

/// Formats a cost in percent of a core, `13.3 [12.0, 14.9]`: ten milliseconds per second are one percent.
fn core_share(figure: &Figure) -> String {
    let Some(it) = figure.known() else {
        return dash();
    };
    let is_shown = |ms_per_s: f64| (ms_per_s / 10.0).abs() >= LEAST_SHOWN_PCT;
    let ends = [it.lo, it.hi].map(|end| end.is_none_or(is_shown));
    if !is_shown(it.value) && ends == [false, false] {
        return "under 0.1".to_owned();
    }
    let share = |ms_per_s: f64| format!("{:.1}", ms_per_s / 10.0);
    let end = |end: Option<f64>| end.map_or_else(|| "?".to_owned(), share);
    format!("{} [{}, {}]", share(it.value), end(it.lo), end(it.hi))
}
