//! The result of `looptax check`: points with answers, and the lines to change.
//!
//! A JSON form separate from records of runs. It holds the points of one address, or every connection of a file or a
//! process, each with its points.

use crate::stats::range::Count;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::PointCode;

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Checked {
    /// For an address: its points, in the order in which a switch would meet them.
    Address(Vec<Point>),
    /// For a file or a process: each connection that was found there.
    Connections(Vec<CheckedConnection>),
}

/// One point of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// The question that the point answers.
    pub topic: Topic,
    /// The state, as a code for programs.
    pub code: PointCode,
    /// The answer.
    pub outcome: Outcome,
    /// The answer in words.
    pub what: String,
    /// How looptax knows the answer.
    pub how: String,
    /// The next step, in words.
    pub next: Option<String>,
    /// The same next step as commands to run or lines to write, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

/// A command to run or a line to write that fixes a point. `…` stands for the client's password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Where the text has to be run or written.
    pub place: StepPlace,
    /// The statement, command or line.
    pub text: String,
}

/// Where a step has to be run or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepPlace {
    /// A statement, run on the server as an administrator.
    Sql,
    /// A command of a shell, run as root.
    Shell,
    /// A line of `pg_hba.conf`, written above every other.
    HbaLine,
}

/// The question of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Topic {
    /// Which transport the configuration uses.
    Configuration,
    /// Whether a server listens at the address.
    Server,
    /// Whether the server has a socket.
    Socket,
    /// Whether the client can reach the socket's file.
    Path,
    /// Whether a security module confines the client.
    Confinement,
    /// Whether one server is behind both endpoints.
    #[serde(rename = "same server")]
    SameServer,
    /// Which account the client gets over each transport.
    Account,
    /// Whether the login works over each transport.
    Login,
    /// Whether the account, the URL or the server demands TLS.
    #[serde(rename = "TLS")]
    Tls,
    /// How the account's password is checked.
    Plugin,
    /// The rules in PostgreSQL's `pg_hba.conf`.
    #[serde(rename = "pg_hba.conf")]
    Hba,
    /// Whether the socket's queue holds the connections that arrive together.
    Backlog,
    /// Features that only work on TCP.
    #[serde(rename = "what is lost")]
    Losses,
}

/// The answer of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Nothing about this point prevents the switch.
    Pass,
    /// Good to know; it does not by itself prevent the switch.
    Note,
    /// looptax could not find it out.
    Unknown,
    /// The switch would not work, or not safely.
    Fail,
}

/// The result for one connection that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedConnection {
    /// Where it was found.
    pub source: String,
    /// The applications that the file may belong to; empty for a connection that was only seen on a process.
    pub applications: Vec<String>,
    /// Which of the file's connections this is.
    pub label: String,
    /// The server at the other end: `mysql`.
    pub product: String,
    /// Its present address, for a person.
    pub place: String,
    /// Its line in the file.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub line: Option<usize>,
    /// Its state.
    pub verdict: SwitchVerdict,
    /// The points of the check.
    pub points: Vec<Point>,
    /// The lines to write.
    pub changes: Vec<Change>,
}

/// The state of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SwitchVerdict {
    /// The connection uses the socket already.
    AlreadyThere,
    /// The connection would work over the socket.
    WouldWork,
    /// Nothing is known that prevents the switch, but some point is open.
    Open,
    /// The connection would not work over the socket.
    WouldNotWork,
    /// Nothing listens where the configuration points: perhaps it is not in use.
    NobodyThere,
}

/// The change for one application that the file may belong to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The application.
    pub title: String,
    /// Setting by setting.
    pub edits: Vec<Edit>,
    /// Steps in addition to the edits or instead of them.
    pub advice: String,
    /// The programs to restart and caches to clear.
    pub restart: String,
    /// Typical mistakes with this change.
    pub traps: Vec<String>,
    /// Whether a test or a source shows this; `false` if it is only generally known.
    pub is_read: bool,
}

/// One changed setting, without its password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Edit {
    /// Its line; `null` in an environment.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub line: Option<usize>,
    /// The present text; `null` for a setting that is added below that line.
    pub before: Option<String>,
    /// The new text; `null` for a setting that is removed.
    pub after: Option<String>,
}

impl Point {
    /// A point without a next step.
    pub fn new(
        topic: Topic,
        code: PointCode,
        outcome: Outcome,
        what: impl Into<String>,
        how: impl Into<String>,
    ) -> Self {
        Self { topic, code, outcome, what: what.into(), how: how.into(), next: None, steps: Vec::new() }
    }

    #[must_use]
    pub fn with_next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }

    /// Adds the commands to run or the lines to write.
    #[must_use]
    pub fn with_steps<T: Into<String>>(mut self, place: StepPlace, texts: impl IntoIterator<Item = T>) -> Self {
        let step = |text: T| Step { place, text: text.into() };
        self.steps.extend(texts.into_iter().map(step));
        self
    }
}

impl Topic {
    /// The word as it is saved and shown.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Configuration => "configuration",
            Self::Server => "server",
            Self::Socket => "socket",
            Self::Path => "path",
            Self::Confinement => "confinement",
            Self::SameServer => "same server",
            Self::Account => "account",
            Self::Login => "login",
            Self::Tls => "TLS",
            Self::Plugin => "plugin",
            Self::Hba => "pg_hba.conf",
            Self::Backlog => "backlog",
            Self::Losses => "what is lost",
        }
    }
}
