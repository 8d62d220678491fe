//! Root's `why` reads the program and the symbol map of the attacker's server while the attacker changes both.
//!
//! Finds files of root that are read through the attacker's links, and runs that crash or hang.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use super::super::ground::{Ground, clear};
use super::super::runs::Ran;
use super::kind::{Attack, Kind, Readiness, any};
use super::output::Trap;
use super::scene::any_victim;
use super::stack::program;
use super::version::comes;
use crate::coin::Coin;
use crate::servers::Ours;

pub(super) const WHY: Kind = Kind {
    name: "why",
    about: "`why` of the attacker's server: its program is exchanged, shortened, a link or a pipe; its map is a link to a file of root",
    share: 4,
    prepare,
};

struct Why<'a> {
    ground: &'a Ground,
    redis: PathBuf,
}

impl Attack for Why<'_> {
    fn round(&mut self, coin: &mut Coin) -> Result<Ran> {
        let ground = self.ground;
        let folder = ground.folder_of_hers("why")?;
        let own = folder.join("redis-server");
        let copied = std::fs::read(&self.redis)?;
        ground.file_of_hers(&own, &copied, 0o755)?;
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let port = port.to_string();
        let socket = folder.join("redis.sock");
        let mut command = ground.her(&own);
        command
            .args(["--port", &port, "--save", "", "--unixsocketperm", "777"])
            .arg("--unixsocket")
            .arg(&socket)
            .env("LD_PRELOAD", ground.program("libmarker.so"));
        let server = Ours::start(&mut command)?;
        comes(&socket);
        let map = PathBuf::from(format!("/tmp/perf-{}.map", server.0.id()));
        let _beside = self.play(coin, &own, &map)?;
        let url = format!("redis://127.0.0.1:{port}");
        let at = socket.display().to_string();
        let line = "--fixed 18 --slice-ms 10 --warm-up 0s --arms unix,tcp --yes --socket";
        let mut words = vec!["why", &url];
        words.extend(line.split(' '));
        words.push(&at);
        let (trap, file);
        if coin.flip() {
            trap = Trap::set(ground, coin, "why")?;
            file = trap.file.display().to_string();
            words.extend([any(coin, &["-o", "--html"]), &file]);
        }
        let ran = ground.looptax(words).end();
        clear(&map)?;
        ran
    }
}

impl Why<'_> {
    /// Starts a process that exchanges files; it ends when the result is dropped. A running program cannot be written
    /// to, so another file replaces it.
    fn play(&self, coin: &mut Coin, own: &Path, map: &Path) -> Result<Option<Ours>> {
        let ground = self.ground;
        let other = own.with_file_name("other");
        let victim = any_victim(ground, coin);
        match coin.number() % 6 {
            0 => ground.link_of_hers(own, &victim)?,
            1 => {
                ground.link_of_hers(&other, &victim)?;
                return ground.exchange(own, &other).map(Some);
            }
            2 => {
                let whole = std::fs::read(&self.redis)?;
                ground.file_of_hers(own, &whole, 0o755)?;
                return Ours::start(ground.part(&["shorten"]).arg(own)).map(Some);
            }
            3 => {
                clear(own)?;
                crate::workspace::run_to_success(ground.her("mkfifo").arg(own))?;
            }
            4 => ground.link_of_hers(map, &victim)?,
            _ => {
                clear(map)?;
                let mut command: Command = ground.her("mkfifo");
                crate::workspace::run_to_success(command.arg(map))?;
            }
        }
        Ok(None)
    }
}

fn prepare(ground: &Ground) -> Result<Readiness<'_>> {
    match program("redis-server") {
        None => Ok(Readiness::Skipped("redis-server is not installed".to_owned())),
        Some(redis) => Readiness::ready(Why { ground, redis }),
    }
}
