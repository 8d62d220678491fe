//! Peter Zaitsev's comparison: point selects, a mysqldump, and the latency at a given rate.

use looptax_model::record::ReproductionPart;

use super::Amounts;
use super::publication::Publication;
use super::reading::Reading;

/// Number of rows of the dumped table per megabyte of the dump.
const ROWS_PER_MB: f64 = 5_000.0;

/// Adds how much smaller the dump was than the published dump.
pub(crate) fn add(
    part: &mut ReproductionPart,
    publication: &Publication,
    readings: &[Option<Reading>],
    amounts: &Amounts,
) {
    for (plan, reading) in publication.steps.iter().zip(readings) {
        let (Some(rows), Some(_), Some(_)) = (&plan.rows, &plan.exec, reading) else {
            continue;
        };
        let (dumped, published) = (amounts.rows(rows), rows.published);
        if dumped < published {
            part.smaller.push(format!(
                "dumped {dumped} rows instead of {published}, {:.0} MB instead of 2 GB (--scale 1 dumps all)",
                dumped as f64 / ROWS_PER_MB
            ));
        }
    }
}
