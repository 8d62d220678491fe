//! The counts of `looptax watch`, for a terminal: clients and their servers, the busiest first.

use looptax_model::record::{Watched, WatchedEnd, WatchedHop, WatchedQueue, WatchedTimes};

use super::columns::{Step, Table};
use super::found::shown;
use super::lines::Lines;
use super::style::{LEAST_WIDTH, Style};
use crate::format::{Text, fixed, rate};

const HEADER: [&str; 12] =
    ["client", "where", "server", "by", "requests", "p50", "p99", "in server", "cpu/req", "new", "accept", "next"];
const NARROWER: [Step; 10] = [
    Step::LeaveOut("where"),
    Step::Cut("client", 28),
    Step::Cut("server", 28),
    Step::LeaveOut("next"),
    Step::LeaveOut("in server"),
    Step::LeaveOut("new"),
    Step::LeaveOut("cpu/req"),
    Step::LeaveOut("accept"),
    Step::Cut("client", 20),
    Step::Cut("server", 20),
];

/// From this percentage of overlapping requests on, a note explains that single requests cannot be distinguished.
const MOST_OVERLAPPING_PCT: u64 = 1;

/// If new connections wait at least this long for their server (p99, in µs), the wait is shown in its column.
const LEAST_WAIT_US: f64 = 1e3;

/// Returns the text of `looptax watch`. Ends with a line break.
pub fn watched(watched: &Watched, style: Style) -> String {
    let style = Style { width: style.width.max(LEAST_WIDTH), ..style };
    let mut lines = Lines::new(style);
    let text = style.text();
    if watched.hops.is_empty() {
        lines.item(0, &format!("no request to a server of this machine within {} s", fixed(watched.over_s, 0)));
        queues(watched, &mut lines);
        return lines.finish();
    }
    let rows = watched.hops.iter().map(|hop| cells(hop, text));
    Table::new(&HEADER, rows.collect()).narrowed_by(&NARROWER).write(&mut lines);
    lines.blank();
    let over = fixed(watched.over_s, 0);
    lines.item(
        0,
        &format!("counted for {over} s; several requests sent together count as one; a login counts as one or two"),
    );
    lines.item(
        0,
        "p50, p99: time from the request's arrival at the server until the client has the answer; this time \
         excludes the client's own send, which takes a few microseconds (over TCP more than over a socket)",
    );
    if !lines.lacks("in server") {
        lines.item(0, "in server: the server took less than this for half of the requests");
    }
    if !lines.lacks("cpu/req") {
        lines.item(
            0,
            "cpu/req: CPU time of the server, with its background work, divided by the requests of all its clients; \
             if a value is missing, --json has the reason",
        );
    }
    if watched.hops.iter().any(|it| accept(it).is_some()) {
        lines.item(
            0,
            "accept: 99 % of the new connections to this address waited less than this until the server first \
             received or sent data",
        );
    }
    queues(watched, &mut lines);
    if watched.hops.iter().any(overlaps) {
        lines.item(
            0,
            "(*) several requests were open at the same time, so there may be more requests than were counted",
        );
    }
    if watched.hops.iter().any(|it| it.client.is_none()) {
        lines.item(
            0,
            "(elsewhere): clients of other machines, or with rewritten addresses; looptax sees only the server's part",
        );
    }
    for note in &watched.notes {
        lines.item(0, &note.what);
    }
    if lines.take_left_out("next")
        && let Some(next) = watched.hops.iter().find_map(next)
    {
        lines.item(0, &format!("next: {next} shows whether the socket would work for the busiest client over TCP"));
    }
    lines.tell_left_out();
    lines.finish()
}

fn cells(hop: &WatchedHop, text: Text) -> Vec<String> {
    let time = |times: Option<WatchedTimes>, pick: fn(&WatchedTimes) -> f64| {
        times.as_ref().map_or_else(|| "-".to_owned(), |it| text.micros(pick(it)))
    };
    let mark = if overlaps(hop) { " (*)" } else { "" };
    let cpu = hop.server_cpu.as_ref().and_then(|it| it.us_per_request);
    vec![
        client(hop, text),
        place(hop, text),
        server(hop, text),
        hop.way.to_string(),
        format!("{}{mark}", rate(hop.requests_per_s)),
        time(hop.times, |it| it.p50_us),
        time(hop.times, |it| it.p99_us),
        time(hop.served, |it| it.p50_us),
        cpu.map_or_else(|| "-".to_owned(), |it| text.micros(it)),
        rate(hop.opened_per_s),
        accept(hop).unwrap_or_else(|| "-".to_owned()),
        next(hop).unwrap_or_else(|| "-".to_owned()),
    ]
}

fn accept(hop: &WatchedHop) -> Option<String> {
    let us = hop.accept_wait.map(|it| it.p99_us).filter(|it| *it >= LEAST_WAIT_US)?;
    Some(format!("{} ms", fixed(us / 1e3, 1)))
}

/// Writes the addresses on which connections are waiting to be accepted.
fn queues(watched: &Watched, lines: &mut Lines) {
    let text = lines.style.text();
    for queue in watched.queues.iter().filter(|it| it.n_waiting > 0) {
        let (server, address) = (shown(&queue.server, text), shown(&queue.address, text));
        let WatchedQueue { pid, n_waiting, .. } = queue;
        // The kernel's queue, of a Unix socket or of TCP, takes one connection more than its backlog.
        let room = queue.backlog.saturating_add(1);
        let waits = if *n_waiting == 1 { "connection waits" } else { "connections wait" };
        lines.item(
            0,
            &format!("{server} {pid} at {address}: {n_waiting} {waits} to be accepted (at most {room} may wait)"),
        );
    }
}

fn overlaps(hop: &WatchedHop) -> bool {
    hop.n_overlapping * 100 > hop.n_requests * MOST_OVERLAPPING_PCT
}

fn client(hop: &WatchedHop, text: Text) -> String {
    let Some(client) = &hop.client else {
        return "(elsewhere)".to_owned();
    };
    if hop.n_processes > 1 {
        return format!("{}, {} processes", shown(&client.program, text), hop.n_processes);
    }
    named(client, text)
}

/// Returns the client's container or unit.
fn place(hop: &WatchedHop, text: Text) -> String {
    let home = hop.client.as_ref().and_then(|it| it.home.as_ref());
    home.map_or_else(|| "-".to_owned(), |it| shown(it, text))
}

/// Returns the service's name with its process number, in the same form as `find` prints it.
fn named(end: &WatchedEnd, text: Text) -> String {
    let pid = end.pid.map(|it| format!(" {it}"));
    format!("{}{}", shown(&end.program, text), pid.unwrap_or_default())
}

fn server(hop: &WatchedHop, text: Text) -> String {
    hop.server.as_ref().map_or_else(|| shown(&hop.address, text), |it| named(it, text))
}

/// Returns the command that checks whether the client could use the socket.
fn next(hop: &WatchedHop) -> Option<String> {
    let pid = hop.client.as_ref().filter(|_| hop.way.is_tcp() && hop.kind.is_some()).and_then(|it| it.pid);
    pid.map(|pid| format!("looptax check {pid}"))
}
