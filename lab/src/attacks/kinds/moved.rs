//! Root's programs send a password to root's server while `run` and `trial` move their connections to a socket.
//!
//! Finds connections that were moved to one of the attacker's sockets: the attacker's server records the bytes that it
//! reads.

use std::fs::{self, DirBuilder, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::Result;

use super::super::ground::{Ground, clear};
use super::super::runs::Ran;
use super::kind::{Attack, Kind, Readiness, any};
use super::output::Trap;
use crate::coin::Coin;
use crate::servers::{Ours, wait_until};

pub(super) const RUN: Kind = Kind {
    name: "run",
    about: "`run` of root's program with a password; the server's socket is in the attacker's folder or in a folder for all users, beside the attacker's sockets",
    share: 60,
    prepare: |ground| prepare(ground, false),
};

pub(super) const TRIAL: Kind = Kind {
    name: "trial",
    about: "`trial` of such a program, with its addresses, logs and outputs in the attacker's folder",
    share: 6,
    prepare: |ground| prepare(ground, true),
};

#[derive(Debug, Clone)]
struct Server {
    port: u16,
    socket: PathBuf,
    /// A socket of the attacker with which the attacker exchanges the real socket.
    evil: Option<PathBuf>,
}

struct Moved<'a> {
    ground: &'a Ground,
    is_trial: bool,
    servers: Vec<Server>,
    _all: Vec<Ours>,
}

/// Options of a trial that specify a file; an empty entry means no option.
const FILES: [&str; 6] = ["--output", "--html", "--json", "--urls", "--from-log", ""];

impl Attack for Moved<'_> {
    fn round(&mut self, coin: &mut Coin) -> Result<Ran> {
        let ground = self.ground;
        let server = &self.servers[(coin.number() % self.servers.len() as u64) as usize];
        let evil = server.evil.as_deref();
        let beside = evil.map(|evil| ground.exchange(&server.socket, evil));
        let _beside = beside.transpose()?;
        let mut words = if self.is_trial {
            vec!["trial", "-y", "--fixed", "6", "--page-limit", "2s"]
        } else {
            vec!["run", "--stats"]
        };
        let port = server.port.to_string();
        if coin.flip() {
            words.extend(["--port", &port]);
        }
        let page = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let page = page.to_string();
        let url = format!("http://127.0.0.1:{page}/");
        let (trap, named);
        if self.is_trial {
            words.extend(["--url", &url]);
            let option = any(coin, &FILES);
            if !option.is_empty() {
                trap = Trap::set(ground, coin, "trial")?;
                named = format!("{option}={}", trap.file.display());
                words.push(&named);
            }
        }
        let lab = ground.program("lab").display().to_string();
        let address = format!("127.0.0.1:{port}");
        words.extend(["--", &lab, "attacks-part", "say", &address]);
        if self.is_trial {
            words.extend(["--pages", &page]);
        }
        ground.looptax(words).end()
    }
}

fn prepare(ground: &Ground, is_trial: bool) -> Result<Readiness<'_>> {
    let mut all = Vec::new();
    let mut servers = Vec::new();
    let for_all = ground.at("for-all");
    clear(&for_all)?;
    DirBuilder::new().mode(0o700).create(&for_all)?;
    fs::set_permissions(&for_all, Permissions::from_mode(0o1777))?;
    let ours = ground.at("ours").join("moved");
    clear(&ours)?;
    fs::create_dir(&ours)?;
    for (folder, is_exchanged) in [
        (ours, false),
        (for_all, false),
        (ground.folder_of_hers("moved")?, false),
        (ground.folder_of_hers("exchanged")?, true),
    ] {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let socket = folder.join("redis.sock");
        let mut command = Command::new(ground.program("redis-server"));
        command.args(["serve-deaf", &port.to_string()]).arg(&socket).stdout(Stdio::null());
        all.push(Ours::start(&mut command)?);
        wait_until("a server of root's did not start", || Ok(socket.exists()))?;
        // The attacker's servers have the same name and the same port at other addresses, and sockets beside the real
        // socket where the attacker may create them.
        let evil = if folder.starts_with(ground.at("ours")) {
            ground.hers().join("evil.sock")
        } else {
            folder.join("evil.sock")
        };
        for (host, name) in [("127.0.0.2", "evil.sock"), ("[::1]", "redis-server.sock"), ("127.0.0.3", "redis.sock")] {
            let place = evil.with_file_name(name);
            if place == socket {
                continue;
            }
            clear(&place)?;
            let mut command = ground.her(ground.program("redis-server"));
            command.args(["serve", &format!("{host}:{port}")]).arg(&place);
            all.push(Ours::start(&mut command)?);
        }
        wait_until("a server of hers did not start", || Ok(evil.exists()))?;
        servers.push(Server { port, socket, evil: is_exchanged.then_some(evil) });
    }
    Readiness::ready(Moved { ground, is_trial, servers, _all: all })
}
