//! A kind of attack: its recipe, and an attack that is prepared.

use anyhow::Result;

use super::super::ground::Ground;
use super::super::runs::Ran;
use crate::coin::Coin;

pub(in crate::attacks) trait Attack {
    /// Runs looptax once during the attack.
    fn round(&mut self, coin: &mut Coin) -> Result<Ran>;
}

pub(in crate::attacks) enum Readiness<'a> {
    Ready(Box<dyn Attack + 'a>),
    /// The attack cannot run on this machine; contains the reason.
    Skipped(String),
}

pub(in crate::attacks) struct Kind {
    pub(in crate::attacks) name: &'static str,
    pub(in crate::attacks) about: &'static str,
    /// The kind's share of all rounds, relative to the other kinds: cheap kinds have many rounds.
    pub(in crate::attacks) share: u32,
    pub(in crate::attacks) prepare: for<'a> fn(&'a Ground) -> Result<Readiness<'a>>,
}

impl<'a> Readiness<'a> {
    #[allow(clippy::unnecessary_wraps, reason = "the end of every preparation, which may fail")]
    pub(super) fn ready(attack: impl Attack + 'a) -> Result<Self> {
        Ok(Self::Ready(Box::new(attack)))
    }
}

pub(super) fn any<T: Copy>(coin: &mut Coin, of: &[T]) -> T {
    of[(coin.number() % of.len() as u64) as usize]
}
