//! Computes results from the raw epochs of a record: estimates, verdicts, the bill, the ranking of remedies, and the
//! differences of two runs. Also compares published claims with measurements.
//!
//! Pure: no I/O, no clock. The live run and `show` both go from the record's counts through [`judged`], so both give
//! the same digits. The formulas of the metrics are in [`crate::stats`].

mod again;
mod bill;
pub mod claim;
mod client_limits;
mod diff;
pub mod effect;
mod figures;
pub mod judged;
mod judging;
#[cfg(test)]
mod made_up;
pub mod proved_arm;
pub mod remedies;
mod trial;
mod trial_bill;
pub mod validity;
mod waiting;
mod watched_diff;
mod why;
mod words;

pub use again::judge_record;
pub use diff::diff;
pub use judging::{Ending, compare_slice_lengths, judge, judge_again};
pub use trial_bill::add_trial_bill;
pub use watched_diff::watched_diff;
