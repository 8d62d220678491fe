//! A server's program that the attacker replaces before looptax asks for its version.
//!
//! Root checks which programs listen. At the same time the attacker makes one name lead alternately to a program of
//! root and to a program of the attacker.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;

use anyhow::Result;

use super::super::ground::Ground;
use super::super::made::SERVERS;
use super::super::runs::{Ran, Run};
use super::kind::{Attack, Kind, Readiness, any};
use crate::coin::Coin;
use crate::servers::{Ours, wait_until};

pub(super) const LINK: Kind = Kind {
    name: "version-link",
    about: "root's programs mounted over the attacker's folder, only in the attacker's namespace; outside it, links that are exchanged for scripts",
    share: 100,
    prepare: link,
};

pub(super) const FOLDER: Kind = Kind {
    name: "version-folder",
    about: "root's program of a server, in the attacker's folder, is exchanged for a script",
    share: 100,
    prepare: folder,
};

struct Versions<'a> {
    ground: &'a Ground,
    _hers: Vec<Ours>,
}

impl Attack for Versions<'_> {
    fn round(&mut self, coin: &mut Coin) -> Result<Ran> {
        look(self.ground, coin).end()
    }
}

/// Returns a command that checks which programs listen.
pub(super) fn look<'a>(ground: &'a Ground, coin: &mut Coin) -> Run<'a> {
    let words: &[&str] = any(
        coin,
        &[
            &["find", "--once", "-q"] as &[&str],
            &["find", "--once", "--json"],
            &["find", "--once", "-q"],
            &["run", "--dry-run", "--", "true"],
            &["fleet", "send", "--dry-run", "postgres://x@127.0.0.1:9/x"],
            &["dsn", "redis://127.0.0.1:6379", "--for", "hiredis"],
        ],
    );
    ground.looptax(words)
}

fn link(ground: &Ground) -> Result<Readiness<'_>> {
    let bin = ground.folder_of_hers("bin")?;
    let mut hers = Vec::new();
    for name in SERVERS {
        ground.link_of_hers(&bin.join(name), &ground.program(name))?;
        let evil = bin.join(format!("evil-{name}"));
        ground.marking_script(&evil)?;
        let socket = ground.hers().join(format!("{name}.sock"));
        let script = format!(
            "mount --bind {} {bin} && cd / && exec {bin}/{name} serve 0 {}",
            ground.at("programs").display(),
            socket.display(),
            bin = bin.display(),
        );
        let mut command = ground.her("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]);
        hers.push(Ours::start(&mut command)?);
        if !comes(&socket) {
            let why = "she may make no namespaces of users and mounts here";
            return Ok(Readiness::Skipped(why.to_owned()));
        }
    }
    // One name at a time has its own loop; the other names are exchanged here now and then.
    for name in ["redis-server", "mariadbd"] {
        let evil = bin.join(format!("evil-{name}"));
        hers.push(ground.exchange(&bin.join(name), &evil)?);
    }
    Readiness::ready(Versions { ground, _hers: hers })
}

fn folder(ground: &Ground) -> Result<Readiness<'_>> {
    let bin = ground.folder_of_hers("prefix")?;
    let mut hers = Vec::new();
    for name in ["redis-server", "postgres"] {
        // The program is installed as by `make install PREFIX=…`.
        let program = bin.join(name);
        fs::copy(ground.program(name), &program)?;
        chown(&program, Some(0), Some(0))?;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
        let socket = ground.hers().join(format!("prefix-{name}.sock"));
        let mut command = ground.her(&program);
        command.args(["serve", "0"]).arg(&socket);
        hers.push(Ours::start(&mut command)?);
        wait_until("the server of hers did not start", || Ok(socket.exists()))?;
        let evil = bin.join(format!("evil-{name}"));
        ground.marking_script(&evil)?;
        hers.push(ground.exchange(&program, &evil)?);
    }
    Readiness::ready(Versions { ground, _hers: hers })
}

/// Waits a few seconds for a socket; returns whether it exists.
pub(super) fn comes(socket: &Path) -> bool {
    const LOOKS: u32 = 300;
    (0..LOOKS).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        socket.exists()
    })
}
