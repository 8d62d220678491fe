//! `switch --finish`, and the automatic return to the old file after a failed switch, while the attacker puts other
//! files or links under the file's name.

use anyhow::Result;

use super::super::ground::Ground;
use super::super::runs::Ran;
use super::kind::{Attack, Kind, Readiness, any};
use super::scene::{Shop, Trick, any_victim};
use crate::coin::Coin;

pub(super) const FINISH: Kind = Kind {
    name: "finish",
    about: "`switch --finish` after an interrupted switch, with the tricks of the undo attack",
    share: 50,
    prepare: |ground| prepare(ground, Finish),
};

pub(super) const PUT_BACK: Kind = Kind {
    name: "put-back",
    about: "a switch whose reload fails, while the attacker replaces the written files by links",
    share: 8,
    prepare: |ground| prepare(ground, PutBack),
};

struct Finish<'a>(Shop<'a>);
struct PutBack<'a>(Shop<'a>);

fn prepare<'a, A: Attack + 'a>(ground: &'a Ground, made: fn(Shop<'a>) -> A) -> Result<Readiness<'a>> {
    match Shop::open(ground)? {
        None => Ok(Readiness::Skipped("Redis is not installed".to_owned())),
        Some(shop) => Readiness::ready(made(shop)),
    }
}

impl Attack for Finish<'_> {
    fn round(&mut self, coin: &mut Coin) -> Result<Ran> {
        let Self(shop) = self;
        shop.lay_out_new()?;
        shop.restore_interrupted()?;
        let victim = any_victim(shop.ground, coin);
        let trick = any(coin, &Trick::ALL);
        let run = shop.ground.looptax(["switch", "--finish", &shop.id]);
        shop.against(trick, &victim, run)
    }
}

impl Attack for PutBack<'_> {
    fn round(&mut self, coin: &mut Coin) -> Result<Ran> {
        let Self(shop) = self;
        shop.lay_out_new()?;
        let victim = any_victim(shop.ground, coin);
        // The attacker's trick takes effect at once, or while root's reload command runs. The command is root's own and
        // waits for the attacker.
        let late = any(coin, &[Trick::Link, Trick::FolderLink, Trick::Dangling]);
        let trick = any(coin, &[None, None, Some(Trick::Snatch), Some(Trick::FileLoop), Some(Trick::FolderLoop)]);
        if let Some(trick) = trick {
            let run = shop.switch(&["--within", "1s", "--reload", "false"]);
            return shop.against(trick, &victim, run);
        }
        let file = shop.app.join(super::scene::FILE).display().to_string();
        let victim = match late {
            Trick::Dangling => shop.ground.victim("cron.d/evil"),
            _ => victim,
        };
        let (app, victims) = (shop.app.display(), shop.ground.at("victims"));
        let hers = match late {
            Trick::FolderLink => format!("rm -rf {app}-gone; mv {app} {app}-gone && ln -s {} {app}", victims.display()),
            _ => format!("rm -f {file} && ln -s {} {file}", victim.display()),
        };
        // The reload command and its wait are root's; the file that it waits for is the attacker's.
        let mut command = shop.ground.her("sh");
        let wait =
            format!("until grep -q unix: {file}; do :; done; {hers}; touch {}/ready", shop.ground.hers().display());
        super::super::ground::clear(&shop.ground.hers().join("ready"))?;
        let beside = crate::servers::Ours::start(command.args(["-c", &wait]))?;
        let reload = format!("until test -e {}/ready; do :; done; false", shop.ground.hers().display());
        let ran = shop.switch(&["--within", "1s", "--reload", &reload]).end()?;
        drop(beside);
        Ok(ran)
    }
}
