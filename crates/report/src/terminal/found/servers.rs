//! The servers, a line for each of their endpoints.

use looptax_record::{Found, FoundEndpoint, FoundServer};

use super::super::columns::Table;
use super::super::lines::Lines;
use super::cells::{dash, shown};
use crate::format::Text;
use crate::heading::version;

const HEADER: [&str; 6] = ["server", "version", "user", "where", "listens on", "queue"];

pub(super) fn write(found: &Found, lines: &mut Lines) {
    if found.servers.is_empty() {
        lines.wrapped(
            0,
            "no database server is running here, as far as we can see",
        );
        return;
    }
    let text = lines.style.text();
    let rows = found.servers.iter().flat_map(|it| rows(it, text));
    lines.heading(0, "servers");
    Table::new(&HEADER, rows.collect()).write(lines);
    lines.blank();
}

fn rows(server: &FoundServer, text: Text) -> Vec<Vec<String>> {
    let first = [
        format!("{} {}", shown(&server.program, text), server.pid),
        server
            .version
            .as_deref()
            .map_or_else(dash, |it| shown(version(it), text)),
        shown(&server.user, text),
        place(server, text),
    ];
    if server.endpoints.is_empty() {
        let unseen = ["nothing that we see".to_owned(), dash()];
        return vec![[first.to_vec(), unseen.to_vec()].concat()];
    }
    let rows = server.endpoints.iter().enumerate().map(|(idx, endpoint)| {
        let before = if idx == 0 {
            first.to_vec()
        } else {
            vec![String::new(); first.len()]
        };
        [before, cells(endpoint, text)].concat()
    });
    rows.collect()
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
    vec![
        format!(
            "{}{}",
            shown(&endpoint.address, text),
            file.unwrap_or_default()
        ),
        format!("{} of {}", endpoint.n_waiting, endpoint.backlog),
    ]
}
