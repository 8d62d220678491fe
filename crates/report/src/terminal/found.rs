//! What `looptax find` saw, for a terminal: servers, who pays, who does not, what stands in the way.
//!
//! Every name comes from outside and is cleaned.

use looptax_record::{Figure, Found, FoundClient, FoundEndpoint, FoundServer};

use super::lines::{Lines, Paint, padded, width};
use super::{LEAST_WIDTH, Style};
use crate::format::{Text, counted, rate};

/// Longest name that is shown; the rest is cut, since anybody may choose one of any length.
const MOST_NAME: usize = 60;
const GAP: usize = 2;

/// The text of `looptax find`. Ends with a line break.
pub fn found(found: &Found, style: Style) -> String {
    let style = Style {
        width: style.width.max(LEAST_WIDTH),
        ..style
    };
    let mut lines = Lines::new(style);
    let text = style.text();
    if found.servers.is_empty() {
        lines.wrapped(
            0,
            "no database server is running here, as far as we can see",
        );
    } else {
        lines.heading(0, "servers");
        let rows = found.servers.iter().flat_map(|it| server_rows(it, text));
        columns(&SERVER_HEADER, &rows.collect::<Vec<_>>(), &mut lines);
    }
    let (paying, free): (Vec<_>, Vec<_>) = found.clients.iter().partition(|it| it.way != "unix");
    clients(
        "over TCP: these pay the loopback tax",
        &paying,
        found,
        &mut lines,
    );
    clients("on the socket already", &free, found, &mut lines);
    sources(found, &mut lines);
    for note in &found.notes {
        let next = note.next.as_ref().map(|next| format!(": {next}"));
        let line = format!("{}{}", note.what, next.unwrap_or_default());
        lines.item(0, &text.clean(&line));
    }
    lines.finish()
}

const SERVER_HEADER: [&str; 6] = ["server", "version", "pid", "user", "where", "listens on"];

fn server_rows(server: &FoundServer, text: Text) -> Vec<Vec<String>> {
    let name = |name: &str| shown(name, text);
    let mut rows = Vec::new();
    let first = vec![
        name(&server.program),
        server
            .version
            .as_deref()
            .map_or_else(|| "?".to_owned(), name),
        server.pid.to_string(),
        name(&server.user),
        server.home.as_deref().map_or_else(|| "-".to_owned(), name),
    ];
    for endpoint in &server.endpoints {
        let mut row = if rows.is_empty() {
            first.clone()
        } else {
            vec![String::new(); first.len()]
        };
        row.push(endpoint_cell(endpoint, text));
        rows.push(row);
    }
    if rows.is_empty() {
        rows.push([first, vec!["cannot be seen".to_owned()]].concat());
    }
    rows
}

fn endpoint_cell(endpoint: &FoundEndpoint, text: Text) -> String {
    let file = endpoint.file.as_ref();
    let file = file.map(|file| format!("  {}", shown(file, text)));
    let queue = match endpoint.n_waiting {
        0 => format!("  backlog {}", endpoint.backlog),
        n => format!("  {n} of {} waiting", endpoint.backlog),
    };
    format!(
        "{}{}{queue}",
        shown(&endpoint.address, text),
        file.unwrap_or_default()
    )
}

fn clients(heading: &str, clients: &[&FoundClient], found: &Found, lines: &mut Lines) {
    if clients.is_empty() {
        return;
    }
    let has_rates = clients.iter().any(|it| it.requests_per_s.is_some());
    let has_costs = clients.iter().any(|it| it.cpu_ms_per_s.is_some());
    let mut header = vec![
        "client",
        "pid",
        "user",
        "where",
        "server",
        "by",
        "connections",
    ];
    header.extend(has_rates.then_some("requests/s"));
    header.extend(has_costs.then_some("CPU lost"));
    let text = lines.style.text();
    let rows: Vec<Vec<String>> = clients
        .iter()
        .map(|client| {
            let mut row = client_cells(client, found, text);
            if has_rates {
                row.push(client.requests_per_s.map_or_else(dash, rate));
            }
            if has_costs {
                row.push(client.cpu_ms_per_s.as_ref().map_or_else(dash, cpu_lost));
            }
            row
        })
        .collect();
    lines.blank();
    lines.heading(0, heading);
    columns(&header, &rows, lines);
}

fn client_cells(client: &FoundClient, found: &Found, text: Text) -> Vec<String> {
    let name = |name: &Option<String>| name.as_deref().map_or_else(dash, |it| shown(it, text));
    let server = found.servers.iter().find(|it| it.pid == client.server_pid);
    let via = client.via.as_ref();
    let via = via.map(|via| format!(" through {}", shown(via, text)));
    let onward = client.onward.as_ref();
    let onward = onward.map(|it| format!(", on to {}", shown(it, text)));
    vec![
        client
            .program
            .as_deref()
            .map_or_else(|| "?".to_owned(), |it| shown(it, text)),
        client
            .pid
            .map_or_else(|| "?".to_owned(), |pid| pid.to_string()),
        name(&client.user),
        name(&client.home),
        format!(
            "{} {}",
            server.map_or_else(dash, |it| shown(&it.program, text)),
            client.server_pid
        ),
        format!(
            "{}{}{}",
            client.way,
            via.unwrap_or_default(),
            onward.unwrap_or_default()
        ),
        client.n_connections.to_string(),
    ]
}

/// `4.1 ms/s [3.7, 4.6]`: so much of each second's CPU time.
fn cpu_lost(figure: &Figure) -> String {
    let Some(it) = figure.known() else {
        return dash();
    };
    let end = |end: Option<f64>| end.map_or_else(|| "?".to_owned(), |end| format!("{end:.1}"));
    format!("{:.1} ms/s [{}, {}]", it.value, end(it.lo), end(it.hi))
}

/// Where rates and costs come from.
fn sources(found: &Found, lines: &mut Lines) {
    let text = lines.style.text();
    lines.blank();
    if let Some(seconds) = found.rates_over_s {
        lines.item(
            0,
            &format!(
                "requests: TCP segments with data over {seconds:.1} s; several requests in one segment count as one"
            ),
        );
    }
    for source in &found.cost_sources {
        let Some(cost) = source.cpu_us_per_request.known() else {
            continue;
        };
        let kind = source.kind.as_deref().unwrap_or("every server");
        let line = format!(
            "CPU lost, an estimate: requests times {} of CPU time per request over TCP beyond the socket ({}, from {})",
            text.signed_micros_interval(cost),
            shown(kind, text),
            shown(&source.source, text),
        );
        lines.item(0, &line);
    }
    let n_remote: u64 = found.servers.iter().map(|it| it.n_remote).sum();
    if n_remote > 0 {
        let line = format!(
            "{} from other machines (or through rewritten addresses) left out",
            counted(n_remote, "connection")
        );
        lines.item(0, &line);
    }
}

fn dash() -> String {
    "-".to_owned()
}

/// A foreign name, clean and no longer than a name is.
fn shown(name: &str, text: Text) -> String {
    let short: String = name.chars().take(MOST_NAME + 1).collect();
    let clean = text.clean(&short);
    if short.chars().count() <= MOST_NAME {
        return clean;
    }
    let kept: String = short.chars().take(MOST_NAME - 3).collect();
    format!("{}...", text.clean(&kept))
}

/// Columns as wide as their widest cell, the last one free; blocks where they do not fit.
fn columns(header: &[&str], rows: &[Vec<String>], lines: &mut Lines) {
    let widths: Vec<usize> = (0..header.len())
        .map(|idx| {
            let cells = rows.iter().map(|row| width(&row[idx]));
            cells.max().unwrap_or(0).max(width(header[idx])) + GAP
        })
        .collect();
    if widths.iter().sum::<usize>() > lines.style.width + GAP {
        return blocks(header, rows, lines);
    }
    let line = |cells: &mut dyn Iterator<Item = &str>| -> String {
        cells
            .zip(&widths)
            .map(|(cell, columns)| padded(cell, *columns))
            .collect()
    };
    let head = line(&mut header.iter().copied());
    let head = lines.paint(head.trim_end(), Paint::Strong);
    lines.verbatim(&format!("  {head}"));
    for row in rows {
        lines.verbatim(&format!("  {}", line(&mut row.iter().map(String::as_str))));
    }
}

/// One block per row: the first cell, and below it the others with their names.
fn blocks(header: &[&str], rows: &[Vec<String>], lines: &mut Lines) {
    for row in rows {
        for (idx, cell) in row.iter().enumerate() {
            if cell.is_empty() {
                continue;
            }
            if idx == 0 {
                lines.item(2, cell);
            } else {
                lines.item(4, &format!("{}: {cell}", header[idx]));
            }
        }
    }
}
