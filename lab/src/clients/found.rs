//! `cargo lab clients find`: checks whether `looptax find` reports real clients correctly.
//!
//! Every loop of `clients/` is connected over both transports to its private server and sends requests without a pause.
//! In addition, a Redis runs in its own network namespace, with clients inside and outside that namespace. The chore
//! fails unless `find` reports the right transport and the right number of connections for each process. The table also
//! shows the requests per second that `find` reports, next to the number that the loop itself counts.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::client::{Address, Loop};
use super::data::{self, Client};
use super::namespaced_redis::NamespacedRedis;
use super::server::{Server, start_all};
use crate::{process, workspace};

/// The options of the table.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Names of clients; all if none is given
    #[arg(value_name = "CLIENT")]
    names: Vec<String>,
}

/// Number of requests that a loop is asked for at a time; they take some milliseconds.
const REQUESTS: usize = 50;
/// Time before `find` runs, because language runtimes compile code that runs often.
const WARM_UP: Duration = Duration::from_secs(3);

/// A loop, and how it is connected.
struct Connected {
    client: Loop,
    name: String,
    server: String,
    server_pid: u32,
    transport: &'static str,
    /// Whether the loop only keeps its connection open, without requests.
    is_idle: bool,
    n_requests: AtomicUsize,
}

/// Connects all loops, runs `find`, compares, and prints a Markdown table.
pub(crate) fn run(options: &Options) -> Result<()> {
    let clients = data::clients(&options.names)?;
    let looptax = workspace::looptax()?;
    // A memcached runs in addition to the servers of the clients.
    let kinds = clients.iter().map(|client| &*client.servers[0]);
    let servers = start_all(&looptax, kinds.chain(["memcached"]))?;
    let namespaced = NamespacedRedis::start()?;
    let mut connected = Vec::new();
    for client in &clients {
        connected.extend(both_ways(client, &servers[&client.servers[0]])?);
        if client.servers.iter().any(|kind| kind == "redis") {
            connected.push(seen("unix", namespaced.client_here(client)?, client, &namespaced));
            connected.push(seen("loopback", namespaced.client_there(client)?, client, &namespaced));
        }
    }
    let (found, seconds) = look(&looptax, &mut connected)?;
    let (table, n_wrong) = table(&connected, &found, seconds);
    print!("{table}");
    drop(connected);
    servers.into_values().try_for_each(Server::stop)?;
    if n_wrong > 0 {
        bail!("{n_wrong} of the clients were reported wrongly");
    }
    Ok(())
}

fn both_ways(client: &Client, server: &Server) -> Result<Vec<Connected>> {
    let addresses = [("unix", Address::Unix(server.socket().clone())), ("loopback", Address::Tcp(server.tcp()))];
    let mut connected = Vec::new();
    for (transport, address) in addresses {
        connected.push(Connected {
            client: Loop::connect(&client.name, &address, server)?,
            name: client.name.clone(),
            server: server.name(),
            server_pid: server.pid(),
            transport,
            is_idle: false,
            n_requests: AtomicUsize::new(0),
        });
    }
    Ok(connected)
}

fn seen(transport: &'static str, held: Loop, client: &Client, namespaced: &NamespacedRedis) -> Connected {
    Connected {
        client: held,
        name: client.name.clone(),
        server: "redis, its own network namespace".to_owned(),
        server_pid: namespaced.pid(),
        transport,
        is_idle: true,
        n_requests: AtomicUsize::new(0),
    }
}

/// Returns the report of `find` while the loops send requests, and the number of seconds over which their requests were
/// counted.
fn look(looptax: &Path, connected: &mut [Connected]) -> Result<(Value, f64)> {
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let mut counts = Vec::new();
        for it in connected.iter_mut().filter(|it| !it.is_idle) {
            let (client, n_requests, stop) = (&mut it.client, &it.n_requests, &stop);
            counts.push(n_requests);
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) && client.ask(REQUESTS).is_ok() {
                    n_requests.fetch_add(REQUESTS, Ordering::Relaxed);
                }
            });
        }
        thread::sleep(WARM_UP);
        for count in counts {
            count.store(0, Ordering::Relaxed);
        }
        let begin = Instant::now();
        let mut command = Command::new(looptax);
        command.args(["find", "--json"]);
        let ended = process::run(command);
        let seconds = begin.elapsed().as_secs_f64();
        stop.store(true, Ordering::Relaxed);
        let found = serde_json::from_str(&ended?.stdout).context("`find` printed no JSON")?;
        Ok((found, seconds))
    })
}

/// Returns the table with a row for each client, and the number of wrong rows.
fn table(connected: &[Connected], found: &Value, seconds: f64) -> (String, usize) {
    let mut text = String::from(
        "| client | server | way | seen as | connections | requests/s counted by the client | by find |\n\
         |---|---|---|---|---:|---:|---:|\n",
    );
    let mut n_wrong = 0;
    for it in connected {
        let rows: Vec<&Value> = found["clients"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|row| row["pid"] == it.client.pid() && row["server_pid"] == it.server_pid)
            .collect();
        let is_right = rows.len() == 1 && rows[0]["way"] == it.transport && rows[0]["n_connections"] == 1;
        n_wrong += usize::from(!is_right);
        let seen = match rows.as_slice() {
            [row] => format!("{} | {}", row["way"].as_str().unwrap_or("?"), row["n_connections"]),
            rows => format!("{} rows | -", rows.len()),
        };
        let counted = it.n_requests.load(Ordering::Relaxed) as f64 / seconds;
        let own = if it.is_idle { "idle".to_owned() } else { format!("{counted:.0}") };
        let by_find = rows.first().and_then(|row| row["requests_per_s"].as_f64());
        let by_find = by_find.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.0}"));
        let _ = writeln!(text, "| {} | {} | {} | {seen} | {own} | {by_find} |", it.name, it.server, it.transport);
    }
    (text, n_wrong)
}
