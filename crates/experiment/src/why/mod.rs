//! The CPU time of a request: samples by the kernel's timer, each assigned to its slice, arm and layer.

mod account;
mod counts;
mod ends;
mod layers;
mod nameless;
mod names;
mod places;
mod sampler;
mod spaces;
mod symbols;
mod tally;
mod turns;
mod watch;

pub use watch::Watch;
