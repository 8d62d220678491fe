//! An application of the attacker that root switches: its folder and file, its server, and journals with which a round
//! can begin.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::super::ground::{Ground, PATH, clear};
use super::super::runs::{Ran, Run};
use crate::coin::Coin;
use crate::servers::{Ours, wait_until};
use crate::workspace::run_to_success;

/// Name of the application's file. A victim has the same name, so that a link in place of the folder leads to this
/// victim.
pub(super) const FILE: &str = "app.env";

pub(super) struct Shop<'a> {
    pub(super) ground: &'a Ground,
    _redis: Ours,
    port: u16,
    pub(super) socket: PathBuf,
    pub(super) app: PathBuf,
    /// The application's file after a switch.
    pub(super) switched: Vec<u8>,
    /// The name of the switch. `template` is root's data folder after the switch.
    pub(super) id: String,
    template: PathBuf,
}

/// The ways in which the attacker makes the name of the file lead elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trick {
    /// A link replaces the file.
    Link,
    /// A link replaces the folder.
    FolderLink,
    /// A link to a file that does not exist.
    Dangling,
    Pipe,
    /// The file and a link are exchanged all the time.
    FileLoop,
    /// The folder and a link are exchanged all the time.
    FolderLoop,
    /// Each new name in the folder is replaced by a link.
    Snatch,
}

impl Trick {
    pub(super) const ALL: [Self; 7] =
        [Self::Link, Self::FolderLink, Self::Dangling, Self::Pipe, Self::FileLoop, Self::FolderLoop, Self::Snatch];
}

impl<'a> Shop<'a> {
    /// Starts the scene; `None` if Redis is not installed.
    pub(super) fn open(ground: &'a Ground) -> Result<Option<Self>> {
        let Some((redis, port, socket)) = start_redis(ground)? else {
            return Ok(None);
        };
        let mut shop = Self {
            ground,
            _redis: redis,
            port,
            socket,
            app: ground.hers().join("app"),
            switched: Vec::new(),
            id: String::new(),
            template: ground.at("ours").join("template"),
        };
        shop.lay_out_new()?;
        clear(&ground.data())?;
        let ran = shop.switch(&["--within", "1s"]).end()?;
        ensure!(ran.code == Some(3), "no switch to begin from: {}", ran.said);
        shop.switched = fs::read(shop.app.join(FILE))?;
        let switches = fs::read_dir(ground.data().join("looptax/switches"))?;
        let names = switches.flatten().filter(|it| it.path().is_dir());
        let first = names.map(|it| it.file_name()).next();
        let name = first.context("no switch was kept")?;
        shop.id = name.to_string_lossy().into_owned();
        copy(&ground.data(), &shop.template)?;
        Ok(Some(shop))
    }

    /// Returns the content of the application's file before a switch. It begins with a cron line, for a process that
    /// writes it to another file.
    pub(super) fn old(&self) -> String {
        format!("# * * * * * root true\nREDIS_URL=redis://127.0.0.1:{}/3\n", self.port)
    }

    /// Makes the attacker's folder with the old file.
    pub(super) fn lay_out_new(&self) -> Result<()> {
        self.lay_out(self.old().as_bytes())
    }

    /// Makes the attacker's folder with the file as the switch wrote it.
    pub(super) fn lay_out_switched(&self) -> Result<()> {
        self.lay_out(&self.switched)
    }

    fn lay_out(&self, text: &[u8]) -> Result<()> {
        self.ground.folder_of_hers("app")?;
        self.ground.file_of_hers(&self.app.join(FILE), text, 0o644)
    }

    /// Returns the command `switch FILE`, with consent.
    pub(super) fn switch(&self, words: &[&str]) -> Run<'a> {
        let file = self.app.join(FILE).display().to_string();
        let socket = self.socket.display().to_string();
        let first = ["switch", &file, "--as", "sidekiq", "--yes", "--keep-unproved", "--no-times", "--socket", &socket];
        self.ground.looptax(first.iter().chain(words).copied())
    }

    /// Restores root's data folder to its state after the switch.
    pub(super) fn restore(&self) -> Result<()> {
        copy(&self.template, &self.ground.data())
    }

    /// Restores root's data folder as if looptax had been killed while it wrote the file.
    pub(super) fn restore_interrupted(&self) -> Result<()> {
        self.restore()?;
        let journal = self.journal_in(&self.ground.data());
        let text = fs::read_to_string(&journal)?;
        let lines = text.lines().take_while(|it| !it.contains("\"written\""));
        let text: String = lines.flat_map(|line| [line, "\n"]).collect();
        Ok(fs::write(journal, text)?)
    }

    pub(super) fn journal_in(&self, data: &Path) -> PathBuf {
        data.join("looptax/switches").join(&self.id).join("journal")
    }

    /// Plays a trick with the file's name; the process that continues the trick ends when the result is dropped.
    pub(super) fn play(&self, trick: Trick, victim: &Path) -> Result<Option<Ours>> {
        let ground = self.ground;
        let file = self.app.join(FILE);
        let aside = self.app.with_file_name("aside");
        clear(&aside)?;
        match trick {
            Trick::Link => ground.link_of_hers(&file, victim)?,
            Trick::Dangling => {
                ground.link_of_hers(&file, &ground.victim("cron.d/evil"))?;
            }
            Trick::FolderLink => {
                fs::rename(&self.app, &aside)?;
                ground.link_of_hers(&self.app, &ground.at("victims"))?;
            }
            Trick::Pipe => {
                clear(&file)?;
                let mut command = ground.her("mkfifo");
                run_to_success(command.arg(&file))?;
            }
            Trick::FileLoop => {
                ground.link_of_hers(&self.app.join("link"), victim)?;
                return ground.exchange(&file, &self.app.join("link")).map(Some);
            }
            Trick::FolderLoop => {
                ground.link_of_hers(&aside, &ground.at("victims"))?;
                return ground.exchange(&self.app, &aside).map(Some);
            }
            Trick::Snatch => return ground.snatch(&self.app, victim).map(Some),
        }
        Ok(None)
    }

    /// Runs a round: starts the trick, runs looptax, and ends the trick.
    pub(super) fn against(&self, trick: Trick, victim: &Path, run: Run<'_>) -> Result<Ran> {
        let beside = self.play(trick, victim)?;
        let ran = run.end()?;
        drop(beside);
        Ok(ran)
    }
}

/// Returns a random file of root to which a link can lead.
pub(super) fn any_victim(ground: &Ground, coin: &mut Coin) -> PathBuf {
    let names = ["motd", "cron.d/daily", "admin/.ssh/authorized_keys", "shadow", "app.env"];
    ground.victim(super::kind::any(coin, &names))
}

/// Copies a folder with owners and modes; replaces whatever has the name `to`.
pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    clear(to)?;
    run_to_success(Command::new("cp").arg("-a").arg(from).arg(to))
}

fn start_redis(ground: &Ground) -> Result<Option<(Ours, u16, PathBuf)>> {
    let folder = ground.at("redis");
    clear(&folder)?;
    fs::create_dir(&folder)?;
    let socket = folder.join("redis.sock");
    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let mut command = Command::new("redis-server");
    command
        .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
        .args(["--save", "", "--unixsocket"])
        .arg(&socket)
        .args(["--unixsocketperm", "777", "--dir"])
        .arg(&folder)
        .env_clear()
        .env("PATH", PATH)
        .stdout(Stdio::null());
    let redis = match command.spawn() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        spawned => Ours(spawned.context("cannot start redis-server")?),
    };
    wait_until("Redis did not start", || Ok(socket.exists()))?;
    Ok(Some((redis, port, socket)))
}
