//! The kinds of attacks: a file each, and the list of them.
//!
//! A kind prepares what is hers once, and plays one round at a time: what is hers is as before at its start, looptax is
//! run once as root, and the judge looks afterwards.

mod finish;
mod hba;
mod home;
mod journal;
mod names;
mod output;
mod password;
mod reading;
mod scene;
mod spool;
mod stack;
mod undo;
mod version;
mod view;

use anyhow::Result;

use super::ground::Ground;
use super::runs::Ran;
use crate::coin::Coin;

/// A kind that is prepared.
pub(super) trait Attack {
    /// One run of looptax beside the attack.
    fn round(&mut self, coin: &mut Coin) -> Result<Ran>;
}

/// What preparing comes to.
pub(super) enum Readiness<'a> {
    Ready(Box<dyn Attack + 'a>),
    /// It cannot be played here, and why.
    Skipped(String),
}

/// A kind.
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    /// How many of all rounds, against the others: cheap kinds have many.
    pub(super) share: u32,
    pub(super) prepare: for<'a> fn(&'a Ground) -> Result<Readiness<'a>>,
}

/// All of them.
pub(super) const KINDS: &[Kind] = &[
    version::LINK,
    version::FOLDER,
    undo::UNDO,
    finish::FINISH,
    finish::PUT_BACK,
    output::OPENMETRICS,
    journal::JOURNAL,
    hba::HBA,
    names::NAMES,
    view::VIEW,
    reading::READING,
    password::PASSWORD,
    output::OUTPUTS,
    output::COMPARE,
    home::HOME,
    spool::SPOOL,
    stack::GUNICORN,
    stack::TITLE,
    stack::MODULES,
];

impl<'a> Readiness<'a> {
    fn ready(attack: impl Attack + 'a) -> Result<Self> {
        Ok(Self::Ready(Box::new(attack)))
    }
}

/// One of these.
fn any<T: Copy>(coin: &mut Coin, of: &[T]) -> T {
    of[(coin.number() % of.len() as u64) as usize]
}
