//! The reasons why looptax cannot remove an obstacle to a switch.

use std::path::PathBuf;

use looptax_bench::path::TRUST_PEER;
use looptax_model::failure::Explain;

use crate::SwitchError;

/// The reason why looptax did not fix something, or did not undo a fix. No message contains a password.
#[derive(Debug, thiserror::Error)]
pub enum FixError {
    /// The points contain no statement that looptax could run, and no line that it could write.
    #[error("there is nothing to fix here")]
    Nothing,
    #[error("cannot log in to {server}: {why}")]
    LogIn {
        /// The server's address, without a password.
        server: String,
        /// The error message of the server or the system.
        why: String,
        /// Whether looptax did not log in because nothing proved that the expected server listens there.
        is_of_stranger: bool,
    },
    #[error("this change needs an administrator of {server}")]
    NoAdmin { server: String },
    /// The administrator's login leads to another server than the application's login.
    #[error("looptax cannot confirm that {server} is the server of the application: {why}")]
    OtherServer { server: String, why: String },
    /// The server does not report a fact that looptax needs before it changes anything.
    #[error("the server does not report {what}: {why}")]
    Untold { what: &'static str, why: String },
    /// The server refused a statement; the statements before it were undone.
    #[error("the server refused `{statement}`: {why}")]
    Refused {
        /// The statement without its password.
        statement: String,
        /// The server's message, without the password.
        why: String,
    },
    #[error("{account} was changed after looptax read it; looptax leaves the account as it is now")]
    AccountChanged { account: String },
    /// The statements were undone, but the account differs from its earlier state.
    #[error("{account} is not as it was before: {why}")]
    NotAsBefore { account: String, why: String },
    #[error("the client's password cannot be written in a statement: {why}")]
    Password { why: &'static str },
    /// looptax cannot write this file, because it may see another file at this path than the server does.
    #[error("cannot write {path}: {why}")]
    Elsewhere { path: PathBuf, why: &'static str },
    /// The rules have an error already, or would have one after the change.
    #[error("{path} has an error: {why}")]
    BadRules { path: PathBuf, why: String },
    #[error("the server did not read {path} again: {why}")]
    Reload {
        /// The rules file, or the server's data folder.
        path: PathBuf,
        why: String,
    },
    #[error(transparent)]
    Switch(SwitchError),
}

impl From<SwitchError> for FixError {
    fn from(error: SwitchError) -> Self {
        Self::Switch(error)
    }
}

impl Explain for FixError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Switch(error) => return error.hint(),
            Self::Nothing => "run `looptax check` to see the obstacle".to_owned(),
            Self::LogIn { is_of_stranger: true, .. } => TRUST_PEER.to_owned(),
            Self::LogIn { .. } => {
                "pass an administrator of the server: --admin mysql://root@localhost/?socket=PATH or \
                 postgres://postgres@%2Frun%2Fpostgresql/"
                    .to_owned()
            }
            Self::NoAdmin { .. } => {
                "pass an administrator's login with --admin DSN; looptax does not keep the password".to_owned()
            }
            Self::OtherServer { .. } => {
                "pass the server that the application is connected to: `looptax find` lists the servers".to_owned()
            }
            Self::Untold { .. } => "pass an administrator who may read mysql.user, or PostgreSQL's settings".to_owned(),
            Self::Refused { .. } => {
                "pass an administrator with more rights, or run the statements by hand; looptax has undone the \
                statements before this one"
                    .to_owned()
            }
            Self::AccountChanged { .. } => "nothing was undone; see SHOW CREATE USER and SHOW GRANTS".to_owned(),
            Self::NotAsBefore { .. } => {
                "to undo the change, run the statements in the file `fix` next to the journal".to_owned()
            }
            Self::Password { .. } => "run the statements by hand".to_owned(),
            Self::Elsewhere { .. } => {
                "write the line by hand into the file that the server reads, and reload the server".to_owned()
            }
            Self::BadRules { .. } => {
                "fix the file first; this statement shows its errors: SELECT * FROM pg_hba_file_rules WHERE error IS \
                 NOT NULL"
                    .to_owned()
            }
            Self::Reload { .. } => "run SELECT pg_reload_conf(); the server's log shows why it fails".to_owned(),
        })
    }
}
