//! `find`: turns findings into what is shown: names, rates, costs, next steps.
//!
//! `cost` knows the cost of a request over TCP, `rates` and `counts` the number of requests, `shares` whose requests
//! they are, and `chains` the servers that a page's requests pass. `paths` decides which links are a chain and
//! `missing` which may be. `listing` puts everything together, `notes` describes obstacles, `spelled` names a command,
//! and `names` knows the names of users. `watched` has the counts of `watch`, and `cpu_sums` the CPU time that belongs
//! to them.

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

pub(crate) use names::container_of;
pub(crate) use notes::may_be;

/// The current time, with its offset to UTC.
fn now() -> String {
    jiff::Zoned::now().strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}
