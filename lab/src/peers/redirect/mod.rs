//! `cargo lab peers --redirect`: the cost of `looptax run` for a program, compared with TCP and the native socket.
//!
//! The same small program (`dialler`) connects over TCP, to the socket itself, and over TCP under `looptax run`, in
//! rounds; `figures` reports the results. The server is also a process of this program. It sends the transport of each
//! connection as a greeting; a connection over the wrong transport fails the run.

pub(crate) mod dialler;
mod echo;
mod figures;

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::place::{Cores, Role};
use crate::coin::Coin;
use crate::peers::case::Place;
use crate::process;
use crate::servers::Ours;
use dialler::Measured;
use figures::Round;

/// Pauses between connections in µs: none, and one that is long enough for the machine's caches to be used by other
/// programs.
const PAUSES_US: [u64; 2] = [0, 200];

/// The parts of this program that it starts as separate processes.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum Part {
    /// The server
    Echo(echo::Options),
    /// The program that connects
    Dial(dialler::Options),
}

impl Part {
    pub(crate) fn run(&self) -> Result<()> {
        match self {
            Self::Echo(options) => echo::run(options),
            Self::Dial(options) => dialler::run(options),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arm {
    Tcp,
    Unix,
    Redirect,
}

impl Arm {
    const ALL: [Self; 3] = [Self::Tcp, Self::Unix, Self::Redirect];
}

struct Server {
    _process: Ours,
    address: SocketAddr,
}

/// Measures, and prints the results.
///
/// # Errors
/// If something cannot be run or uses the wrong transport; never because of a measured figure.
pub(crate) fn run(looptax: &Path, cores: &Cores, n_rounds: u32, n_dials: u32, coin: &mut Coin) -> Result<()> {
    let folder = tempfile::tempdir().context("cannot make a folder for the socket")?;
    let socket = folder.path().join("echo.sock");
    for place in [Place::OneCore, Place::Split, Place::Free] {
        if cores.move_to(place, Role::Server).is_err() {
            println!("{}: not here, two cores are needed\n", place.words());
            continue;
        }
        let server = start(&socket)?;
        let client = cores.one(place, Role::Client);
        // The kernel chooses the core of the supervisor.
        cores.move_to(Place::Free, Role::Client)?;
        for pause_us in PAUSES_US {
            let dial = |arm| dial(looptax, &server, &socket, arm, client, n_dials, pause_us);
            let mut rounds = Vec::new();
            for _ in 0..n_rounds {
                rounds.push(round(coin, &dial)?);
            }
            println!("{}", figures::table(place, pause_us, &rounds));
        }
    }
    Ok(())
}

fn round(coin: &mut Coin, dial: &dyn Fn(Arm) -> Result<Measured>) -> Result<Round> {
    let mut measured = Vec::new();
    for arm in coin.shuffled(Arm::ALL) {
        measured.push((arm, dial(arm)?));
    }
    let of = |wanted| {
        let found = measured.iter().find(|(arm, _)| *arm == wanted);
        found.map(|(_, it)| it.clone()).context("an arm was left out")
    };
    Ok(Round { tcp: of(Arm::Tcp)?, unix: of(Arm::Unix)?, redirect: of(Arm::Redirect)? })
}

fn start(socket: &Path) -> Result<Server> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["redirect-part", "echo", "--socket"]).arg(socket);
    let mut process = Ours::start(command.stdout(Stdio::piped()))?;
    let stdout = process.0.stdout.take();
    let mut stdout = stdout.context("the server has no output")?;
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(&mut stdout), &mut line)?;
    let address = line.trim().parse().context("the server printed no address")?;
    Ok(Server { _process: process, address })
}

fn dial(
    looptax: &Path,
    server: &Server,
    socket: &Path,
    arm: Arm,
    core: Option<usize>,
    n_dials: u32,
    pause_us: u64,
) -> Result<Measured> {
    let own = std::env::current_exe()?;
    let mut command = match arm {
        Arm::Redirect => {
            let mut command = Command::new(looptax);
            let map = format!("{}={}", server.address, socket.display());
            command.args(["run", "--quiet", "--no-login", "--strict", "--map", &map, "--"]);
            command.arg(own);
            command
        }
        Arm::Tcp | Arm::Unix => Command::new(own),
    };
    command.args(["redirect-part", "dial", "--tcp", &server.address.to_string()]);
    if arm == Arm::Unix {
        command.arg("--unix").arg(socket);
    }
    command.args(["--dials", &n_dials.to_string()]);
    command.args(["--pause-us", &pause_us.to_string()]);
    command.args(core.map(|core| format!("--core={core}")));
    thread::sleep(Duration::from_millis(100));
    let output = process::run(command)?.stdout;
    let measured: Measured = serde_json::from_str(&output).context("the program's figures")?;
    let wanted = if arm == Arm::Tcp { "tcp" } else { "unix" };
    if measured.transport != wanted {
        bail!("{arm:?} came over {}", measured.transport);
    }
    Ok(measured)
}
