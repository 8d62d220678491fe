//! The servers, a line for each of their endpoints.

use looptax_model::record::{Found, FoundEndpoint, FoundListener, FoundServer};

use super::super::columns::{Step, Table};
use super::super::lines::Lines;
use super::cells::{dash, shown};
use crate::format::Text;
use crate::heading::version;

const HEADER: [&str; 6] = ["server", "version", "user", "where", "listens on", "queue"];

/// Paths stay whole, so that they can be copied.
const NARROWER: [Step; 4] =
    [Step::LeaveOut("where"), Step::LeaveOut("user"), Step::LeaveOut("queue"), Step::LeaveOut("version")];

pub(super) fn write(found: &Found, lines: &mut Lines) {
    if found.servers.is_empty() {
        let words = if found.sees_all {
            "no database server is running here, as far as we can see"
        } else {
            "no process of a database server is seen; that says nothing of those that only root sees"
        };
        lines.wrapped(0, words);
        if !found.listeners.is_empty() {
            lines.blank();
        }
        return;
    }
    let text = lines.style.text();
    let rows = found.servers.iter().flat_map(|it| rows(it, text));
    lines.heading(0, "servers");
    Table::new(&HEADER, rows.collect()).narrowed_by(&NARROWER).write(lines);
    lines.blank();
}

fn rows(server: &FoundServer, text: Text) -> Vec<Vec<String>> {
    let first = [
        format!("{} {}", shown(&server.program, text), server.pid),
        server.version.as_deref().map_or_else(dash, |it| shown(version(it), text)),
        shown(&server.user, text),
        place(server, text),
    ];
    if server.endpoints.is_empty() {
        let words = match (server.is_hidden, &server.home) {
            (false, _) => "nothing that we see",
            (true, Some(_)) => "sockets that only root sees",
            (true, None) => "sockets that only root can tell as its own",
        };
        let unseen = [words.to_owned(), dash()];
        return vec![[first.to_vec(), unseen.to_vec()].concat()];
    }
    let rows = server.endpoints.iter().enumerate().map(|(idx, endpoint)| {
        let before = if idx == 0 { first.to_vec() } else { vec![String::new(); first.len()] };
        [before, cells(endpoint, text)].concat()
    });
    rows.collect()
}

const LISTENERS: [&str; 4] = ["listens on", "user", "may be", "connections"];
/// More listening sockets than these are counted.
const MOST_LISTENERS: usize = 12;

/// Listening sockets without a process; those that servers usually have, or somebody uses, first.
pub(super) fn write_listeners(found: &Found, lines: &mut Lines) {
    if found.listeners.is_empty() {
        return;
    }
    let text = lines.style.text();
    let mut listeners: Vec<&FoundListener> = found.listeners.iter().collect();
    listeners.sort_by_key(|it| (it.likely.is_none(), it.n_connections == 0));
    let rows = listeners.iter().take(MOST_LISTENERS);
    let rows = rows.map(|it| listener_cells(it, found, text));
    lines.heading(0, "listening too, the process behind is not seen");
    Table::new(&LISTENERS, rows.collect()).write(lines);
    let n_more = listeners.len().saturating_sub(MOST_LISTENERS);
    if n_more > 0 {
        lines.item(2, &format!("{n_more} more, with --json"));
    }
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

/// What may be behind it, and by what that is said; `None` where nothing speaks for a database.
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

/// Its container or unit; at least that its 127.0.0.1 is not ours.
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
    let inferred = endpoint.known.inferred_by();
    let inferred = inferred.map(|it| format!(" ({it})"));
    vec![
        format!("{}{}{}", shown(&endpoint.address, text), file.unwrap_or_default(), inferred.unwrap_or_default()),
        format!("{} of {}", endpoint.n_waiting, endpoint.backlog),
    ]
}
