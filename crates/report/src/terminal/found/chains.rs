//! What a page goes through, hop by hop, and what TCP costs it in all.

use std::collections::BTreeSet;

use looptax_model::record::{Figure, Found, FoundChain, FoundHop};

use super::super::lines::Lines;
use super::cells::shown;
use crate::format::{Text, counted, rate};

/// More chains than these are counted.
const MOST_CHAINS: usize = 8;
/// More hops of a chain than these are counted.
const MOST_HOPS: usize = 12;
/// More names in a row than these are left out.
const MOST_NAMES: usize = 12;
/// Below this, in ms per second, the shown digits are all zero.
const LEAST_SHOWN_MS: f64 = 0.05;

pub(super) fn write(found: &Found, lines: &mut Lines) {
    if found.chains.is_empty() {
        return;
    }
    lines.heading(0, "what a page goes through");
    for chain in found.chains.iter().take(MOST_CHAINS) {
        write_chain(chain, found, lines);
    }
    let n_more = found.chains.len().saturating_sub(MOST_CHAINS);
    if n_more > 0 {
        lines.item(2, &format!("{n_more} more, with --json"));
    }
    lines.blank();
}

fn write_chain(chain: &FoundChain, found: &Found, lines: &mut Lines) {
    let text = lines.style.text();
    lines.item(2, &names(chain, text));
    for hop in chain.hops.iter().take(MOST_HOPS) {
        lines.item(4, &hop_line(hop, found, text));
    }
    let n_more = chain.hops.len().saturating_sub(MOST_HOPS);
    if n_more > 0 {
        lines.item(4, &format!("{n_more} more, with --json"));
    }
    if let Some(line) = who_asks(chain, found, text) {
        lines.item(4, &line);
    }
    if let Some(line) = sum_line(chain, found, text) {
        lines.item(4, &line);
    }
}

/// Why nobody is before the first program, where it is one that is asked.
fn who_asks(chain: &FoundChain, found: &Found, text: Text) -> Option<String> {
    let first = chain.hops.first().filter(|_| !chain.begins_here)?;
    let (name, pid) = (first.client.as_ref()?, first.client_pid?);
    let name = shown(name, text);
    let server = { found.servers.iter() }.find(|it| it.pid == pid);
    let n_remote = server.map_or(0, |it| it.n_remote);
    if n_remote > 0 {
        let connections = counted(n_remote, "connection");
        return Some(format!("{name} is asked from elsewhere: {connections}"));
    }
    Some(if found.sees_all {
        format!(
            "who asks {name} is not seen: no client is connected now, and over a Unix socket what was closed leaves \
             no trace"
        )
    } else {
        format!("who asks {name} is seen by root only")
    })
}

/// `nginx 812 -> php-fpm8.2 901 -> mariadbd 640 + redis-server 650`.
fn names(chain: &FoundChain, text: Text) -> String {
    let Some(first) = chain.hops.first() else {
        return String::new();
    };
    let mut told = BTreeSet::new();
    let (start, pid) = match (&first.client, first.client_pid) {
        (Some(name), Some(pid)) => (format!("{} {pid}", shown(name, text)), Some(pid)),
        _ => ("(not seen)".to_owned(), None),
    };
    let onward = onward(chain, pid, &mut told, text);
    let before = if chain.begins_here || pid.is_none() { "" } else { "(not seen) -> " };
    format!("{before}{start}{onward}")
}

/// What is behind a process's name; a process that was told already is named only.
fn onward(chain: &FoundChain, client: Option<u32>, told: &mut BTreeSet<Option<u32>>, text: Text) -> String {
    if !told.insert(client) || told.len() > MOST_NAMES {
        return String::new();
    }
    let mut servers: Vec<(u32, &str)> = Vec::new();
    for hop in chain.hops.iter().filter(|it| it.client_pid == client) {
        let server = (hop.server_pid, &*hop.server);
        if !servers.contains(&server) {
            servers.push(server);
        }
    }
    let is_alone = servers.len() == 1;
    let named = servers.into_iter().map(|(pid, name)| {
        let behind = onward(chain, Some(pid), told, text);
        let name = format!("{} {pid}{behind}", shown(name, text));
        let is_plain = is_alone || behind.is_empty();
        if is_plain { name } else { format!("({name})") }
    });
    let named: Vec<String> = named.collect();
    if named.is_empty() {
        return String::new();
    }
    format!(" -> {}", named.join(" + "))
}

/// `php-fpm8.2 -> mariadbd: loopback, 5 connections of 5 processes, 1.20K requests/s, 4.1 [3.7, 4.4] ms/s lost`.
fn hop_line(hop: &FoundHop, found: &Found, text: Text) -> String {
    let client = hop.client.as_deref();
    let client = client.map_or_else(|| "(not seen)".to_owned(), |it| shown(it, text));
    let mut facts = vec![hop.way.to_string()];
    if hop.n_connections > 0 {
        let processes = (hop.n_processes > 1).then(|| format!(" of {} processes", hop.n_processes));
        let connections = counted(hop.n_connections, "connection");
        facts.push(format!("{connections}{}", processes.unwrap_or_default()));
    }
    if hop.n_passing > 0 {
        facts.push(format!("{} seen come and go", hop.n_passing));
    }
    facts.extend(rates(hop));
    facts.extend(gone(hop, found));
    facts.extend(lost(hop.cpu_ms_per_s.as_ref()));
    facts.extend(shared(hop));
    format!("{client} -> {}: {}", shown(&hop.server, text), facts.join(", "))
}

fn rates(hop: &FoundHop) -> Vec<String> {
    let plain = |per_s: f64| rate(per_s).trim_end_matches("/s").to_owned();
    if let Some((requests, opened)) = hop.requests_per_s.zip(hop.opened_per_s) {
        let opened = (opened > 0.0).then(|| format!("{} new connections/s", plain(opened)));
        return [Some(format!("{} requests/s", plain(requests))), opened].into_iter().flatten().collect();
    }
    if !hop.way.is_tcp() {
        return vec!["requests are not counted".to_owned()];
    }
    let is_idle = |per_s: &f64| *per_s <= 0.0 && hop.closed_per_s.is_some();
    let open = { hop.requests_per_s }.filter(|it| hop.n_connections > 0 && !is_idle(it));
    let open = open.map(|it| format!("{} requests/s", plain(it)));
    let closed = hop.closed_per_s.map(|it| format!("{} connections/s closed, a request or more each", plain(it)));
    open.into_iter().chain(closed).collect()
}

/// What is known of connections that are all gone, without a second look.
fn gone(hop: &FoundHop, found: &Found) -> Option<String> {
    let is_all = hop.client.is_none() && hop.n_connections == 0 && hop.closed_per_s.is_none();
    let server = { found.servers.iter() }.find(|it| it.pid == hop.server_pid)?;
    let n = server.n_closed_last_minute;
    is_all.then(|| format!("{} closed within the last minute", counted(n, "connection")))
}

/// How much of a hop is this chain's.
fn shared(hop: &FoundHop) -> Option<String> {
    let part = hop.share.map(|it| format!(", {:.0} % of it from here", it * 100.0));
    let part = part.unwrap_or_default();
    { hop.is_shared }.then(|| format!("shared with others{part}"))
}

fn lost(cost: Option<&Figure>) -> Option<String> {
    Some(format!("{} ms/s lost", ms_per_s(cost?)?))
}

fn sum_line(chain: &FoundChain, found: &Found, text: Text) -> Option<String> {
    let cost = cost_line(chain, found, text);
    let parts = [cost, left_out(chain, text), missing(chain, found, text)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// What is known of all hops together, and what nobody measured.
fn cost_line(chain: &FoundChain, found: &Found, text: Text) -> Option<String> {
    let has_rates = found.rates_over_s.is_some();
    if !chain.hops.iter().any(|it| it.way.is_tcp()) {
        let words = if chain.may_miss.is_empty() && found.sees_all {
            "no hop over TCP: these pages pay no loopback tax"
        } else {
            "no hop over TCP is seen"
        };
        return Some(words.to_owned());
    }
    let sum = chain.cpu_ms_per_s.as_ref().and_then(ms_per_s);
    let sum = sum.map(|it| format!("in all, TCP costs these pages {it} ms of CPU time per second"));
    let kept = without(&chain.kinds_without_cost, "a request", text);
    let each = "a connection for each request";
    let short = without(&chain.kinds_without_connection_cost, each, text);
    let open: Vec<String> = kept.into_iter().chain(short).collect();
    let open = (has_rates && !open.is_empty()).then(|| {
        let costs = if open.len() > 1 { "cost" } else { "costs" };
        let open = open.join(", and ");
        format!("what {open} {costs} over TCP was not measured here")
    });
    match (sum, open) {
        (None, None) => None,
        (Some(one), None) | (None, Some(one)) => Some(one),
        (Some(sum), Some(open)) => Some(format!("{sum}; {open}, and is not in it")),
    }
}

/// Servers that the chain may go on to.
fn missing(chain: &FoundChain, found: &Found, text: Text) -> Option<String> {
    let servers = found.servers.iter();
    let servers = servers.filter(|it| chain.may_miss.contains(&it.pid));
    let named = servers.take(MOST_NAMES).map(|it| {
        let closed = counted(it.n_closed_last_minute, "connection");
        format!("{} {} ({closed})", shown(&it.program, text), it.pid)
    });
    let named: Vec<String> = named.collect();
    (!named.is_empty()).then(|| {
        format!(
            "a hop may be missing: within the last minute connections were closed whose owner was not seen, to {}",
            named.join(", ")
        )
    })
}

/// Hops with a cost of which nobody knows how much is this chain's.
fn left_out(chain: &FoundChain, text: Text) -> Option<String> {
    let hops = { chain.hops.iter() }.filter(|it| it.is_shared && it.share.is_none() && it.cpu_ms_per_s.is_some());
    let names = hops.take(MOST_HOPS).map(|hop| {
        let client = hop.client.as_deref();
        let client = client.map_or_else(|| "(not seen)".to_owned(), |it| shown(it, text));
        format!("{client} -> {}", shown(&hop.server, text))
    });
    let names: Vec<String> = names.collect();
    (!names.is_empty()).then(|| {
        format!("what {} costs is shared with others by parts that are not known, and is in no sum", names.join(", "))
    })
}

/// `a request to redis, http`; `None` where each kind has its cost.
fn without(kinds: &[String], what: &str, text: Text) -> Option<String> {
    let kinds: Vec<String> = kinds.iter().map(|it| shown(it, text)).collect();
    (!kinds.is_empty()).then(|| format!("{what} to {}", kinds.join(", ")))
}

/// `13.3 [12.0, 14.9]`.
fn ms_per_s(figure: &Figure) -> Option<String> {
    let it = figure.known()?;
    let is_shown = |ms: f64| ms.abs() >= LEAST_SHOWN_MS;
    if !is_shown(it.value) && !it.hi.is_none_or(is_shown) {
        return Some("under 0.1".to_owned());
    }
    let end = |end: Option<f64>| end.map_or_else(|| "?".to_owned(), |it| format!("{it:.1}"));
    Some(format!("{:.1} [{}, {}]", it.value, end(it.lo), end(it.hi)))
}
