//! The result of `looptax check`: the points that were checked, and the lines to change.
//!
//! A JSON form separate from records of runs. The form holds the points of one address, or all connections of a file or
//! a process, each connection with its points.

use crate::stats::range::Count;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::PointCode;

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Checked {
    /// For an address: its points, in the order in which they matter for a switch.
    Address(Vec<Point>),
    /// For a file or a process: the connections that looptax found in the file or process.
    Connections(Vec<CheckedConnection>),
}

/// One point of a check: a question, and the answer that looptax found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Point {
    /// The question that the point answers.
    pub topic: Topic,
    /// The state, as a code for programs.
    pub code: PointCode,
    /// Whether the point prevents the switch.
    pub outcome: Outcome,
    /// The state in words.
    pub what: String,
    /// How looptax found out the state.
    pub how: String,
    /// The next step, in words.
    pub next: Option<String>,
    /// The next step as commands to run or lines to write, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

/// A command to run or a line to write that fixes a point. `…` in the text stands for the client's password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// Where to run or write the text.
    pub place: StepPlace,
    /// The statement, command or line.
    pub text: String,
}

/// Where a step is run or written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StepPlace {
    /// A statement, to be run on the server as an administrator.
    Sql,
    /// A shell command, to be run as root.
    Shell,
    /// A line of `pg_hba.conf`, to be written above all other lines.
    HbaLine,
}

/// The question that a point answers.
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
    /// Whether both endpoints belong to the same server.
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
    /// Whether the socket's queue is long enough for connections that arrive at the same time.
    Backlog,
    /// Features that work only over TCP.
    #[serde(rename = "what is lost")]
    Losses,
}

/// Whether a point prevents the switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Nothing about this point prevents the switch.
    Pass,
    /// The point is worth knowing; it does not by itself prevent the switch.
    Note,
    /// looptax could not find out whether the point prevents the switch.
    Unknown,
    /// The switch would not work, or not safely.
    Fail,
}

/// The result for one of the connections in a file or a process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedConnection {
    /// Where the connection was found.
    pub source: String,
    /// The applications to which the file may belong; empty for a connection that was seen only in a process.
    pub applications: Vec<String>,
    /// The name that distinguishes this connection from the file's other connections.
    pub label: String,
    /// The kind of server at the other end: `mysql`.
    pub product: String,
    /// The connection's present address, for a person.
    pub place: String,
    /// The number of the line in the file that configures the connection.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub line: Option<usize>,
    /// Whether the connection could use the socket.
    pub verdict: SwitchVerdict,
    /// The points of the check.
    pub points: Vec<Point>,
    /// The lines to write.
    pub changes: Vec<Change>,
}

/// Whether a connection could use the socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SwitchVerdict {
    /// The connection already uses the socket.
    AlreadyThere,
    /// The connection would work over the socket.
    WouldWork,
    /// No point is known to prevent the switch, but at least one point could not be checked.
    Open,
    /// The connection would not work over the socket.
    WouldNotWork,
    /// Nothing listens at the configured address: perhaps the configuration is not in use.
    NobodyThere,
}

/// The change for one application that the file may belong to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// The application.
    pub title: String,
    /// The settings to change, one entry for each.
    pub edits: Vec<Edit>,
    /// Steps that are necessary in addition to the edits, or instead of them.
    pub advice: String,
    /// The programs to restart and the caches to clear.
    pub restart: String,
    /// Mistakes that people often make with this change.
    pub traps: Vec<String>,
    /// Whether a test or a published source confirms this change; `false` if only general knowledge supports it.
    pub is_read: bool,
}

/// A changed setting, without its password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Edit {
    /// The number of the setting's line; `null` if the setting is in an environment.
    #[serde(default, deserialize_with = "Count::read")]
    #[schemars(with = "Option<Count>")]
    pub line: Option<usize>,
    /// The present text; `null` if the setting is added below `line`.
    pub before: Option<String>,
    /// The new text; `null` if the setting is removed.
    pub after: Option<String>,
}

impl Point {
    /// Makes a point without a next step.
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

    /// Adds commands to run or lines to write.
    #[must_use]
    pub fn with_steps<T: Into<String>>(mut self, place: StepPlace, texts: impl IntoIterator<Item = T>) -> Self {
        let step = |text: T| Step { place, text: text.into() };
        self.steps.extend(texts.into_iter().map(step));
        self
    }
}

impl Topic {
    /// Returns the topic's name as it is saved and shown.
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
