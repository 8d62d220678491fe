//! The publications whose measurements can be repeated, by name only.
//!
//! `publication` has the claims of a publication, `step` has its planned measurements, and `run` makes these
//! measurements.

use super::publication::{Extra, Publication};

/// A publication, identified by its index in the order of measuring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part(pub(super) usize);

impl Part {
    /// Returns all publications in the order of measuring. Publications that move the process into separate network
    /// namespaces come last; otherwise the order is by date of publication.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..Publication::all().len()).map(Self)
    }

    /// Returns the publication with this name on the command line.
    pub fn named(word: &str) -> Option<Self> {
        Self::all().find(|it| it.name() == word)
    }

    /// Returns the name of the publication on the command line.
    pub fn name(self) -> &'static str {
        &Publication::for_part(self).name
    }

    /// Returns a line that describes the publication's measurement.
    pub fn about(self) -> &'static str {
        &Publication::for_part(self).about
    }

    /// Whether the publication needs looptax's own network namespaces.
    pub fn needs_network(self) -> bool {
        Publication::for_part(self).extra == Some(Extra::Ports)
    }
}
