//! Processes that only look like servers: false names, false command lines, and programs that load files from their own
//! folder.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};

use anyhow::Result;

use super::super::ground::Ground;
use super::super::runs::Ran;
use super::kind::{Attack, Kind, Readiness};
use super::version::look;
use crate::coin::Coin;
use crate::servers::{Ours, wait_until};

pub(super) const NAMES: Kind = Kind {
    name: "names",
    about: "the attacker's programs with servers' names, and root's programs that load a library from the attacker's folder ($ORIGIN)",
    share: 120,
    prepare,
};

/// The names of servers, web servers and proxies.
const CALLED: [&str; 17] = [
    "redis-server",
    "valkey-server",
    "mariadbd",
    "mysqld",
    "postgres",
    "memcached",
    "pgbouncer",
    "proxysql",
    "mongod",
    "dragonfly",
    "php-fpm8.2",
    "uwsgi",
    "nginx",
    "haproxy",
    "apache2",
    "caddy",
    "gunicorn",
];

struct Names<'a> {
    ground: &'a Ground,
    _hers: Vec<Ours>,
}

impl Attack for Names<'_> {
    fn round(&mut self, coin: &mut Coin) -> Result<Ran> {
        look(self.ground, coin).within(&self.ground.hers().join("names")).end()
    }
}

fn prepare(ground: &Ground) -> Result<Readiness<'_>> {
    let folder = ground.folder_of_hers("names")?;
    let mut hers = Vec::new();
    for name in CALLED {
        let program = folder.join(name);
        fs::copy(ground.program("marker"), &program)?;
        ground.give(&program)?;
        hers.push(serve(ground, &program, name)?);
    }
    // Copies of root's programs, in a folder of the attacker that contains the library that the programs look for.
    let beside = ground.folder_of_hers("beside")?;
    let library = beside.join("libmarker.so");
    fs::copy(ground.program("libmarker.so"), &library)?;
    ground.give(&library)?;
    for name in ["redis-server", "mariadbd", "postgres", "memcached"] {
        let program = beside.join(name);
        fs::copy(ground.program("needs-library"), &program)?;
        chown(&program, Some(0), Some(0))?;
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
        hers.push(serve(ground, &program, &format!("beside-{name}"))?);
        // The file that replaces the program after root has opened it.
        ground.marking_script(&beside.join(format!("evil-{name}")))?;
    }
    hers.push(ground.pounce(&beside)?);
    Readiness::ready(Names { ground, _hers: hers })
}

fn serve(ground: &Ground, program: &std::path::Path, name: &str) -> Result<Ours> {
    let socket = ground.hers().join(format!("{name}.sock"));
    let mut command = ground.her(program);
    command.args(["serve", "0"]).arg(&socket).env("LD_PRELOAD", ground.program("libmarker.so"));
    let server = Ours::start(&mut command)?;
    wait_until("a server of hers did not start", || Ok(socket.exists()))?;
    Ok(server)
}
