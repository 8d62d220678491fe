//! Would the switch to the socket work? Points with an answer, and how it is known.
//!
//! Facts in, points out: the facts are gathered by the command line. A point that fails says what
//! would have to change, as the statement or the line itself where there is one.

mod account;
mod hba;
mod path;
mod server;
mod tls;

pub use account::{MysqlAccount, MysqlLogin, mysql_account};
pub use hba::{Hba, HbaLine, postgres_rules};
pub use path::{End, Reach, Step, reach};
pub use server::{Burst, Confinement, backlog, confinement, losses, same_server};
pub use tls::{demanded_tls, secure_transport};

/// An answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// This stands in the way of nothing.
    Pass,
    /// Good to know; it stands in the way of nothing by itself.
    Note,
    /// It could not be found out.
    Unknown,
    /// The switch would not work, or not safely.
    Fail,
}

/// One point of a check.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Point {
    /// What was asked: `path`, `account`.
    pub topic: &'static str,
    /// The answer.
    pub outcome: Outcome,
    /// In words.
    pub what: String,
    /// How it is known.
    pub how: String,
    /// What to do: a statement, a line, a step.
    pub next: Option<String>,
}

impl Point {
    pub(crate) fn new(
        topic: &'static str,
        outcome: Outcome,
        what: impl Into<String>,
        how: impl Into<String>,
    ) -> Self {
        Self {
            topic,
            outcome,
            what: what.into(),
            how: how.into(),
            next: None,
        }
    }

    pub(crate) fn with_next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }
}
