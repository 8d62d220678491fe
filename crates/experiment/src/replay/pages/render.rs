//! How figures of pages are written as JSON: tests and people who look closely read it.

#![expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde hands over every field by reference"
)]

use crate::servers::wordpress::{Site, Transport};
use looptax_model::stats::Estimate;
use serde::{Serialize, Serializer};

/// Value and ends; an open end is null.
pub(super) fn estimate<S: Serializer>(it: &Estimate, to: S) -> Result<S::Ok, S::Error> {
    [it.value, it.lo, it.hi].serialize(to)
}

/// Its name in the code.
pub(super) fn transport<S: Serializer>(it: &Transport, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&format_args!("{it:?}"))
}

/// Its name.
pub(super) fn site<S: Serializer>(it: &Site, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(it.name())
}
