//! The chain of programs that serve a page, hop by hop, and the cost of TCP for the whole chain.

use std::collections::BTreeSet;

use looptax_model::record::{Figure, Found, FoundChain, FoundHop, FoundServer};

use super::super::lines::Lines;
use super::cells::shown;
use super::most::{Most, Part};
use crate::format::{Text, counted, rate};

/// Maximum number of names that are printed in a chain.
const MOST_NAMES: usize = 12;
/// Minimum cost that is shown, in ms per second; for a lower cost all shown digits would be zero.
const LEAST_SHOWN_MS: f64 = 0.05;

pub(super) fn write(found: &Found, most: Most, lines: &mut Lines) {
    let chains = lines.first_of(&found.chains, most.of(Part::Chains), "chains");
    if chains.is_empty() {
        return;
    }
    lines.heading(0, "the servers behind a page");
    let mut n_left_out = 0;
    for chain in chains {
        n_left_out += write_chain(chain, found, most.of(Part::Hops), lines);
    }
    let n_hops = chains.iter().map(|it| it.hops.len()).sum();
    lines.left_out_rows(n_left_out, n_hops, "hops");
    let words = Words { chains, found, text: lines.style.text() };
    let words = [words.not_measured(), words.missing(), words.unknown_parts(), words.who_asks(), words.closed()];
    let words: Vec<String> = words.into_iter().flatten().collect();
    for line in lines.first_of(&words, most.of(Part::Explanations), "remarks on chains") {
        lines.item(2, line);
    }
    lines.blank();
}

/// Writes a chain; returns how many of its hops are not printed.
fn write_chain(chain: &FoundChain, found: &Found, most_hops: usize, lines: &mut Lines) -> usize {
    let text = lines.style.text();
    lines.item(2, &names(chain, text));
    for hop in chain.hops.iter().take(most_hops) {
        lines.item(4, &hop_line(hop, found, text));
    }
    let facts =
        [asked_from_elsewhere(chain, found, text), cost(chain, found, text), onward_perhaps(chain, found, text)];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    if !facts.is_empty() {
        lines.item(4, &facts.join("; "));
    }
    chain.hops.len().saturating_sub(most_hops)
}

/// Returns the first program of a chain and its server, if the program is a server that gets requests from outside the
/// chain.
fn asked_first<'a>(chain: &'a FoundChain, found: &'a Found) -> Option<(&'a str, Option<&'a FoundServer>)> {
    let first = chain.hops.first().filter(|_| !chain.begins_here)?;
    let (name, pid) = (first.client.as_ref()?, first.client_pid?);
    Some((name, found.servers.iter().find(|it| it.pid == pid)))
}

fn asked_from_elsewhere(chain: &FoundChain, found: &Found, text: Text) -> Option<String> {
    let (name, server) = asked_first(chain, found)?;
    let n_remote = server.map_or(0, |it| it.n_remote);
    (n_remote > 0)
        .then(|| format!("{} gets requests from elsewhere: {}", shown(name, text), counted(n_remote, "connection")))
}

/// Returns `nginx 812 -> php-fpm8.2 901 -> mariadbd 640 + redis-server 650`.
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

/// Returns the part of the chain after a process's name; empty if the process's own servers were already printed.
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

/// Returns `php-fpm8.2 -> mariadbd: loopback, 5 connections of 5 processes, 1.20K requests/s, 4.1 [3.7, 4.4] ms/s
/// lost`.
fn hop_line(hop: &FoundHop, found: &Found, text: Text) -> String {
    let client = client(hop, text);
    let mut facts = vec![hop.way.to_string()];
    facts.extend(hop.is_sealed.then(|| "TLS".to_owned()));
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
    facts.extend(lost(hop));
    facts.extend(shared(hop));
    format!("{client} -> {}: {}", shown(&hop.server, text), facts.join(", "))
}

fn client(hop: &FoundHop, text: Text) -> String {
    hop.client.as_deref().map_or_else(|| "(not seen)".to_owned(), |it| shown(it, text))
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
    let closed = hop.closed_per_s.map(|it| format!("{} connections/s closed", plain(it)));
    open.into_iter().chain(closed).collect()
}

/// Returns a text about connections that were all closed, if there was only one snapshot.
fn gone(hop: &FoundHop, found: &Found) -> Option<String> {
    let is_all = hop.client.is_none() && hop.n_connections == 0 && hop.closed_per_s.is_none();
    let server = { found.servers.iter() }.find(|it| it.pid == hop.server_pid)?;
    let n = server.n_closed_last_minute;
    is_all.then(|| format!("{} closed within the last minute", counted(n, "connection")))
}

/// Returns how much of a hop's traffic belongs to this chain, if the hop is shared with other chains.
fn shared(hop: &FoundHop) -> Option<String> {
    let part = hop.share.map(|it| format!(", {:.0} % from this chain", it * 100.0));
    let part = part.unwrap_or_default();
    { hop.is_shared }.then(|| format!("shared with others{part}"))
}

fn lost(hop: &FoundHop) -> Option<String> {
    let least = if is_least(hop) { "at least " } else { "" };
    Some(format!("{least}{} ms/s lost", ms_per_s(hop.cpu_ms_per_s.as_ref()?)?))
}

/// Whether the cost lacks the requests of short connections, which the kernel's lists do not show.
fn is_least(hop: &FoundHop) -> bool {
    hop.way.is_tcp() && hop.opened_per_s.is_none() && hop.closed_per_s.is_some_and(|it| it > 0.0)
}

/// Returns the cost of all hops together.
fn cost(chain: &FoundChain, found: &Found, text: Text) -> Option<String> {
    if !chain.hops.iter().any(|it| it.way.is_tcp()) {
        let is_all = chain.may_miss.is_empty() && found.sees_all;
        return Some(if is_all { "no hop over TCP, no loopback tax" } else { "no hop over TCP is seen" }.to_owned());
    }
    let sum = chain.cpu_ms_per_s.as_ref().and_then(ms_per_s)?;
    let kinds: BTreeSet<&String> =
        chain.kinds_without_cost.iter().chain(&chain.kinds_without_connection_cost).collect();
    let without = if kinds.is_empty() { String::new() } else { format!(" without {}", listed(kinds, text)) };
    let least = if chain.hops.iter().any(is_least) { "at least " } else { "" };
    Some(format!("total{without}: {least}{sum} ms/s lost"))
}

/// Returns the servers to which the chain may continue.
fn onward_perhaps(chain: &FoundChain, found: &Found, text: Text) -> Option<String> {
    let servers = found.servers.iter().filter(|it| chain.may_miss.contains(&it.pid)).take(MOST_NAMES);
    let named: Vec<String> = servers.map(|it| format!("{} {}", shown(&it.program, text), it.pid)).collect();
    (!named.is_empty()).then(|| format!("perhaps on to {}", named.join(", ")))
}

/// The sentences about all printed chains.
struct Words<'a> {
    chains: &'a [FoundChain],
    found: &'a Found,
    text: Text,
}

impl Words<'_> {
    /// Explains why a chain begins with a server that gets requests, and not with the program that sends these
    /// requests.
    fn who_asks(&self) -> Option<String> {
        let asked = self.chains.iter().filter_map(|it| asked_first(it, self.found));
        let unseen = asked.filter(|(_, server)| server.is_none_or(|it| it.n_remote == 0)).map(|it| it.0);
        let names = nonempty(listed(unseen.collect::<BTreeSet<_>>(), self.text))?;
        Some(if self.found.sees_all {
            format!(
                "looptax cannot determine which program sends requests to {names}: no client is connected now, and \
                 closed connections over a Unix socket leave no trace"
            )
        } else {
            format!("only root sees which program sends requests to {names}")
        })
    }

    fn closed(&self) -> Option<String> {
        let mut hops = self.chains.iter().flat_map(|it| &it.hops);
        let is_printed =
            |hop: &FoundHop| hop.closed_per_s.is_some() && rates(hop).iter().any(|it| it.ends_with("closed"));
        hops.any(is_printed)
            .then(|| "a closed connection counts as one request, though it may have carried more".to_owned())
    }

    /// Names the kinds of server whose cost was not measured.
    fn not_measured(&self) -> Option<String> {
        let tcp = || self.chains.iter().filter(|it| it.hops.iter().any(|hop| hop.way.is_tcp()));
        let kept = listed(tcp().flat_map(|it| &it.kinds_without_cost).collect::<BTreeSet<_>>(), self.text);
        let short = listed(tcp().flat_map(|it| &it.kinds_without_connection_cost).collect::<BTreeSet<_>>(), self.text);
        let kept = nonempty(kept).map(|it| format!("a request to {it}"));
        let short = nonempty(short).map(|it| format!("a connection for each request to {it}"));
        let open: Vec<String> = kept.into_iter().chain(short).collect();
        let costs = if open.len() > 1 { "cost" } else { "costs" };
        (self.found.rates_over_s.is_some() && !open.is_empty()).then(|| {
            format!(
                "looptax has not measured on this machine what {} {costs} over TCP, so no total includes this cost",
                open.join(", and ")
            )
        })
    }

    fn missing(&self) -> Option<String> {
        let is_meant = |it: &&FoundServer| self.chains.iter().any(|chain| chain.may_miss.contains(&it.pid));
        let named = self.found.servers.iter().filter(is_meant).take(MOST_NAMES).map(|it| {
            let closed = counted(it.n_closed_last_minute, "connection");
            format!("{} {} ({closed})", shown(&it.program, self.text), it.pid)
        });
        let named = nonempty(named.collect::<Vec<_>>().join(", "))?;
        Some(format!(
            "perhaps incomplete: connections to {named} were closed within the last minute, and looptax did not see \
             the clients; a hop may be missing"
        ))
    }

    /// Names the hops whose cost cannot be divided among the chains.
    fn unknown_parts(&self) -> Option<String> {
        let hops = self.chains.iter().flat_map(|it| &it.hops);
        let hops = hops.filter(|it| it.is_shared && it.share.is_none() && it.cpu_ms_per_s.is_some());
        let names = hops.map(|hop| format!("{} -> {}", client(hop, self.text), shown(&hop.server, self.text)));
        let names: BTreeSet<String> = names.collect();
        let names = nonempty(names.into_iter().take(MOST_NAMES).collect::<Vec<_>>().join(", "))?;
        Some(format!("other programs share the cost of {names} in unknown parts; the totals exclude this cost"))
    }
}

/// Joins names: `redis, http`.
fn listed(names: BTreeSet<impl AsRef<str>>, text: Text) -> String {
    let names = names.into_iter().take(MOST_NAMES).map(|it| shown(it.as_ref(), text));
    names.collect::<Vec<_>>().join(", ")
}

fn nonempty(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

/// Formats a cost in ms per second: `13.3 [12.0, 14.9]`.
fn ms_per_s(figure: &Figure) -> Option<String> {
    let it = figure.known()?;
    let is_shown = |ms: f64| ms.abs() >= LEAST_SHOWN_MS;
    if !is_shown(it.value) && !it.hi.is_none_or(is_shown) {
        return Some("under 0.1".to_owned());
    }
    let end = |end: Option<f64>| end.map_or_else(|| "?".to_owned(), |it| format!("{it:.1}"));
    Some(format!("{:.1} [{}, {}]", it.value, end(it.lo), end(it.hi)))
}
