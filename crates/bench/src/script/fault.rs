//! The faults of a script: while it is read, and while it runs.
//!
//! One variant per kind of mistake, with the words that were found. Places are added by the callers
//! (see `error`).

/// The commands that scripts can use, without their backslash.
pub(crate) const SUPPORTED: [&str; 9] =
    ["set", "if", "elif", "else", "endif", "sleep", "startpipeline", "endpipeline", "syncpipeline"];

/// A fault in the text of a script.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ParseFault {
    #[error("unknown command `\\{found}`")]
    UnknownCommand {
        /// Without its backslash.
        found: String,
        /// The supported command that looks most like it.
        nearest: Option<&'static str>,
    },
    /// A command or function of pgbench that looptax does not do.
    #[error("looptax does not support `{what}`: {because}")]
    Refused {
        /// The command with its backslash, or the function.
        what: &'static str,
        because: &'static str,
        instead: &'static str,
    },
    /// Something else was expected here.
    #[error("expected {expected}, found {found}")]
    Expected { expected: &'static str, found: String },
    #[error("unknown function `{found}`")]
    UnknownFunction {
        found: String,
        /// The function that looks most like it.
        nearest: Option<&'static str>,
    },
    /// Too many or too few arguments.
    #[error("`{function}` takes {wanted}, found {found}")]
    Arguments {
        function: &'static str,
        /// In words: `2 arguments`.
        wanted: String,
        found: usize,
    },
    /// A number that 64 bits cannot hold.
    #[error("the constant `{found}` is out of range")]
    Constant { found: String },
    /// `\elif`, `\else` or `\endif` at the wrong place.
    #[error("`\\{command}` {problem}")]
    Conditional {
        /// Without its backslash.
        command: &'static str,
        /// `without an \if before it`.
        problem: &'static str,
    },
    /// A quote, comment, parenthesis or `\if` that never ends.
    #[error("{what} is never closed")]
    Unclosed { what: &'static str },
    #[error("the variable `{name}` is never set")]
    Undefined {
        /// Without its colon.
        name: String,
        /// A variable that looks like it.
        nearest: Option<String>,
    },
    /// More than the manual allows.
    #[error("{what}: at most {limit} are allowed")]
    TooMuch {
        /// `the statement uses more variables`.
        what: &'static str,
        limit: usize,
    },
    /// A script that sends nothing measures nothing.
    #[error("the script sends no statement")]
    NoStatement,
    #[error("a NUL character in the script")]
    Nul,
    /// A pipeline in a script whose caller cannot send one.
    #[error("`\\{command}` cannot be used: {because}")]
    Pipeline {
        /// Without its backslash.
        command: &'static str,
        because: String,
    },
}

impl ParseFault {
    /// Returns what to do about it, if there is a suggestion.
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
                    .map_or_else(|| format!("put `\\set {name} …` before it, or define {name}=VALUE"), meant),
            ),
            Self::NoStatement => Some("end each SQL statement with `;`".to_owned()),
            _ => None,
        }
    }
}

/// A fault while a script ran.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RunFault {
    /// `/ 0` or `% 0` with integers.
    #[error("division by zero")]
    DivisionByZero,
    /// The result does not fit a 64-bit integer.
    #[error("`{operation}` overflows: the result is not a 64-bit integer")]
    Overflow { operation: &'static str },
    /// The value has a type that is not allowed here.
    #[error("expected {wanted}, found {found}")]
    Type { wanted: &'static str, found: &'static str },
    /// Shifting by less than 0 or more than 63 bits.
    #[error("cannot shift by {n_bits} bits: expected 0 to 63")]
    Shift { n_bits: i64 },
    /// The variable has no value yet.
    #[error("the variable `{name}` has no value yet")]
    Unset {
        /// Without its colon.
        name: String,
    },
    /// The text that defines the variable is not a number, truth value or NULL.
    #[error("the variable `{name}` is defined as text and cannot be used in a calculation")]
    NotANumber {
        /// Without its colon.
        name: String,
    },
    /// The lower bound is above the upper one.
    #[error("the range from {first} to {last} is empty")]
    EmptyRange { first: i64, last: i64 },
    /// More than 2^63 - 1 values.
    #[error("the range from {first} to {last} is too large for 64 bits")]
    RangeTooLarge { first: i64, last: i64 },
    /// A distribution's parameter is outside of what the manual allows.
    #[error("the parameter of `{function}` has to be {allowed}, not {found}")]
    Parameter { function: &'static str, allowed: &'static str, found: f64 },
    /// Infinity or not a number on its way to the server.
    #[error("the variable `{name}` is {found}, which SQL text cannot hold")]
    NotFinite {
        /// Without its colon.
        name: String,
        found: f64,
    },
    #[error("a pipeline is already open")]
    PipelineOpen,
    /// The end of a pipeline that was not started.
    #[error("no pipeline is open")]
    NoPipeline,
    /// The script ended within a pipeline.
    #[error("the script ends within a pipeline: `\\endpipeline` is missing")]
    PipelineAtEnd,
}
