//! `cargo lab clients run`: real clients under `looptax run`, as the server sees them.
//!
//! Every loop of `clients/` is started over TCP, plain and under `run`, and asks. Under `run` the server has
//! to see its own socket; it has to have counted as many connections as from the plain client, which catches
//! a driver that dials again because something told it that it is not connected; and the loop has to end
//! well. A table, and a failure where anything differs. A second one of what must stay on TCP: `safety`.

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
    /// Clients; all if none is given
    #[arg(value_name = "CLIENT")]
    names: Vec<String>,
}

/// Requests of each loop: enough for what a driver does later than at first.
const REQUESTS: usize = 300;

struct Seen {
    versions: String,
    /// The transports of its connections, while it was connected.
    transports: Vec<String>,
    n_dials: u64,
}

/// Runs all, and prints a Markdown table.
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

/// Names a requirement of the client that this machine lacks.
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

/// The connections that looptax itself opens, to see whether the socket can be reached.
fn own_dials(server: &Server, looptax: &Path) -> Result<u64> {
    let map = format!("{}={}", server.tcp(), server.socket().display());
    let mut view = View::open(server)?;
    let before = view.n_dials()?;
    let ended = Command::new(looptax).args(["run", "-q", "--strict", "--map", &map, "--", "true"]).status()?;
    ensure!(ended.success(), "`looptax run` failed: {ended}");
    Ok(view.n_dials()? - before)
}

/// Runs a loop over TCP; under `run` where its program is given.
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
