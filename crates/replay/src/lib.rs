//! Published comparisons again on this machine: what was claimed, what is measured for it, how the two agree.
//!
//! A part is one publication: a file in `data/` with its claims, its [`steps`](Part::steps), which are comparisons that
//! `compare` makes, and its rows, in which a claim stands beside what they gave. What data cannot say has a module
//! each. Nothing is measured here but by `runner`, which goes `compare`'s own way. Called by `commands::replay`.

mod dimitri;
mod kawin;
mod moonen;
mod pages;
mod percona;
mod plan;
mod programs;
mod publication;
mod reading;
mod row;
mod runner;
mod step;
mod wordpress;

use std::time::Duration;

use looptax_record::ReplayPart;

pub use plan::text as plan;
use publication::Publication;
use reading::Reading;
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
        &Publication::of(self).name
    }

    /// What is measured for it.
    pub fn steps(self, amounts: &Amounts) -> Vec<Step> {
        let plans = Publication::of(self).steps.iter();
        plans.map(|plan| Step::new(plan, amounts)).collect()
    }

    /// What is done beside the steps, and how long that takes.
    fn beside(self, amounts: &Amounts) -> Option<(&'static str, Duration)> {
        match self {
            Self::Dimitri => dimitri::beside(Publication::of(self), amounts),
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
        let mut part = Runner::begin(self, amounts);
        let publication = Publication::of(self);
        let steps = self.steps(amounts);
        let readings = measured(&mut part, publication, &steps, runner);
        match self {
            Self::Percona => percona::add(&mut part, publication, &readings, amounts),
            Self::Dimitri => {
                if let Some(reading) = &readings[0] {
                    let sweep = (&steps[0], reading);
                    dimitri::add(&mut part, publication, sweep, amounts, runner);
                }
            }
            Self::Moonen => moonen::add(&mut part, publication, &readings, amounts, runner),
            Self::WordPress => wordpress::add(&mut part, publication, amounts, runner),
            Self::Kawin => kawin::add(&mut part, publication, &readings),
        }
        part.smaller.extend(publication.smaller.iter().cloned());
        let few = part.rows.iter().filter(|row| !row::has_interval(row));
        let few = few.map(|row| format!("{}: no interval", row.what));
        part.missing.extend(few.collect::<Vec<_>>());
        part
    }
}

/// What the steps left, each with its rows.
fn measured(
    part: &mut ReplayPart,
    publication: &Publication,
    steps: &[Step],
    runner: &mut Runner<'_>,
) -> Vec<Option<Reading>> {
    let mut readings = Vec::new();
    for (idx, (plan, step)) in publication.steps.iter().zip(steps).enumerate() {
        let missing = plan.missing();
        let reading = match missing {
            Some(_) => None,
            None => runner.measure(part, step, idx),
        };
        part.missing.extend(missing);
        if let Some(reading) = &reading {
            let rows = publication.rows.iter().filter(|row| row.step == plan.name);
            let rows = rows.filter_map(|it| row::row(reading, it, &plan.reasons));
            part.rows.extend(rows);
        }
        readings.push(reading);
    }
    readings
}
