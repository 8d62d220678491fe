//! The private MariaDB that both tools ask, filled once.
//!
//! Started as looptax starts its own, with the same settings and rows.

use std::path::Path;

use anyhow::{Context, Result};
use looptax_path::{Conversation, Endpoint, Limits, Protocol};
use looptax_servers::{Config, Kind, PrivateServer, Reaper, dataset, leftovers};

/// Rows of the table: looptax's default.
pub(crate) const ROWS: u32 = 100_000;
/// Connections at the same time: a tool's one or two and its questions.
const CONNECTIONS: u32 = 16;

/// A MariaDB that answers and holds the rows.
pub(crate) struct Server {
    private: PrivateServer,
}

impl Server {
    /// Starts it with `looptax` as its reaper, and fills it.
    pub(crate) fn start(looptax: &Path) -> Result<Self> {
        let scratch_root = std::env::temp_dir();
        leftovers::sweep(&scratch_root);
        let reaper = Reaper::start(looptax)?;
        let config = Config {
            kind: Kind::Mariadb,
            self_exe: looptax.to_owned(),
            scratch_root,
            max_connections: CONNECTIONS,
            rows: ROWS,
        };
        let private = PrivateServer::start(&config, &reaper)?;
        let server = Self { private };
        server.fill()?;
        Ok(server)
    }

    fn fill(&self) -> Result<()> {
        let mut conversation = Conversation::open(
            Protocol::Mysql,
            &Endpoint::unix(&self.private.socket)?,
            &self.private.login,
            Limits::default(),
        )?;
        dataset::populate_mysql(|sql| conversation.execute(sql), ROWS)?;
        Ok(())
    }

    pub(crate) fn pid(&self) -> u32 {
        self.private.pid
    }

    pub(crate) fn version(&self) -> &str {
        &self.private.version
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.private.socket
    }

    pub(crate) fn port(&self) -> u16 {
        self.private.tcp.port()
    }

    pub(crate) fn user(&self) -> &str {
        &self.private.login.user
    }

    pub(crate) fn password(&self) -> &str {
        self.private.login.password.reveal()
    }

    /// The database that holds the table.
    pub(crate) fn database(&self) -> &str {
        self.private.login.database.as_deref().unwrap_or_default()
    }

    pub(crate) fn stop(self) -> Result<()> {
        self.private
            .stop()
            .context("cannot stop the private server")
    }
}
