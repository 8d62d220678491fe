//! The output of `looptax find`, for a terminal: the clients that pay and the clients that do not pay, the chains of
//! programs behind pages, the servers, and the obstacles. The output fits one screen unless the user asks for
//! everything.
//!
//! Every name comes from outside and is cleaned.

mod cells;
mod chains;
mod clients;
mod costs;
mod most;
mod notes;
mod servers;

use looptax_model::record::{Found, FoundPeer};

use super::lines::Lines;
use super::style::{LEAST_WIDTH, Style};
use crate::format::{Text, counted};
pub(super) use cells::{NOT_SEEN, shown};
use clients::Clients;
use most::{Most, Part};

/// Maximum number of lines in the short form, so that it fits a screen.
const MOST_LINES: usize = 40;
/// Maximum number of names in one note of the short form.
const MOST_NAMES: usize = 8;

/// Returns the text of `looptax find`: the short form, or everything. Ends with a line break.
pub fn found(found: &Found, is_verbose: bool, style: Style) -> String {
    let style = Style { width: style.width.max(LEAST_WIDTH), ..style };
    let clients = Clients::new(found, style.text());
    let notes = notes::told(&found.notes, if is_verbose { usize::MAX } else { MOST_NAMES }, style.text());
    let text = |most: Most| {
        let mut lines = Lines::new(style);
        clients.write(found, most, &mut lines);
        chains::write(found, most, &mut lines);
        servers::write(found, most, &mut lines);
        servers::write_listeners(found, most, &mut lines);
        lines.tell_left_out();
        costs::write(found, most, &mut lines);
        write_words(found, &notes, most, &mut lines);
        lines.tell_left_out_rows();
        if let Some(next) = clients.most_costly().and_then(|it| next(it, style.text())) {
            lines.item(0, &next);
        }
        lines.finish()
    };
    if is_verbose {
        return text(Most::ALL);
    }
    text(Most::fitting(|most| text(most).lines().count() <= MOST_LINES))
}

/// Writes the obstacles and other facts.
fn write_words(found: &Found, notes: &[String], most: Most, lines: &mut Lines) {
    let n_remote: u64 = found.servers.iter().map(|it| it.n_remote).sum();
    if n_remote > 0 {
        let others = if found.sees_all {
            "from other machines (or with rewritten addresses)"
        } else {
            "from other machines, from containers that only root sees, or with rewritten addresses,"
        };
        let line = format!("{} {others} left out", counted(n_remote, "connection"));
        lines.item(0, &line);
    }
    for note in lines.first_of(notes, most.of(Part::Notes), "notes") {
        lines.item(0, note);
    }
}

/// Returns the command that checks whether a client can use the socket.
fn next(peer: &FoundPeer, text: Text) -> Option<String> {
    let pid = peer.pid?;
    if !peer.asks_by_its_files {
        return Some(format!(
            "next: looptax check {pid} shows whether the switch to the socket would work for that process"
        ));
    }
    let program = shown(peer.program.as_deref()?, text);
    Some(format!(
        "next: looptax check FILE shows whether the switch to the socket would work for {program} {pid}; FILE is the \
         configuration file (of the program or of its web pages) that contains the server's address"
    ))
}
