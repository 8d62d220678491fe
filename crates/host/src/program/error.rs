//! The reasons why looptax could not run a process's program, one variant for each reason, with its object.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use crate::control::Distrust;
use crate::user;

/// A program could not be run, or gave no usable output.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    #[error("process {pid} has ended, or runs another program now")]
    Ended { pid: u32 },
    #[error(
        "process {pid} has the rights of more than one user or group, so another user may have chosen its arguments: \
         looptax does not run its program"
    )]
    SeveralUsers { pid: u32 },
    #[error(
        "process {pid} has its own users or process numbers, as in a container: looptax does not run its program \
         from outside the container"
    )]
    Elsewhere { pid: u32 },
    /// The file that the process runs cannot be opened.
    #[error("looptax cannot inspect the program of process {pid}: the process belongs to another user")]
    Hidden { pid: u32 },
    /// The process belongs to a user, and looptax cannot run a program as that user.
    #[error(
        "process {pid} belongs to {}, and only root or that user may run its program to test files",
        user::shown(*uid)
    )]
    NotOurs { pid: u32, uid: u32 },
    /// The program's file was replaced, and users other than root can change the file that is at its path now.
    #[error("{} was replaced after process {pid} started it{}", path.display(), because(why.as_ref()))]
    Replaced {
        pid: u32,
        path: PathBuf,
        /// The file or folder that users other than root can change; `None` if there is no file at the path.
        why: Option<Distrust>,
    },
    /// A process of root runs a program that users other than root can change.
    #[error("looptax does not run {} as root: {}", path.display(), at_fault(why.as_ref()))]
    Untrusted {
        pid: u32,
        path: PathBuf,
        /// The file or folder that users other than root can change; `None` if the path no longer leads to the file that
        /// the process runs.
        why: Option<Distrust>,
    },
    /// The configuration of a program of root includes a file that users other than root can change.
    #[error("looptax does not run {} as root: its configuration includes {why}", path.display())]
    Foreign {
        path: PathBuf,
        /// The first file that users other than root can change.
        why: Distrust,
    },
    #[error("looptax does not run {} as root: this kernel cannot supervise the program ({source})", path.display())]
    Unsupervised { path: PathBuf, source: io::Error },
    #[error("cannot start {}", path.display())]
    Start { path: PathBuf, source: io::Error },
    /// The program did not end within the time limit, and was killed.
    #[error("{} did not end within {} s", path.display(), limit.as_secs())]
    TooLong { path: PathBuf, limit: Duration },
    #[error("{} printed more than {} MB", path.display(), limit_bytes >> 20)]
    TooMuch { path: PathBuf, limit_bytes: usize },
    #[error("stopped while {} ran", path.display())]
    Stopped { path: PathBuf },
}

fn because(why: Option<&Distrust>) -> String {
    match why {
        Some(why) => format!(", and users other than root can change {why}"),
        None => ", and no file is at its path".to_owned(),
    }
}

fn at_fault(why: Option<&Distrust>) -> String {
    match why {
        Some(why) => format!("users other than root can change {why}"),
        None => "another file is at that path now".to_owned(),
    }
}

impl ProgramError {
    /// Returns the next step for a person, without a final full stop.
    pub fn hint(&self) -> String {
        match self {
            Self::Replaced { .. } | Self::Ended { .. } => "restart the process, then try again".to_owned(),
            Self::NotOurs { .. } | Self::Hidden { .. } => "run looptax as root".to_owned(),
            Self::Untrusted { .. } => {
                "make root the owner of the program and of each folder above it, or run the server as the \
                 user that owns the program"
                    .to_owned()
            }
            Self::Foreign { .. } => {
                "make root the owner of that file and its folder, or test the files by hand".to_owned()
            }
            Self::Elsewhere { .. } => "run looptax inside the container".to_owned(),
            _ => "test the files by hand".to_owned(),
        }
    }
}
