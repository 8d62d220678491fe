//! A Redis in its own network namespace, and clients that connect to it from inside and from outside that namespace.
//!
//! Called by `find`. The server ends when its value is dropped.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use super::client::{Address, Loop, arguments};
use super::data::Client;
use crate::servers::{Ours, wait_until};

const PORT: u16 = 6390;
const PASSWORD: &str = "apart";

/// The server with the folder of its socket.
pub(crate) struct NamespacedRedis {
    redis: Ours,
    folder: TempDir,
}

impl NamespacedRedis {
    /// Starts the server in its own network namespace. Needs root, `unshare` and `ip`.
    pub(crate) fn start() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("looptax-apart-").tempdir()?;
        let script = format!(
            "ip link set lo up && exec redis-server --bind 127.0.0.1 --port {PORT} --save '' \
             --requirepass {PASSWORD} --unixsocket {0}/redis.sock --dir {0}",
            folder.path().display()
        );
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-c", &script]);
        let redis = Ours::start(command.stdout(Stdio::null()))?;
        let server = Self { redis, folder };
        let what = "no Redis started in its own network namespace";
        wait_until(what, || Ok(server.socket().exists()))?;
        server.fill()?;
        Ok(server)
    }

    /// Stores the only key that a loop with one row asks for.
    fn fill(&self) -> Result<()> {
        let mut command = Command::new("redis-cli");
        command.arg("-s").arg(self.socket());
        command.args(["-a", PASSWORD, "--no-auth-warning"]);
        command.args(["SET", "looptax:000000000001", "x"]);
        let output = command.output().context("cannot start `redis-cli`")?;
        if !output.status.success() || output.stdout != b"OK\n" {
            bail!("redis-cli: {}", String::from_utf8_lossy(&output.stdout));
        }
        Ok(())
    }

    pub(crate) fn pid(&self) -> u32 {
        self.redis.0.id()
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("redis.sock")
    }

    /// Starts a client in the current namespace. It uses the socket, because the server cannot be reached over TCP from
    /// here.
    pub(crate) fn client_here(&self, client: &Client) -> Result<Loop> {
        let [program, arguments @ ..] = arguments(&client.name, &Address::Unix(self.socket()))?;
        let mut command = Command::new(program);
        command.args(arguments);
        Self::started(client, command)
    }

    /// Starts a client over TCP, in the server's own network namespace.
    pub(crate) fn client_there(&self, client: &Client) -> Result<Loop> {
        let address = Address::Tcp(([127, 0, 0, 1], PORT).into());
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{}/ns/net", self.pid())).args(arguments(&client.name, &address)?);
        Self::started(client, command)
    }

    fn started(client: &Client, mut command: Command) -> Result<Loop> {
        command.env("LOOP_PASSWORD", PASSWORD);
        for name in ["LOOP_USER", "LOOP_DATABASE"] {
            command.env(name, "");
        }
        command.env("LOOP_ROWS", "1");
        let mut started = Loop::start(&client.name, command)?;
        // Some drivers connect only when they send the first request.
        started.ask(1)?;
        Ok(started)
    }
}
