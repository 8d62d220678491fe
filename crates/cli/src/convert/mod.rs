//! Between the rooms: raw counts into the record, the record into numbers, numbers into words.
//!
//! The live run and `analyze` take the same way, from the record: [`numbers`] and then [`judged`], so
//! that both give the same digits. No I/O, no clock and no formula of a metric in here.

pub(crate) mod bill;
pub(crate) mod figures;
pub(crate) mod judged;
pub(crate) mod numbers;
pub(crate) mod raw;
pub(crate) mod remedies;

mod client_limits;
pub(crate) mod doubts;
#[cfg(test)]
mod made_up;
mod words;
