//! Saves records. Only this crate writes results.
//!
//! A record is one file, which is replaced as a whole or not at all. The history is an index of records, and can be
//! rebuilt from them. This crate does not know how a record was made, or what the record means.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests create files and start programs"))]

mod error;
mod history;
mod load;
mod place;
mod runs;
mod samples;
mod save;
mod stacks;

pub use error::StoreError;
pub use history::History;
pub use load::{is_watched, load, load_watched};
pub use place::Existing;
pub use runs::{RunFolder, Runs};
pub use samples::{SAMPLES_CAP_BYTES, pack, unpack};
pub use save::{Saver, save, save_bytes, save_for_all, save_text, save_value};
pub use stacks::{Stack, pack_stacks, unpack_stacks};
