//! Starts this program as the supervisor of a command, and runs the supervisor itself.

use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode, Output, Stdio};
use std::time::Duration;

use looptax_redirect::{
    Config, Demand, Event, Exit, Mapping, Owner, Program, Route, SocketName, Stats, Surroundings, Switches,
};

/// Set for a supervisor that begins while another of its threads is about to end.
pub(crate) const ENDING_THREAD: &str = "ENDING_THREAD";

/// A run of a command under supervision, or plain.
#[derive(Debug, Clone, Default)]
pub(crate) struct Run {
    routes: Vec<String>,
    without: Vec<String>,
    args: Vec<String>,
    uid: Option<u32>,
    is_plain: bool,
    keeps_running: bool,
}

impl Run {
    /// Returns a run of this program as the client, with the arguments `words`.
    pub(crate) fn client(words: &[&str]) -> Self {
        Self::itself(&[&["client"], words].concat())
    }

    pub(crate) fn itself(words: &[&str]) -> Self {
        let exe = std::env::current_exe().unwrap();
        Self::command(&[&[exe.to_str().unwrap()], words].concat())
    }

    pub(crate) fn command(words: &[&str]) -> Self {
        Self { args: words.iter().map(|it| (*it).to_owned()).collect(), ..Self::default() }
    }

    pub(crate) fn route(mut self, from: SocketAddr, to: &Path) -> Self {
        self.routes.push(format!("{from}={}", to.display()));
        self
    }

    /// Adds a route that these words keep on TCP.
    pub(crate) fn route_unless(mut self, from: SocketAddr, to: &Path, words: &str) -> Self {
        self.routes.push(format!("{from}={}={words}", to.display()));
        self
    }

    /// Adds a route to the socket of a server that runs as this user and has bound this path.
    pub(crate) fn route_of(mut self, uid: u32, bound: &Path, from: SocketAddr, to: &Path) -> Self {
        let (bound, to) = (bound.display(), to.display());
        self.routes.push(format!("{uid}@{from}={to}={bound}"));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.without.push(name.to_owned());
        self
    }

    pub(crate) fn uid(mut self, uid: u32) -> Self {
        self.uid = Some(uid);
        self
    }

    /// Lets the program continue when its watchdog is killed.
    pub(crate) fn keep_running(mut self) -> Self {
        self.keeps_running = true;
        self
    }

    /// Makes the run plain, without supervision.
    pub(crate) fn plain(mut self) -> Self {
        self.is_plain = true;
        self
    }

    pub(crate) fn to_command(&self) -> Command {
        let mut command = if self.is_plain {
            let mut command = Command::new(&self.args[0]);
            command.args(&self.args[1..]);
            command
        } else {
            let mut command = Command::new(std::env::current_exe().unwrap());
            command.arg("supervise");
            for route in &self.routes {
                command.args(["--route", route]);
            }
            for name in &self.without {
                command.args(["--without", name]);
            }
            if self.keeps_running {
                command.arg("--keep-running");
            }
            command.arg("--").args(&self.args);
            command
        };
        if let Some(uid) = self.uid {
            command.uid(uid).gid(uid);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    #[track_caller]
    pub(crate) fn run(&self) -> Done {
        let output = self.to_command().output().unwrap();
        Done::new(output)
    }
}

#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) output: Output,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Done {
    pub(crate) fn new(output: Output) -> Self {
        Self {
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
            output,
        }
    }

    #[track_caller]
    pub(crate) fn good(self) -> Self {
        assert!(self.output.status.success(), "{self:#?}");
        self
    }

    /// Checks the line of the counts: `moved 1, left 0`.
    #[track_caller]
    pub(crate) fn expect_counts(&self, n_moved: u64, left: &str) -> &Self {
        let wanted = format!("moved {n_moved} left {left}");
        let has = self.stderr.lines().any(|line| line.trim_end() == wanted.trim_end());
        assert!(has, "{wanted}: {self:#?}");
        self
    }
}

/// Runs the supervisor: `--route FROM=PATH --without NAME --quiet -- COMMAND`.
pub(crate) fn main(words: &[String]) -> ExitCode {
    if std::env::var_os(ENDING_THREAD).is_some() {
        std::thread::spawn(|| std::thread::sleep(Duration::from_millis(100)));
    }
    let mut mapping = Mapping::default();
    let mut switches = Switches::default();
    let (mut wants_events, mut keeps_running) = (true, false);
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--route" => mapping.routes.push(route(words.next().unwrap())),
            "--without" => assert!(switches.set(words.next().unwrap())),
            "--quiet" => wants_events = false,
            "--keep-running" => keeps_running = true,
            _ => break,
        }
    }
    let program = Program { args: words.map(Into::into).collect() };
    let features = match looptax_redirect::probe(switches) {
        Ok(features) => features,
        Err(obstacle) => {
            eprintln!("obstacle: {obstacle}");
            let error = looptax_redirect::exec(&program);
            eprintln!("{error}");
            return ExitCode::from(126);
        }
    };
    let config = Config {
        program,
        mapping,
        features,
        switches,
        wants_events,
        keeps_running,
        ends_all: false,
        steering: None,
        surroundings: Surroundings::default(),
    };
    let mut say = |event: Event| {
        if wants_events {
            eprintln!("{event:?}");
        }
    };
    match looptax_redirect::run(&config, &mut say) {
        Ok(ended) => {
            eprintln!("{}", counts(&ended.stats));
            match ended.exit {
                Exit::Code(code) => std::process::exit(code),
                Exit::Signal(signal) => {
                    looptax_redirect::die_of(signal);
                    ExitCode::FAILURE
                }
            }
        }
        Err(error) => {
            eprintln!("{error}: {:?}", std::error::Error::source(&error));
            ExitCode::from(125)
        }
    }
}

fn counts(stats: &Stats) -> String {
    let left: Vec<String> = stats.left.iter().flatten().map(|(reason, n)| format!("{reason:?}:{n}")).collect();
    format!("moved {} left {}", stats.n_moved(), left.join(" "))
}

fn route(text: &str) -> Route {
    let mut parts = text.splitn(3, '=');
    let from = parts.next().unwrap();
    let (uid, from) = from.split_once('@').map_or((None, from), |(uid, from)| (Some(uid), from));
    let path = parts.next().unwrap();
    let owner = uid.map(|it| Owner { uid: it.parse().unwrap(), bound: SocketName::Path(parts.next().unwrap().into()) });
    let demands = parts.map(|words| Demand { words: words.to_owned(), harmless: Vec::new() });
    Route {
        from: from.parse().unwrap(),
        to: match path.strip_prefix('@') {
            Some(name) => SocketName::Abstract(name.into()),
            None => SocketName::Path(path.into()),
        },
        owner,
        demands: demands.collect(),
    }
}
