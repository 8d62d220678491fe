//! Whether a verdict is good news, for those who see colours; the words say it too.

/// The meaning of a verdict for users of the other arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Loss,
    Unsure,
}
