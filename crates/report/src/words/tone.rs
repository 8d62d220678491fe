//! Whether a verdict is good news. A view shows this as a colour, and the text expresses it, too.

/// The meaning of a verdict for programs that use the other arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Loss,
    Unsure,
}
