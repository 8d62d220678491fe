//! Programs that a process with several threads starts repeatedly and steers.
//!
//! The measuring process is this program, started again, because its work has to begin while it has only one thread.

mod deaths;
mod flips;
mod lives;

use std::io::{BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, ExitCode, Output, Stdio};

use libtest_mimic::Trial;
use looptax_redirect::{
    Config, Mapping, Program, Programs, ProgramsConfig, Route, SocketName, Steering, Surroundings, Switches,
};

use crate::server::{Bound, Server};

/// A case: its name, and the function with which a measuring process runs it and checks the results.
type Case = (&'static str, fn());

pub(crate) fn trials() -> Vec<Trial> {
    let cases = [flips::CASES, lives::CASES].concat();
    let as_trial = |(name, _): &Case| {
        let name = *name;
        crate::trial(name, move || check(name))
    };
    let mut trials: Vec<Trial> = cases.iter().map(as_trial).collect();
    trials.extend(deaths::trials());
    trials
}

pub(crate) fn measure(words: &[String]) -> ExitCode {
    let cases = [flips::CASES, lives::CASES, deaths::CASES].concat();
    let (_, run) = cases.iter().find(|(name, _)| *name == words[0]).unwrap();
    run();
    ExitCode::SUCCESS
}

/// Returns a command that runs this program as a measuring process.
fn command(case: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["measure", case]).stdin(Stdio::piped()).stdout(Stdio::piped());
    command
}

#[track_caller]
fn check(case: &str) {
    let output = command(case).stderr(Stdio::piped()).output().unwrap();
    let Output { status, stderr, .. } = output;
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
}

fn own_exe() -> String {
    let exe = std::env::current_exe().unwrap();
    exe.to_str().unwrap().to_owned()
}

/// Returns a configuration for a program, with a route for each of these servers, under this steering.
fn config(servers: &[&Bound], steering: Steering, words: &[&str]) -> Config {
    let switches = Switches::default();
    let route = |server: &&Bound| Route {
        from: server.tcp,
        to: SocketName::Path(server.socket.clone()),
        owner: None,
        demands: Vec::new(),
    };
    Config {
        program: Program { args: words.iter().map(Into::into).collect() },
        mapping: Mapping { routes: servers.iter().map(route).collect() },
        features: looptax_redirect::probe(switches).unwrap(),
        switches,
        wants_events: false,
        keeps_running: false,
        ends_all: false,
        steering: Some(steering),
        surroundings: Surroundings::default(),
    }
}

/// Begins a shell's script, without servers.
fn begin_shell(script: &str) -> Programs {
    begin_shell_into(script, None)
}

fn begin_shell_into(script: &str, output: Option<OwnedFd>) -> Programs {
    let config = config(&[], Steering::map(0).unwrap(), &["sh", "-c", script]);
    Programs::begin(ProgramsConfig { config, output }).unwrap()
}

/// Accepts connections from the threads of a program that dial on request.
struct Dialers {
    listener: UnixListener,
    path: String,
}

impl Dialers {
    fn listen(beside: &Bound) -> Self {
        let path = beside.folder.path().join("control");
        Self { listener: UnixListener::bind(&path).unwrap(), path: path.to_str().unwrap().to_owned() }
    }

    /// Returns a shell command that runs `n_processes` processes with `n_threads` threads each.
    fn script(&self, n_processes: usize, n_threads: usize) -> String {
        let exe = own_exe();
        let one = format!("{exe} client on-demand 127.0.0.1:1 {} {n_threads}", self.path);
        let background = format!("{one} & ").repeat(n_processes - 1);
        format!("{background} {one}; wait")
    }

    fn accept(&self, n: usize) -> Vec<Dialer> {
        let accept = |_| Dialer(BufReader::new(self.listener.accept().unwrap().0));
        (0..n).map(accept).collect()
    }
}

struct Dialer(BufReader<UnixStream>);

impl Dialer {
    fn tell(&mut self, words: &str) {
        writeln!(self.0.get_mut(), "{words}").unwrap();
    }

    fn hear(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    fn ask(&mut self, words: &str) -> String {
        self.tell(words);
        self.hear()
    }
}

/// Returns how many clients connected over TCP, and how many over the socket.
fn arrived(server: &Server) -> [usize; 2] {
    [server.n_tcp_by_now(), server.n_unix_by_now()]
}
