//! Errors of the command line: a chain of causes, a hint, an exit code.

use std::error::Error;
use std::fmt;

use looptax_bench::{BenchError, CommandError, RunName};
use looptax_path::PathError;
use looptax_servers::ServerError;
use looptax_store::StoreError;
use looptax_wire::WireError;

use crate::arms::redirect::NotMoved;
use crate::arms::ways::NotOnWay;

/// How a command ended, for the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done; an inconclusive result too.
    Done,
    /// The answer is no.
    No,
    /// Wrong usage, or the environment does not allow it.
    Environment,
    /// The measurement is invalid.
    Invalid,
    /// Ctrl-C.
    Interrupted,
    /// `run`: looptax itself failed.
    NotRun,
    /// `run`: the command cannot be executed.
    NotExecutable,
    /// `run`: there is no such command.
    NotFound,
    /// `run`: the command's own.
    Program(i32),
}

impl Exit {
    /// The number that the shell sees.
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

/// An error on its way to the user.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What happened, with its causes.
    pub(crate) error: anyhow::Error,
    /// The next step.
    pub(crate) hint: Option<String>,
    /// How to end.
    pub(crate) exit: Exit,
}

impl Failure {
    /// Wrong usage, with the next step.
    pub(crate) fn usage(message: impl fmt::Display, hint: impl Into<String>) -> Self {
        Self {
            error: anyhow::anyhow!("{message}"),
            hint: Some(hint.into()),
            exit: Exit::Environment,
        }
    }
}

impl<E> From<E> for Failure
where
    E: Into<anyhow::Error>,
{
    /// Finds the hint of the innermost cause that has one.
    fn from(error: E) -> Self {
        let error = without_connecting(error.into());
        let hint = error
            .chain()
            .find_map(crowded_hint)
            .or_else(|| error.chain().filter_map(hint_of).last());
        let exit = if error.chain().any(is_invalid) {
            Exit::Invalid
        } else {
            Exit::Environment
        };
        Self { error, hint, exit }
    }
}

/// A statement that the server refuses is no trouble with connecting, where it comes to light.
fn without_connecting(error: anyhow::Error) -> anyhow::Error {
    let (contrast, source) = match error.downcast() {
        Ok(BenchError::Connect { contrast, source }) => (contrast, source),
        Ok(other) => return other.into(),
        Err(error) => return error,
    };
    let source = match source.downcast() {
        Ok(refused) if matches!(*refused, PathError::Refused { .. }) => return (*refused).into(),
        Ok(other) => other,
        Err(source) => source,
    };
    BenchError::Connect { contrast, source }.into()
}

fn hint_of(cause: &(dyn Error + 'static)) -> Option<String> {
    if let Some(error) = cause.downcast_ref::<PathError>() {
        return error.hint();
    }
    if let Some(error) = cause.downcast_ref::<ServerError>() {
        return error.hint();
    }
    if let Some(error) = cause.downcast_ref::<NotMoved>() {
        return Some(error.hint());
    }
    if let Some(error) = cause.downcast_ref::<NotOnWay>() {
        return Some(error.hint());
    }
    if let Some(error) = cause.downcast_ref::<StoreError>() {
        return error.hint();
    }
    match cause.downcast_ref::<BenchError>() {
        Some(BenchError::Request { .. }) => Some(
            "nothing is concluded from a run with a failed request; the server's log may say why"
                .to_owned(),
        ),
        Some(BenchError::Command { source, .. }) => Some(command_hint(source).to_owned()),
        Some(BenchError::Machine { .. }) => Some("--placement free needs no pinning".to_owned()),
        _ => None,
    }
}

fn command_hint(source: &CommandError) -> &'static str {
    match source {
        CommandError::Start { .. } => "is it installed, and on PATH or named with its folder?",
        CommandError::Timeout { .. } => "--exec-timeout allows more; or let each run do less",
        CommandError::Stopped { .. } => {
            "it cannot ask: give it passwords by its environment or its configuration file"
        }
        CommandError::WrongTransport { .. } => {
            "its configuration files or its own flags may overrule the transport; nothing is concluded from this run"
        }
        CommandError::Wait { .. } | CommandError::Code { .. } | CommandError::Signal { .. } => {
            "run it by hand to see more; nothing is concluded from a comparison with a failed run"
        }
    }
}

/// Logging in worked when the run began, so a login that is cut off later has another cause.
///
/// Redis tells it in words, which get lost when it closes the connection before it has read.
fn crowded_hint(cause: &(dyn Error + 'static)) -> Option<String> {
    let Some(BenchError::Connect { source, .. }) = cause.downcast_ref() else {
        return None;
    };
    let Some(PathError::Talk { source, .. }) = source.downcast_ref() else {
        return None;
    };
    let is_crowded = match source {
        WireError::Closed { .. } => true,
        WireError::Server { message, .. } => message.contains("max number of clients"),
        _ => false,
    };
    is_crowded.then(|| {
        "the server may allow no more connections (lower -c or raise its limit), or it is ending; \
         its log says which"
            .to_owned()
    })
}

fn is_invalid(cause: &(dyn Error + 'static)) -> bool {
    let unproved = cause.downcast_ref::<PathError>().is_some_and(|error| {
        matches!(
            error,
            PathError::Unproved { .. } | PathError::DifferentServers { .. }
        )
    });
    let failed = cause
        .downcast_ref::<BenchError>()
        .is_some_and(|error| match error {
            BenchError::Request { .. } => true,
            // A command that cannot even be warmed up with has measured nothing.
            BenchError::Command { run, source, .. } => {
                *run != RunName::WarmUp || matches!(source, CommandError::WrongTransport { .. })
            }
            _ => false,
        });
    unproved || failed || cause.is::<NotMoved>() || cause.is::<NotOnWay>()
}
