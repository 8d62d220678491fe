//! `find`: from what was seen to what is shown: names, rates, costs, next steps.
//!
//! `cost` says what a request over TCP costs here, `listing` puts everything together, `notes` has the
//! words for what stands in the way, `names` the users' names.

pub mod cost;
pub mod listing;
mod names;
mod notes;

pub(crate) use notes::may_be;
