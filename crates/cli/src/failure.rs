//! Exit codes of the commands.

pub(crate) use looptax_model::failure::Failure;
use looptax_model::failure::Severity;
use looptax_model::record::{Record, Verdict};

/// How a command ended; [`Exit::code`] is the number for the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    No,
    /// Wrong usage, or an environment in which the command cannot work.
    Environment,
    Invalid,
    Interrupted,
    /// `run`: looptax itself failed.
    NotRun,
    /// `run`: the command cannot be executed.
    NotExecutable,
    /// `run`: the command was not found.
    NotFound,
    /// `run`: the command's own exit code.
    Program(i32),
}

impl Exit {
    /// Returns the exit for a measured record: `Invalid` if one of its verdicts is invalid.
    pub(crate) fn for_record(record: &Record) -> Self {
        let mut taxes = record.comparisons.iter().flat_map(|it| &it.tax);
        if taxes.any(|tax| tax.verdict == Verdict::Invalid) { Self::Invalid } else { Self::Done }
    }

    pub(crate) fn code(self) -> i32 {
        match self {
            Self::Done => 0,
            Self::No => 1,
            Self::Environment => 2,
            Self::Invalid => 3,
            Self::Interrupted => 130,
            Self::NotRun => 125,
            Self::NotExecutable => 126,
            Self::NotFound => 127,
            Self::Program(code) => code,
        }
    }
}

impl From<Severity> for Exit {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Environment => Self::Environment,
            Severity::Invalid => Self::Invalid,
        }
    }
}
