//! How each driver, framework and application writes the address of a socket.
//!
//! Takes texts and returns texts: this crate does not connect, read files or examine the machine. Two tables are data:
//! the dialects (`data/dialects.toml`), and the dialects with which real drivers have connected (`data/proved.toml`).
//! `template` fills in the texts; `looptax_model::dsn` reads the addresses that users pass. Called by the command line.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests create files and start programs"))]

pub mod app;
mod cannot;
pub mod check;
mod connects;
mod dialect;
mod escape;
mod mongodb;
mod packed;
mod proof;
mod real_clients;
pub mod serving;
mod template;
mod worth;

pub use connects::{Connects, connects, connects_to};
pub use dialect::{Dialect, dialects};
pub use looptax_model::record::Takes;
pub use mongodb::MongodbOptions;
pub use proof::Proof;
pub use real_clients::{ClosestModel, RealClient, real_clients};
pub use template::Fields;
pub use worth::{Weighed, Worth, weigh};
