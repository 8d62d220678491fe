//! The measurement of `compare`, from its arguments to a record; its callers show and keep the record.
//!
//! [`parts`] says what is measured and plans it, [`measure_all`] does it, [`measured`] does both for `reproduce` and
//! `find --measure`.

pub mod parts;
mod record;
mod step;
mod work;

pub use record::{empty_record, record_begun};
pub use step::{Measured, Named, echo_in_ten_seconds, measured};
pub use work::measure_all;
