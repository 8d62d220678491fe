//! The command `find`: turns findings into the shown names, rates, costs and next steps.
//!
//! `cost` knows the cost of a request over TCP, `rates` and `counts` the number of requests, `shares` how many of them
//! belong to each chain, and `chains` the servers through which a page's requests pass. `paths` decides which links
//! form a chain, and `missing` which servers may also belong to it. `listing` puts everything together, `notes`
//! describes obstacles, `spelled` finds the command that gives a server a socket, and `names` knows the names of users.
//! `watched` has the counts of `watch`, and `cpu_sums` the CPU time per request for these counts.

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

/// Returns the current time, with its offset from UTC.
fn now() -> String {
    jiff::Zoned::now().strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}
