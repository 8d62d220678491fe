//! The publications that can be measured again, by name alone.
//!
//! What was published of one is in `publication`, what is measured for it in `step`, how that is done in `run`.

use super::publication::{Extra, Publication};

/// One publication that can be measured again: its place in the order of measuring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Part(pub(super) usize);

impl Part {
    /// In the order of measuring: as they were published, and those last that move the process into network namespaces of
    /// its own.
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

    /// What it measures, in a line.
    pub fn about(self) -> &'static str {
        &Publication::for_part(self).about
    }

    /// Whether it needs network namespaces of looptax's own.
    pub fn needs_network(self) -> bool {
        Publication::for_part(self).extra == Some(Extra::Ports)
    }
}
