//! The errors on the way to a collector: one variant per failed action, with its object.

use std::io;
use std::path::PathBuf;

use looptax_model::failure::Explain;

/// A report could not be kept, read or sent.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// The spool's folder could not be made or looked into.
    #[error("cannot use the spool `{}`", path.display())]
    Spool { path: PathBuf, source: io::Error },
    /// A report could not be written to the spool.
    #[error("cannot keep a report in `{}`", path.display())]
    Keep { path: PathBuf, source: io::Error },
    /// A report in the spool could not be read or removed.
    #[error("cannot take the report `{}`", path.display())]
    Take { path: PathBuf, source: io::Error },
    /// The spool holds as much as it may.
    #[error("the spool `{}` holds {n_bytes} bytes already, and no more than {limit} may wait", path.display())]
    Full { path: PathBuf, n_bytes: u64, limit: u64 },
    /// Lines that are not a report, or one of another version.
    #[error("line {line} is not a row of a report: {what}")]
    NoReport {
        /// From 1.
        line: usize,
        what: String,
    },
    /// An address that is not a collector's.
    #[error("this is not a collector's address: {what}")]
    Destination {
        /// The fault in it; never the address.
        what: String,
    },
    /// No authority is known whose certificates could be believed.
    #[error("no authority can be read from `{}`: {what}", path.display())]
    Authority { path: PathBuf, what: String },
    /// The collector does not answer, or cannot be trusted.
    #[error("the collector at {to} cannot be reached: {what}")]
    Away { to: String, what: String },
    /// Something else answers than the engine.
    #[error("what answers at {to} is not a collector: {what}")]
    Answer { to: String, what: String },
    #[error("the collector at {to} says: {what}")]
    Refused {
        to: String,
        what: String,
        /// The reason, as far as its code shows.
        refusal: Refusal,
    },
    /// No view or column has this name.
    #[error("no view has a column `{name}`, or none is called so")]
    NoView { name: String },
    /// A folder or standard output, where an engine is needed.
    #[error("files have no tables: this needs clickhouse://… or postgres://…")]
    NoEngine,
    /// Standard output does not take the report.
    #[error("cannot write the report to standard output")]
    Output { source: io::Error },
}

/// The reasons for which an engine refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Tables or views are missing: they were not made.
    NoTables,
    NoDatabase,
    /// User or password are wrong, or the account may not come from here.
    Login,
    /// The account may not do this.
    Rights,
    /// A row breaks a rule of the tables.
    Row,
    Other,
}

impl Refusal {
    fn hint(self) -> &'static str {
        match self {
            Self::NoTables => "`looptax fleet init` with the same address makes the tables",
            Self::NoDatabase => {
                "write the database after the host, as in …@host/looptax; in PostgreSQL `CREATE DATABASE` makes it, \
                 in ClickHouse `looptax fleet init`"
            }
            Self::Login => {
                "user and password stand in the address, or the password in --password-file or LOOPTAX_COLLECTOR_PASSWORD"
            }
            Self::Rights => "`looptax fleet init --print` lists what an account needs",
            Self::Row | Self::Other => "`looptax fleet init --print` shows the tables as they should be",
        }
    }
}

impl FleetError {
    /// Whether the same may go well later, with nothing changed here.
    pub fn is_away(&self) -> bool {
        matches!(self, Self::Away { .. })
    }

    /// Whether it may be one report that is refused, and others are not.
    pub fn is_of_rows(&self) -> bool {
        matches!(self, Self::Refused { refusal: Refusal::Row, .. })
    }
}

impl Explain for FleetError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Spool { .. } | Self::Keep { .. } | Self::Take { .. } => {
                Some("--spool FOLDER names one that can be written".to_owned())
            }
            Self::Full { .. } => Some(
                "is the collector away? what waits is sent when it is back; nothing older was thrown away".to_owned(),
            ),
            Self::Away { .. } => {
                Some("is it up, and may this machine reach it? the next report tries again".to_owned())
            }
            Self::Refused { refusal, .. } => Some(refusal.hint().to_owned()),
            Self::Authority { .. } => Some("--ca-file FILE names who signs the collector's certificate".to_owned()),
            Self::Destination { .. } => {
                Some("as clickhouse://user@host/looptax, postgres://user@host/looptax, a folder, or -".to_owned())
            }
            Self::Answer { .. } => Some(
                "is it the port of ClickHouse's HTTP interface (8123, over TLS 8443), or PostgreSQL's (5432)?"
                    .to_owned(),
            ),
            Self::NoEngine => Some(
                "files are read by what reads logs; `looptax fleet send ADDRESS --from FOLDER` sends them on"
                    .to_owned(),
            ),
            Self::NoReport { .. } | Self::NoView { .. } | Self::Output { .. } => None,
        }
    }
}
