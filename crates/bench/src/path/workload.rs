//! The requests that are sent to the server.

mod echo;
mod oltp;
mod ping;
mod site;
mod tpcb;

use std::fmt;

use looptax_wire::Sent;
use looptax_wire::transaction::{Draw, Expected, Step, Transaction, Value};

pub use echo::{Echo, EchoRequest};
pub use oltp::Oltp;
pub use ping::system_row;
pub(crate) use ping::{PING_BYTES, ping};
pub use site::SitePage;
pub use tpcb::TPCB_ACCOUNTS;

/// A kind of request. Which kinds exist depends on the protocol: see [`crate::path::Conversation::codec`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Workload {
    /// `SELECT c FROM <table> WHERE id = ?`.
    PointSelect {
        table: String,
    },
    /// A statement that returns 120 bytes and reads no table; Redis and memcached: GET of a missing key; `MongoDB`: `ping`.
    Ping,
    /// One row of a table that the server itself keeps. The row is found by its key: see [`system_row`].
    SystemRow {
        sql: &'static str,
    },
    /// Messages or streams of the echo server.
    Echo(Echo),
    /// A page of an application behind a web server (PHP-FPM, HTTP).
    Page(SitePage),
    /// All rows of a table, in one answer.
    Dump {
        table: String,
        rows: u64,
    },
    /// Redis GETs of many large values, one after another, as one request.
    DumpValues {
        /// The start of every key; keys end in 1 to `n_keys`.
        prefix: String,
        n_keys: u64,
        value_bytes: usize,
    },
    /// A connection from its opening to its end, with one [`Workload::Ping`] in it: see [`crate::path::OneShot`].
    Connect,
    Oltp {
        oltp: Oltp,
        table: String,
    },
    /// pgbench's built-in transaction, "TPC-B (sort of)".
    Tpcb {
        /// The prefix of the tables' names: empty, or a schema with its dot.
        schema: String,
        /// Number of branches; each has ten tellers and [`TPCB_ACCOUNTS`] accounts.
        scale: u32,
    },
    /// pgbench's `-S`: the balance of one account.
    SelectOnly {
        /// As in [`Workload::Tpcb`].
        schema: String,
    },
    /// A user's own statements, which the caller runs.
    Script {
        /// The files, under the names that the user gave.
        files: String,
    },
    /// GET of `prefix` and a 12-digit number (Redis, memcached).
    Get {
        prefix: String,
    },
    /// SET of `prefix` and a 12-digit number (Redis, memcached).
    Set {
        prefix: String,
        value_bytes: usize,
        /// How long a written key lives, in seconds; forever if `None`.
        ttl_s: Option<u32>,
    },
    /// GET and SET, drawn at random (Redis, memcached).
    Mixed {
        prefix: String,
        value_bytes: usize,
        /// As in [`Workload::Set`].
        ttl_s: Option<u32>,
        /// The ratio of reads to writes.
        reads_and_writes: [u32; 2],
    },
    /// `find` of one document by its id (`MongoDB`).
    FindOne {
        collection: Collection,
    },
    /// `insert` of one document with a new id (`MongoDB`).
    InsertOne {
        collection: Collection,
        value: String,
    },
    /// Redis INCR of `prefix` and a 12-digit number.
    Incr {
        prefix: String,
    },
    /// Redis LPUSH on `prefix` and a 12-digit number.
    Lpush {
        prefix: String,
        value_bytes: usize,
    },
}

/// A collection of documents, in a separate database or in the login's database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collection {
    /// The database; `None` for the login's database.
    pub database: Option<String>,
    pub name: String,
}

impl Collection {
    /// Returns the database and the name; `own` is the login's database.
    pub fn split<'a>(&'a self, own: &'a str) -> (&'a str, &'a str) {
        (self.database.as_deref().unwrap_or(own), &self.name)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sending {
    /// Whether statements are prepared or sent as text, if the protocol has SQL.
    pub sent: Sent,
    /// How many requests are sent together, if the protocol has pipelines.
    pub pipeline: usize,
    /// Whether each connection carries only one request. Matters only for protocols in which the request announces
    /// this.
    pub is_last: bool,
}

impl Default for Sending {
    fn default() -> Self {
        Self { sent: Sent::Prepared, pipeline: 1, is_last: false }
    }
}

impl Workload {
    /// Returns the workload's name in options and records.
    pub fn name(&self) -> &'static str {
        match self {
            Self::PointSelect { .. } => "point-select",
            Self::Ping => "ping",
            Self::SystemRow { .. } => "system-row",
            Self::Echo(echo) => echo.name(),
            Self::Page(page) => page.name(),
            Self::Connect => "connect",
            Self::Dump { .. } | Self::DumpValues { .. } => "dump",
            Self::Oltp { oltp, .. } => oltp.name(),
            Self::Tpcb { .. } => "tpcb",
            Self::SelectOnly { .. } => "select-only",
            Self::Script { .. } => "script",
            Self::Get { .. } => "get",
            Self::Set { .. } => "set",
            Self::Mixed { .. } => "mixed",
            Self::FindOne { .. } => "find-one",
            Self::InsertOne { .. } => "insert-one",
            Self::Incr { .. } => "incr",
            Self::Lpush { .. } => "lpush",
        }
    }

    /// Returns the least number of data bytes in a right answer: an empty row or a missing key is an error. For
    /// transactions each statement is checked separately.
    pub fn least_data_bytes(&self) -> usize {
        match self {
            Self::PointSelect { .. }
            | Self::SystemRow { .. }
            | Self::Get { .. }
            | Self::FindOne { .. }
            | Self::SelectOnly { .. } => 1,
            _ => 0,
        }
    }

    /// Returns whether the workload changes the stored data. If so, answers depend on earlier requests, and every
    /// connection gets its own keys.
    pub fn writes(&self) -> bool {
        match self {
            Self::Oltp { oltp, .. } => oltp.writes(),
            Self::Tpcb { .. }
            | Self::Script { .. }
            | Self::Set { .. }
            | Self::Mixed { .. }
            | Self::InsertOne { .. }
            | Self::Incr { .. }
            | Self::Lpush { .. } => true,
            Self::PointSelect { .. }
            | Self::Ping
            | Self::SystemRow { .. }
            | Self::Echo(_)
            | Self::Page(_)
            | Self::Connect
            | Self::Dump { .. }
            | Self::DumpValues { .. }
            | Self::SelectOnly { .. }
            | Self::FindOne { .. }
            | Self::Get { .. } => false,
        }
    }

    /// Returns whether two requests with the same key get the same answer, so that the arms' answers can be compared.
    pub fn is_repeatable(&self) -> bool {
        !self.writes() && *self != Self::Page(SitePage::Named)
    }

    /// Returns the workload's statements, if it consists of SQL.
    pub fn transaction(&self) -> Option<Transaction> {
        match self {
            Self::Ping => Some(without_key(ping())),
            Self::SystemRow { sql } => Some(without_key((*sql).to_owned())),
            Self::PointSelect { table } => Some(by_key(format!("SELECT c FROM {table} WHERE id=?"))),
            Self::SelectOnly { schema } => {
                Some(by_key(format!("SELECT abalance FROM {schema}pgbench_accounts WHERE aid = ?")))
            }
            Self::Oltp { oltp, table } => Some(oltp.transaction(table)),
            Self::Tpcb { schema, scale } => Some(tpcb::transaction(schema, *scale)),
            _ => None,
        }
    }

    /// Returns the number of statements in one request; 1 if the workload does not consist of SQL.
    pub fn n_statements(&self) -> usize {
        self.transaction().map_or(1, |it| it.steps.len())
    }
}

fn without_key(sql: String) -> Transaction {
    Transaction { draws: Vec::new(), steps: vec![Step { sql, values: Vec::new(), expects: Expected::Row }] }
}

/// Makes a transaction of one statement that returns one row, found by its key.
fn by_key(sql: String) -> Transaction {
    Transaction {
        draws: vec![Draw::Key],
        steps: vec![Step { sql, values: vec![Value::Number { draw: 0, plus: 0 }], expects: Expected::Row }],
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mixed { reads_and_writes: [reads, writes], .. } => {
                write!(f, "mixed:{reads}:{writes}")
            }
            Self::Script { files } => write!(f, "script:{files}"),
            Self::Page(page) => page.fmt(f),
            _ => f.write_str(self.name()),
        }
    }
}
