//! The publications that can be measured again, by name only.
//!
//! `publication` has a publication's claims, `step` its measurements, `run` the way that they are made.

use super::publication::{Extra, Publication};

/// One publication that can be measured again: its place in the order of measuring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part(pub(super) usize);

impl Part {
    /// In the order of measuring: as they were published, and last those that move the process into separate network
    /// namespaces.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..Publication::all().len()).map(Self)
    }

    /// The one that a word asks for.
    pub fn named(word: &str) -> Option<Self> {
        Self::all().find(|it| it.name() == word)
    }

    /// The word that asks for it.
    pub fn name(self) -> &'static str {
        &Publication::for_part(self).name
    }

    /// Describes its measurement in a line.
    pub fn about(self) -> &'static str {
        &Publication::for_part(self).about
    }

    /// Whether it needs looptax's own network namespaces.
    pub fn needs_network(self) -> bool {
        Publication::for_part(self).extra == Some(Extra::Ports)
    }
}
