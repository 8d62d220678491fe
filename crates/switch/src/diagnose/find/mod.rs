//! `find`: from what was seen to what is shown: names, rates, costs, next steps.
//!
//! `cost` says what a request over TCP costs here, `rates` and `counts` how many there are, `shares` whose they are, `chains` what a page goes through,
//! `paths` which links are a chain and
//! `missing` which may be. `listing` puts everything together, `notes` has the words for what is in the
//! way, `spelled` a command, `names` the users' names. `watched` is what `watch` counted, `cpu_sums` the
//! CPU time beside it.

mod chains;
pub mod cost;
mod counts;
pub mod cpu_sums;
pub mod listing;
mod missing;
mod names;
pub mod notes;
mod paths;
mod rates;
mod shares;
mod spelled;
pub mod watched;

pub(crate) use notes::may_be;

/// With the offset to UTC.
fn now() -> String {
    jiff::Zoned::now().strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}
