//! A spool, a stop file, reports to be forwarded, and files with secrets, all in folders of the attacker.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::super::ground::Ground;
use super::super::runs::Ran;
use super::kind::{Attack, Kind, Readiness, any};
use super::scene::any_victim;
use crate::coin::Coin;
use crate::servers::Ours;

pub(super) const SPOOL: Kind = Kind {
    name: "spool",
    about: "`fleet send` with the attacker's spool, stop file, reports and keys: links, loops, replaced names",
    share: 80,
    prepare: |ground| Readiness::ready(Spool { ground }),
};

struct Spool<'a> {
    ground: &'a Ground,
}

impl Attack for Spool<'_> {
    fn round(&mut self, coin: &mut Coin) -> Result<Ran> {
        let ground = self.ground;
        let spool = ground.folder_of_hers("spool")?;
        let victim = any_victim(ground, coin);
        let _beside = self.fill(coin, &spool, &victim)?;
        let key = spool.with_file_name("key");
        ground.link_of_hers(&key, &ground.victim("shadow"))?;
        let shown = |path: &Path| path.display().to_string();
        let mut words = vec!["fleet".to_owned(), "send".to_owned(), "postgres://x@127.0.0.1:9/x".to_owned()];
        match coin.number() % 4 {
            0 => words.extend([
                "--spool".to_owned(),
                shown(&spool),
                "--anonymous".to_owned(),
                "--key-file".to_owned(),
                shown(&key),
            ]),
            1 => words.extend(["--from".to_owned(), shown(&spool), "--dry-run".to_owned()]),
            2 => words.extend([
                "--spool".to_owned(),
                shown(&spool),
                "--stop-file".to_owned(),
                shown(&spool.join("stop/x")),
            ]),
            _ => words.extend(["--spool".to_owned(), shown(&spool)]),
        }
        ground.looptax(words).within(&spool).end()
    }
}

impl Spool<'_> {
    fn fill(&self, coin: &mut Coin, spool: &Path, victim: &Path) -> Result<Option<Ours>> {
        let ground = self.ground;
        let report = spool.join("0000000000000000.jsonl");
        let told = spool.join("told-records");
        let new = ground.victim("cron.d/evil");
        match coin.number() % 6 {
            0 => {
                ground.link_of_hers(&report, &ground.victim("lines.json"))?;
                ground.link_of_hers(&told, any(coin, &[victim, &*new]))?;
            }
            1 => return ground.snatch(spool, victim).map(Some),
            2 => {
                fs::remove_dir(spool)?;
                ground.link_of_hers(spool, &ground.victim("cron.d"))?;
            }
            3 => {
                let beside = spool.with_file_name("beside-spool");
                ground.link_of_hers(&beside, &ground.victim("cron.d"))?;
                return ground.exchange(spool, &beside).map(Some);
            }
            4 => {
                // A report that is to be renamed to another extension; a folder and a link already have the new name.
                ground.file_of_hers(&report, b"no report\n", 0o644)?;
                ground.link_of_hers(&report.with_extension("broken"), victim)?;
                ground.link_of_hers(&spool.join("stop"), &ground.victim("cron.d"))?;
            }
            _ => {
                ground.file_of_hers(&report, b"no report\n", 0o644)?;
                let beside = spool.join("beside");
                ground.link_of_hers(&beside, victim)?;
                return ground.exchange(&report, &beside).map(Some);
            }
        }
        Ok(None)
    }
}
