//! The PHP page with known truth, its private MariaDB, and `looptax trial` of the page.

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};
use looptax_model::dsn::Kind;
use looptax_model::record::{Estimate, Record};
use tempfile::TempDir;

use crate::servers::Private;

const PAGE: &str = include_str!("files/index.php");

/// The page, its server, and the paths of both.
pub(super) struct Site {
    looptax: PathBuf,
    server: Private,
    folder: TempDir,
}

impl Site {
    pub(super) fn start(looptax: &Path) -> Result<Self> {
        let server = Private::start(looptax, Kind::Mariadb, 16, 1)?;
        let folder = TempDir::new()?;
        std::fs::write(folder.path().join("index.php"), PAGE)?;
        Ok(Self { looptax: looptax.to_owned(), server, folder })
    }

    /// Returns the environment variables that the page reads.
    pub(super) fn variables(&self) -> [(&'static str, String); 4] {
        let login = &self.server.login;
        [
            ("TRIAL_USER", login.user.clone()),
            ("TRIAL_PASSWORD", login.password.reveal().to_owned()),
            ("TRIAL_DATABASE", login.database.clone().unwrap_or_default()),
            ("TRIAL_PORT", self.server.tcp.port().to_string()),
        ]
    }

    /// Returns the application's command, which listens at this address.
    pub(super) fn php(&self, at: SocketAddr) -> Vec<String> {
        let folder = self.folder.path().display().to_string();
        let words = ["php", "-d", "opcache.enable_cli=1", "-S"];
        let words = words.map(str::to_owned).into_iter();
        words.chain([at.to_string(), "-t".to_owned(), folder]).collect()
    }

    /// Returns the `looptax trial` command for the page, up to the application's command.
    pub(super) fn trial(&self, at: SocketAddr, map: Option<&str>) -> Command {
        let mut command = Command::new(&self.looptax);
        let socket = &self.server.socket;
        let own = format!("{}={}", self.server.tcp, socket.display());
        let map = map.unwrap_or(&own);
        command
            .args(["trial", "--yes", "--quiet", "--no-history", "--json"])
            .args(["--map", map, "--url", &format!("http://{at}/")])
            .envs(self.variables());
        command
    }

    /// Runs one trial with these options; returns its record.
    pub(super) fn tried(&self, options: &[String]) -> Result<Record> {
        let at = free_address()?;
        self.tried_as(at, options, &self.php(at))
    }

    /// Runs one trial of another application, which listens at `at`; returns its record.
    pub(super) fn tried_as(&self, at: SocketAddr, options: &[String], application: &[String]) -> Result<Record> {
        let mut command = self.trial(at, None);
        let output = command.args(options).arg("--").args(application).output()?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("a trial failed: {said}");
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }
}

pub(super) fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

pub(super) fn shown(estimate: Option<&Estimate>) -> String {
    let end = |end: Option<f64>| end.map_or_else(|| "open".to_owned(), |end| format!("{end:.2}"));
    match estimate {
        Some(it) => format!("{:.2} [{}, {}]", it.value, end(it.lo), end(it.hi)),
        None => "n/a".to_owned(),
    }
}
