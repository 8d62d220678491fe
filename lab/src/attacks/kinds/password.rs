//! Sockets of the attacker at paths where a server's socket could be, while root logs in.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;

use super::super::ground::Ground;
use super::super::runs::Ran;
use super::kind::{Attack, Kind, Readiness, any};
use crate::coin::Coin;
use crate::servers::{Ours, wait_until};

pub(super) const PASSWORD: Kind = Kind {
    name: "password",
    about: "the attacker's sockets with servers' names in a folder for all users, while root logs in with a password",
    share: 40,
    prepare,
};

/// The names of the sockets, and whether the socket's server uses MySQL's protocol.
const SOCKETS: [(&str, bool); 5] = [
    ("mysqld.sock", true),
    ("mysql.sock", true),
    ("redis.sock", false),
    ("redis-server.sock", false),
    (".s.PGSQL.5432", false),
];

struct Password<'a> {
    ground: &'a Ground,
    ports: Vec<(bool, u16)>,
    _all: Vec<Ours>,
}

impl Attack for Password<'_> {
    fn round(&mut self, coin: &mut Coin) -> Result<Ran> {
        let ground = self.ground;
        let secret = &ground.secret;
        let (is_mysql, port) = any(coin, &self.ports);
        let scheme = match (is_mysql, coin.flip()) {
            (true, _) => "mysql",
            (false, true) => "redis",
            (false, false) => "postgres",
        };
        let url = format!("{scheme}://root:{secret}@127.0.0.1:{port}/x");
        let folder = ground.at("tmp");
        let name = SOCKETS.iter().filter(|it| it.1 == is_mysql);
        let names: Vec<PathBuf> = name.map(|it| folder.join(it.0)).collect();
        let socket = names[(coin.number() % names.len() as u64) as usize].clone();
        let (socket, folder) = (socket.display().to_string(), folder.display().to_string());
        let place = if coin.flip() { &folder } else { &socket };
        let words: Vec<&str> = match coin.number() % 4 {
            0 => vec!["check", &url],
            1 => vec!["check", &url, "--socket", place],
            2 => vec!["compare", &url, "--socket", place, "--yes", "--dry-run"],
            _ => vec!["run", "--dry-run", "--login", &url, "--", "true"],
        };
        ground.looptax(words).end()
    }
}

fn prepare(ground: &Ground) -> Result<Readiness<'_>> {
    let mut all = Vec::new();
    let mut ports = Vec::new();
    for (name, is_mysql) in SOCKETS {
        let socket = ground.at("tmp").join(name);
        let word = if is_mysql { "serve-mysql" } else { "serve" };
        let mut command = ground.her(ground.program("stand-in"));
        command.args([word, "0"]).arg(&socket);
        all.push(Ours::start(&mut command)?);
        wait_until("a server of hers did not start", || Ok(socket.exists()))?;
    }
    // Root's own server, to which the password belongs. Only root can read the file in which this server records the
    // received bytes.
    let own = ground.at("ours").join("server");
    fs::create_dir_all(&own)?;
    for is_mysql in [true, false] {
        let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let (word, name) = if is_mysql { ("serve-mysql", "mariadbd") } else { ("serve", "redis-server") };
        let mut command = std::process::Command::new(ground.program(name));
        let socket = own.join(name);
        command.args([word, &port.to_string()]).arg(&socket);
        all.push(Ours::start(command.stdout(std::process::Stdio::null()))?);
        wait_until("a server of root's did not start", || Ok(socket.exists()))?;
        ports.push((is_mysql, port));
    }
    Readiness::ready(Password { ground, ports, _all: all })
}
