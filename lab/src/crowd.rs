//! `cargo lab crowd`: measures how long `looptax find` takes, and how much memory it uses, with thousands of
//! connections.
//!
//! This program starts as many Redis servers as the limit of open files requires. Each server gets its connections over
//! loopback from a separate process of this program. The figures belong in docs/src/results, with date and machine.

use std::env;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::servers::{Ours, wait_until};
use crate::{process, workspace};

/// Options of `crowd`.
#[derive(Args)]
pub(crate) struct Options {
    /// Number of connections
    #[arg(long, default_value_t = 20_000)]
    connections: u32,
    /// Number of runs of `looptax find`
    #[arg(long, default_value_t = 7)]
    looks: u32,
    /// Only hold the connections, to this server, until stdin ends
    #[arg(long, hide = true)]
    hold: Option<SocketAddr>,
}

/// Highest number of connections of one server and one process: machines allow at least 20,000 open files.
const MOST_PER_SERVER: u32 = 10_000;
const SPARE_FILES: u32 = 100;
/// Number of connections between two pauses. In a pause the server can accept waiting connections.
const BATCH: usize = 64;

pub(crate) fn run(options: &Options) -> Result<()> {
    raise_open_files(options.connections.min(MOST_PER_SERVER) + SPARE_FILES)?;
    if let Some(address) = options.hold {
        return hold(address, options.connections);
    }
    let looptax = workspace::looptax()?;
    let mut crowd = Vec::new();
    let mut n_left = options.connections;
    while n_left > 0 {
        let n = n_left.min(MOST_PER_SERVER);
        crowd.push(Pair::start(n)?);
        n_left -= n;
    }
    println!("{} connections, {} servers", options.connections, crowd.len());
    for _ in 0..options.looks {
        look(&looptax, &crowd, options.connections)?;
    }
    Ok(())
}

fn look(looptax: &Path, crowd: &[Pair], n_connections: u32) -> Result<()> {
    let mut command = Command::new(looptax);
    command.args(["find", "--once", "--json"]);
    let start = Instant::now();
    let ended = process::run(command)?;
    let seconds = start.elapsed().as_secs_f64();
    let found: serde_json::Value = serde_json::from_str(&ended.stdout)?;
    let clients = found["clients"].as_array().context("no list of clients")?;
    let ours = clients.iter().filter(|it| crowd.iter().any(|pair| it["pid"] == pair.holder.0.id()));
    let seen: u64 = ours.filter_map(|it| it["n_connections"].as_u64()).sum();
    if seen != u64::from(n_connections) {
        bail!("find saw {seen} of our connections");
    }
    let memory = ended
        .used
        .peak_bytes
        .map_or_else(|| "less memory than the lab itself".to_owned(), |bytes| format!("{:.1} MB", bytes as f64 / 1e6));
    let cpu_s = ended.used.user_s + ended.used.system_s;
    println!("{seconds:.2} s, {memory}, CPU {cpu_s:.2} s");
    Ok(())
}

/// A Redis, and the process that opens its connections. Both end when this value is dropped.
struct Pair {
    _server: Ours,
    holder: Ours,
}

impl Pair {
    fn start(n_connections: u32) -> Result<Self> {
        let (server, address) = redis(n_connections + SPARE_FILES)?;
        let mut command = Command::new(env::current_exe()?);
        command.args(["crowd", "--hold", &address.to_string()]);
        command.args(["--connections", &n_connections.to_string()]);
        let mut holder = Ours::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()))?;
        let output = holder.0.stdout.take().expect("asked for as a pipe");
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        if line != "ready\n" {
            bail!("cannot open the connections");
        }
        Ok(Self { _server: server, holder })
    }
}

fn redis(max_clients: u32) -> Result<(Ours, SocketAddr)> {
    let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let mut command = Command::new("redis-server");
    command.args(["--port", &address.port().to_string()]);
    command.args(["--maxclients", &max_clients.to_string()]);
    command.args(["--save", "", "--bind", "127.0.0.1", "--tcp-backlog", "511"]);
    let server = Ours::start(command.stdout(Stdio::null()))?;
    let is_listening = || Ok(TcpStream::connect(address).is_ok());
    wait_until("redis-server does not listen", is_listening)?;
    Ok((server, address))
}

/// Runs the second process: it opens the connections, reports when they are open, and waits.
fn hold(address: SocketAddr, n_connections: u32) -> Result<()> {
    let mut open = Vec::new();
    for idx in 0..n_connections as usize {
        let stream = TcpStream::connect(address).with_context(|| format!("cannot open connection {}", idx + 1))?;
        open.push(stream);
        if idx % BATCH == BATCH - 1 {
            thread::sleep(Duration::from_millis(2));
        }
    }
    println!("ready");
    io::stdout().flush()?;
    io::stdin().read_to_end(&mut Vec::new())?;
    drop(open);
    Ok(())
}

/// Raises the limit of open files for this process and its children, which inherit it.
fn raise_open_files(n_files: u32) -> Result<()> {
    let n_files = u64::from(n_files);
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= n_files) {
        return Ok(());
    }
    let raised = Rlimit { current: Some(n_files), maximum: limit.maximum.map(|maximum| maximum.max(n_files)) };
    setrlimit(Resource::Nofile, raised).context("cannot raise the limit of open files")
}
