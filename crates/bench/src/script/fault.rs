//! The faults of a script: found while it is parsed, or while it runs.
//!
//! One variant per kind of mistake, with the words that were found. Callers add the places (see `error`).

/// The commands that scripts can use, without the backslash.
pub(crate) const SUPPORTED: [&str; 9] =
    ["set", "if", "elif", "else", "endif", "sleep", "startpipeline", "endpipeline", "syncpipeline"];

/// A fault in the text of a script.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ParseFault {
    #[error("unknown command `\\{found}`")]
    UnknownCommand {
        /// The command without the backslash.
        found: String,
        /// The most similar supported command.
        nearest: Option<&'static str>,
    },
    /// A command or function of pgbench that looptax does not support.
    #[error("looptax does not support `{what}`: {because}")]
    Refused {
        /// The command with its backslash, or the function.
        what: &'static str,
        because: &'static str,
        instead: &'static str,
    },
    /// The script has something else at a place where this was expected.
    #[error("expected {expected}, found {found}")]
    Expected { expected: &'static str, found: String },
    #[error("unknown function `{found}`")]
    UnknownFunction {
        found: String,
        /// The most similar function.
        nearest: Option<&'static str>,
    },
    /// Too many or too few arguments.
    #[error("`{function}` takes {wanted}, found {found}")]
    Arguments {
        function: &'static str,
        /// The right number, in words: `2 arguments`.
        wanted: String,
        found: usize,
    },
    /// A number that does not fit into 64 bits.
    #[error("the constant `{found}` is out of range")]
    Constant { found: String },
    /// `\elif`, `\else` or `\endif` at the wrong place.
    #[error("`\\{command}` {problem}")]
    Conditional {
        /// The command without the backslash.
        command: &'static str,
        /// `without an \if before it`.
        problem: &'static str,
    },
    /// A quote, comment, parenthesis or `\if` that is not closed.
    #[error("{what} is never closed")]
    Unclosed { what: &'static str },
    #[error("the variable `{name}` is never set")]
    Undefined {
        /// The name without the colon.
        name: String,
        /// A variable with a similar name.
        nearest: Option<String>,
    },
    /// More than the manual allows.
    #[error("{what}: at most {limit} are allowed")]
    TooMuch {
        /// `the statement uses more variables`.
        what: &'static str,
        limit: usize,
    },
    /// The script sends no statement, so there is nothing to measure.
    #[error("the script sends no statement")]
    NoStatement,
    #[error("a NUL character in the script")]
    Nul,
    /// A pipeline in a script whose caller cannot send one.
    #[error("`\\{command}` cannot be used: {because}")]
    Pipeline {
        /// The command without the backslash.
        command: &'static str,
        because: String,
    },
}

impl ParseFault {
    /// Returns what to do about the fault, if there is a suggestion.
    pub(crate) fn hint(&self) -> Option<String> {
        let meant = |nearest: &str| format!("did you mean `{nearest}`?");
        match self {
            Self::UnknownCommand { nearest, .. } => {
                let list = SUPPORTED.map(|name| format!("\\{name}")).join(" ");
                Some(nearest.map_or_else(
                    || format!("commands are {list}"),
                    |nearest| format!("did you mean `\\{nearest}`? commands are {list}"),
                ))
            }
            Self::Refused { instead, .. } => Some((*instead).to_owned()),
            Self::UnknownFunction { nearest, .. } => nearest.map(meant),
            Self::Undefined { name, nearest } => Some(
                nearest
                    .as_deref()
                    .map_or_else(|| format!("put `\\set {name} …` before this line, or define {name}=VALUE"), meant),
            ),
            Self::NoStatement => Some("end each SQL statement with `;`".to_owned()),
            _ => None,
        }
    }
}

/// A fault while a script ran.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RunFault {
    /// Integer division or remainder with 0: `/ 0` or `% 0`.
    #[error("division by zero")]
    DivisionByZero,
    /// The result does not fit into a 64-bit integer.
    #[error("`{operation}` overflows: the result is not a 64-bit integer")]
    Overflow { operation: &'static str },
    /// The value has a type that is not allowed here.
    #[error("expected {wanted}, found {found}")]
    Type { wanted: &'static str, found: &'static str },
    /// A shift by less than 0 or more than 63 bits.
    #[error("cannot shift by {n_bits} bits: expected 0 to 63")]
    Shift { n_bits: i64 },
    #[error("the variable `{name}` has no value yet")]
    Unset {
        /// The name without the colon.
        name: String,
    },
    /// The text that defines the variable is not a number, truth value or NULL.
    #[error("the variable `{name}` is defined as text and cannot be used in a calculation")]
    NotANumber {
        /// The name without the colon.
        name: String,
    },
    /// The lower bound is above the upper one.
    #[error("the range from {first} to {last} is empty")]
    EmptyRange { first: i64, last: i64 },
    /// The range has more than 2^63 - 1 values.
    #[error("the range from {first} to {last} is too large for 64 bits")]
    RangeTooLarge { first: i64, last: i64 },
    /// A distribution's parameter is outside the range that the manual allows.
    #[error("the parameter of `{function}` has to be {allowed}, not {found}")]
    Parameter { function: &'static str, allowed: &'static str, found: f64 },
    /// A value for the server is infinite or not a number.
    #[error("the variable `{name}` is {found}, which SQL text cannot hold")]
    NotFinite {
        /// The name without the colon.
        name: String,
        found: f64,
    },
    #[error("a pipeline is already open")]
    PipelineOpen,
    /// A pipeline is ended that was not started.
    #[error("no pipeline is open")]
    NoPipeline,
    #[error("the script ends within a pipeline: `\\endpipeline` is missing")]
    PipelineAtEnd,
}
