//! `cargo lab peers --eyes`: compares the counts and times of `looptax watch` with those of the load generator and the
//! server.
//!
//! Requests are compared with the server's own count, medians with the load generator's. Prints Markdown, and does not
//! judge the results.

use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use looptax_model::dsn::Arm;
use looptax_model::record::{Watched, WatchedHop};

use super::case::Case;
use super::counter::Counts;
use super::driver::run_peer;
use super::place::{Cores, Role};
use super::server::Server;
use super::tool::{Effort, Length, Report};
use super::work::Work;
use crate::coin::Coin;
use crate::servers::Ours;

/// Time to wait until `looptax watch` counts, and at the end until it has counted the last answers.
const AROUND: Duration = Duration::from_secs(2);

const HEAD: &str = "\
| case | way | requests | server | `watch` | of it, % | more a connection | opened | `watch` | p50, µs | `watch` | p99, µs | `watch` | in server |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|";

/// The program to test, the cores, and the length of each run.
pub(super) struct Manner<'a> {
    pub(super) looptax: &'a Path,
    pub(super) cores: &'a Cores,
    pub(super) seconds: u32,
}

pub(super) fn run(cases: &[&Case], how: &Manner<'_>, coin: &mut Coin) -> Result<()> {
    println!("{HEAD}");
    for case in cases.iter().filter(|it| is_told_apart(it.work)) {
        how.cores.move_to(case.place, Role::Server)?;
        let mut server = Server::start(case, how.looptax)?;
        how.cores.move_to(case.place, Role::Client)?;
        for arm in case.arms() {
            println!("{}", row(case, *arm, &mut server, how, coin)?);
        }
        server.stop()?;
    }
    Ok(())
}

/// Returns whether `watch` can distinguish the requests of this work, because each request is one message and one
/// answer.
fn is_told_apart(work: Work) -> bool {
    matches!(
        work,
        Work::PointSelect
            | Work::Select
            | Work::SelectOnly
            | Work::PooledSelectOnly
            | Work::Hello
            | Work::Get { pipeline: 1 }
            | Work::Cached
            | Work::Page
            | Work::PhpPage
    )
}

/// Returns the number of requests per second for a tool whose run length is a number of requests. It is lower for
/// connections and for PHP, which take more time.
fn per_s(case: &Case) -> u64 {
    if case.reconnects || case.work == Work::PhpPage { 5_000 } else { 50_000 }
}

fn row(case: &Case, arm: Arm, server: &mut Server, how: &Manner<'_>, coin: &mut Coin) -> Result<String> {
    let effort = match case.tool.length {
        Length::Seconds => Effort::Seconds(how.seconds),
        Length::Requests => Effort::Requests(per_s(case) * u64::from(how.seconds)),
    };
    let log = tempfile::tempdir().context("cannot make a temporary folder")?;
    let before = server.counts(case.work, arm)?;
    let watch = start_watch(how)?;
    let report = run_peer(case, arm, server, effort, how.cores, coin, Some(log.path()))?.0;
    let watched = end_watch(watch)?;
    let mut counted = server.counts(case.work, arm)?.since(before);
    if case.work == Work::SelectOnly && case.reconnects {
        // PostgreSQL also counts the transactions of each login.
        counted.requests = None;
    }
    let address = server.address(arm);
    let client = if case.work == Work::PhpPage { "nginx" } else { case.tool.name };
    let is_it = |it: &&WatchedHop| {
        let is_tool = it.client.as_ref().is_some_and(|it| it.program == client);
        is_tool && it.address == address
    };
    // If `watch` looks after the client has ended, the row has no process id. The times are those of the row with the
    // most requests.
    let hops: Vec<_> = watched.hops.iter().filter(is_it).collect();
    let first = *hops.first().with_context(|| format!("{client} was not seen to ask {address}: {watched:?}"))?;
    let sum = |of: fn(&WatchedHop) -> u64| hops.iter().map(|it| of(it)).sum();
    let hop = WatchedHop { n_requests: sum(|it| it.n_requests), n_opened: sum(|it| it.n_opened), ..first.clone() };
    Ok(cells(case, arm, &report, counted, &hop))
}

fn cells(case: &Case, arm: Arm, report: &Report, counted: Counts, hop: &WatchedHop) -> String {
    let us = |it: Option<f64>| it.map_or_else(|| "-".to_owned(), |it| format!("{it:.1}"));
    let n = |it: Option<u64>| it.map_or_else(|| "-".to_owned(), |it| it.to_string());
    let known = counted.requests.unwrap_or(report.n_requests);
    let more = (hop.n_requests as f64 - known as f64) / hop.n_opened as f64;
    [
        case.name.clone(),
        arm.to_string(),
        report.n_requests.to_string(),
        n(counted.requests),
        hop.n_requests.to_string(),
        format!("{:.3}", 100.0 * hop.n_requests as f64 / known as f64),
        us(Some(more).filter(|it| it.is_finite())),
        n(counted.opened),
        hop.n_opened.to_string(),
        us(report.p50_us),
        us(hop.times.map(|it| it.p50_us)),
        us(report.p99_us),
        us(hop.times.map(|it| it.p99_us)),
        us(hop.served.map(|it| it.p50_us)),
    ]
    .map(|cell| format!("| {cell} "))
    .concat()
        + "|"
}

fn start_watch(how: &Manner<'_>) -> Result<Ours> {
    let mut watch = Command::new(how.looptax);
    // `watch` runs until it is stopped, because it is not known how long a load generator takes.
    watch.args(["watch", "--json", "--once", "--all", "--for", "86400s"]);
    let child = Ours::start(watch.stdout(Stdio::piped()).stdin(Stdio::null()))?;
    thread::sleep(AROUND);
    Ok(child)
}

fn end_watch(mut watch: Ours) -> Result<Watched> {
    thread::sleep(AROUND / 4);
    let pid = rustix::process::Pid::from_child(&watch.0);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).context("it has ended already")?;
    let printed = watch.0.stdout.take().context("its output is a pipe")?;
    serde_json::from_reader(printed).context("cannot parse the output of `looptax watch`")
}
