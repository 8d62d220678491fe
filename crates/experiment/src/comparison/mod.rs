//! What `compare` measures, from its arguments to a record; how that is shown and kept is for its callers.
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
