//! The publications that can be measured again, by name only.
//!
//! `publication` has a publication's claims, `step` its measurements, and `run` makes them.

use super::publication::{Extra, Publication};

/// One publication, by its index in the order of measuring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part(pub(super) usize);

impl Part {
    /// All publications, in the order of measuring: by date of publication, and last those that move the process into
    /// separate network namespaces.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..Publication::all().len()).map(Self)
    }

    /// The publication for a word.
    pub fn named(word: &str) -> Option<Self> {
        Self::all().find(|it| it.name() == word)
    }

    /// The word for the publication.
    pub fn name(self) -> &'static str {
        &Publication::for_part(self).name
    }

    /// Describes the publication's measurement in a line.
    pub fn about(self) -> &'static str {
        &Publication::for_part(self).about
    }

    /// Whether the publication needs looptax's own network namespaces.
    pub fn needs_network(self) -> bool {
        Publication::for_part(self).extra == Some(Extra::Ports)
    }
}
