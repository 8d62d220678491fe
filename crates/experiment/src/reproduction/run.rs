//! Measures a part: its steps with their rows, and its work besides the steps.

use std::time::Duration;

use looptax_model::record::ReproductionPart;

use super::part::Part;
use super::publication::{Extra, Publication};
use super::reading::Reading;
use super::runner::Runner;
use super::step::{Amounts, Step};
use super::{dimitri, kawin, moonen, percona, row, storms, wordpress};

impl Part {
    /// Describes the work besides the steps, and returns its length.
    pub(crate) fn extra_work(self, amounts: &Amounts) -> Option<(&'static str, Duration)> {
        let publication = Publication::for_part(self);
        match publication.extra? {
            Extra::Sweep => Some(dimitri::extra_work(publication, amounts)),
            Extra::Writes => Some(moonen::EXTRA_WORK),
            Extra::Pages => Some(wordpress::extra_work(amounts)),
            Extra::Storms => Some(storms::extra_work(publication)),
            Extra::Dump | Extra::Ports => None,
        }
    }

    /// Measures as much of the part as is possible on this machine.
    pub fn run(self, amounts: &Amounts, runner: &mut Runner<'_>) -> ReproductionPart {
        let mut part = Runner::begin(self, amounts);
        let publication = Publication::for_part(self);
        let steps = self.steps(amounts);
        let readings = measured(&mut part, publication, &steps, runner);
        match publication.extra {
            Some(Extra::Dump) => percona::add(&mut part, publication, &readings, amounts),
            Some(Extra::Sweep) => {
                if let Some(reading) = &readings[0] {
                    let sweep = (&steps[0], reading);
                    dimitri::add(&mut part, publication, sweep, amounts, runner);
                }
            }
            Some(Extra::Writes) => moonen::add(&mut part, publication, &readings, amounts, runner),
            Some(Extra::Pages) => wordpress::add(&mut part, publication, amounts, runner),
            Some(Extra::Ports) => kawin::add(&mut part, publication, &readings),
            Some(Extra::Storms) => storms::add(&mut part, publication, amounts, runner),
            None => {}
        }
        part.smaller.extend(publication.smaller.iter().cloned());
        let few = part.rows.iter().filter(|row| !row::has_interval(row));
        let few = few.map(|row| format!("{}: no interval", row.what));
        part.missing.extend(few.collect::<Vec<_>>());
        part
    }
}

/// Measures the steps, and adds the rows of each result.
fn measured(
    part: &mut ReproductionPart,
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
