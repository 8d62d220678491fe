//! What ends an experiment early.

use std::error::Error;
use std::fmt;
use std::io;
use std::time::Duration;

use looptax_stats::Side;
use looptax_wire::WireError;

/// Which part of an epoch a request belonged to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The untimed first requests of a connection.
    Priming,
    /// The counted part of a slice, or its guard.
    Slice,
    /// After a slice's end, while the last answers come in.
    Drain,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Priming => "priming",
            Self::Slice => "a slice",
            Self::Drain => "the drain after a slice",
        })
    }
}

/// One request failed.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A system call on the connection failed.
    #[error("cannot {action}")]
    Io {
        /// `send`, `receive`, `wait`.
        action: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The server closed the connection.
    #[error("the server closed the connection")]
    Closed,
    /// No answer within the limit.
    #[error("no answer within {limit:?}")]
    Timeout {
        /// The limit.
        limit: Duration,
    },
    /// The client thread panicked: a bug of ours.
    #[error("the client thread panicked")]
    Panicked,
    /// The answer is an error, or not an answer.
    #[error("the answer is not the one expected")]
    Answer {
        /// Why.
        source: WireError,
    },
    /// The answer holds less data than a right one must.
    #[error("the answer to key {key} holds {found} bytes of data, at least {least} were expected")]
    Empty {
        /// The key asked for.
        key: u64,
        /// Bytes found.
        found: usize,
        /// Bytes expected.
        least: usize,
    },
}

/// An experiment could not go on.
#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    /// Connections could not be opened or proved.
    #[error("cannot connect both sides of `{contrast}`")]
    Connect {
        /// The contrast.
        contrast: String,
        /// Why.
        source: Box<dyn Error + Send + Sync>,
    },
    /// A request failed: no result of this run can be trusted.
    #[error("a request failed in {stage} (`{contrast}`, {side} side)")]
    Request {
        /// The contrast.
        contrast: String,
        /// `baseline` or `other`.
        side: &'static str,
        /// Where in the epoch.
        stage: Stage,
        /// Why.
        source: LoadError,
    },
    /// A client thread could not be started or pinned.
    #[error("cannot {action}")]
    Machine {
        /// What was tried.
        action: &'static str,
        /// Why.
        source: io::Error,
    },
}

pub(crate) fn side_name(side: Side) -> &'static str {
    match side {
        Side::Baseline => "baseline",
        Side::Other => "other",
    }
}
