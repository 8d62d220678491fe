//! The clients, those that lose most at the top.

use looptax_record::{Figure, Found, FoundClient};

use super::super::columns::Table;
use super::super::lines::Lines;
use super::cells::{dash, shown};
use crate::format::{Text, rate};

const HEADER: [&str; 8] = [
    "client",
    "user",
    "where",
    "server",
    "by",
    "connections",
    "requests/s",
    "% of a core lost",
];

/// More clients than these are shown together where they are alike, as the workers of a web server are.
const MOST_ROWS: usize = 12;

pub(super) fn write(heading: &str, clients: &[&FoundClient], found: &Found, lines: &mut Lines) {
    if clients.is_empty() {
        return;
    }
    let text = lines.style.text();
    let mut clients: Vec<FoundClient> = if clients.len() > MOST_ROWS {
        together(clients)
    } else {
        clients.iter().copied().cloned().collect()
    };
    clients.sort_by(|one, other| weight(other).total_cmp(&weight(one)));
    let rows = clients.iter().map(|client| cells(client, found, text));
    lines.heading(0, heading);
    Table::new(&HEADER, rows.collect()).write(lines);
    lines.blank();
}

/// One row for all processes of a program that reach the same server over the same transport.
fn together(clients: &[&FoundClient]) -> Vec<FoundClient> {
    let mut groups: Vec<(FoundClient, usize)> = Vec::new();
    for client in clients {
        match groups.iter_mut().find(|(group, _)| is_alike(group, client)) {
            Some((group, n_processes)) => {
                add(group, client);
                *n_processes += 1;
            }
            None => groups.push(((*client).clone(), 1)),
        }
    }
    let named = groups.into_iter().map(|(mut group, n_processes)| {
        if n_processes > 1 {
            let program = group.program.unwrap_or_else(|| "?".to_owned());
            group.program = Some(format!("{program} ({n_processes} processes)"));
            group.pid = None;
        }
        group
    });
    named.collect()
}

fn is_alike(one: &FoundClient, other: &FoundClient) -> bool {
    let traits = |it: &FoundClient| {
        (
            it.program.clone(),
            it.user.clone(),
            it.home.clone(),
            it.server_pid,
            it.way,
            it.via.clone(),
        )
    };
    traits(one) == traits(other)
}

/// Costs are rates times the same figure, so their ends add up too.
fn add(group: &mut FoundClient, client: &FoundClient) {
    group.n_connections += client.n_connections;
    let sum = |one: Option<f64>, other: Option<f64>| Some(one? + other?);
    group.requests_per_s = sum(group.requests_per_s, client.requests_per_s);
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

/// What it loses, else what it asks.
pub(super) fn weight(client: &FoundClient) -> f64 {
    let lost = client.cpu_ms_per_s.as_ref().and_then(Figure::known);
    let asks = client.requests_per_s.unwrap_or(0.0);
    // A request costs some millionth of a second: those without a figure keep their place among the
    // others.
    lost.map_or(asks * 1e-3, |it| it.value)
}

fn cells(client: &FoundClient, found: &Found, text: Text) -> Vec<String> {
    let server = found.servers.iter().find(|it| it.pid == client.server_pid);
    let server = server.map_or_else(dash, |it| shown(&it.program, text));
    let name = |name: &Option<String>| name.as_deref().map_or_else(dash, |it| shown(it, text));
    let program = client.program.as_deref();
    let program = program.map_or_else(|| "?".to_owned(), |it| shown(it, text));
    vec![
        match client.pid {
            Some(pid) => format!("{program} {pid}"),
            None => program,
        },
        name(&client.user),
        name(&client.home),
        format!("{server} {}", client.server_pid),
        transport(client, text),
        client.n_connections.to_string(),
        client
            .requests_per_s
            .map_or_else(dash, |it| rate(it).trim_end_matches("/s").to_owned()),
        client.cpu_ms_per_s.as_ref().map_or_else(dash, core_share),
    ]
}

fn transport(client: &FoundClient, text: Text) -> String {
    let via = client.via.as_ref();
    let via = via.map(|via| format!(" through {}", shown(via, text)));
    let onward = client.onward.as_ref();
    let onward = onward.map(|it| format!(", on to {}", shown(it, text)));
    format!(
        "{}{}{}",
        client.way,
        via.unwrap_or_default(),
        onward.unwrap_or_default()
    )
}

/// Below this, in percent of a core, the shown digits are all zero.
const LEAST_SHOWN_PCT: f64 = 0.05;

/// `13.3 [12.0, 14.9]`: ten milliseconds in each second are a hundredth of a core.
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
