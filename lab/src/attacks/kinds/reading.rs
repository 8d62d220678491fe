//! Files of the attacker's servers and applications that are links to files that only root may read, and the output of
//! looptax about them that the attacker can read.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::super::ground::Ground;
use super::super::made::SERVERS;
use super::super::runs::Ran;
use super::kind::{Attack, Kind, Readiness, any};
use super::scene::FILE;
use super::version::comes;
use crate::coin::Coin;
use crate::servers::Ours;

pub(super) const READING: Kind = Kind {
    name: "reading",
    about: "the attacker's configuration files and data folders, which are links to, or mounts of, files that only root may read",
    share: 120,
    prepare,
};

struct Reading<'a> {
    ground: &'a Ground,
    servers: Vec<(u32, u16)>,
    _hers: Vec<Ours>,
}

/// The attacker's names, and the victims to which they link.
const LINKS: [(&str, &str); 9] = [
    ("pg_hba.conf", "pg_hba.conf"),
    ("PG_VERSION", "PG_VERSION"),
    ("postmaster.pid", "PG_VERSION"),
    ("postgresql.conf", "app.env"),
    ("my.cnf", "my.cnf"),
    ("redis.conf", "app.env"),
    ("pgbouncer.ini", "app.env"),
    (FILE, "app.env"),
    ("urls", "lines.json"),
];

/// The commands that are run. `FILE` is replaced by the file that the attacker reads afterwards, `HERS` by the
/// attacker's folder.
const COMMANDS: [&str; 15] = [
    "find --once --json=FILE",
    "find --once -q --openmetrics FILE",
    "check HERS/app.env --as sidekiq --json=FILE",
    "check HERS/app.env --as sidekiq --json=FILE",
    "check HERS/my.cnf --json=FILE",
    "check HERS/pgbouncer.ini --json=FILE",
    "check PID --json=FILE",
    "check redis://127.0.0.1:PORT --json=FILE",
    "check postgres://x:y@127.0.0.1:PORT/x --json=FILE",
    "check mysql://x:y@127.0.0.1:PORT/x --json=FILE",
    "switch HERS/app.env --as sidekiq --dry-run --json=FILE",
    "dsn postgres://x@127.0.0.1:PORT/x --json=FILE",
    "fleet send postgres://x@127.0.0.1:9/x --spool HERS/spool --json=FILE",
    "trial --urls HERS/urls --dry-run --json=FILE -- true",
    "trial --from-log HERS/urls --url http://127.0.0.1:9/ --dry-run --json=FILE -- true",
];

impl Attack for Reading<'_> {
    fn round(&mut self, coin: &mut Coin) -> Result<Ran> {
        let ground = self.ground;
        let folder = ground.hers().join("reading");
        let out = ground.folder_of_hers("out")?;
        ground.folder_of_hers("reading/spool")?;
        let (pid, port) = any(coin, &self.servers);
        // The path is a link, and in half of the rounds it is exchanged with a file of the attacker all the time.
        let file = folder.join(FILE);
        let beside = folder.join("beside");
        let own = b"REDIS_URL=redis://x:y@127.0.0.1:6379/3\n";
        ground.link_of_hers(&file, &ground.victim("app.env"))?;
        ground.file_of_hers(&beside, own, 0o644)?;
        let racing = coin.flip().then(|| ground.exchange(&file, &beside));
        let _racing = racing.transpose()?;
        let words = any(coin, &COMMANDS);
        let words = words.split(' ').map(|word| {
            word.replace("FILE", &out.join("said").to_string_lossy())
                .replace("HERS", &folder.to_string_lossy())
                .replace("PID", &pid.to_string())
                .replace("PORT", &port.to_string())
        });
        ground.looptax(words).within(&folder).end()
    }
}

fn prepare(ground: &Ground) -> Result<Readiness<'_>> {
    let folder = ground.folder_of_hers("reading")?;
    let data = ground.folder_of_hers("data")?;
    for (name, victim) in LINKS {
        ground.link_of_hers(&folder.join(name), &ground.victim(victim))?;
        ground.file_of_hers(&data.join(name), b"", 0o644)?;
    }
    let mut hers = Vec::new();
    let mut servers = Vec::new();
    for name in SERVERS {
        // In one folder the names are links; in the other they are mounts that only the server's own processes see.
        let linked = started(ground, name, &folder, None)?;
        let mounts: Vec<String> = LINKS
            .iter()
            .map(|(own, victim)| {
                let (victim, own) = (ground.victim(victim), data.join(own));
                format!("mount --bind {} {}", victim.display(), own.display())
            })
            .collect();
        let mounted = started(ground, name, &data, Some(&mounts.join("; ")))?;
        for (process, port) in [linked, mounted].into_iter().flatten() {
            servers.push((process.0.id(), port));
            hers.push(process);
        }
    }
    if servers.is_empty() {
        return Ok(Readiness::Skipped("no server of hers starts".to_owned()));
    }
    Readiness::ready(Reading { ground, servers, _hers: hers })
}

/// Starts a server in a folder, with arguments that name its files, as servers of this kind do.
fn started(ground: &Ground, name: &str, folder: &Path, mounts: Option<&str>) -> Result<Option<(Ours, u16)>> {
    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let kind = if mounts.is_some() { "mounted" } else { "linked" };
    let socket: PathBuf = ground.hers().join(format!("{kind}-{name}.sock"));
    let at = folder.display();
    let words = format!(
        "serve {port} {} -D {at} --defaults-file={at}/my.cnf {at}/redis.conf {at}/pgbouncer.ini -c hba_file={at}/pg_hba.conf",
        socket.display()
    );
    let program = ground.program(name).display().to_string();
    let mut command = match mounts {
        None => ground.her(&program),
        Some(mounts) => {
            let script = format!("{mounts}; cd {at}; exec {program} {words}");
            let mut command = ground.her("unshare");
            command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]);
            command
        }
    };
    if mounts.is_none() {
        command.args(words.split(' ')).current_dir(fs::canonicalize(folder)?);
    }
    let process = Ours::start(&mut command)?;
    Ok(comes(&socket).then_some((process, port)))
}
