//! Files that root writes into a folder of the attacker, or into a folder that every user may write to.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use super::super::ground::{Ground, clear};
use super::super::runs::{Ran, Run};
use super::kind::{Attack, Kind, Readiness, any};
use super::scene::any_victim;
use crate::coin::Coin;
use crate::servers::Ours;
use crate::workspace::run_to_success;

pub(super) const OPENMETRICS: Kind = Kind {
    name: "openmetrics",
    about: "`find --openmetrics` into the attacker's folder, where a link, a pipe or a loop has the file's name",
    share: 60,
    prepare: |ground| Readiness::ready(OpenMetrics { ground }),
};

pub(super) const OUTPUTS: Kind = Kind {
    name: "outputs",
    about: "every option that names a file, in the attacker's folder and in a folder for all users, with the same traps",
    share: 120,
    prepare: outputs,
};

pub(super) const COMPARE: Kind = Kind {
    name: "compare",
    about: "all files of a whole `compare`, with the same traps, which last as long as the run",
    share: 4,
    prepare: |ground| Readiness::ready(Compare { ground }),
};

struct OpenMetrics<'a> {
    ground: &'a Ground,
}

struct Outputs<'a> {
    ground: &'a Ground,
    record: PathBuf,
}

struct Compare<'a> {
    ground: &'a Ground,
}

/// The commands that write files: `FILE` is replaced by the path of the file, `RECORD` by one of root's records.
const COMMANDS: [&str; 13] = [
    "find --once -q --openmetrics FILE",
    "find --once --json=FILE",
    "show RECORD --json=FILE",
    "diff RECORD RECORD --json=FILE",
    "show RECORD --html FILE",
    "show RECORD RECORD --html FILE",
    "show --json=FILE",
    "switch --list --json=FILE",
    "check redis://127.0.0.1:9 --json=FILE",
    "dsn redis://127.0.0.1:9 --json=FILE",
    "fleet send postgres://x@127.0.0.1:9/x --spool OURS/spool --json=FILE",
    "fleet send postgres://x@127.0.0.1:9/x --spool FILE",
    "reproduce moonen --dry-run -o FILE --json=FILE.json",
];

impl Attack for OpenMetrics<'_> {
    fn round(&mut self, coin: &mut Coin) -> Result<Ran> {
        let trap = Trap::set(self.ground, coin, "looptax-find.prom")?;
        let file = trap.file.display().to_string();
        let words = ["find", "--once", "-q", "--openmetrics", &file];
        self.ground.looptax(words).within(&trap.folder).end()
    }
}

impl Attack for Outputs<'_> {
    fn round(&mut self, coin: &mut Coin) -> Result<Ran> {
        let trap = Trap::set(self.ground, coin, "out")?;
        let line = any(coin, &COMMANDS);
        let words = line.split(' ').map(|word| {
            word.replace("FILE", &trap.file.to_string_lossy())
                .replace("RECORD", &self.record.to_string_lossy())
                .replace("OURS", &self.ground.at("ours").to_string_lossy())
        });
        self.ground.looptax(words).end()
    }
}

impl Attack for Compare<'_> {
    fn round(&mut self, coin: &mut Coin) -> Result<Ran> {
        let trap = Trap::set(self.ground, coin, "out")?;
        let mut words = quick_compare();
        words.extend(["-o".to_owned(), trap.file.display().to_string()]);
        // Each option gets its own file, because looptax refuses two options with the same file.
        for (option, victim) in [
            ("html", "value"),
            ("md", "my.cnf"),
            ("csv", "pg_hba.conf"),
            ("openmetrics", "lines.json"),
            ("benchmark-json", "PG_VERSION"),
            ("json", "owned"),
        ] {
            let place = trap.folder.join(option);
            let victim = self.ground.victim(victim);
            self.ground.link_of_hers(&place, &victim)?;
            words.push(format!("--{option}={}", place.display()));
        }
        self.ground.looptax(words).end()
    }
}

fn quick_compare() -> Vec<String> {
    let line = "compare echo --arms unix,tcp -c 1 --placement same --fixed 6 --warm-up 0s --slice-ms 10";
    line.split(' ').map(str::to_owned).collect()
}

pub(super) fn record(ground: &Ground) -> Result<PathBuf> {
    let record = ground.at("ours").join("record.json");
    let mut words = quick_compare();
    words.extend(["-o".to_owned(), record.display().to_string()]);
    let ran = Run::end(ground.looptax(words))?;
    ensure!(record.is_file(), "no record: {}", ran.said);
    Ok(record)
}

fn outputs(ground: &Ground) -> Result<Readiness<'_>> {
    let record = record(ground)?;
    Readiness::ready(Outputs { ground, record })
}

/// A trap at the path of a file that root writes; the process that changes the path ends when this value is dropped.
pub(super) struct Trap {
    pub(super) folder: PathBuf,
    pub(super) file: PathBuf,
    _running: Vec<Ours>,
}

impl Trap {
    /// Sets a random trap, in the attacker's folder or in the folder for all users.
    pub(super) fn set(ground: &Ground, coin: &mut Coin, name: &str) -> Result<Self> {
        let folder = if coin.flip() {
            ground.folder_of_hers("trap")?
        } else {
            let folder = ground.at("tmp");
            for entry in fs::read_dir(&folder)? {
                clear(&entry?.path())?;
            }
            folder
        };
        let file = folder.join(name);
        let victim = any_victim(ground, coin);
        let (file, running) = lay(ground, coin, &file, &victim)?;
        Ok(Self { folder, file, _running: running })
    }
}

fn lay(ground: &Ground, coin: &mut Coin, file: &Path, victim: &Path) -> Result<(PathBuf, Vec<Ours>)> {
    let folder = file.parent().unwrap_or(file);
    let beside = folder.join("beside");
    let mut running = Vec::new();
    match coin.number() % 9 {
        0 => ground.link_of_hers(file, victim)?,
        1 => ground.link_of_hers(file, &ground.victim("cron.d/evil"))?,
        2 => {
            ground.link_of_hers(&beside, victim)?;
            ground.file_of_hers(file, b"old\n", 0o644)?;
            running.push(ground.exchange(file, &beside)?);
        }
        3 => running.push(ground.snatch(folder, victim)?),
        4 => {
            // A folder that is reached by a link, and the link changes.
            let inner = folder.join("inner");
            fs::create_dir_all(&inner)?;
            ground.give(&inner)?;
            ground.link_of_hers(&beside, &ground.victim("cron.d"))?;
            running.push(ground.exchange(&inner, &beside)?);
            return Ok((inner.join(file.file_name().unwrap_or_default()), running));
        }
        5 => {
            ground.link_of_hers(&folder.join("second"), victim)?;
            ground.link_of_hers(file, &folder.join("second"))?;
        }
        6 => {
            // A pipe that the attacker reads.
            run_to_success(ground.her("mkfifo").arg(file))?;
            let mut drain = ground.part(&["drain"]);
            running.push(Ours::start(drain.arg(file).arg(ground.hers().join("drained")))?);
        }
        7 => {
            ground.link_of_hers(&folder.join("way"), &ground.at("victims"))?;
            let name = victim.strip_prefix(ground.at("victims")).unwrap_or(victim);
            return Ok((folder.join("way").join(name), running));
        }
        _ => {
            // A file of the attacker that is open for writing to all users.
            ground.file_of_hers(file, b"old\n", 0o666)?;
            running.push(ground.snatch(folder, victim)?);
        }
    }
    Ok((file.to_owned(), running))
}
