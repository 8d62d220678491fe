//! `cargo lab clients run`: checks by the server's own report whether real clients are moved by `looptax run`.
//!
//! Every loop of `clients/` is started over TCP, directly and under `run`, and sends requests. Under `run`, the server
//! must report connections over its socket. The server must also count as many connections as from the direct client;
//! more connections show that a driver connected again because it believed that it was not connected. The loop must end
//! regularly. Prints a table, and fails if anything differs. `safety` makes a second table, of connections that must
//! stay on TCP.

mod known;
mod safety;
pub(super) mod secured;

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail, ensure};
use looptax_experiment::servers::{find_binary, startable};
use looptax_model::dsn::Kind;

use super::client::{self, Address, Loop};
use super::server::Server;
use super::view::View;
use crate::workspace;
use known::Client;

/// The options of the table.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Options {
    /// Names of clients; all if none is given
    #[arg(value_name = "CLIENT")]
    names: Vec<String>,
}

/// Number of requests of each loop: enough to include actions that a driver does only after a while.
const REQUESTS: usize = 300;

struct Seen {
    versions: String,
    /// The transports of the loop's connections, while it was connected.
    transports: Vec<String>,
    n_dials: u64,
}

/// Runs all clients, and prints a Markdown table.
pub(crate) fn run(options: &Options) -> Result<()> {
    let clients = known::clients(&options.names)?;
    let looptax = workspace::looptax()?;
    let mut text = String::from(
        "| client | versions | server | seen plain | seen under run | connections plain | under run | right |\n\
         |---|---|---|---|---|---:|---:|---|\n",
    );
    let mut n_wrong = 0;
    for client in &clients {
        for kind in &client.servers {
            let kind = startable(kind)?;
            if let Some(why) = lacking(client, kind) {
                let _ = writeln!(text, "| {} | | {kind} | {why} | | | | - |", client.name);
                continue;
            }
            let server = Server::start(&looptax, kind)?;
            if client.user.is_some() {
                server.open_to_all()?;
            }
            let row = row(client, &server, &looptax);
            server.stop()?;
            let (row, is_right) = row?;
            n_wrong += usize::from(!is_right);
            text += &row;
        }
    }
    print!("{text}");
    let (safe, n_unsafe) = safety::table(&options.names, &looptax)?;
    print!("{safe}");
    n_wrong += n_unsafe;
    if n_wrong > 0 {
        bail!("{n_wrong} clients were not moved as expected");
    }
    Ok(())
}

/// Returns a requirement of the client that this machine does not have.
fn lacking(client: &Client, kind: Kind) -> Option<&'static str> {
    if find_binary(kind).is_none() {
        return Some("not installed");
    }
    (client.user.is_some() && !rustix::process::geteuid().is_root()).then_some("needs root")
}

fn row(client: &Client, server: &Server, looptax: &Path) -> Result<(String, bool)> {
    let plain = seen(client, server, None)?;
    let mut moved = seen(client, server, Some(looptax))?;
    moved.n_dials = moved.n_dials.saturating_sub(own_dials(server, looptax)?);
    let is_right = !moved.transports.is_empty()
        && moved.transports.iter().all(|transport| transport == "socket")
        && plain.transports.iter().all(|transport| transport == "TCP")
        && plain.n_dials == moved.n_dials;
    let row = format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} |\n",
        client.name,
        moved.versions,
        server.name(),
        plain.transports.join(", "),
        moved.transports.join(", "),
        plain.n_dials,
        moved.n_dials,
        if is_right { "yes" } else { "NO" }
    );
    Ok((row, is_right))
}

/// Returns the number of connections that looptax itself opens to test whether the socket can be reached.
fn own_dials(server: &Server, looptax: &Path) -> Result<u64> {
    let map = format!("{}={}", server.tcp(), server.socket().display());
    let mut view = View::open(server)?;
    let before = view.n_dials()?;
    let ended = Command::new(looptax).args(["run", "-q", "--strict", "--map", &map, "--", "true"]).status()?;
    ensure!(ended.success(), "`looptax run` failed: {ended}");
    Ok(view.n_dials()? - before)
}

/// Runs a loop over TCP; if `looptax` is given, under `looptax run`.
fn seen(client: &Client, server: &Server, looptax: Option<&Path>) -> Result<Seen> {
    let [program, arguments @ ..] = client::arguments(&client.name, &Address::Tcp(server.tcp()))?;
    let mut command = Command::new(looptax.unwrap_or(program.as_ref()));
    if looptax.is_some() {
        let map = format!("{}={}", server.tcp(), server.socket().display());
        command.args(["run", "-q", "--strict", "--map", &map, "--", &program]);
    }
    command.args(arguments);
    command.envs(server.environment());
    let mut view = View::open(server)?;
    let before = view.n_dials()?;
    let mut running = Loop::start(&client.name, command)?;
    running.ask(REQUESTS)?;
    let transports = view.transports()?;
    running.ask(REQUESTS)?;
    let versions = running.versions.clone();
    running.end()?;
    let n_dials = view.n_dials()? - before;
    Ok(Seen { versions, transports, n_dials })
}
