//! `cargo xtask crowd`: how long `looptax find` looks, and what memory it takes, with thousands of
//! connections.
//!
//! A Redis of our own gets them all from this process, over loopback. The figures belong into
//! METHOD.md with date and machine.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use clap::Args;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::peers;

/// Options of `crowd`.
#[derive(Args)]
pub(crate) struct Options {
    /// Connections
    #[arg(long, default_value_t = 20_000)]
    connections: u32,
    /// Looks
    #[arg(long, default_value_t = 7)]
    looks: u32,
}

/// Connections between two pauses that let the server accept what waits.
const BATCH: usize = 64;

/// Runs it.
pub(crate) fn run(options: &Options) -> Result<()> {
    let looptax = peers::build()?;
    let spare = 100;
    raise_open_files(u64::from(options.connections) + spare)?;
    let server = Server::start(options.connections + 100)?;
    let _open = crowd(server.address, options.connections)?;
    println!("{} connections", options.connections);
    for _ in 0..options.looks {
        look(&looptax, options.connections)?;
    }
    Ok(())
}

fn look(looptax: &Path, n_connections: u32) -> Result<()> {
    let mut command = Command::new(looptax);
    command.args(["find", "--once", "--json", "-"]);
    let start = Instant::now();
    let ended = peers::process::run(command)?;
    let seconds = start.elapsed().as_secs_f64();
    let found: serde_json::Value = serde_json::from_str(&ended.stdout)?;
    let clients = found["clients"].as_array().context("no list of clients")?;
    let counts = clients.iter().filter_map(|it| it["n_connections"].as_u64());
    let most = counts.max().unwrap_or(0);
    if most != u64::from(n_connections) {
        bail!("find saw {most} connections");
    }
    let peak_bytes = ended.used.peak_bytes.unwrap_or(0);
    println!(
        "{seconds:.2} s, {:.1} MB, CPU {:.2} s",
        peak_bytes as f64 / 1e6,
        ended.used.user_s + ended.used.system_s
    );
    Ok(())
}

/// A Redis that ends with us.
struct Server {
    address: SocketAddr,
    child: Child,
}

impl Server {
    fn start(max_clients: u32) -> Result<Self> {
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let child = Command::new("redis-server")
            .args(["--port", &address.port().to_string()])
            .args(["--maxclients", &max_clients.to_string()])
            .args(["--save", "", "--bind", "127.0.0.1", "--tcp-backlog", "511"])
            .stdout(Stdio::null())
            .spawn()
            .context("cannot start redis-server")?;
        let server = Self { address, child };
        let patience = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(address).is_err() {
            if Instant::now() > patience {
                bail!("redis-server does not listen");
            }
            thread::sleep(Duration::from_millis(20));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn crowd(address: SocketAddr, n_connections: u32) -> Result<Vec<TcpStream>> {
    let mut open = Vec::new();
    for idx in 0..n_connections as usize {
        let stream = TcpStream::connect(address)
            .with_context(|| format!("cannot open connection {}", idx + 1))?;
        open.push(stream);
        if idx % BATCH == BATCH - 1 {
            thread::sleep(Duration::from_millis(2));
        }
    }
    Ok(open)
}

/// For this process and the server, which inherits it.
fn raise_open_files(n_files: u64) -> Result<()> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= n_files) {
        return Ok(());
    }
    let maximum = limit.maximum.map(|maximum| maximum.max(n_files));
    let raised = Rlimit {
        current: Some(n_files),
        maximum,
    };
    setrlimit(Resource::Nofile, raised).context("cannot raise the limit of open files")
}
