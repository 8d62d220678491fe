//! Makes the measurements of `compare`: takes its arguments, and returns a record. The callers show and save the
//! record.
//!
//! [`parts`] plans the measurements, [`measure_all`] makes them, and [`measured`] plans and makes them for `reproduce`
//! and `find --measure`.

pub mod parts;
mod record;
mod step;
mod work;

pub use record::{empty_record, record_begun};
pub use step::{Measured, Named, echo_in_ten_seconds, measured};
pub use work::measure_all;
