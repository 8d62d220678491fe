//! Failures: the error, its cause, the next step, and whether the error makes a measurement invalid.
//!
//! Each crate or module has its own error type, and describes through [`Explain`] what a person can do about each
//! error. [`Failure`] can hold any of these errors, and carries the error to the code that prints it; the code in
//! between neither inspects the error nor knows its type.

mod nearest;

use std::error::Error;
use std::fmt;
use std::io;

pub use nearest::nearest;

/// An error that can describe the next step for a person. An error type without advice implements this trait with an
/// empty body.
pub trait Explain: Error + Send + Sync + 'static {
    /// Returns the next step for a person, without a final dot.
    fn hint(&self) -> Option<String> {
        None
    }

    /// Returns the consequence of the error for the work in progress.
    fn severity(&self) -> Severity {
        Severity::Environment
    }
}

impl Explain for io::Error {}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The command was used wrongly, or the environment does not allow it; there is no result.
    Environment,
    /// A measurement had begun, and is invalid.
    Invalid,
}

/// An error for a person, with its causes and the next step.
///
/// `{}` prints only the message; `{:#}` prints the message and the causes in one line.
#[derive(Debug)]
pub struct Failure {
    error: Box<dyn Error + Send + Sync>,
    hint: Option<String>,
    severity: Severity,
}

impl Failure {
    /// Makes a failure without a cause or a next step.
    pub fn new(message: impl fmt::Display) -> Self {
        let message = message.to_string();
        Self { error: message.into(), hint: None, severity: Severity::Environment }
    }

    /// Makes a failure for wrong usage, with the next step.
    pub fn usage(message: impl fmt::Display, hint: impl Into<String>) -> Self {
        Self::new(message).with_hint(hint)
    }

    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Records that the failure makes the measurement in progress invalid.
    #[must_use]
    pub fn invalid(mut self) -> Self {
        self.severity = Severity::Invalid;
        self
    }

    /// Adds a message in front; the previous message becomes its cause.
    #[must_use]
    pub fn context(self, message: impl fmt::Display) -> Self {
        let (message, source) = (message.to_string(), self.error);
        Self { error: Box::new(Context { message, source }), ..self }
    }

    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    pub fn severity(&self) -> Severity {
        self.severity
    }

    pub fn chain(&self) -> impl Iterator<Item = &(dyn Error + 'static)> {
        let first: &(dyn Error + 'static) = self.error.as_ref();
        std::iter::successors(Some(first), |error| (*error).source())
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            return write!(f, "{}", self.error);
        }
        let causes: Vec<String> = self.chain().map(ToString::to_string).collect();
        f.write_str(&causes.join(": "))
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

impl<E: Explain> From<E> for Failure {
    fn from(error: E) -> Self {
        Self { hint: error.hint(), severity: error.severity(), error: Box::new(error) }
    }
}

/// Returns an error and its causes as one line.
pub fn with_causes(error: &dyn Error) -> String {
    let all = std::iter::successors(Some(error), |error| (*error).source());
    let words: Vec<String> = all.map(ToString::to_string).collect();
    words.join(": ")
}

#[derive(Debug)]
struct Context {
    message: String,
    source: Box<dyn Error + Send + Sync>,
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Context {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.source.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_keeps_causes_hint_and_severity() {
        let inner = io::Error::other("no space");
        let failure = Failure::from(inner).with_hint("free some").invalid();
        let failure = failure.context("cannot save");
        assert_eq!(failure.to_string(), "cannot save");
        assert_eq!(format!("{failure:#}"), "cannot save: no space");
        assert_eq!(failure.hint(), Some("free some"));
        assert_eq!(failure.severity(), Severity::Invalid);
    }
}
