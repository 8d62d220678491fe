//! `cargo lab clients trace`: runs every client on both arms under strace, and reduces the traces.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::client::{self, Address, Loop};
use super::data::{self, Client, Reduced, Trace};
use super::relay::Relay;
use super::server::Server;
use super::{model, reduce, strace};
use crate::workspace;
use looptax_experiment::servers::startable;

/// Number of requests before the traced requests: drivers prepare a statement at its fifth execution, and language
/// runtimes compile.
const WARM_UP: usize = 500;

/// The options of the trace.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Names of clients; all if none is given
    #[arg(value_name = "CLIENT")]
    names: Vec<String>,
    /// Number of requests that are traced
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(10..=100_000))]
    requests: u32,
    /// Keep the result in clients/traces.toml
    #[arg(long)]
    write: bool,
    /// Keep strace's own files in this folder
    #[arg(long, value_name = "FOLDER")]
    raw: Option<std::path::PathBuf>,
}

/// Traces the clients, prints the table, and keeps the result if requested.
pub(crate) fn run(options: &Options) -> Result<()> {
    let mut clients = data::clients(&options.names)?;
    clients.sort_by_key(|client| client.servers.clone());
    let looptax = workspace::debug_looptax()?;
    let folder = tempfile::tempdir().context("cannot make a folder")?;
    let raw = options.raw.as_deref().unwrap_or(folder.path());
    let mut traces = BTreeMap::new();
    for clients in clients.chunk_by(|one, other| one.servers[0] == other.servers[0]) {
        let kind = startable(&clients[0].servers[0])?;
        let server = Server::start(&looptax, kind)?;
        let relay = Relay::start(server.socket(), server.tcp())?;
        for client in clients {
            eprintln!("tracing {}", client.name);
            let trace = trace(client, &server, &relay, options.requests as usize, raw)
                .with_context(|| format!("cannot trace {}", client.name));
            match trace {
                Ok(trace) => drop(traces.insert(client.name.clone(), trace)),
                // A missing driver must not prevent the other drivers from being traced.
                Err(error) => eprintln!("{error:#}"),
            }
        }
        server.stop()?;
    }
    print!("{}", table(&traces));
    if options.write {
        data::keep(traces)?;
    }
    Ok(())
}

fn trace(client: &Client, server: &Server, relay: &Relay, n: usize, raw: &Path) -> Result<Trace> {
    let mut arm = BTreeMap::new();
    let mut versions = String::new();
    let endpoints = [("unix", Address::Unix(relay.socket.clone())), ("tcp", Address::Tcp(relay.tcp))];
    for (name, address) in endpoints {
        let file = raw.join(format!("{}.{name}.strace", client.name));
        let mut command = Command::new("strace");
        command
            .args(["-f", "-yy", "-qq", "-s", "1", "-e", strace::CALLS, "-o"])
            .arg(&file)
            // Language runtimes start as many threads as there are cores, so the client gets only one core, as under
            // placement `same`.
            .args(["taskset", "--cpu-list", "0"])
            .args(client::arguments(&client.name, &address)?)
            .envs(server.environment());
        let mut started = Loop::start(&client.name, command)?;
        started.ask(WARM_UP)?;
        started.ask(n)?;
        versions = std::mem::take(&mut started.versions);
        started.end()?;
        let text = fs::read_to_string(&file).context("strace wrote nothing")?;
        let reduced = reduce::reduce(&strace::calls(&text));
        arm.insert(name.to_owned(), reduced.context("no requests in the trace")?);
    }
    Ok(Trace {
        date: workspace::today()?,
        command: format!("cargo lab clients trace {}", client.name),
        versions,
        server: server.name(),
        arm,
    })
}

/// Returns a table with one line for each client and arm.
fn table(traces: &BTreeMap<String, Trace>) -> String {
    let mut text = String::from(
        "| client | arm | system calls of a request | share of the requests | exactly the model | calls per request |\n|---|---|---|---|---|---|\n",
    );
    for (name, trace) in traces {
        for (arm, reduced) in &trace.arm {
            text += &row(name, arm, trace, reduced);
        }
    }
    text
}

fn row(name: &str, arm: &str, trace: &Trace, reduced: &Reduced) -> String {
    let calls: Vec<String> = reduced.calls.iter().map(|(word, n)| format!("{word} {n:.2}")).collect();
    format!(
        "| {name} ({}) | {arm} | {} | {:.0} % | {} | {} |\n",
        trace.versions,
        reduced.sequence.join(", "),
        reduced.share_pct,
        model::exactly(&reduced.sequence).unwrap_or("none"),
        calls.join(", ")
    )
}
