//! The result of `looptax check`: points with answers, and the lines to change.
//!
//! Its own JSON, apart from records of runs: the points of one address, or every connection of a file or a process
//! with its own points.

use crate::stats::range::Count;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::PointCode;

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Checked {
    /// Of an address: its points, in the order in which a switch would meet them.
    Address(Vec<Point>),
    /// Of a file or a process: each connection that was found there.
    Connections(Vec<CheckedConnection>),
}

/// One point of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// The question.
    pub topic: Topic,
    /// The state, for a program.
    pub code: PointCode,
    /// The answer.
    pub outcome: Outcome,
    /// In words.
    pub what: String,
    /// How it is known.
    pub how: String,
    /// The next step, in words.
    pub next: Option<String>,
    /// The same as what has to be run or written, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

/// Something to run or to write that fixes a point. `…` stands for the client's password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Where it belongs.
    pub place: StepPlace,
    /// The statement, the command or the line itself.
    pub text: String,
}

/// Where a step belongs.
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
    /// Which transport the configuration takes.
    Configuration,
    /// Whether a server is there.
    Server,
    /// Whether it has a socket.
    Socket,
    /// The way to the socket.
    Path,
    /// The confinement of the client.
    Confinement,
    /// Whether one server is behind both endpoints.
    #[serde(rename = "same server")]
    SameServer,
    /// Who one is over either transport.
    Account,
    /// Whether one gets in over either transport.
    Login,
    /// Who demands TLS.
    #[serde(rename = "TLS")]
    Tls,
    /// How the account's password is checked.
    Plugin,
    /// PostgreSQL's rules.
    #[serde(rename = "pg_hba.conf")]
    Hba,
    /// The room for connections that come at once.
    Backlog,
    /// Features that only work on TCP.
    #[serde(rename = "what is lost")]
    Losses,
}

/// The answer of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// This is in the way of nothing.
    Pass,
    /// Good to know; it is in the way of nothing by itself.
    Note,
    /// It could not be found out.
    Unknown,
    /// The switch would not work, or not safely.
    Fail,
}

/// The result about one connection that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedConnection {
    /// Where it was found.
    pub source: String,
    /// The applications that may be meant; empty for a connection that was only seen.
    pub applications: Vec<String>,
    /// Which of the file's connections.
    pub label: String,
    /// The server at the other end: `mysql`.
    pub product: String,
    /// Its address now, for a person.
    pub place: String,
    /// Line of the file.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub line: Option<usize>,
    /// Its state.
    pub verdict: SwitchVerdict,
    /// Point by point.
    pub points: Vec<Point>,
    /// The lines to write.
    pub changes: Vec<Change>,
}

/// The state of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SwitchVerdict {
    /// It takes the socket.
    AlreadyThere,
    /// It would.
    WouldWork,
    /// Nothing is known that is in the way, and something is open.
    Open,
    /// It would not.
    WouldNotWork,
    /// Nothing listens where the configuration points: perhaps it is not in use.
    NobodyThere,
}

/// The change for one application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The application.
    pub title: String,
    /// Setting by setting.
    pub edits: Vec<Edit>,
    /// Other steps, in addition or instead.
    pub advice: String,
    /// The programs to restart and caches to clear.
    pub restart: String,
    /// Typical mistakes with it.
    pub traps: Vec<String>,
    /// Whether this is more than generally known.
    pub is_read: bool,
}

/// One setting, without its password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Edit {
    /// Its line; `null` in an environment.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub line: Option<usize>,
    /// As it is; `null` for one that is added below that line.
    pub before: Option<String>,
    /// As it has to be; `null` for one that is removed.
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

    /// Says what to run or to write.
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
