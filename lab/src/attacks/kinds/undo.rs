//! `switch --undo` while another file has the name of the file that is to be restored.

use anyhow::Result;

use super::super::ground::Ground;
use super::super::runs::Ran;
use super::kind::{Attack, Kind, Readiness, any};
use super::scene::{Shop, Trick, any_victim};
use crate::coin::Coin;

pub(super) const UNDO: Kind = Kind {
    name: "undo",
    about: "`switch --undo` while links, pipes or loops have the names of the application's file and folder",
    share: 80,
    prepare,
};

struct Undo<'a>(Shop<'a>);

fn prepare(ground: &Ground) -> Result<Readiness<'_>> {
    match Shop::open(ground)? {
        None => Ok(Readiness::Skipped("Redis is not installed".to_owned())),
        Some(shop) => Readiness::ready(Undo(shop)),
    }
}

impl Attack for Undo<'_> {
    fn round(&mut self, coin: &mut Coin) -> Result<Ran> {
        let Self(shop) = self;
        shop.lay_out_switched()?;
        shop.restore()?;
        let victim = any_victim(shop.ground, coin);
        let trick = any(coin, &Trick::ALL);
        let run = shop.ground.looptax(["switch", "--undo", &shop.id, "--yes"]);
        shop.against(trick, &victim, run)
    }
}
