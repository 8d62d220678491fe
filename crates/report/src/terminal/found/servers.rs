//! The list of servers, with a line for each of their endpoints.

use looptax_model::record::{EndpointTransport, Found, FoundEndpoint, FoundListener, FoundServer};

use super::super::columns::{Step, Table};
use super::super::lines::{Lines, width};
use super::cells::{dash, shown, shown_address};
use super::most::{Most, Part};
use crate::format::Text;
use crate::heading::version;

const HEADER: [&str; 6] = ["server", "version", "user", "where", "listens on", "queue"];

/// The steps to narrow the table. Paths are not shortened, so that they can be copied.
const NARROWER: [Step; 4] =
    [Step::LeaveOut("where"), Step::LeaveOut("user"), Step::LeaveOut("queue"), Step::LeaveOut("version")];
/// The steps for the short form, in which each server has few lines. The full output shortens nothing.
const NARROWER_ON_SCREEN: [Step; 6] = [
    Step::LeaveOut("where"),
    Step::LeaveOut("user"),
    Step::LeaveOut("version"),
    Step::Cut("server", LONGEST_NAME),
    Step::Cut("listens on", LONGEST_ADDRESSES),
    Step::LeaveOut("queue"),
];
const LONGEST_NAME: usize = 28;
/// Number of columns that `4096 of 4096` needs, with the gaps.
const LONGEST_QUEUE: usize = 16;
/// Number of columns for addresses next to a server's name, on the narrowest usual terminal.
const LONGEST_ADDRESSES: usize = 46;

pub(super) fn write(found: &Found, most: Most, lines: &mut Lines) {
    if found.servers.is_empty() {
        let words = if found.sees_all {
            "looptax sees no database server on this machine"
        } else {
            "looptax sees no process of a database server; only root sees all processes"
        };
        lines.wrapped(0, words);
        if !found.listeners.is_empty() {
            lines.blank();
        }
        return;
    }
    let text = lines.style.text();
    lines.heading(0, "servers");
    if most.is_all() {
        let rows = found.servers.iter().flat_map(|it| rows(it, text));
        Table::new(&HEADER, rows.collect()).narrowed_by(&NARROWER).write(lines);
    } else {
        let servers = lines.first_of(&found.servers, most.of(Part::Servers), "servers");
        let widest = |cell: fn(&FoundServer, Text) -> String| servers.iter().map(|it| width(&cell(it, text))).max();
        let columns: [fn(&FoundServer, Text) -> String; 3] = [named, version_of, user];
        let others = columns.map(|it| widest(it).unwrap_or(0) + 2);
        let others: usize = others.into_iter().sum();
        let room = Room {
            columns: LONGEST_ADDRESSES.max(lines.style.width.saturating_sub(others + LONGEST_QUEUE)),
            lines: most.of(Part::Addresses),
        };
        let mut n_left_out = 0;
        let rows = servers.iter().flat_map(|it| short_rows(it, room, &mut n_left_out, text)).collect();
        Table::new(&HEADER, rows).narrowed_by(&NARROWER_ON_SCREEN).write(lines);
        let n_all = servers.iter().map(|it| it.endpoints.len()).sum();
        lines.left_out_rows(n_left_out, n_all, "addresses");
    }
    lines.blank();
}

fn rows(server: &FoundServer, text: Text) -> Vec<Vec<String>> {
    let endpoints = server.endpoints.iter().map(|it| cells(it, text)).collect();
    below(server, endpoints, text)
}

/// The space for the addresses of a server.
#[derive(Debug, Clone, Copy)]
struct Room {
    columns: usize,
    lines: usize,
}

/// Writes as many of a server's addresses as there is space for, next to each other. Adds the number of the other
/// addresses to `n_left_out`.
fn short_rows(server: &FoundServer, room: Room, n_left_out: &mut usize, text: Text) -> Vec<Vec<String>> {
    let mut packed: Vec<String> = Vec::new();
    let mut n_more = 0;
    // The first address over TCP and the first address over the socket are moved to the beginning, because these two
    // addresses tell the reader most.
    let first_of = |is_tcp| server.endpoints.iter().position(|it| (it.transport == EndpointTransport::Tcp) == is_tcp);
    let firsts = [first_of(true), first_of(false)];
    let mut endpoints: Vec<(usize, &FoundEndpoint)> = server.endpoints.iter().enumerate().collect();
    endpoints.sort_by_key(|(idx, _)| !firsts.contains(&Some(*idx)));
    for (_, endpoint) in endpoints {
        let address = address(endpoint, text);
        let n_lines = packed.len();
        match packed.last_mut() {
            _ if n_more > 0 => n_more += 1,
            // Eight columns are reserved for the number of addresses that are left out.
            Some(line) if width(line) + width(&address) + 8 <= room.columns => line.extend([", ", &*address]),
            Some(_) if n_lines >= room.lines => n_more += 1,
            _ => packed.push(address),
        }
    }
    if let Some(line) = packed.last_mut().filter(|_| n_more > 0) {
        line.extend([", +", &n_more.to_string()]);
    }
    *n_left_out += n_more;
    let waiting = { server.endpoints.iter() }.filter(|it| it.n_waiting > 0).max_by_key(|it| it.n_waiting);
    let queue = |idx| waiting.filter(|_| idx == 0).map_or_else(dash, queue);
    let rows = packed.into_iter().enumerate().map(|(idx, line)| vec![line, queue(idx)]);
    below(server, rows.collect(), text)
}

/// Returns the rows of a server: the first row has the server's own cells, and each endpoint has a row.
fn below(server: &FoundServer, endpoints: Vec<Vec<String>>, text: Text) -> Vec<Vec<String>> {
    let first = [named(server, text), version_of(server, text), shown(&server.user, text), place(server, text)];
    if endpoints.is_empty() {
        let words = match (server.is_hidden, &server.home) {
            (false, _) => "nothing that looptax sees",
            (true, Some(_)) => "sockets that only root sees",
            (true, None) => "only root sees the server's sockets",
        };
        let unseen = [words.to_owned(), dash()];
        return vec![[first.to_vec(), unseen.to_vec()].concat()];
    }
    let rows = endpoints.into_iter().enumerate().map(|(idx, endpoint)| {
        let before = if idx == 0 { first.to_vec() } else { vec![String::new(); first.len()] };
        [before, endpoint].concat()
    });
    rows.collect()
}

fn named(server: &FoundServer, text: Text) -> String {
    format!("{} {}", shown(&server.program, text), server.pid)
}

fn user(server: &FoundServer, text: Text) -> String {
    shown(&server.user, text)
}

fn version_of(server: &FoundServer, text: Text) -> String {
    server.version.as_deref().map_or_else(dash, |it| shown(version(it), text))
}

const LISTENERS: [&str; 4] = ["listens on", "user", "may be", "connections"];

/// Writes listening sockets whose process is not known. Sockets that servers usually have, or that have clients, come
/// first.
pub(super) fn write_listeners(found: &Found, most: Most, lines: &mut Lines) {
    let text = lines.style.text();
    let mut listeners: Vec<&FoundListener> = found.listeners.iter().collect();
    listeners.sort_by_key(|it| (it.likely.is_none(), it.n_connections == 0));
    let rows = lines.first_of(&listeners, most.of(Part::Listeners), "listening sockets").iter();
    let rows = rows.map(|it| listener_cells(it, found, text));
    if rows.len() == 0 {
        return;
    }
    lines.heading(0, "also listening, process not seen");
    Table::new(&LISTENERS, rows.collect()).write(lines);
    lines.blank();
}

fn listener_cells(listener: &FoundListener, found: &Found, text: Text) -> Vec<String> {
    vec![
        shown(&listener.address, text),
        listener.user.as_ref().map_or_else(dash, |it| shown(it, text)),
        may_be(listener, found, text).unwrap_or_else(dash),
        listener.n_connections.to_string(),
    ]
}

/// Returns the server that may own a listening socket, with the evidence; `None` if nothing points to a database.
pub(super) fn may_be(listener: &FoundListener, found: &Found, text: Text) -> Option<String> {
    let name_of = |pid: &u32| {
        let server = found.servers.iter().find(|it| it.pid == *pid);
        server.map(|it| format!("{} {pid}", shown(&it.program, text)))
    };
    let servers = listener.server_pids.iter().filter_map(name_of);
    let web = listener.web_servers.iter().map(|it| shown(it, text));
    let servers: Vec<String> = servers.chain(web).collect();
    match (&*servers, &listener.likely) {
        ([], likely) => Some(format!("{} (by its usual place)", likely.as_ref()?)),
        (servers, _) => Some(format!("{} (by its user)", servers.join(" or "))),
    }
}

/// Returns the server's container or unit. If neither is known, but the server is in another network, returns the
/// network.
fn place(server: &FoundServer, text: Text) -> String {
    match (&server.home, &server.network) {
        (Some(home), _) => shown(home, text),
        (None, Some(network)) => format!("another network, {}", shown(network, text)),
        (None, None) => dash(),
    }
}

fn cells(endpoint: &FoundEndpoint, text: Text) -> Vec<String> {
    let file = endpoint.file.as_ref();
    let file = file.map(|file| format!("  {}", shown(file, text)));
    let inferred = inferred(endpoint);
    vec![format!("{}{}{inferred}", shown_address(&endpoint.address, text), file.unwrap_or_default()), queue(endpoint)]
}

fn address(endpoint: &FoundEndpoint, text: Text) -> String {
    format!("{}{}", shown_address(&endpoint.address, text), inferred(endpoint))
}

fn inferred(endpoint: &FoundEndpoint) -> String {
    endpoint.known.inferred_by().map(|it| format!(" ({it})")).unwrap_or_default()
}

fn queue(endpoint: &FoundEndpoint) -> String {
    format!("{} of {}", endpoint.n_waiting, endpoint.backlog)
}
