//! Errors of scripts: a fault with its place, in the form that compilers use.
//!
//! `Display` prints `FILE:LINE:COLUMN:` and the fault, then the line, then a caret; `hint` returns the next step, for a
//! separate line. Callers branch on `fault`.

use crate::script::fault::{ParseFault, RunFault};
use crate::script::place::Place;

/// A script cannot be used as it is written.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{place}: {fault}\n{}", place.excerpt())]
pub struct ScriptError {
    pub place: Box<Place>,
    pub fault: Box<ParseFault>,
}

impl ScriptError {
    /// Returns what to do about the error, if there is a suggestion.
    pub fn hint(&self) -> Option<String> {
        self.fault.hint()
    }
}

/// A script failed while it ran.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{place}: {fault}\n{}", place.excerpt())]
pub struct RunError {
    /// The place at which the script failed.
    pub place: Box<Place>,
    pub fault: Box<RunFault>,
}

/// Scripts, weights or definitions that cannot be made into a set.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SetError {
    #[error(transparent)]
    Script(ScriptError),
    #[error("no script is given, or all scripts have the weight 0")]
    NothingToRun,
    /// A file name is missing in a list such as `a.sql@3,b.sql`.
    #[error("a file's name is missing in `{spec}`: expected `FILE[@WEIGHT][,FILE[@WEIGHT]…]`")]
    NoFile { spec: String },
    /// The text after `@` is not a weight.
    #[error("`{found}` is not a weight for `{file}`: expected a whole number, as in `{file}@3`")]
    Weight {
        /// The file before `@`.
        file: String,
        found: String,
    },
    /// A definition is not `name=value`.
    #[error("cannot define `{found}`: expected `name=value`, with a name of letters, digits and underscores")]
    Definition { found: String },
}

impl SetError {
    /// Returns what to do about the error, if there is a suggestion.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Script(error) => error.hint(),
            _ => None,
        }
    }
}
