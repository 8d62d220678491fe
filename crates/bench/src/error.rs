//! The errors that end an experiment early.

use std::fmt;
use std::io;
use std::time::Duration;

use looptax_model::failure::{Explain, Failure, Severity};
use looptax_model::stats::Side;
use looptax_wire::WireError;

/// Which part of an epoch a request belonged to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The first requests of a connection, which are not timed.
    Priming,
    /// The counted part of a slice, or its guard.
    Slice,
    /// After a slice's end, when the last answers arrive.
    Drain,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Priming => "priming",
            Self::Slice => "a slice",
            Self::Drain => "the wait for the last answers of a slice",
        })
    }
}

/// Identifies a run of an arm's command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunName {
    /// The warm-up run, which does not count.
    WarmUp,
    /// A counted run, by its number from 1.
    Counted(usize),
}

impl fmt::Display for RunName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WarmUp => f.write_str("its warm-up run"),
            Self::Counted(number) => write!(f, "run {number}"),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A system call on the connection failed.
    #[error("cannot {action}")]
    Io {
        /// `send`, `receive`, `wait`.
        action: &'static str,
        source: io::Error,
    },
    #[error("the server closed the connection")]
    Closed,
    #[error("no answer within {limit:?}")]
    Timeout { limit: Duration },
    /// A connection that serves a single request failed: while it was opened, used or closed.
    #[error("a connection for a single request failed")]
    OneShot { source: Failure },
    /// The client thread panicked: a bug in looptax.
    #[error("the client thread panicked")]
    Panicked,
    /// The answer is an error, or is not an answer of this protocol.
    #[error("the server sent an unexpected answer")]
    Answer { source: WireError },
    /// The answer holds fewer bytes of data than any right answer does.
    #[error("the answer to key {key} holds {found} bytes of data, but at least {least} were expected")]
    Empty { key: u64, found: usize, least: usize },
}

impl Explain for LoadError {}

/// A whole command did not end as it should.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    #[error("cannot start the command")]
    Start { source: io::Error },
    #[error("cannot wait for the command to end")]
    Wait { source: io::Error },
    /// The command ended with an exit code other than 0.
    #[error("the command ended with exit code {code}{}", words_after(.said))]
    Code {
        code: i32,
        /// The last part of the command's stderr.
        said: String,
    },
    #[error("the command was ended by signal {signal}{}", words_after(.said))]
    Signal {
        signal: i32,
        /// The last part of the command's stderr.
        said: String,
    },
    /// The command took too long, and looptax ended it with all processes that it had started.
    #[error("the command did not end within {limit:?} and was stopped{}", words_after(.said))]
    Timeout {
        limit: Duration,
        /// The last part of the command's stderr.
        said: String,
    },
    /// The terminal stopped the command: the kernel does this to a background process that reads from its terminal.
    #[error(
        "a signal stopped the command, which happens if a command asks for input on the terminal{}",
        words_after(.said)
    )]
    Stopped {
        /// The last part of the command's stderr.
        said: String,
    },
    /// The command used another transport than its arm's.
    #[error("{found}")]
    WrongTransport { found: String },
}

/// Returns the last part of a command's stderr, as the end of a sentence.
fn words_after(said: &str) -> String {
    if said.is_empty() {
        ", and it printed nothing on stderr".to_owned()
    } else {
        format!("; the end of its stderr:\n{said}")
    }
}

/// Why an experiment could not continue.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// Connections could not be opened or proved.
    #[error("cannot connect both sides of `{contrast}`")]
    Connect { contrast: String, source: Failure },
    /// The source of the slices failed, or the server refuses the requests that the connections are to send.
    #[error(transparent)]
    Slice(#[from] Failure),
    /// A request failed, so no result of this run can be trusted.
    #[error("a request failed in {stage} (`{contrast}`, {side} side)")]
    Request {
        contrast: String,
        /// `baseline` or `other`.
        side: &'static str,
        stage: Stage,
        source: LoadError,
    },
    /// A whole command failed, so no result of this run can be trusted.
    #[error("the command of `{arm}` failed in {run}: {line}")]
    Command {
        arm: String,
        run: RunName,
        /// The command, in a form that may be shown.
        line: String,
        source: CommandError,
    },
    /// Answers take so long that not even one epoch fits into the promised time.
    #[error(
        "the server's answers take too long: one epoch needs {epoch:.0?}, but the plan has only {planned:.0?} \
        for all epochs"
    )]
    TooSlow {
        /// The time that an epoch of each contrast takes.
        epoch: Duration,
        planned: Duration,
    },
    /// A client thread could not be started or pinned, or the allowed cores could not be read or do not suffice.
    #[error("cannot {action}")]
    Machine { action: &'static str, source: io::Error },
}

impl Explain for BenchError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Connect { source, .. }
            | Self::Slice(source)
            | Self::Request { source: LoadError::OneShot { source }, .. }
                if source.hint().is_some() =>
            {
                source.hint().map(str::to_owned)
            }
            Self::Connect { .. } | Self::Slice(_) => None,
            Self::Request { .. } => Some(
                "looptax concludes nothing from a run with a failed request; the server's log may show the cause"
                    .to_owned(),
            ),
            Self::Command { source, .. } => Some(source.hint().to_owned()),
            Self::TooSlow { .. } => Some("pass --fixed 6 to measure 6 epochs, however long they take".to_owned()),
            // `WouldBlock` means that no more threads can be started; nothing is pinned yet.
            Self::Machine { source, .. } if source.kind() == io::ErrorKind::WouldBlock => None,
            Self::Machine { .. } => Some("pass --placement free, which pins nothing".to_owned()),
        }
    }

    fn severity(&self) -> Severity {
        match self {
            Self::Connect { source, .. } | Self::Slice(source) => source.severity(),
            // A command that failed in the warm-up has measured nothing.
            Self::Command {
                run: RunName::WarmUp,
                source:
                    CommandError::Start { .. }
                    | CommandError::Wait { .. }
                    | CommandError::Code { .. }
                    | CommandError::Signal { .. }
                    | CommandError::Timeout { .. }
                    | CommandError::Stopped { .. },
                ..
            }
            | Self::TooSlow { .. }
            | Self::Machine { .. } => Severity::Environment,
            Self::Request { .. } | Self::Command { .. } => Severity::Invalid,
        }
    }
}

impl CommandError {
    fn hint(&self) -> &'static str {
        match self {
            Self::Start { .. } => "install the program, or give its full path if it is not on PATH",
            Self::Timeout { .. } => "raise the limit with --exec-timeout, or give the command less work",
            Self::Stopped { .. } => {
                "the command cannot ask for input: pass passwords in its environment or its configuration file"
            }
            Self::WrongTransport { .. } => {
                "check whether the command's configuration files or flags override the transport; looptax concludes \
                 nothing from this run"
            }
            Self::Wait { .. } | Self::Code { .. } | Self::Signal { .. } => {
                "run the command by hand to see more; looptax concludes nothing from a comparison with a failed run"
            }
        }
    }
}

pub(crate) fn side_name(side: Side) -> &'static str {
    match side {
        Side::Baseline => "baseline",
        Side::Other => "other",
    }
}
