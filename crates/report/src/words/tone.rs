//! Whether a verdict is good news, shown as a colour; the words say it too.

/// The meaning of a verdict for users of the other arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Loss,
    Unsure,
}
