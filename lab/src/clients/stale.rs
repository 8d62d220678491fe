//! `cargo lab clients stale`: the first request after the server has closed the connection.
//!
//! Over TCP the first write after the server has closed the connection succeeds, and the driver notices the end when it
//! reads. Over a socket the write itself fails (EPIPE, SIGPIPE). Each driver's loop sends one request, then the server
//! restarts or closes the idle connection, and the loop sends two more requests: over TCP, over the socket, and over
//! TCP under `looptax run`. Prints a table of the results, and fails if `run` makes a program end that continues over
//! plain TCP.

use std::fmt::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use looptax_experiment::servers::{find_binary, startable};
use looptax_model::dsn::{Kind, Protocol};
use rustix::process::{Pid, Signal, kill_process};

use super::client::{self, Address, Answered, Loop};
use super::server::Server;
use crate::servers::{Ours, wait_until};
use crate::workspace;

/// Each driver with its server, and whether the driver supports sockets.
const ROWS: [(&str, &str, bool); 19] = [
    ("mysqlnd", "mariadb", true),
    ("mysqlclient", "mariadb", true),
    ("pymysql", "mariadb", true),
    ("mysql2", "mariadb", true),
    ("go-sql-driver", "mariadb", true),
    ("mariadb-jdbc", "mariadb", true),
    ("mysql-jdbc", "mariadb", false),
    ("hikaricp", "mariadb", false),
    ("psycopg", "postgres", true),
    ("psycopg2", "postgres", true),
    ("pg", "postgres", true),
    ("pgx", "postgres", true),
    ("pgjdbc", "postgres", true),
    ("phpredis", "redis", true),
    ("redis-py", "redis", true),
    ("ioredis", "redis", false),
    ("node-redis", "redis", true),
    ("go-redis", "redis", true),
    ("lettuce", "redis", false),
];
/// Time after which a server closes an idle connection, in seconds, and the longer time for which the loop pauses.
const IDLE_S: u64 = 4;
const PAUSE: Duration = Duration::from_secs(7);

/// The options of the table.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct Options {
    /// Names of drivers; all if none is given
    #[arg(value_name = "DRIVER")]
    names: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Restart,
    Idle,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Tcp,
    Socket,
    Run,
}

/// A server, and the process that has replaced it after a restart.
struct Stage {
    server: Server,
    running: Option<Ours>,
}

/// Runs all drivers, and prints a Markdown table.
pub(crate) fn run(options: &Options) -> Result<()> {
    let looptax = workspace::debug_looptax()?;
    println!(
        "| driver | server | connection closed by | over TCP | over the socket | under `run` | `run` as over TCP |"
    );
    println!("|---|---|---|---|---|---|---|");
    let wanted = |it: &&(&str, &str, bool)| options.names.is_empty() || options.names.iter().any(|name| name == it.0);
    let mut ended = Vec::new();
    for (name, kind, knows_sockets) in ROWS.iter().filter(wanted) {
        let kind = startable(kind)?;
        if find_binary(kind).is_none() {
            println!("| {name} | {kind} | not installed | | | | - |");
            continue;
        }
        let mut stage = Stage { server: Server::start(&looptax, kind)?, running: None };
        for ending in [Ending::Restart, Ending::Idle] {
            stage.limit_idle(ending == Ending::Idle)?;
            let mut versions = String::new();
            let mut told = |way: Way| -> Result<Vec<Answered>> {
                let (its, told) =
                    stage.told(name, way, ending, &looptax).with_context(|| format!("{name}, {way:?}"))?;
                versions = its;
                Ok(told)
            };
            let tcp = told(Way::Tcp)?;
            let socket = if *knows_sockets { words(&told(Way::Socket)?) } else { "no support for sockets".to_owned() };
            let moved = told(Way::Run)?;
            let is_same = fates(&tcp) == fates(&moved);
            let server = stage.server.name();
            let closed_by = if ending == Ending::Restart { "a restart" } else { "its idle limit" };
            let alike = if is_same { "yes" } else { "NO" };
            println!(
                "| {versions} | {server} | {closed_by} | {} | {socket} | {} | {alike} |",
                words(&tcp),
                words(&moved)
            );
            if !is_alive(&moved) && is_alive(&tcp) {
                ended.push(*name);
            }
        }
        drop(stage.running.take());
        stage.server.stop()?;
    }
    if !ended.is_empty() {
        bail!("under run these end, but over TCP they do not: {}", ended.join(", "));
    }
    Ok(())
}

fn is_alive(told: &[Answered]) -> bool {
    !told.iter().any(|it| matches!(it, Answered::Ended(_)))
}

/// Returns the outcome of each request, without its message.
fn fates(told: &[Answered]) -> Vec<u8> {
    let fate = |it: &Answered| match it {
        Answered::Served => 0,
        Answered::Failed(_) => 1,
        Answered::Ended(_) => 2,
    };
    told.iter().map(fate).collect()
}

fn words(told: &[Answered]) -> String {
    let mut text = String::new();
    for it in told {
        let comma = if text.is_empty() { "" } else { ", then " };
        let _ = match it {
            Answered::Served => write!(text, "{comma}served"),
            Answered::Failed(why) => write!(text, "{comma}`{}`", why.replace('|', "/")),
            Answered::Ended(why) => write!(text, "{comma}**it ends** ({why})"),
        };
    }
    text
}

impl Stage {
    /// Makes a driver send a request, closes its connection, and makes it send two more.
    fn told(&mut self, name: &str, way: Way, ending: Ending, looptax: &Path) -> Result<(String, Vec<Answered>)> {
        let server = &self.server;
        let address = match way {
            Way::Socket => Address::Unix(server.socket().clone()),
            Way::Tcp | Way::Run => Address::Tcp(server.tcp()),
        };
        let [program, arguments @ ..] = client::arguments(name, &address)?;
        let mut command = Command::new(if way == Way::Run { looptax } else { program.as_ref() });
        if way == Way::Run {
            let map = format!("{}={}", server.tcp(), server.socket().display());
            command.args(["run", "-q", "--strict", "--map", &map, "--", &program]);
        }
        command.args(arguments).envs(server.environment()).env("LOOP_TELLS", "1").stderr(Stdio::null());
        let mut running = Loop::start(name, command)?;
        running.ask(1)?;
        match ending {
            Ending::Restart => self.restart()?,
            Ending::Idle => thread::sleep(PAUSE),
        }
        let mut told = Vec::new();
        while told.len() < 2 && is_alive(&told) {
            told.push(running.ask_again()?);
        }
        Ok((running.versions.clone(), told))
    }

    /// Sets whether the server closes idle connections from now on.
    fn limit_idle(&self, is_limited: bool) -> Result<()> {
        let mut talk = self.server.talk()?;
        let seconds = if is_limited { IDLE_S } else { 0 };
        match self.server.kind().protocol() {
            Some(Protocol::Mysql) => {
                let usual = if is_limited { seconds } else { 28_800 };
                talk.execute(&format!("SET GLOBAL wait_timeout = {usual}"))?;
            }
            Some(Protocol::Postgres) => {
                talk.execute(&format!("ALTER SYSTEM SET idle_session_timeout = '{seconds}s'"))?;
                talk.execute("SELECT pg_reload_conf()")?;
            }
            _ => {
                let words = ["CONFIG", "SET", "timeout", &seconds.to_string()].map(|it| it.as_bytes().to_vec());
                talk.pipeline(&[words.to_vec()])?;
            }
        }
        // A setting in a file takes effect only after a moment.
        thread::sleep(Duration::from_millis(300));
        Ok(())
    }

    /// Ends the server as its systemd unit would, and starts it again with the same arguments.
    fn restart(&mut self) -> Result<()> {
        let pid = self.running.as_ref().map_or(self.server.pid(), |it| it.0.id());
        let read = |name: &str| std::fs::read(format!("/proc/{pid}/{name}")).with_context(|| format!("process {pid}"));
        let strings = |bytes: Vec<u8>| -> Vec<String> {
            let parts = bytes.split(|it| *it == 0).filter(|it| !it.is_empty());
            parts.map(|it| String::from_utf8_lossy(it).into_owned()).collect()
        };
        let (words, variables) = (strings(read("cmdline")?), strings(read("environ")?));
        let status = String::from_utf8_lossy(&read("status")?).into_owned();
        let number = |name: &str| -> Option<u32> {
            status.lines().find_map(|line| line.strip_prefix(name)?.split_whitespace().nth(1)?.parse().ok())
        };
        let program = find_binary(self.server.kind()).context("it was started")?;
        let folder = std::fs::read_link(format!("/proc/{pid}/cwd"))?;
        let mut command = Command::new(program);
        command.args(arguments_of(&self.server, &words)).env_clear().current_dir(folder);
        command.envs(variables.iter().filter_map(|it| it.split_once('=')));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        if rustix::process::geteuid().is_root()
            && let (Some(uid), Some(gid)) = (number("Uid:"), number("Gid:"))
        {
            command.uid(uid).gid(gid);
        }
        // For PostgreSQL, its unit sends an interrupt, which ends the sessions.
        let signal = if self.server.kind() == Kind::Postgres { Signal::INT } else { Signal::TERM };
        kill_process(Pid::from_raw(pid.cast_signed()).context("a process has a number")?, signal)?;
        if let Some(mut running) = self.running.take() {
            running.0.wait()?;
        }
        wait_until("the server does not end", || Ok(!is_running(pid)))?;
        self.running = Some(Ours::start(&mut command)?);
        wait_until("the server does not come back", || Ok(self.server.talk().is_ok()))?;
        // Redis has lost all its data.
        if self.server.kind() == Kind::Redis { self.server.fill(Kind::Redis) } else { Ok(()) }
    }
}

fn is_running(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("State:") && !line.contains('Z'))
}

/// Returns the arguments with which a server was started.
fn arguments_of(server: &Server, words: &[String]) -> Vec<String> {
    let socket = server.socket().display().to_string();
    let (port, password) = (server.tcp().port().to_string(), server.password());
    let redis =
        ["--bind", "127.0.0.1", "--save", "", "--port", &port, "--unixsocket", &socket, "--requirepass", password];
    let again = ["--init-file=/dev/null"].map(str::to_owned);
    match server.kind() {
        Kind::Redis => redis.map(str::to_owned).to_vec(),
        Kind::Mariadb => words[1..].iter().cloned().chain(again).collect(),
        _ => words[1..].to_vec(),
    }
}
