//! The program that connects many times and reports how long each step took.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde::{Deserialize, Serialize};

/// Number of answers for which the program waits on each connection.
const N_PINGS: usize = 20;
/// Number of system calls in a row that have nothing to do with connections, and number of such rows.
const N_UNRELATED: u32 = 4_000;
const N_ROWS: usize = 50;

/// The options of the client.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// The server's address
    #[arg(long)]
    tcp: SocketAddr,
    /// Connect to this socket instead of the TCP address
    #[arg(long)]
    unix: Option<PathBuf>,
    /// Number of connections, made one after another
    #[arg(long)]
    dials: u32,
    /// Pause between two connections, in microseconds
    #[arg(long)]
    pause_us: u64,
    /// Run only on this core
    #[arg(long)]
    core: Option<usize>,
}

/// The results. Times are medians over all connections.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Measured {
    /// The transport of all connections, as the server reports it.
    pub(super) transport: String,
    /// Time of `connect`, in us.
    pub(super) connect_us: f64,
    /// 99th percentile of the time of `connect`, in us.
    pub(super) connect_p99_us: f64,
    /// Time to set one option and to query two names, in us.
    pub(super) names_us: f64,
    /// Time to send one byte and receive its answer, in us.
    pub(super) ping_us: f64,
    /// Time of a whole connection, including 20 answers, in us.
    pub(super) whole_us: f64,
    /// Time of a system call that has nothing to do with sockets, in ns.
    pub(super) unrelated_ns: f64,
    /// Peak memory of the parent process, in KiB: the supervisor's, if there is one.
    pub(super) parent_kib: u64,
}

#[derive(Default)]
struct Times {
    connect: Vec<f64>,
    names: Vec<f64>,
    ping: Vec<f64>,
    whole: Vec<f64>,
}

/// Connects, and prints the figures as JSON.
pub(super) fn run(options: &Options) -> Result<()> {
    if let Some(core) = options.core {
        let mut set = CpuSet::new();
        set.set(core);
        sched_setaffinity(None, &set).context("cannot stay on one core")?;
    }
    let unix = options.unix.as_ref().map(SocketAddrUnix::new).transpose()?;
    let mut times = Times::default();
    let mut transports = Vec::new();
    for _ in 0..options.dials {
        let transport = dial(options.tcp, unix.as_ref(), &mut times)?;
        if !transports.contains(&transport) {
            transports.push(transport);
        }
        if options.pause_us > 0 {
            thread::sleep(Duration::from_micros(options.pause_us));
        }
    }
    let mut median = |of: fn(&mut Times) -> &mut Vec<f64>| {
        looptax_model::stats::median(of(&mut times)).context("no connection was made")
    };
    let measured = Measured {
        connect_us: median(|it| &mut it.connect)?,
        names_us: median(|it| &mut it.names)?,
        ping_us: median(|it| &mut it.ping)?,
        whole_us: median(|it| &mut it.whole)?,
        connect_p99_us: percentile(times.connect, 0.99),
        transport: transports.join(" and "),
        unrelated_ns: unrelated_ns(),
        parent_kib: parent_kib()?,
    };
    println!("{}", serde_json::to_string(&measured)?);
    Ok(())
}

/// Makes one connection: connects, sets it up as drivers do, reads the greeting, sends requests.
fn dial(tcp: SocketAddr, unix: Option<&SocketAddrUnix>, times: &mut Times) -> Result<&'static str> {
    let family = if unix.is_some() { AddressFamily::UNIX } else { AddressFamily::INET };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    let start = Instant::now();
    match unix {
        Some(address) => connect(&socket, address)?,
        None => connect(&socket, &tcp)?,
    }
    let connected = Instant::now();
    set_up(&socket);
    let ready = Instant::now();
    let mut stream = TcpStream::from(socket);
    let mut byte = [0];
    stream.read_exact(&mut byte)?;
    let transport = match &byte {
        b"u" => "unix",
        b"t" => "tcp",
        other => bail!("the server greets with {other:?}"),
    };
    let us = |from: Instant, to: Instant| (to - from).as_secs_f64() * 1e6;
    let mut asked = Instant::now();
    for _ in 0..N_PINGS {
        stream.write_all(&byte)?;
        stream.read_exact(&mut byte)?;
        let answered = Instant::now();
        times.ping.push(us(asked, answered));
        asked = answered;
    }
    times.connect.push(us(start, connected));
    times.names.push(us(connected, ready));
    times.whole.push(us(start, asked));
    Ok(transport)
}

/// Sets options and reads names as most drivers do. A Unix socket does not support the option, and that error is
/// ignored.
fn set_up(socket: &OwnedFd) {
    let _ = rustix::net::sockopt::set_tcp_nodelay(socket.as_fd(), true);
    let _ = rustix::net::getsockname(socket);
    let _ = rustix::net::getpeername(socket);
}

fn percentile(mut values: Vec<f64>, share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (values.len() as f64 * share) as usize;
    values.get(at).or(values.last()).copied().unwrap_or(f64::NAN)
}

/// Returns the time of one call, from the fastest row: other work on the machine has disturbed the slower rows.
fn unrelated_ns() -> f64 {
    let row = |_| {
        let start = Instant::now();
        for _ in 0..N_UNRELATED {
            std::hint::black_box(rustix::process::getppid());
        }
        start.elapsed().as_secs_f64() * 1e9 / f64::from(N_UNRELATED)
    };
    (0..N_ROWS).map(row).fold(f64::INFINITY, f64::min)
}

/// # Source
/// `proc_pid_status(5)`: `VmHWM`, the peak resident set size.
fn parent_kib() -> Result<u64> {
    let parent = std::os::unix::process::parent_id();
    let status = fs::read_to_string(format!("/proc/{parent}/status"))?;
    let line = status.lines().find_map(|it| it.strip_prefix("VmHWM:"));
    let number = line.and_then(|it| it.split_ascii_whitespace().next()?.parse().ok());
    number.context("no memory in the parent's status")
}
