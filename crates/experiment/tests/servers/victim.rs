//! The other roles in which the tests start this program: as the echo server, or as a looptax that holds a private
//! server until it is killed.

use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use looptax_experiment::servers::wordpress::WordPress;
use looptax_experiment::servers::{Config, PrivateServer, Reaper, echo, startable};
use looptax_model::dsn::Kind;

/// The name of a victim that holds a WordPress site.
pub(crate) const WORDPRESS: &str = "wordpress";

/// Runs the echo server, in the same way as cli does.
pub(crate) fn serve_echo(socket: &str, tcp: &str, further: &[&str]) -> ExitCode {
    let config = echo::Config {
        socket: socket.into(),
        abstract_name: None,
        tcp: vec![tcp.parse().expect("the address is our own text")],
        is_one_thread: further.contains(&"--one-thread"),
        is_http: further.contains(&"--http"),
    };
    let Err(error) = echo::serve(&config);
    let reason = std::error::Error::source(&error).map(ToString::to_string).unwrap_or_default();
    writeln!(io::stderr(), "{error}: {reason}").ok();
    ExitCode::FAILURE
}

/// Returns the settings of a small server with its scratch folder in `root`.
pub(crate) fn config(kind: Kind, root: &Path) -> Config {
    Config {
        kind,
        self_exe: std::env::current_exe().expect("the test program knows its own path"),
        scratch_root: root.to_owned(),
        max_connections: 20,
        rows: 1000,
        listening: looptax_experiment::servers::Listening::default(),
        pool_mode: looptax_experiment::servers::pooler::PoolMode::default(),
    }
}

/// Starts a reaper and a server or site, prints their process ids, and waits to be killed or for the end of its stdin.
pub(crate) fn run(name: &str, root: &str) -> ExitCode {
    let self_exe = std::env::current_exe().expect("the test program knows its own path");
    let reaper = Reaper::start(&self_exe).expect("the reaper starts");
    if name == WORDPRESS {
        let site = WordPress::start(self_exe, root.into(), &reaper).expect("the site starts");
        return wait(&reaper, site.server().pid);
    }
    let kind = startable(name).expect("the test names a kind");
    let server = PrivateServer::start(&config(kind, Path::new(root)), &reaper);
    wait(&reaper, server.expect("the server starts").pid)
}

fn wait(reaper: &Reaper, server_pid: u32) -> ExitCode {
    let mut stdout = io::stdout();
    writeln!(stdout, "{} {}", reaper.pid().unwrap_or(0), server_pid).expect("the test reads this");
    stdout.flush().expect("the test reads this");
    io::stdin().read_to_end(&mut Vec::new()).ok();
    ExitCode::SUCCESS
}
