//! The errors before the program runs: one variant per failed action, with its object.

use std::borrow::Cow;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use looptax_model::failure::Explain;

use crate::Obstacle;

/// The program could not be run.
#[derive(Debug, thiserror::Error)]
pub enum RedirectError {
    /// A socket's path is longer than a socket address can hold.
    #[error(
        "`{}` has {n_bytes} bytes, but a socket's path may have at most {}",
        path.display(),
        crate::mapping::MAX_PATH_BYTES
    )]
    PathTooLong { path: PathBuf, n_bytes: usize },
    /// An argument or name contains a zero byte.
    #[error("`{}` contains a zero byte", text.display())]
    ZeroByte { text: OsString },
    /// There are more routes than counters.
    #[error("looptax can move connections to at most {at_most} addresses, not to {n}")]
    TooManyRoutes { n: usize, at_most: usize },
    /// The process has several threads; a forked process would have only the thread that forks.
    #[error("this process has {n} threads; looptax can start a supervisor only from a process with one thread")]
    Threads { n: usize },
    /// The kernel, or a sandbox around looptax, does not allow the redirection, and the caller requires it.
    #[error("looptax cannot move connections on this machine")]
    Forbidden(#[source] Obstacle),
    /// A step of the start failed.
    #[error("cannot {action}")]
    Start { action: Cow<'static, str>, source: io::Error },
    #[error("cannot run `{}`", program.display())]
    Exec { program: OsString, source: io::Error },
}

impl RedirectError {
    /// Makes the error for a failed step of the start.
    pub(crate) fn failed(action: &'static str) -> impl Fn(io::Error) -> Self {
        move |source| Self::Start { action: action.into(), source }
    }
}

impl Explain for RedirectError {}
