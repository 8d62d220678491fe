//! The programs that the lab starts: ordinary programs that end together with the lab, and private servers, started as
//! looptax starts its own.

use std::ops::Deref;
use std::path::Path;
use std::process::{Child, Command};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use looptax_bench::path::{Conversation, Endpoint, Limits};
use looptax_experiment::servers::pooler::PoolMode;
use looptax_experiment::servers::{Config, Listening, PrivateServer, Reaper, leftovers};
use looptax_model::dsn::Kind;

/// Highest time that a program may take to start or to become ready.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

/// A running program; it is killed when this is dropped.
pub(crate) struct Ours(pub(crate) Child);

impl Ours {
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let child = command.spawn();
        let failed = || format!("cannot start `{}`", command.get_program().display());
        Ok(Self(child.with_context(failed)?))
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        // The program may have ended already.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Waits until a condition is true; fails with `what` after the time limit.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> Result<bool>) -> Result<()> {
    let end = Instant::now() + PATIENCE;
    while !is_so()? {
        if Instant::now() > end {
            bail!("{what}");
        }
        thread::sleep(PAUSE);
    }
    Ok(())
}

/// A private server. It ends with the lab, however the lab ends.
pub(crate) struct Private {
    server: PrivateServer,
    _reaper: Reaper,
}

impl Deref for Private {
    type Target = PrivateServer;

    fn deref(&self) -> &PrivateServer {
        &self.server
    }
}

impl Private {
    /// Starts an empty server with `looptax` as its reaper, sized for `rows` rows.
    pub(crate) fn start(looptax: &Path, kind: Kind, connections: u32, rows: u32) -> Result<Self> {
        let scratch_root = std::env::temp_dir();
        leftovers::sweep(&scratch_root);
        let reaper = Reaper::start(looptax)?;
        let config = Config {
            kind,
            self_exe: looptax.to_owned(),
            scratch_root,
            max_connections: connections,
            rows,
            listening: Listening::default(),
            pool_mode: PoolMode::default(),
        };
        Ok(Self { server: PrivateServer::start(&config, &reaper)?, _reaper: reaper })
    }

    /// Returns kind and version, as in `redis 7.0.15`.
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.kind.name(), self.version)
    }

    /// Opens a separate connection, over the socket.
    pub(crate) fn talk(&self) -> Result<Conversation> {
        let socket = Endpoint::unix(&self.socket)?;
        let limits = Limits::default();
        Ok(Conversation::open(self.protocol, &socket, &self.login, limits)?)
    }

    pub(crate) fn stop(self) -> Result<()> {
        let stopped = self.server.stop();
        stopped.context("cannot stop the private server")
    }
}
