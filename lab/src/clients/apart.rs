//! A Redis in a network namespace of its own, and clients that reach it from there and from here.
//!
//! Called by `find`. Ends with us.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use anyhow::{Context, Result, bail};

use super::client::{Address, Loop, arguments};
use super::data::Client;

const PORT: u16 = 6390;
const PASSWORD: &str = "apart";

/// The server, and the folder of its socket.
pub(crate) struct Apart {
    child: Child,
    folder: PathBuf,
}

impl Apart {
    /// Starts it. Needs root, `unshare` and `ip`.
    pub(crate) fn start() -> Result<Self> {
        let folder = env::temp_dir().join(format!("looptax-apart-{}", std::process::id()));
        fs::create_dir(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let script = format!(
            "ip link set lo up && exec redis-server --bind 127.0.0.1 --port {PORT} --save '' \
             --requirepass {PASSWORD} --unixsocket {0}/redis.sock --dir {0}",
            folder.display()
        );
        let child = Command::new("unshare")
            .args(["--net", "sh", "-c", &script])
            .stdout(Stdio::null())
            .spawn()
            .context("cannot start `unshare`")?;
        let apart = Self { child, folder };
        let patience = Instant::now() + Duration::from_secs(10);
        while !apart.socket().exists() {
            if Instant::now() > patience {
                bail!("no Redis started in a network namespace of its own");
            }
            thread::sleep(Duration::from_millis(20));
        }
        apart.fill()?;
        Ok(apart)
    }

    /// The one key that a loop with one row asks for.
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
        self.child.id()
    }

    fn socket(&self) -> PathBuf {
        self.folder.join("redis.sock")
    }

    /// A client from here, over the socket, since there is no other way.
    pub(crate) fn client_here(&self, client: &Client) -> Result<Loop> {
        let [program, arguments @ ..] = arguments(&client.name, &Address::Unix(self.socket()))?;
        let mut command = Command::new(program);
        command.args(arguments);
        Self::started(client, command)
    }

    /// A client over TCP, in the server's own network namespace.
    pub(crate) fn client_there(&self, client: &Client) -> Result<Loop> {
        let address = Address::Tcp(([127, 0, 0, 1], PORT).into());
        let mut command = Command::new("nsenter");
        command
            .arg(format!("--net=/proc/{}/ns/net", self.pid()))
            .args(arguments(&client.name, &address)?);
        Self::started(client, command)
    }

    fn started(client: &Client, mut command: Command) -> Result<Loop> {
        command.env("LOOP_PASSWORD", PASSWORD);
        for name in ["LOOP_USER", "LOOP_DATABASE"] {
            command.env(name, "");
        }
        command.env("LOOP_ROWS", "1");
        let mut started = Loop::start(&client.name, command)?;
        // Some drivers connect with the first request alone.
        started.ask(1)?;
        Ok(started)
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}
