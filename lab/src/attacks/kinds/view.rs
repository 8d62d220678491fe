//! A client of the attacker whose folders root inspects from within the client's mount namespace: the attacker's own
//! `/etc`, libraries and programs.
//!
//! A process of root that enters this namespace and then loads a library or starts a program would run the attacker's
//! code.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::super::ground::{Ground, write};
use super::super::made::SERVERS;
use super::super::runs::Ran;
use super::kind::{Attack, Kind, Readiness, any};
use super::scene::FILE;
use crate::coin::Coin;
use crate::servers::Ours;

pub(super) const VIEW: Kind = Kind {
    name: "view",
    about: "`check PID` and similar commands on a process with its own mounts, root and `/etc`, which preload the attacker's library",
    share: 60,
    prepare,
};

struct View<'a> {
    ground: &'a Ground,
    pids: Vec<u32>,
    port: u16,
    _hers: Vec<Ours>,
}

/// Programs that root's processes might start; the attacker mounts other programs over them.
const STARTED: [&str; 6] =
    ["/bin/sh", "/usr/bin/env", "/usr/bin/systemctl", "/usr/sbin/nft", "/usr/bin/id", "/usr/bin/getent"];

impl Attack for View<'_> {
    fn round(&mut self, coin: &mut Coin) -> Result<Ran> {
        let ground = self.ground;
        let pid = any(coin, &self.pids).to_string();
        let url = format!("redis://x:y@127.0.0.1:{}", self.port);
        let file = ground.hers().join("view").join(FILE).display().to_string();
        let socket = ground.hers().join("view.sock").display().to_string();
        let words: Vec<&str> = match coin.number() % 6 {
            0 => vec!["check", &url, "--pid", &pid],
            1 => vec!["check", &url, "--pid", &pid, "--socket", &socket],
            2 => vec!["check", "--pid", &pid],
            3 => vec!["check", &file, "--pid", &pid],
            4 => vec!["switch", &file, "--as", "sidekiq", "--pid", &pid, "--dry-run"],
            _ => vec!["find", "--once", "-q"],
        };
        ground.looptax(words).end()
    }
}

fn prepare(ground: &Ground) -> Result<Readiness<'_>> {
    let folder = ground.folder_of_hers("view")?;
    let etc = ground.folder_of_hers("etc")?;
    let library = ground.program("libmarker.so").display().to_string();
    for (name, text) in [
        ("ld.so.preload", &*format!("{library}\n")),
        ("nsswitch.conf", "passwd: compat\ngroup: compat\nhosts: compat\n"),
        ("passwd", "+\nroot:x:0:0::/:/bin/sh\n"),
        ("group", "+\n"),
        ("hosts", "127.0.0.1 localhost\n"),
    ] {
        ground.file_of_hers(&etc.join(name), text.as_bytes(), 0o644)?;
    }
    let port = std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let env = format!("REDIS_URL=redis://x:y@127.0.0.1:{port}/3\n");
    write(&folder.join(FILE), env.as_bytes(), 0o644)?;
    ground.give(&folder.join(FILE))?;
    let marker = ground.program("marker").display().to_string();
    let mut mounts: Vec<String> =
        STARTED.iter().filter(|it| Path::new(it).exists()).map(|it| format!("mount --bind {marker} {it}")).collect();
    mounts.extend(libraries().iter().map(|it| format!("mount --bind {library} {}", it.display())));
    mounts.push(format!("mount --rbind {} /etc", etc.display()));
    let mounts = mounts.join("; ");
    let socket = ground.hers().join("view.sock");
    let server = ground.program(SERVERS[0]).display().to_string();
    // The program that starts after the mounts is not one of the mounted programs, but it has the attacker's preloaded
    // library.
    let script = format!(
        "cd {}; mount --make-rprivate /; {mounts}; exec {server} serve {port} {}",
        folder.display(),
        socket.display()
    );
    let mut command = ground.her("unshare");
    command.args(["--user", "--map-root-user", "--mount", "/bin/bash", "-c", &script]);
    let own_mounts = Ours::start(&mut command)?;
    if !super::version::comes(&socket) {
        let why = "she may make no namespaces of users and mounts here";
        return Ok(Readiness::Skipped(why.to_owned()));
    }
    let mut pids = vec![own_mounts.0.id()];
    let mut hers = vec![own_mounts];
    // A process with another root folder, which contains only the attacker's files.
    let jail = jail(ground, &etc)?;
    let mut command = ground.her("unshare");
    command.args(["--user", "--map-root-user", "--mount", "chroot"]);
    command.arg(&jail).args(["/server", "serve", "0", "/jail.sock"]);
    let jailed = Ours::start(&mut command)?;
    if super::version::comes(&jail.join("jail.sock")) {
        pids.push(jailed.0.id());
        hers.push(jailed);
    }
    Readiness::ready(View { ground, pids, port, _hers: hers })
}

/// Makes a folder that becomes the root of a process: with the libraries of the programs, and with the attacker's
/// `/etc` and `/bin/sh`.
fn jail(ground: &Ground, etc: &Path) -> Result<PathBuf> {
    let jail = ground.folder_of_hers("jail")?;
    for name in ["bin", "etc", "tmp", "proc"] {
        fs::create_dir(jail.join(name))?;
    }
    for entry in fs::read_dir(etc)? {
        let entry = entry?;
        fs::copy(entry.path(), jail.join("etc").join(entry.file_name()))?;
    }
    fs::copy(ground.program("stand-in"), jail.join("server"))?;
    fs::copy(ground.program("marker"), jail.join("bin/sh"))?;
    // The folder has the same libraries at the same paths, so that the program can start.
    let listed = std::process::Command::new("ldd").arg(jail.join("server")).output()?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    for word in listed.split_whitespace().filter(|it| it.starts_with('/')) {
        let place = jail.join(word.trim_start_matches('/'));
        fs::create_dir_all(place.parent().unwrap_or(&place))?;
        fs::copy(word, place)?;
    }
    ground.give_all(&jail)?;
    Ok(jail)
}

/// Returns the libraries that the C library loads when it looks up names.
fn libraries() -> Vec<PathBuf> {
    let listed = std::process::Command::new("ldconfig").arg("-p").output();
    let listed = listed.map(|it| String::from_utf8_lossy(&it.stdout).into_owned());
    let listed = listed.unwrap_or_default();
    let places = listed.split_whitespace().filter(|it| it.starts_with('/'));
    let is_of_names = |it: &&str| it.contains("/libnss_");
    places.filter(is_of_names).map(PathBuf::from).collect()
}
