//! `pg_hba.conf` of the attacker's own PostgreSQL. Root adds a line to this file (`--fix-hba`) and removes it again.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::super::ground::{Ground, clear};
use super::super::runs::{Ran, Run};
use super::kind::{Attack, Kind, Readiness, any};
use super::scene::{FILE, copy};
use super::version::comes;
use crate::coin::Coin;
use crate::servers::Ours;

pub(super) const HBA: Kind = Kind {
    name: "hba",
    about: "`switch --fix-hba` and its undo on the attacker's PostgreSQL, whose files the attacker replaces by links",
    share: 20,
    prepare,
};

const RULES: &str = "local all all reject\nhost all all 127.0.0.1/32 trust\n";
/// Id of a user in the list of users: PostgreSQL's `initdb` asks for the user's name.
const NOBODY: &str = "65534";

struct Rules<'a> {
    ground: &'a Ground,
    data: PathBuf,
    app: PathBuf,
    /// The file after root has added the line. `id` is the name of the switch, and `template` is root's data folder
    /// after the switch.
    fixed: Vec<u8>,
    id: String,
    template: PathBuf,
    _server: Ours,
}

fn prepare(ground: &Ground) -> Result<Readiness<'_>> {
    let Some(bin) = binaries() else {
        return Ok(Readiness::Skipped("PostgreSQL is not installed".to_owned()));
    };
    let folder = ground.folder_of_hers("postgres")?;
    let data = folder.join("data");
    let mut command = ground.her("unshare");
    command.args(["--user", "--map-user", NOBODY]);
    command.arg(bin.join("initdb")).args(["-U", "app", "-A", "trust", "--no-sync", "-D"]);
    let made = command.arg(&data).env("LC_ALL", "C.UTF-8").status()?;
    if !made.success() {
        let why = "she may make no database here, for want of a namespace of users";
        return Ok(Readiness::Skipped(why.to_owned()));
    }
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port().to_string();
    ground.file_of_hers(&data.join("pg_hba.conf"), RULES.as_bytes(), 0o600)?;
    let mut command = ground.her(bin.join("postgres"));
    command.arg("-D").arg(&data).args(["-p", &port, "-c", "fsync=off"]);
    command.arg("-c").arg(format!("unix_socket_directories={}", folder.display()));
    let server = Ours::start(&mut command)?;
    if !comes(&folder.join(format!(".s.PGSQL.{port}"))) {
        return Ok(Readiness::Skipped("her PostgreSQL does not start".to_owned()));
    }
    let app = ground.folder_of_hers("hba-app")?.join(FILE);
    let text = format!("DATABASE_URL=postgres://app:x@127.0.0.1:{port}/postgres\n");
    ground.file_of_hers(&app, text.as_bytes(), 0o644)?;
    let mut rules = Rules {
        ground,
        data,
        app,
        fixed: Vec::new(),
        id: String::new(),
        template: ground.at("ours").join("template-hba"),
        _server: server,
    };
    rules.begin()?;
    Readiness::ready(rules)
}

impl Rules<'_> {
    fn begin(&mut self) -> Result<()> {
        let ground = self.ground;
        clear(&ground.data())?;
        let ran = self.fix().end()?;
        let switches = ground.data().join("looptax/switches");
        let kept = fs::read_dir(&switches);
        let kept = kept.with_context(|| format!("no line was written: {}", ran.said))?;
        let mut names = kept.flatten().filter(|it| it.path().is_dir()).map(|it| it.file_name());
        let name = names.next().with_context(|| format!("no line was written: {}", ran.said))?;
        self.id = name.to_string_lossy().into_owned();
        self.fixed = fs::read(self.data.join("pg_hba.conf"))?;
        copy(&ground.data(), &self.template)
    }

    fn fix(&self) -> Run<'_> {
        let app = self.app.display().to_string();
        self.ground.looptax([
            "switch",
            &app,
            "--as",
            "rails",
            "--fix-hba",
            "--yes",
            "--no-times",
            "--trust-peer",
            "--within",
            "1s",
        ])
    }

    /// Restores the server's folder, whatever has happened to it.
    fn lay_out(&self, text: &[u8]) -> Result<PathBuf> {
        let aside = self.data.with_file_name("aside");
        if fs::symlink_metadata(&self.data).is_ok_and(|it| it.is_symlink()) {
            clear(&self.data)?;
        }
        if aside.join("PG_VERSION").is_file() && !self.data.join("PG_VERSION").is_file() {
            fs::rename(&aside, &self.data)?;
        }
        clear(&aside)?;
        clear(&self.data.join("beside"))?;
        let file = self.data.join("pg_hba.conf");
        self.ground.file_of_hers(&file, text, 0o600)?;
        Ok(file)
    }
}

impl Attack for Rules<'_> {
    fn round(&mut self, coin: &mut Coin) -> Result<Ran> {
        let ground = self.ground;
        let is_undone = !coin.number().is_multiple_of(4);
        let file = self.lay_out(if is_undone { &self.fixed } else { RULES.as_bytes() })?;
        copy(&self.template, &ground.data())?;
        let names = ["pg_hba.conf", "shadow", "motd", "cron.d/daily"];
        let victim = ground.victim(any(coin, &names));
        let beside = self.data.join("beside");
        let aside = self.data.with_file_name("aside");
        let _running = match coin.number() % 5 {
            0 => {
                ground.link_of_hers(&file, &victim)?;
                None
            }
            1 => {
                ground.link_of_hers(&beside, &victim)?;
                Some(ground.exchange(&file, &beside)?)
            }
            2 => Some(ground.snatch(&self.data, &victim)?),
            3 => {
                ground.link_of_hers(&aside, &ground.at("victims"))?;
                Some(ground.exchange(&self.data, &aside)?)
            }
            _ => {
                fs::rename(&self.data, &aside)?;
                ground.link_of_hers(&self.data, &ground.at("victims"))?;
                None
            }
        };
        if is_undone {
            ground.looptax(["switch", "--undo", &self.id, "--yes"]).end()
        } else {
            clear(&ground.data())?;
            self.fix().end()
        }
    }
}

/// Returns the folder of the newest PostgreSQL's programs.
fn binaries() -> Option<PathBuf> {
    let versions = fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    let folders = versions.map(|it| it.path().join("bin"));
    let is_whole = |it: &PathBuf| ["initdb", "postgres"].iter().all(|name| it.join(name).is_file());
    folders.filter(is_whole).max().filter(|it| Path::new(it).is_absolute())
}
