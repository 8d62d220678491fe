//! Compares two methods: both arms run at the same time on two cores that are swapped (a duet), or one arm runs after
//! the other. Which method measures the tax more precisely?
//!
//! There are two Redis servers; a coin decides in each epoch which server serves which arm. In a duet each arm has a
//! core for its client and its server, and the arms swap their cores between slices. In the other method, both ends of
//! the measured arm are on one core, which a coin chooses. An epoch takes the same time in both methods. The results
//! are in docs/src/results.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use clap::Args;
use looptax_model::stats::{Estimate, hodges_lehmann, median, tax_pct};
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::coin::Coin;
use crate::servers::{Ours, wait_until};

/// Options of `duet`.
#[derive(Args)]
pub(crate) struct Options {
    /// Number of runs for each cell of the table
    #[arg(long, default_value_t = 10)]
    runs: usize,
    /// Number of epochs in each run
    #[arg(long, default_value_t = 20)]
    epochs: usize,
    /// Seed of the coin flips
    #[arg(long)]
    seed: Option<u64>,
}

const ALPHA: f64 = 0.05;
const CORES: [usize; 2] = [0, 1];
const EPOCH: Duration = Duration::from_millis(400);
const PING: &[u8] = b"PING\r\n";
const PONG: &[u8] = b"+PONG\r\n";
/// The arm of each slice in the method with one arm at a time: Thue-Morse order.
const TURNS: [usize; 8] = [0, 1, 1, 0, 1, 0, 0, 1];
/// Whether the cores are swapped in each slice of a duet.
const SWAPS: [bool; 4] = [false, true, true, false];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Unix,
    Tcp,
}

/// A server that can be reached over both arms.
struct Server {
    program: Ours,
    port: u16,
    socket: PathBuf,
}

/// The connection of one arm for a run.
struct End {
    stream: Box<dyn Stream>,
    pid: Pid,
}

trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

pub(crate) fn run(options: &Options) -> Result<()> {
    let mut coin = Coin::new(options.seed)?;
    println!("{} runs of {} epochs per cell, seed {}\n", options.runs, options.epochs, coin.seed);
    println!("| | pair | method | median tax, % | from, to | half-width, points | runs that report a difference |");
    println!("|---|---|---|---|---|---|---|");
    let folder = tempfile::tempdir()?;
    let servers = [Server::start(&folder.path().join("a"))?, Server::start(&folder.path().join("b"))?];
    for n_busy in [0, 1, 3] {
        let busy: Vec<Ours> = (0..n_busy).map(|_| busy_loop()).collect::<Result<_>>()?;
        for pair in [[Way::Tcp; 2], [Way::Unix, Way::Tcp]] {
            let mut found: [Vec<Estimate>; 2] = [Vec::new(), Vec::new()];
            for _ in 0..options.runs {
                // A coin also decides which method is first.
                for is_duet in coin.shuffled([true, false]) {
                    let mut thetas = Vec::new();
                    for _ in 0..options.epochs {
                        thetas.push(if is_duet {
                            duet(&servers, pair, &mut coin)?
                        } else {
                            alone(&servers, pair, &mut coin)?
                        });
                    }
                    found[usize::from(is_duet)].extend(hodges_lehmann::estimate(&thetas, ALPHA));
                }
            }
            for (found, method) in found.iter().zip(["one after the other", "duet"]) {
                let pair = if pair[0] == pair[1] { "tcp, tcp" } else { "unix, tcp" };
                println!("| {n_busy} busy loops | {pair} | {method} | {} |", row(found));
            }
        }
        drop(busy);
    }
    Ok(())
}

fn row(found: &[Estimate]) -> String {
    let mut taxes: Vec<f64> = found.iter().map(|it| tax_pct(it.value)).collect();
    let mut halves: Vec<f64> = found.iter().map(|it| (tax_pct(it.hi) - tax_pct(it.lo)) / 2.0).collect();
    let n_said = found.iter().filter(|it| !it.covers(0.0)).count();
    let (lo, hi) = taxes.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), it| (lo.min(*it), hi.max(*it)));
    let [middle, half] = [&mut taxes, &mut halves].map(|it| median(it).unwrap_or(f64::NAN));
    format!("{middle:.1} | {lo:.1}, {hi:.1} | {half:.1} | {n_said} of {}", found.len())
}

fn busy_loop() -> Result<Ours> {
    let mut command = Command::new("sh");
    command.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
    Ours::start(&mut command)
}

/// Measures θ of an epoch in which both arms run at the same time.
fn duet(servers: &[Server; 2], pair: [Way; 2], coin: &mut Coin) -> Result<f64> {
    let of_arm = if coin.flip() { [0, 1] } else { [1, 0] };
    let mut ends = [servers[of_arm[0]].connect(pair[0])?, servers[of_arm[1]].connect(pair[1])?];
    let first_swap = coin.flip();
    let mut thetas = Vec::new();
    for swap in SWAPS {
        let cores = if swap ^ first_swap { [CORES[1], CORES[0]] } else { CORES };
        let slice = EPOCH / SWAPS.len() as u32;
        let [one, other] = &mut ends;
        let rates = thread::scope(|scope| {
            let one = scope.spawn(|| one.rate(cores[0], slice));
            let other = scope.spawn(|| other.rate(cores[1], slice));
            [one, other].map(|it| it.join().expect("the thread does not panic"))
        });
        let [base, other] = rates;
        thetas.push((base? / other?).ln());
    }
    Ok(thetas.iter().sum::<f64>() / thetas.len() as f64)
}

/// Measures θ of an epoch in which one arm runs at a time, both arms with one server on one core.
fn alone(servers: &[Server; 2], pair: [Way; 2], coin: &mut Coin) -> Result<f64> {
    let server = &servers[usize::from(coin.flip())];
    let core = CORES[usize::from(coin.flip())];
    let mut ends = [server.connect(pair[0])?, server.connect(pair[1])?];
    let flip = usize::from(coin.flip());
    let mut logs = [0.0; 2];
    for turn in TURNS {
        let arm = turn ^ flip;
        let end = &mut ends[arm];
        let slice = EPOCH / TURNS.len() as u32;
        let rate =
            thread::scope(|scope| scope.spawn(|| end.rate(core, slice)).join().expect("the thread does not panic"))?;
        logs[arm] += rate.ln() / 4.0;
    }
    Ok(logs[0] - logs[1])
}

impl Server {
    fn start(folder: &Path) -> Result<Self> {
        fs::create_dir(folder)?;
        let socket = folder.join("s");
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let mut command = Command::new("redis-server");
        command.args(["--port", &port.to_string(), "--save", "", "--dir"]).arg(folder).arg("--unixsocket").arg(&socket);
        let program = Ours::start(command.stdin(Stdio::null()).stdout(Stdio::null()))?;
        let server = Self { program, port, socket };
        wait_until("redis-server does not answer", || {
            Ok(server.connect(Way::Unix).is_ok() && server.connect(Way::Tcp).is_ok())
        })?;
        Ok(server)
    }

    fn connect(&self, way: Way) -> Result<End> {
        let pid = Pid::from_raw(self.program.0.id().cast_signed()).context("a process has a number")?;
        let stream: Box<dyn Stream> = match way {
            Way::Unix => Box::new(UnixStream::connect(&self.socket)?),
            Way::Tcp => {
                let stream = TcpStream::connect(("127.0.0.1", self.port))?;
                stream.set_nodelay(true)?;
                Box::new(stream)
            }
        };
        let mut end = End { stream, pid };
        end.ask()?;
        Ok(end)
    }
}

impl End {
    fn ask(&mut self) -> Result<()> {
        self.stream.write_all(PING)?;
        let mut answer = [0; PONG.len()];
        self.stream.read_exact(&mut answer)?;
        ensure!(answer == PONG, "the server answers something other than PONG");
        Ok(())
    }

    /// Measures the requests per second with both ends on one core; the first tenth of the slice does not count.
    fn rate(&mut self, core: usize, slice: Duration) -> Result<f64> {
        let mut only = CpuSet::new();
        only.set(core);
        sched_setaffinity(None, &only)?;
        sched_setaffinity(Some(self.pid), &only)?;
        let began = Instant::now();
        let (counts_from, ends) = (began + slice / 10, began + slice);
        let (mut n, mut from) = (0_u32, began);
        loop {
            self.ask()?;
            let now = Instant::now();
            if now >= ends {
                return Ok(f64::from(n + 1) / (now - from).as_secs_f64());
            }
            if now < counts_from {
                from = now;
            } else {
                n += 1;
            }
        }
    }
}
