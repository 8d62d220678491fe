//! Published comparisons again on this machine: what was claimed, what is measured for it, how the two agree.
//!
//! A part is one publication, a file each: its [`steps`](Part::steps), which are comparisons that `compare` makes,
//! and its rows, in which a claim stands beside what they gave. Nothing is measured here but by `runner`, which
//! goes `compare`'s own way. Called by `commands::replay`.

mod claim;
mod dimitri;
mod effect;
mod kawin;
mod moonen;
mod pages;
mod percona;
mod plan;
mod programs;
mod published;
mod reading;
mod row;
mod runner;
mod step;
mod wordpress;

use std::time::Duration;

use looptax_record::ReplayPart;

pub use plan::text as plan;
use published::{DIMITRI, KAWIN, MOONEN, PERCONA, Publication, WORDPRESS};
pub use runner::{Onlooker, Runner, Surroundings};
pub use step::{Amounts, Step};

/// One publication that can be measured again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// Zaitsev, 2020.
    Percona,
    /// Kravtchuk, 2018.
    Dimitri,
    /// Moonen, 2008.
    Moonen,
    /// Pages of WordPress, 2019.
    WordPress,
    /// Viriyaprasopsook, 2023. The last one: it moves the process into network namespaces of its own.
    Kawin,
}

impl Part {
    /// In the order of measuring.
    pub const ALL: [Self; 5] = [
        Self::Percona,
        Self::Dimitri,
        Self::Moonen,
        Self::WordPress,
        Self::Kawin,
    ];

    /// These, each once, in the order of measuring.
    pub fn in_order(asked: &[Self]) -> Vec<Self> {
        Self::ALL
            .into_iter()
            .filter(|it| asked.contains(it))
            .collect()
    }

    /// The word that asks for it.
    pub fn name(self) -> &'static str {
        self.publication().name
    }

    /// What was published, with its claims.
    pub fn publication(self) -> &'static Publication {
        match self {
            Self::Percona => &PERCONA,
            Self::Dimitri => &DIMITRI,
            Self::Moonen => &MOONEN,
            Self::WordPress => &WORDPRESS,
            Self::Kawin => &KAWIN,
        }
    }

    /// What is measured for it.
    pub fn steps(self, amounts: &Amounts) -> Vec<Step> {
        match self {
            Self::Percona => percona::steps(amounts),
            Self::Dimitri => dimitri::steps(amounts),
            Self::Moonen => moonen::steps(amounts),
            // A page is no comparison of `compare`.
            Self::WordPress => Vec::new(),
            Self::Kawin => kawin::steps(amounts),
        }
    }

    /// What is done beside the steps, and how long that takes.
    fn beside(self, amounts: &Amounts) -> Option<(&'static str, Duration)> {
        match self {
            Self::Dimitri => dimitri::beside(amounts),
            Self::Moonen => Some(moonen::BESIDE),
            Self::WordPress => Some(wordpress::beside(amounts)),
            Self::Percona | Self::Kawin => None,
        }
    }

    /// Whether it needs network namespaces of looptax's own.
    pub fn needs_network(self) -> bool {
        self == Self::Kawin
    }

    /// Measures it, as far as it can be measured here.
    pub fn run(self, amounts: &Amounts, runner: &mut Runner<'_>) -> ReplayPart {
        let part = Runner::begin(self, amounts);
        let mut part = match self {
            Self::Percona => percona::run(part, amounts, runner),
            Self::Dimitri => dimitri::run(part, amounts, runner),
            Self::Moonen => moonen::run(part, amounts, runner),
            Self::WordPress => wordpress::run(part, amounts, runner),
            Self::Kawin => kawin::run(part, amounts, runner),
        };
        let few = part.rows.iter().filter(|row| !row::has_interval(row));
        let few = few.map(|row| format!("{}: no interval", row.what));
        part.missing.extend(few.collect::<Vec<_>>());
        part
    }
}
