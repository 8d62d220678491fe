//! A home folder of the attacker that root's looptax uses (`sudo -E`): the attacker wrote the history, records, spool
//! and state in it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::Result;
use looptax_model::record::PastRun;
use looptax_store::History;

use super::super::ground::{Ground, clear};
use super::super::runs::Ran;
use super::kind::{Attack, Kind, Readiness, any};
use super::output::record;
use super::scene::any_victim;
use crate::coin::Coin;

pub(super) const HOME: Kind = Kind {
    name: "home",
    about: "HOME and XDG folders of the attacker: a history with root's paths; links in place of files, folders and journals",
    share: 120,
    prepare,
};

struct Home<'a> {
    ground: &'a Ground,
    run: PastRun,
}

/// The commands that are run; `HERS` is replaced by the attacker's folder.
const COMMANDS: [&str; 14] = [
    "show",
    "show --forget last",
    "show --forget -- last",
    "show last --verbose",
    "show --json=HERS/out.json",
    "show last",
    "show last --html HERS/out.html",
    "diff last last",
    "gate last",
    "find --once -q",
    "switch --list",
    "switch --undo --yes",
    "fleet send postgres://x@127.0.0.1:9/x --records all",
    "compare echo --dry-run",
];

fn prepare(ground: &Ground) -> Result<Readiness<'_>> {
    let record = record(ground)?;
    let read = looptax_store::load(&record)?;
    let run = PastRun::from_record(&read, None);
    Readiness::ready(Home { ground, run })
}

impl Attack for Home<'_> {
    fn round(&mut self, coin: &mut Coin) -> Result<Ran> {
        let ground = self.ground;
        let home = ground.folder_of_hers("home")?;
        let data = home.join(".local/share/looptax");
        fs::create_dir_all(&data)?;
        let victim = any_victim(ground, coin);
        self.forge(coin, &data, &victim)?;
        ground.give_all(&home)?;
        let words = any(coin, &COMMANDS).replace("HERS", &home.to_string_lossy());
        let words = words.split(' ').filter(|it| *it != "--").map(str::to_owned);
        let state = home.join(".local/state");
        let run = ground.looptax(words).within(&home).env("HOME", &home);
        // If the variable is empty, looptax finds the folder by HOME.
        let data_home = if coin.flip() { home.join(".local/share") } else { PathBuf::new() };
        let run = run.env("XDG_DATA_HOME", data_home);
        run.env("XDG_STATE_HOME", state).end()
    }
}

impl Home<'_> {
    fn forge(&self, coin: &mut Coin, data: &Path, victim: &Path) -> Result<()> {
        let ground = self.ground;
        let database = data.join("history.sqlite");
        let new = ground.victim("cron.d/evil");
        match coin.number() % 8 {
            0 => symlink(victim, &database)?,
            1 => symlink(&new, &database)?,
            2 => {
                // One of the folders of runs is a link, so that the record of a run is one of root's files.
                fs::create_dir_all(data.join("runs"))?;
                symlink(ground.victim("cron.d"), data.join("runs/evil"))?;
                self.remember(data, &data.join("runs/evil/record.json"))?;
            }
            3 => self.remember(data, victim)?,
            4 => {
                fs::create_dir_all(data.join("runs/x"))?;
                symlink(victim, data.join("runs/x/record.json"))?;
                self.remember(data, &data.join("runs/x/record.json"))?;
            }
            5 => {
                symlink(ground.victim("cron.d"), data.join("runs"))?;
                self.remember(data, &data.join("runs/daily/record.json"))?;
                symlink(ground.at("victims"), data.join("switches"))?;
            }
            6 => {
                // The files that SQLite looks for beside its database.
                self.remember(data, victim)?;
                let ending = any(coin, &["-journal", "-wal", "-shm"]);
                let leads_to = any(coin, &[victim, &*new]);
                symlink(leads_to, data.join(format!("history.sqlite{ending}")))?;
            }
            _ => {
                clear(data)?;
                symlink(ground.victim("cron.d"), data)?;
            }
        }
        Ok(())
    }

    fn remember(&self, data: &Path, record: &Path) -> Result<()> {
        let mut run = self.run.clone();
        run.path = Some(record.display().to_string());
        // looptax does not make a history in a folder of another user, so the history is made in one of root's folders.
        let ours = self.ground.at("ours").join("forged");
        clear(&ours)?;
        let made = ours.join("history.sqlite");
        History::open(&made)?.add(&run)?;
        fs::copy(made, data.join("history.sqlite"))?;
        Ok(())
    }
}
