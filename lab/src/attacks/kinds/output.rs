//! Files that root has written into a folder of hers, or one that all may write to.

use anyhow::Result;

use super::super::ground::Ground;
use super::super::runs::Ran;
use super::{Attack, Kind, Readiness};
use crate::coin::Coin;
use crate::servers::Ours;

pub(super) const OPENMETRICS: Kind = Kind {
    name: "openmetrics",
    about: "`find --openmetrics` into her folder, where a link, a pipe or a loop has the file's name",
    share: 12,
    prepare: |ground| Readiness::ready(OpenMetrics { ground }),
};

struct OpenMetrics<'a> {
    ground: &'a Ground,
}

impl Attack for OpenMetrics<'_> {
    fn round(&mut self, coin: &mut Coin) -> Result<Ran> {
        let ground = self.ground;
        let folder = ground.folder_of_hers("metrics")?;
        let file = folder.join("looptax-find.prom");
        let _beside = trap(ground, coin, &file)?;
        let words = ["find", "--once", "-q", "--openmetrics"].map(Into::into);
        ground
            .looptax(words.into_iter().chain([file.into_os_string()]))
            .end()
    }
}

/// A trap at the place of a file that is to be written; what goes on beside it ends when it is dropped.
pub(super) fn trap(ground: &Ground, coin: &mut Coin, file: &std::path::Path) -> Result<Vec<Ours>> {
    let victim = super::scene::any_victim(ground, coin);
    let folder = file.parent().unwrap_or(file);
    let beside = folder.join("beside");
    let mut running = Vec::new();
    match coin.number() % 6 {
        0 => ground.link_of_hers(file, &victim)?,
        1 => ground.link_of_hers(file, &ground.victim("cron.d/evil"))?,
        2 => {
            ground.link_of_hers(&beside, &victim)?;
            ground.file_of_hers(file, b"old\n", 0o644)?;
            running.push(ground.exchange(file, &beside)?);
        }
        3 => running.push(ground.snatch(folder, &victim)?),
        4 => {
            // A folder by way of a link, which changes.
            let inner = folder.join("inner");
            std::fs::create_dir_all(&inner)?;
            ground.give(&inner)?;
            ground.link_of_hers(&beside, &ground.victim("cron.d"))?;
            running.push(ground.exchange(&inner, &beside)?);
        }
        _ => {
            ground.link_of_hers(&folder.join("second"), &victim)?;
            ground.link_of_hers(file, &folder.join("second"))?;
        }
    }
    Ok(running)
}
