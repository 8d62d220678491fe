//! The first look: an inspection of some seconds before anything counts. The first look shows which pages there are, to
//! which servers and over which transport the pages connect, and how long the pages take.
//!
//! Each page is requested over TCP and then over the socket; a page that works over only one of them is a result, too.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use looptax_bench::pages::{ExpectedPage, FailedPages, FailureKind, PageFacts, PageLoad, PageSlice};
use looptax_bench::path::{Peer, peers_of};
use looptax_model::failure::Failure;
use looptax_model::record::TrialDesign;
use looptax_redirect::SocketName;

use crate::trial::ask::Ask;
use crate::trial::pages::Page;
use crate::trial::program::Program;

/// Number of rounds over all pages for each transport. In the first round the caches are still empty, so the times and
/// connections of this round do not count.
const ROUNDS: usize = 4;
/// Maximum number of pages that are inspected.
const MOST_PAGES: usize = 200;
/// A page's body may have between half and twice the length that was seen, plus a tolerance of this many bytes on each
/// side.
const SIZE_SLACK_BYTES: u64 = 512;
/// From this number of connections per page on, an application opens connections for its pages; with fewer, it connects
/// only occasionally.
const PER_PAGE: f64 = 0.1;
/// Number of further checks for open connections, while no page is requested. An application that has a TCP connection
/// at every check keeps its connections.
const LOOKS_AT_KEPT: usize = 20;
/// Maximum number of servers that are tried by themselves: each needs a contrast, in addition to the contrast of all
/// servers together.
const MOST_EACH: usize = 3;
/// Number of rounds in which looptax searches for short connections. A page's connection may last only a millisecond,
/// so one round can miss the connection; all rounds together rarely miss it.
const LOOKS_IN_PASSING: usize = 10;
const PAUSE: Duration = Duration::from_millis(50);
/// Epoch numbers of the first look start here; no measured epoch has such a number.
const LOOKS: u64 = 1 << 40;

#[derive(Debug)]
pub(crate) struct FirstLook {
    /// The form of a correct reply, by page.
    pub(crate) expected: Vec<ExpectedPage>,
    /// Minimum and maximum size of each page's body in bytes.
    pub(crate) body_bytes: Vec<[u64; 2]>,
    /// How the arms can take turns.
    pub(crate) design: TrialDesign,
    pub(crate) why: String,
    /// How long a page takes.
    pub(crate) page: Duration,
    /// The servers to which the application connects, by their indexes.
    pub(crate) used: Vec<usize>,
}

/// Inspects the application; `None` if the user stopped it.
///
/// # Errors
/// A fault of the application's pages or of the connections that they make, with the next step.
pub(crate) fn look(
    ask: &Ask,
    program: &mut Program,
    load: &mut PageLoad,
    stop: &AtomicBool,
) -> Result<Option<FirstLook>, Failure> {
    let pages = ask.load.pages();
    let over_tcp = look_over(ask, program, load, 0, stop)?;
    let is_stopped = || stop.load(Ordering::Relaxed);
    if is_stopped() {
        return Ok(None);
    }
    object_to(program, &over_tcp.failures, pages, "")?;
    let kept = kept_for_good(ask, program, stop);
    let is_over_tcp = over_tcp.per_page.iter().any(|it| *it >= PER_PAGE) || kept.iter().any(|it| it[0]);
    if !is_over_tcp {
        object_to_sockets(ask, &sockets_in_passing(ask, program, load, stop)?)?;
    }
    let (design, why) = design(ask, &over_tcp.per_page, &kept)?;
    let is_used = |idx: &usize| over_tcp.per_page[*idx] > 0.0 || kept[*idx][0];
    let used: Vec<usize> = (0..ask.servers.len()).filter(is_used).collect();
    if ask.is_each && used.len() > MOST_EACH {
        let n = used.len();
        let what = format!("--each tries at most {MOST_EACH} servers, but the application uses {n}");
        return Err(Failure::usage(what, "choose servers with --port PORT,…"));
    }
    let mut facts = over_tcp.facts;
    if design == TrialDesign::Flip {
        let over_socket = look_over(ask, program, load, ask.mask(|_| true), stop)?;
        if is_stopped() {
            return Ok(None);
        }
        if !over_socket.failures.is_empty() {
            let over = culprit(ask, program, load, &used, stop)?;
            object_to(program, &over_socket.failures, pages, &over)?;
        }
        for (server, [n_moved, n_fallen]) in ask.servers.iter().zip(&over_socket.n_connections) {
            if *n_moved == 0 && *n_fallen > 0 {
                return Err(program.not_moved(*n_fallen, *n_fallen, Some(server)));
            }
        }
        object_to_ways(&facts, &over_socket.facts, pages)?;
        for (all, other) in facts.iter_mut().zip(&over_socket.facts) {
            all.add(other);
        }
    }
    let body_bytes: Vec<[u64; 2]> = { facts.iter() }.map(|it| it.body_bytes.unwrap_or_default()).collect();
    Ok(Some(FirstLook {
        expected: facts.iter().map(expected).collect(),
        body_bytes,
        design,
        why,
        page: over_tcp.page,
        used,
    }))
}

/// The observations over one transport.
struct Seen {
    facts: Vec<PageFacts>,
    failures: Vec<FailedPages>,
    page: Duration,
    per_page: Vec<f64>,
    /// For each server: the number of connections that were moved, and the number of connections that stayed on TCP
    /// although they should have been moved.
    n_connections: Vec<[u64; 2]>,
}

/// Finds the servers over whose sockets pages fail although the pages work over TCP. If the application uses several
/// servers, each server is moved by itself.
fn culprit(
    ask: &Ask,
    program: &mut Program,
    load: &mut PageLoad,
    used: &[usize],
    stop: &AtomicBool,
) -> Result<String, Failure> {
    let mut failing = Vec::new();
    for idx in used.iter().filter(|_| used.len() > 1) {
        let alone = look_over(ask, program, load, ask.mask(|it| it == *idx), stop)?;
        if !alone.failures.is_empty() {
            failing.push(ask.servers[*idx].kind.as_str());
        }
    }
    let which = if failing.is_empty() { String::new() } else { format!(" of {}", failing.join(" and of ")) };
    Ok(format!(" over the socket{which}, but works over TCP"))
}

fn look_over(
    ask: &Ask,
    program: &mut Program,
    load: &mut PageLoad,
    mask: u32,
    stop: &AtomicBool,
) -> Result<Seen, Failure> {
    let n_pages = ask.load.pages().len().min(MOST_PAGES);
    let mut facts = vec![PageFacts::default(); ask.load.pages().len()];
    let mut seen = Seen {
        facts: Vec::new(),
        failures: Vec::new(),
        page: Duration::ZERO,
        per_page: vec![0.0; ask.servers.len()],
        n_connections: vec![[0; 2]; ask.servers.len()],
    };
    for round in 0..ROUNDS {
        let number = program.steer(mask);
        let slice =
            PageSlice { epoch: LOOKS + u64::from(mask), rank: round as u64, n_pages, rate_per_s: None, inject: None };
        let loaded = load.slice(&slice, stop)?;
        program.check()?;
        if stop.load(Ordering::Relaxed) {
            break;
        }
        for (all, own) in facts.iter_mut().zip(&loaded.facts) {
            all.add(own);
        }
        seen.failures.extend(loaded.failures);
        // In the first round, an application does work that it does not repeat in later rounds.
        if round == 0 {
            continue;
        }
        let n = loaded.latencies_ns.len().max(1) as f64;
        let sum: u64 = loaded.latencies_ns.iter().sum();
        seen.page = Duration::from_nanos((sum as f64 / n) as u64);
        let counts = program.counts(number);
        for (server, per_page) in seen.per_page.iter_mut().enumerate() {
            let routes = counts.routes.get(ask.routes_of(server)).unwrap_or_default();
            for route in routes {
                seen.n_connections[server][0] += route.n_moved;
                seen.n_connections[server][1] += route.n_fallen;
            }
            let n_connections: u64 = { routes.iter() }.map(|it| it.n_moved + it.n_left + it.n_fallen).sum();
            *per_page += n_connections as f64 / n / (ROUNDS - 1) as f64;
        }
    }
    seen.facts = facts;
    Ok(seen)
}

/// Returns the form of a correct reply, derived from the replies that were received.
fn expected(facts: &PageFacts) -> ExpectedPage {
    let [least, most] = facts.body_bytes.unwrap_or_default();
    let status = facts.statuses.first().map_or(200, |(status, _)| *status);
    ExpectedPage { status, body_bytes: (least / 2).saturating_sub(SIZE_SLACK_BYTES)..=2 * most + SIZE_SLACK_BYTES }
}

/// Returns for each server whether the application has open connections to it: `[TCP, socket]`.
fn kept(ask: &Ask, program: &Program) -> Vec<[bool; 2]> {
    let peers = program.peers();
    let kept = ask.servers.iter().map(|server| {
        let over_tcp = |peer: &Peer| match peer {
            Peer::Tcp(at) => server
                .from
                .iter()
                .any(|from| (from.ip().to_canonical(), from.port()) == (at.ip().to_canonical(), at.port())),
            Peer::Unix(_) => false,
        };
        let over_socket = |peer: &Peer| match (peer, &server.to) {
            (Peer::Unix(path), SocketName::Path(to)) => path == to,
            _ => false,
        };
        [peers.iter().any(over_tcp), peers.iter().any(over_socket)]
    });
    kept.collect()
}

/// Checks repeatedly, and returns the same as [`kept`] for connections that stay open. Many applications close a page's
/// connection long after the page was sent.
fn kept_for_good(ask: &Ask, program: &Program, stop: &AtomicBool) -> Vec<[bool; 2]> {
    let mut found = kept(ask, program);
    for _ in 0..LOOKS_AT_KEPT {
        if found.iter().all(|[over_tcp, _]| !over_tcp) || stop.load(Ordering::Relaxed) {
            break;
        }
        thread::sleep(PAUSE);
        found = kept(ask, program);
    }
    found
}

/// Returns the sockets to which the pages' connections lead. Pages are loaded during the search, so that even short
/// connections are found.
fn sockets_in_passing(
    ask: &Ask,
    program: &mut Program,
    load: &mut PageLoad,
    stop: &AtomicBool,
) -> Result<Vec<PathBuf>, Failure> {
    let mut found: Vec<PathBuf> = Vec::new();
    let Some(pid) = program.pid() else {
        return Ok(found);
    };
    for _ in 0..LOOKS_IN_PASSING {
        let is_over = AtomicBool::new(false);
        let looked = thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    for peer in peers_of(pid) {
                        if let Peer::Unix(path) = peer
                            && !found.contains(&path)
                        {
                            found.push(path);
                        }
                    }
                }
            });
            let looked = look_over(ask, program, load, 0, stop);
            is_over.store(true, Ordering::Relaxed);
            looked
        });
        looked?;
        let is_known = |it: &PathBuf| ask.servers.iter().any(|server| is_at(&server.to, it));
        if stop.load(Ordering::Relaxed) || found.iter().any(is_known) {
            break;
        }
    }
    Ok(found)
}

fn is_at(to: &SocketName, path: &Path) -> bool {
    matches!(to, SocketName::Path(to) if to == path)
}

/// Returns an error if pages already connect to a server's socket. In this case there is nothing to move.
fn object_to_sockets(ask: &Ask, sockets: &[PathBuf]) -> Result<(), Failure> {
    let on = ask.servers.iter().filter(|server| sockets.iter().any(|it| is_at(&server.to, it)));
    let on: Vec<&str> = on.map(|it| &*it.kind).collect();
    if on.is_empty() {
        return Ok(());
    }
    Err(Failure::usage(
        format!("nothing to try: the pages already connect to {} over the socket", on.join(" and ")),
        "`looptax find` lists the programs that still use TCP",
    ))
}

/// Returns how the arms can take turns, and the reason.
fn design(ask: &Ask, per_page: &[f64], kept: &[[bool; 2]]) -> Result<(TrialDesign, String), Failure> {
    let names = |is_wanted: &dyn Fn(usize) -> bool| {
        let wanted = (0..ask.servers.len()).filter(|idx| is_wanted(*idx));
        let names: Vec<&str> = wanted.map(|idx| &*ask.servers[idx].kind).collect();
        names.join(" and ")
    };
    let is_new = |idx: usize| per_page[idx] >= PER_PAGE;
    let is_kept = |idx: usize| kept[idx][0];
    let (new, held) = (names(&is_new), names(&is_kept));
    if new.is_empty() && held.is_empty() {
        let over_socket = names(&|idx| kept[idx][1]);
        return Err(if over_socket.is_empty() {
            Failure::usage(
                format!(
                    "the pages do not connect to any server of this machine that has a socket ({})",
                    names(&|_| true)
                ),
                "request a page that uses the database, not a page from a cache; for another server, pass --map \
                 ADDRESS=SOCKET",
            )
        } else {
            Failure::usage(
                format!("nothing to try: the application already keeps connections to {over_socket} over the socket"),
                "`looptax find` lists the programs that still use TCP",
            )
        });
    }
    Ok(match ask.design {
        Some(TrialDesign::Restart) => (TrialDesign::Restart, "--restart was given".to_owned()),
        Some(TrialDesign::Flip) if !held.is_empty() => {
            let what = format!("the application keeps its connections to {held}");
            return Err(Failure::usage(what, "pass --restart to restart it for each turn"));
        }
        _ if !held.is_empty() => (TrialDesign::Restart, format!("the application keeps its connections to {held}")),
        _ => (TrialDesign::Flip, format!("the application's pages open connections to {new}")),
    })
}

/// Returns an error about the first page that failed, if one did.
fn object_to(program: &Program, failures: &[FailedPages], pages: &[Page], over: &str) -> Result<(), Failure> {
    let Some(failed) = failures.first() else {
        return Ok(());
    };
    program.check_after_failure()?;
    let url = &pages[failed.page_idx].url;
    let words = &failed.words;
    let what = match (failed.kind, failed.status) {
        (FailureKind::Status, Some(status)) => {
            let colon = if words.is_empty() { "" } else { ": " };
            format!("{url} answers with status {status}{over}{colon}{words}")
        }
        _ => format!("{url} does not answer{over}: {words}"),
    };
    let what = what + &program.said();
    let hint = match failed.kind {
        FailureKind::Http2 => "looptax uses HTTP/1.1: make the application accept HTTP/1.1 as well",
        FailureKind::Tls => "pass the page as https://",
        FailureKind::NoHttp => "pass the port at which the application speaks HTTP",
        FailureKind::Timeout => "allow more time for a page with --page-limit",
        _ if !over.is_empty() => "run `looptax check` to see what the socket needs; nothing was changed",
        _ => "pass a page that works, with --url",
    };
    Err(Failure::usage(what, hint))
}

/// Checks that each page is the same over both transports.
fn object_to_ways(tcp: &[PageFacts], socket: &[PageFacts], pages: &[Page]) -> Result<(), Failure> {
    for ((tcp, socket), page) in tcp.iter().zip(socket).zip(pages) {
        let status = |facts: &PageFacts| facts.statuses.first().map(|(status, _)| *status);
        let (over_tcp, over_socket) = (status(tcp), status(socket));
        let bytes = socket.body_bytes.unwrap_or_default();
        let right = expected(tcp).body_bytes;
        let is_alike = over_tcp.is_none()
            || over_socket.is_none()
            || over_tcp == over_socket && bytes.iter().all(|bytes| right.contains(bytes));
        if !is_alike {
            let [of_tcp, of_socket] = [over_tcp, over_socket].map(Option::unwrap_or_default);
            return Err(Failure::usage(
                format!(
                    "{} differs over the socket: status {of_socket} and {} bytes, over TCP status {of_tcp} and {} \
                     bytes",
                    page.url,
                    bytes[1],
                    tcp.body_bytes.unwrap_or_default()[1],
                ),
                "run `looptax check` to see what the socket needs; nothing was changed",
            ));
        }
    }
    Ok(())
}
