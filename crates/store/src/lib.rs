//! Saves records: the only room that writes results.
//!
//! A record is replaced as a whole or not at all; the single latencies are appended to a companion
//! file. The history is an index of records, which can be made from them again. Knows nothing of how a record came about or what it says. Called by the command line.

mod error;
mod history;
mod load;
mod older;
mod place;
mod samples;
mod save;

pub use error::StoreError;
pub use history::History;
pub use load::load;
pub use place::Existing;
pub use samples::{SAMPLES_CAP_BYTES, SamplesReader, samples_path};
pub use save::{Saver, save, save_text, save_value};
