//! What `looptax find` saw, for a terminal: servers, who pays, who does not, what is in the way.
//!
//! Every name comes from outside and is cleaned.

mod cells;
mod chains;
mod clients;
mod costs;
mod servers;

use looptax_model::record::{Found, FoundPeer};

use super::lines::Lines;
use super::style::{LEAST_WIDTH, Style};
use crate::format::{Text, counted};
pub(super) use cells::{NOT_SEEN, shown};
use clients::Row;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum First {
    /// The servers, which the rest refers to.
    Servers,
    /// Who pays: what changes on a screen that is renewed.
    Clients,
}

/// The text of `looptax find`. Ends with a line break.
pub fn found(found: &Found, first: First, style: Style) -> String {
    let style = Style { width: style.width.max(LEAST_WIDTH), ..style };
    let mut lines = Lines::new(style);
    match first {
        First::Servers => {
            servers::write(found, &mut lines);
            servers::write_listeners(found, &mut lines);
            clients_of(found, &mut lines);
            chains::write(found, &mut lines);
        }
        First::Clients => {
            clients_of(found, &mut lines);
            chains::write(found, &mut lines);
            servers::write(found, &mut lines);
            servers::write_listeners(found, &mut lines);
        }
    }
    lines.tell_left_out();
    write_words(found, &mut lines);
    lines.finish()
}

fn clients_of(found: &Found, lines: &mut Lines) {
    let rows = clients::rows(found, lines.style.text());
    let (known, open): (Vec<&Row>, Vec<&Row>) = rows.iter().partition(|it| it.may_be_a_server);
    let (paying, free): (Vec<&Row>, Vec<&Row>) = known.into_iter().partition(|it| it.client.peer.way.is_tcp());
    clients::write("over TCP: these pay the loopback tax", &paying, lines);
    let heading = "over TCP to a process that only root sees: these pay if it is a database";
    clients::write(heading, &open, lines);
    clients::write("on the socket already", &free, lines);
    if rows.is_empty() && !found.servers.is_empty() {
        let is_open = { found.servers.iter() }.any(|it| it.endpoints.is_empty());
        let words = match (found.sees_all, is_open) {
            (true, _) => "no client on this machine is connected just now",
            (false, false) => "no connection of this machine to these sockets is open just now",
            (false, true) => "which connections lead to a server whose sockets are not known is seen by root only",
        };
        lines.wrapped(0, words);
        lines.blank();
    }
}

/// Where the figures come from, and what is in the way.
fn write_words(found: &Found, lines: &mut Lines) {
    costs::write(found, lines);
    let n_remote: u64 = found.servers.iter().map(|it| it.n_remote).sum();
    if n_remote > 0 {
        let others = if found.sees_all {
            "from other machines (or through rewritten addresses)"
        } else {
            "from other machines, containers that root sees, or through rewritten addresses,"
        };
        let line = format!("{} {others} left out", counted(n_remote, "connection"));
        lines.item(0, &line);
    }
    let rows = clients::rows(found, lines.style.text());
    let paying = { rows.iter() }.filter(|it| it.may_be_a_server && it.client.peer.way.is_tcp());
    let others = paying.map(|it| &it.client);
    // What looptax itself sends just now ends with its run.
    let others = others.filter(|it| it.peer.program.as_deref() != Some("looptax"));
    let most = { others.filter(|it| it.peer.pid.is_some()) }
        .max_by(|one, other| clients::weight(one).total_cmp(&clients::weight(other)));
    let text = lines.style.text();
    let next = most.and_then(|it| next(&it.peer, text));
    if let Some(next) = next {
        lines.item(0, &next);
    }
    for (idx, note) in found.notes.iter().enumerate() {
        // The same next step of several notes is told once, after the last one.
        let next = note.next.as_ref().filter(|_| found.notes.get(idx + 1).is_none_or(|it| it.next != note.next));
        let next = next.map(|next| format!(": {next}"));
        let line = format!("{}{}", note.what, next.unwrap_or_default());
        lines.item(0, &text.clean(&line));
    }
}

/// What says whether a client may go over the socket.
fn next(peer: &FoundPeer, text: Text) -> Option<String> {
    let pid = peer.pid?;
    if !peer.asks_by_its_files {
        return Some(format!(
            "next: looptax check {pid} says whether the switch to the socket would work for that one"
        ));
    }
    let program = shown(peer.program.as_deref()?, text);
    Some(format!(
        "next: looptax check FILE says whether the switch to the socket would work for {program} {pid}; FILE is the configuration, its own or that of its pages, that names the server"
    ))
}
