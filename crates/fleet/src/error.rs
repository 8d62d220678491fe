//! The errors of sending to a collector and querying it: one variant for each action that can fail, with its object.

use std::io;
use std::path::PathBuf;

use looptax_model::failure::Explain;

/// A report could not be stored, read or sent.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// The spool's folder could not be made or read.
    #[error("cannot use the spool `{}`", path.display())]
    Spool { path: PathBuf, source: io::Error },
    /// A report could not be written to the spool.
    #[error("cannot save a report in `{}`", path.display())]
    Keep { path: PathBuf, source: io::Error },
    #[error("cannot write a report to the folder `{}`", path.display())]
    Folder { path: PathBuf, source: io::Error },
    /// A report could not be read from the spool or removed from it.
    #[error("cannot read or remove the report `{}`", path.display())]
    Take { path: PathBuf, source: io::Error },
    #[error("the spool `{}` is full: it contains {n_bytes} of at most {limit} bytes", path.display())]
    Full { path: PathBuf, n_bytes: u64, limit: u64 },
    /// Some lines do not form a report, or they form a report of another version.
    #[error("line {line} is not a valid row of a report: {what}")]
    NoReport {
        /// The number of the line, starting from 1.
        line: usize,
        what: String,
    },
    /// The address or an option of the collector is wrong.
    #[error("looptax cannot use the collector as given: {what}")]
    Destination {
        /// The fault; never contains the address, because an address may contain a password.
        what: String,
    },
    /// No trusted certificate authority was found.
    #[error("cannot read certificate authorities from `{}`: {what}", path.display())]
    Authority { path: PathBuf, what: String },
    /// The collector did not reply, or could not be trusted.
    #[error("the collector at {to} cannot be reached: {what}")]
    Away { to: String, what: String },
    /// The reply did not come from the expected engine.
    #[error("the server at {to} is not a collector that looptax can use: {what}")]
    Answer { to: String, what: String },
    #[error("the collector at {to} returned an error: {what}")]
    Refused {
        to: String,
        what: String,
        /// The reason, as far as the engine's error code shows it.
        refusal: Refusal,
    },
    #[error("`{name}` is neither a view nor a column of the chosen view")]
    NoView { name: String },
    /// The destination is a folder or standard output, but an engine is needed.
    #[error("files have no tables: this command needs clickhouse://… or postgres://…")]
    NoEngine,
    #[error("cannot write the report to standard output")]
    Output { source: io::Error },
}

/// Why an engine refused a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The tables or views do not exist yet.
    NoTables,
    NoDatabase,
    /// The user or the password is wrong, or the account may not log in from this address.
    Login,
    /// The account has no right to run the statement.
    Rights,
    /// A row violates a constraint of the tables.
    Row,
    Other,
}

impl Refusal {
    fn hint(self) -> &'static str {
        match self {
            Self::NoTables => "`looptax fleet init` with the same URL creates the tables",
            Self::NoDatabase => {
                "write the database after the host, as in …@host/looptax; to create the database, run `CREATE \
                 DATABASE` in PostgreSQL, or `looptax fleet init` for ClickHouse"
            }
            Self::Login => {
                "write user and password into the URL, or pass the password in --password-file or \
                 LOOPTAX_COLLECTOR_PASSWORD"
            }
            Self::Rights => "`looptax fleet init --print` lists what an account needs",
            Self::Row | Self::Other => "`looptax fleet init --print` shows the tables as they should be",
        }
    }
}

impl FleetError {
    /// Whether the same action may succeed later, without any change on this machine.
    pub fn is_away(&self) -> bool {
        matches!(self, Self::Away { .. })
    }

    /// Whether a single report may have caused the refusal, so that the engine may accept other reports.
    pub fn is_of_rows(&self) -> bool {
        matches!(self, Self::Refused { refusal: Refusal::Row, .. })
    }
}

impl Explain for FleetError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::Spool { .. } | Self::Keep { .. } | Self::Take { .. } => {
                Some("pass a folder to which you may write: --spool FOLDER".to_owned())
            }
            Self::Folder { .. } => Some(
                "pass another folder as the destination, or run looptax as a user who may write to this folder"
                    .to_owned(),
            ),
            Self::Full { .. } => Some(
                "check whether the collector is down: looptax sends the waiting reports when the collector is back; \
                no report was deleted"
                    .to_owned(),
            ),
            Self::Away { .. } => Some(
                "check that the collector runs and that this machine can reach it; looptax tries again with \
                    the next report"
                    .to_owned(),
            ),
            Self::Refused { refusal, .. } => Some(refusal.hint().to_owned()),
            Self::Authority { .. } => Some(
                "pass the certificate of the authority that signed the collector's certificate: --ca-file FILE"
                    .to_owned(),
            ),
            Self::Destination { .. } => Some(
                "for example clickhouse://user@host/looptax, postgres://user@host/looptax, a folder, or -".to_owned(),
            ),
            Self::Answer { .. } => Some(
                "check the port: ClickHouse's HTTP interface usually has 8123 (with TLS 8443), PostgreSQL 5432"
                    .to_owned(),
            ),
            Self::NoEngine => Some(
                "let your log collector read the files, or send the files to a database: `looptax fleet send ADDRESS \
                 --from FOLDER`"
                    .to_owned(),
            ),
            Self::NoReport { .. } | Self::NoView { .. } | Self::Output { .. } => None,
        }
    }
}
