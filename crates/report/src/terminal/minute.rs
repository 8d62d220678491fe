//! The output of `looptax` without a command, in several pieces: some twenty lines in total.

use looptax_advise::{Weighed, Worth, weigh};
use looptax_model::record::{
    Comparison, Direction, EndpointTransport, Found, FoundClient, FoundListener, FoundServer, Record, SizeCause, Tax,
    Verdict,
};

use super::found::{NOT_SEEN, shown};
use super::lines::{Lines, Paint, padded, width, wrap};
use super::style::{LEAST_WIDTH, Style};
use crate::format::{Text, rate};
use crate::heading::{server, version};
use crate::words::row::{is_usable, tax_words, verdict_words};

/// Maximum number of servers that are named; the others are only counted.
const MOST_SERVERS: usize = 4;
/// Maximum number of programs that are named; the others are only counted.
const MOST_PROGRAMS: usize = 2;
/// The rate in requests per second at which the tax is shown if no requests were seen.
const YARDSTICK_PER_S: f64 = 1_000.0;
/// Width of the first column, which has the subject of a line.
const SUBJECT: usize = 10;
/// Widths of the columns for a server's name, and for the time that TCP adds to a request.
const COLUMNS: [usize; 2] = [20, 23];
/// If other programs used at least this share of the machine's CPU time, in percent, they made the intervals wider.
const BUSY_PCT: f64 = 5.0;
/// If the hypervisor took at least this share of the CPU time, in percent, it made the intervals wider.
const STOLEN_PCT: f64 = 1.0;

/// Maximum number of new connections per request. A connection costs many times as much as a request, so with more
/// connections most of the cost is not for requests.
const MOST_OPENED: f64 = 0.05;

/// Where a rate comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Basis {
    Asked,
    Seen,
    /// Connections that were closed; each counts as one request.
    Closed,
    Yardstick,
    /// An assumed rate that is shown with a comparison. A comparison does not count the requests of programs.
    Say,
}

/// Requests that a program sends over TCP.
#[derive(Debug, Clone, PartialEq)]
pub struct AtRate {
    basis: Basis,
    /// The kind of server that gets the requests; `None` for any server that was measured.
    pub kind: Option<String>,
    /// The program that sends the requests; empty for an assumed rate.
    pub who: String,
    /// Requests per second.
    pub requests_per_s: f64,
    /// Number of connections that are opened for the requests, per second. A request's tax does not include their cost.
    pub opened_per_s: f64,
}

/// The output, in pieces. Each piece is a text that ends with a line break, or is empty.
#[derive(Debug, Clone, Copy)]
pub struct Minute {
    style: Style,
}

impl Minute {
    pub fn new(style: Style) -> Self {
        Self { style: Style { width: style.width.max(LEAST_WIDTH), ..style } }
    }

    /// Returns the servers that are running on this machine, and the clients that pay for TCP; empty if no server is
    /// running.
    pub fn found(self, found: &Found) -> String {
        let mut lines = Lines::new(self.style);
        let text = self.style.text();
        let unseen = found.listeners.iter().filter_map(|it| unseen(it, text));
        let named = { found.servers.iter() }.map(|it| here(it, text));
        let named: Vec<String> = named.chain(unseen).collect();
        if named.is_empty() {
            return String::new();
        }
        let more = named.len().saturating_sub(MOST_SERVERS);
        let more = (more > 0).then(|| format!("{more} more (looptax find)"));
        let servers: Vec<String> = named.into_iter().take(MOST_SERVERS).chain(more).collect();
        subject("here", &servers.join(", "), &mut lines);
        let programs = paying(found);
        for (idx, program) in programs.iter().take(MOST_PROGRAMS).enumerate() {
            let words = if idx == 0 { "paying" } else { "" };
            subject(words, &program.line(text), &mut lines);
        }
        if !found.sees_all {
            subject("", "only root sees which processes of other users use these sockets", &mut lines);
        }
        let more = programs.len().saturating_sub(MOST_PROGRAMS);
        if more > 0 {
            subject("", &format!("{more} more (looptax find)"), &mut lines);
        }
        lines.finish()
    }

    /// Returns the line that announces the measurement.
    pub fn head(self) -> String {
        let mut lines = Lines::new(self.style);
        let how = "private copies, one connection each, both ends on one core, half a minute in total";
        subject("measuring", how, &mut lines);
        let columns = format!("  {}over TCP a request takes", " ".repeat(COLUMNS[0]));
        let columns = lines.paint(&columns, Paint::Strong);
        lines.verbatim(&columns);
        lines.finish()
    }

    pub fn row(self, comparison: &Comparison) -> String {
        let mut lines = Lines::new(self.style);
        let text = self.style.text();
        let name = server(&comparison.target, text);
        let Some(tax) = comparison.tax.first() else {
            return self.not_measured(&name, "broken off");
        };
        let (words, paint) = row_words(comparison, tax, text);
        row(&name, &words, paint, &mut lines);
        lines.finish()
    }

    /// Explains why a server has no result.
    pub fn not_measured(self, name: &str, why: &str) -> String {
        let mut lines = Lines::new(self.style);
        let text = self.style.text();
        row(name, &format!("not measured: {}", text.clean(why)), Paint::Unsure, &mut lines);
        lines.finish()
    }

    /// Returns the tax at the known rates, the disturbances, and commands that show more.
    pub fn end(self, record: &Record, rates: &[AtRate], seconds: f64, name: Option<&str>) -> String {
        let mut lines = Lines::new(self.style);
        let text = self.style.text();
        write_at_rates(rates, record, &mut lines);
        if let Some(words) = busy(record) {
            lines.item(2, &words);
        }
        for problem in &record.problems {
            lines.item(2, &format!("problem: {}", text.clean(problem)));
        }
        if record.interrupted {
            lines.item(2, "interrupted: unfinished measurements are left out");
        }
        lines.item(
            0,
            &format!(
                "{seconds:.0} s in total.  More: looptax compare (minutes: 1 and 16 connections), looptax compare \
                 private:http (between web servers and their upstreams), looptax find (programs that pay)"
            ),
        );
        if let Some(name) = name {
            lines.item(0, &format!("record: {}", text.clean(name)));
        }
        lines.finish()
    }
}

/// Writes a server's name and a text about it; further lines of the text begin below its first line.
fn row(name: &str, words: &str, paint: Paint, lines: &mut Lines) {
    let indent = 2 + COLUMNS[0];
    let mut before = format!("  {}", padded(name, COLUMNS[0]));
    let first = lines.style.width.saturating_sub(width(&before));
    for piece in wrap(words, first, lines.style.width - indent) {
        let piece = lines.paint(&piece, paint);
        lines.verbatim(&format!("{before}{piece}"));
        before = " ".repeat(indent);
    }
}

fn subject(word: &str, words: &str, lines: &mut Lines) {
    lines.hanging(SUBJECT, &format!("{}{words}", padded(word, SUBJECT)));
}

/// Returns `mariadbd 10.11.6 (127.0.0.1:3306, /run/mysqld/mysqld.sock)`.
fn here(server: &FoundServer, text: Text) -> String {
    let known = server.version.as_deref();
    let known = known.map(|it| format!(" {}", shown(version(it), text)));
    let mut places: Vec<String> = { server.endpoints.iter() }.map(|it| text.clean(&it.address)).collect();
    let has_socket = { server.endpoints.iter() }.any(|it| it.transport != EndpointTransport::Tcp);
    if !has_socket && !server.is_hidden {
        places.push("no socket".to_owned());
    }
    if places.is_empty() {
        places.push("only root sees its addresses".to_owned());
    }
    format!("{}{} ({})", shown(&server.program, text), known.unwrap_or_default(), places.join(", "))
}

/// Returns `127.0.0.1:3306 (mysql or mariadb by its usual place, of user mysql)`; `None` if there is no evidence of a
/// database.
fn unseen(listener: &FoundListener, text: Text) -> Option<String> {
    let likely = listener.likely.as_ref()?;
    let user = listener.user.as_ref();
    let user = user.map(|it| format!(", of user {}", shown(it, text)));
    Some(format!(
        "{} ({} by its usual place{})",
        text.clean(&listener.address),
        text.clean(likely),
        user.unwrap_or_default()
    ))
}

/// The processes of one program that reach the same server over TCP.
struct Program<'a> {
    busiest: &'a FoundClient,
    n_processes: usize,
    server: Option<&'a FoundServer>,
    requests_per_s: f64,
    opened_per_s: f64,
}

impl Program<'_> {
    /// Returns `php-fpm -> mariadbd over TCP, 820 requests/s    looptax check 812`.
    fn line(&self, text: Text) -> String {
        let name = self.busiest.peer.program.as_deref().unwrap_or(NOT_SEEN);
        let n = match self.n_processes {
            1 => String::new(),
            n => format!(" ({n} processes)"),
        };
        let server = self.server.map_or("?", |it| &it.program);
        let pid = self.busiest.peer.pid.map(|pid| format!("    looptax check {pid}"));
        format!(
            "{}{n} -> {} over TCP, {} requests/s{}",
            shown(name, text),
            shown(server, text),
            rate(self.requests_per_s).trim_end_matches("/s"),
            pid.unwrap_or_default()
        )
    }
}

/// Returns the kinds of server that are measured first: the kinds to which programs send requests over TCP, the busiest
/// program's kind first, and then the kinds of the other running servers. A kind may be listed more than once.
pub fn kinds_in_use(found: &Found) -> Vec<&str> {
    let paying = paying(found);
    let paid = paying.iter().filter_map(|it| Some(&*it.server?.kind));
    paid.chain(found.servers.iter().map(|it| &*it.kind)).collect()
}

/// Returns the programs that send requests over TCP, the busiest first, without looptax processes, which only measure.
fn paying(found: &Found) -> Vec<Program<'_>> {
    let mut programs: Vec<Program<'_>> = Vec::new();
    let is_looptax = |it: &&FoundClient| it.peer.program.as_deref() == Some("looptax");
    for client in found.clients.iter().filter(|it| it.peer.way.is_tcp() && !is_looptax(it)) {
        let Some(requests_per_s) = client.peer.requests_per_s.filter(|it| *it > 0.0) else {
            continue;
        };
        let opened_per_s = client.peer.opened_per_s.unwrap_or(0.0);
        let is_same = |it: &&mut Program<'_>| {
            (&it.busiest.peer.program, it.busiest.server_pid) == (&client.peer.program, client.server_pid)
        };
        if let Some(program) = programs.iter_mut().find(is_same) {
            program.requests_per_s += requests_per_s;
            program.opened_per_s += opened_per_s;
            program.n_processes += 1;
            if client.peer.requests_per_s > program.busiest.peer.requests_per_s {
                program.busiest = client;
            }
            continue;
        }
        let server = found.servers.iter().find(|it| it.pid == client.server_pid);
        programs.push(Program { busiest: client, n_processes: 1, server, requests_per_s, opened_per_s });
    }
    programs.sort_by(|one, other| other.requests_per_s.total_cmp(&one.requests_per_s));
    programs
}

impl AtRate {
    /// Makes a rate that the user has passed.
    pub fn asked(requests_per_s: f64) -> Self {
        Self { basis: Basis::Asked, kind: None, who: String::new(), requests_per_s, opened_per_s: 0.0 }
    }

    /// Makes an assumed rate for a running server, whose requests were not counted; `None` if no such server was
    /// measured.
    pub(super) fn say(record: &Record) -> Option<Self> {
        let is_used = |it: &Comparison| !it.target.private && !it.is_of_program() && it.load.is_flat_out();
        let say = Self { basis: Basis::Say, ..Self::asked(YARDSTICK_PER_S) };
        record.comparisons.iter().any(is_used).then_some(say)
    }

    /// Returns the rates at which programs send requests over TCP to each server on this machine, the busiest first. If
    /// no requests were seen, returns the rates at which programs close connections; if no closed connections were seen
    /// either, an assumed rate.
    pub fn seen(found: Option<&Found>) -> Vec<Self> {
        let requests = found.map_or_else(Vec::new, Self::of_programs);
        let closed = || found.map_or_else(Vec::new, Self::of_closed);
        let yardstick = || Self { basis: Basis::Yardstick, ..Self::asked(YARDSTICK_PER_S) };
        let known = if requests.is_empty() { closed() } else { requests };
        if known.is_empty() { vec![yardstick()] } else { known }
    }

    /// Whether the program opens so many connections that their cost matters, too.
    fn opens_many(&self) -> bool {
        self.opened_per_s > MOST_OPENED * self.requests_per_s
    }

    fn of_closed(found: &Found) -> Vec<Self> {
        let hops = found.chains.iter().flat_map(|it| &it.hops).filter(|it| it.way.is_tcp());
        let mut known: Vec<Self> = Vec::new();
        for hop in hops {
            let (Some(closed_per_s), Some(kind)) = (hop.closed_per_s.filter(|it| *it > 0.0), &hop.kind) else {
                continue;
            };
            let who = hop.client.clone().unwrap_or_else(|| "programs that have ended".to_owned());
            let one = Self {
                basis: Basis::Closed,
                kind: Some(kind.clone()),
                who,
                requests_per_s: closed_per_s,
                opened_per_s: closed_per_s,
            };
            // A hop that is part of several chains is listed several times, but must be added only once.
            if !known.contains(&one) {
                known.push(one);
            }
        }
        known.sort_by(|one, other| other.requests_per_s.total_cmp(&one.requests_per_s));
        known.truncate(MOST_PROGRAMS);
        known
    }

    fn of_programs(found: &Found) -> Vec<Self> {
        let known = paying(found).into_iter().filter_map(|program| {
            Some(Self {
                basis: Basis::Seen,
                kind: Some(program.server?.kind.clone()),
                who: program.busiest.peer.program.clone().unwrap_or_default(),
                requests_per_s: program.requests_per_s,
                opened_per_s: program.opened_per_s,
            })
        });
        known.take(MOST_PROGRAMS).collect()
    }
}

fn row_words(comparison: &Comparison, tax: &Tax, text: Text) -> (String, Paint) {
    let verdict = verdict_words(tax, comparison.schedule.delta_pct, text);
    let figures = { tax.latency_us.mean.known() }.zip(tax.throughput_pct.known()).filter(|_| is_usable(tax));
    let Some((us, pct)) = figures else {
        return (verdict, Paint::Unsure);
    };
    if [us.lo, us.hi, pct.lo, pct.hi].contains(&None) {
        return ("too few measurements for an answer".to_owned(), Paint::Unsure);
    }
    // If an interval is too long for its column, there is still a space after it.
    let us = match (&tax.uncertain_size, us.lo.zip(us.hi)) {
        (Some(size), Some((lo, hi))) if size.cause == SizeCause::Wide => {
            format!("{} to {}", text.signed_micros(lo), text.micros(hi))
        }
        // If the verdict is inconclusive, a single disturbed epoch may be the cause of the whole difference.
        _ if tax.has_size() && tax.verdict != Verdict::Inconclusive => text.signed_micros_interval(us),
        _ => "n/a".to_owned(),
    };
    let us = padded(&us, COLUMNS[1] - 1) + " ";
    let fewer = tax_words(tax, text).unwrap_or_default();
    match (tax.verdict, tax.direction) {
        _ if tax.uncertain_size.is_some() => (format!("{us}{verdict}: {fewer}"), Paint::Unsure),
        (Verdict::Difference, Some(Direction::OtherSlower)) => {
            let just = if tax.is_just() { "just: " } else { "" };
            (format!("{us}{just}{fewer} fewer requests per second"), Paint::Loss)
        }
        (Verdict::Difference | Verdict::Negligible | Verdict::Equivalent, _) => {
            (format!("{us}{verdict}: {fewer}"), Paint::Good)
        }
        _ if fewer.is_empty() => (format!("{us}{verdict}"), Paint::Unsure),
        // The interval is about the rate, which decides nothing; the words about CPU time come after the interval.
        _ if let Some((first, more)) = verdict.split_once("; ") => {
            (format!("{us}{first}: {fewer} fewer requests per second; {more}"), Paint::Unsure)
        }
        _ => (format!("{us}{verdict}: {fewer} fewer requests per second"), Paint::Unsure),
    }
}

/// Writes what TCP costs at each rate, for each server that the rate applies to. The figures are from the server's
/// first comparison, which has the fewest connections. Servers with the same conclusion are grouped.
pub(super) fn write_at_rates(rates: &[AtRate], record: &Record, lines: &mut Lines) {
    let text = lines.style.text();
    for it in rates {
        let weighed = weighed_by_server(it, record, text);
        let rate = rate(it.requests_per_s);
        let (rate, who) = (rate.trim_end_matches("/s"), shown(&it.who, text));
        let at = match it.basis {
            Basis::Asked => format!("at {rate} requests/s"),
            Basis::Seen => format!("at the {rate} requests/s of {who}"),
            Basis::Closed => format!("at the {rate} connections/s that {who} closes, if each has one request,"),
            Basis::Say => "for example at 1,000 requests/s (set your rate with --at RATE),".to_owned(),
            Basis::Yardstick => {
                "looptax saw no request over TCP in its short snapshot; for example at 1,000 requests/s".to_owned()
            }
        };
        for worth in [Worth::Much, Worth::Little, Worth::NotWorthIt] {
            let alike = || weighed.iter().filter(|(_, it, _)| it.worth == worth);
            let named: Vec<String> =
                alike().map(|(name, it, _)| format!("{name} {}", text.percent(&it.core_pct))).collect();
            if !named.is_empty() {
                let named = named.join(", ");
                let words = if it.opens_many() { opening_words(it) } else { worth_words(worth).to_owned() };
                let beside = if alike().any(|it| it.2) { " (measured while other work ran)" } else { "" };
                let line = format!("{at} TCP adds this share of one core: {named}: {words}{beside}");
                lines.item(2, &line);
            }
        }
    }
}

/// Returns what TCP costs at a rate: for each server, its name, the cost, and whether other programs were busy during
/// the measurement.
fn weighed_by_server(it: &AtRate, record: &Record, text: Text) -> Vec<(String, Weighed, bool)> {
    let mut known: Vec<(String, Weighed, bool)> = Vec::new();
    let is_busy = |tax: &Tax| tax.uncertain_size.as_ref().is_some_and(|it| it.cause == SizeCause::Disturbed);
    // No program sends requests to the built-in echo server, so its result is shown only if there is no other result.
    let has_servers = { record.comparisons.iter() }.any(|it| it.target.kind != "echo");
    for comparison in &record.comparisons {
        let kind = &comparison.target.kind;
        let is_asked = it.kind.as_ref().is_none_or(|meant| meant == kind);
        let is_meant = is_asked && (kind != "echo" || !has_servers);
        // A comparison with TLS on the socket does not show the cost of TCP.
        let has_sealed_socket = |tax: &&Tax| {
            [Some(&tax.arm), comparison.arms.first().map(|it| &it.name)]
                .into_iter()
                .flatten()
                .any(|it| it == "tls-unix")
        };
        let name = server(&comparison.target, text);
        if !is_meant || known.iter().any(|(it, ..)| *it == name) {
            continue;
        }
        let taxes = || comparison.tax.iter().filter(|tax| !has_sealed_socket(tax));
        let first = taxes().next().filter(|tax| is_usable(tax));
        // Programs that use TLS also pay for the encryption.
        let with_tls = taxes().skip(1).find(|tax| tax.arm == "tls" && is_usable(tax));
        let with_tls = with_tls.map(|tax| (format!("{name} with TLS"), tax));
        for (name, tax) in first.map(|tax| (name, tax)).into_iter().chain(with_tls) {
            let weighed = weigh(&tax.cpu_us.both, it.requests_per_s);
            known.extend(weighed.map(|weighed| (name, weighed, is_busy(tax))));
        }
    }
    known
}

/// Explains that the figures do not include the cost of the new connections at this rate.
fn opening_words(it: &AtRate) -> String {
    let kind = it.kind.as_deref().unwrap_or("KIND");
    let rate = rate(it.opened_per_s);
    let counts = if it.basis == Basis::Closed { "; looptax watch counts the requests" } else { "" };
    format!(
        "this share does not cover the {} new connections/s: looptax compare private:{kind} --workload connect \
         measures their cost{counts}",
        rate.trim_end_matches("/s")
    )
}

fn worth_words(worth: Worth) -> &'static str {
    match worth {
        Worth::NotWorthIt => "not worth it",
        Worth::Little => "worth it if the change costs nothing",
        Worth::Much => "worth it",
    }
}

/// Returns how much of the machine other programs used, if this made the intervals wider.
fn busy(record: &Record) -> Option<String> {
    let taxes = || record.comparisons.iter().flat_map(|it| &it.tax);
    let most = |share: fn(&Tax) -> Option<f64>| taxes().filter_map(share).fold(0.0, f64::max);
    let foreign = most(|tax| tax.diagnostics.foreign_pct);
    let stolen = most(|tax| tax.diagnostics.steal_pct);
    let who = match (foreign > BUSY_PCT, stolen > STOLEN_PCT) {
        (false, false) => return None,
        (true, false) => format!("other programs took up to {foreign:.0} % of the CPU time"),
        (false, true) => format!("the hypervisor took up to {stolen:.1} % of the CPU time"),
        (true, true) => {
            format!("other programs took up to {foreign:.0} %, the hypervisor {stolen:.1} % of the CPU time")
        }
    };
    Some(format!("{who}, which may make intervals wide: try again when the machine is quiet"))
}
