//! Repeats published comparisons on this machine, and shows each claim, the measurement for it, and how well the two
//! agree.
//!
//! A part is one publication. It has a file in `data/` with its claims; its [`steps`](Part::steps), which are
//! comparisons as `compare` makes them; and its rows, each with a claim and the measurement for this claim. If the file
//! cannot describe a measurement, the measurement has its own module. In this folder only `runner` measures, in the
//! same way as `compare`. Called by `commands::reproduce`.

mod dimitri;
mod kawin;
mod moonen;
mod pages;
mod part;
mod percona;
mod plan;
mod programs;
mod publication;
mod reading;
mod row;
mod run;
mod runner;
mod step;
mod storms;
mod wordpress;

pub use part::Part;
pub use plan::text as plan;
pub use runner::{Onlooker, Runner, Surroundings};
pub use step::{Amounts, Step};
