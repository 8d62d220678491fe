//! What can go wrong on the way to a collector: one variant per failed action, with its object.

use std::io;
use std::path::PathBuf;

use looptax_failure::Explain;

/// A report could not be kept, read or sent.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// The spool's folder could not be made or looked into.
    #[error("cannot use the spool `{}`", path.display())]
    Spool {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A report could not be written to the spool.
    #[error("cannot keep a report in `{}`", path.display())]
    Keep {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A report in the spool could not be read or removed.
    #[error("cannot take the report `{}`", path.display())]
    Take {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The spool holds as much as it may.
    #[error("the spool `{}` holds {n_bytes} bytes already, and no more than {limit} may wait", path.display())]
    Full {
        /// The folder.
        path: PathBuf,
        /// What it holds.
        n_bytes: u64,
        /// What it may.
        limit: u64,
    },
    /// Lines that are no report, or one of another version.
    #[error("line {line} is no row of a report: {what}")]
    NoReport {
        /// From 1.
        line: usize,
        /// What is wrong with it.
        what: String,
    },
}

impl Explain for FleetError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Spool { .. } | Self::Keep { .. } | Self::Take { .. } => {
                Some("--spool FOLDER names one that can be written".to_owned())
            }
            Self::Full { .. } => Some(
                "is the collector away? what waits is sent when it is back; nothing older was thrown away"
                    .to_owned(),
            ),
            Self::NoReport { .. } => None,
        }
    }
}
