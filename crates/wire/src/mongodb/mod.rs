//! `MongoDB`'s protocol, limited to commands in single messages: login, queries, filling of a server, and the measured
//! ping, find and insert.
//!
//! `FerretDB` also uses this protocol, and this module is tested with `FerretDB`. Called by `bench` (codecs), `servers`
//! (readiness, filling) and `path` (proof of an arm, the server's counters).
//!
//! # Source
//! mongodb.com/docs/manual/reference/command; `FerretDB` 1.24 (read 2026-11).

mod bson;
mod login;
mod message;
mod workload;

use std::net::SocketAddr;
use std::time::Duration;

use bson::Document;
use message::{ANSWER_LIMIT, Answer, Command, answer, broken, check};
pub use workload::{FindOne, InsertOne, Ping};

use crate::io;
use crate::{Stream, WireError};

/// Number of bytes that are read at a time.
const PIECE_BYTES: usize = 16 << 10;
/// The database for commands that concern the whole server.
const ADMIN: &str = "admin";

const ASK: &str = "ask the server";

#[derive(Debug)]
pub struct Connection<S: Stream> {
    stream: S,
    timeout_hint: Duration,
    /// The number of the last message.
    number: i32,
    database: String,
    server_version: String,
    is_ferretdb: bool,
    is_replicated: bool,
    peer: Option<SocketAddr>,
}

/// A server's report about itself and its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Status {
    /// The server's process id, as the server sees it.
    pub pid: u64,
    /// Number of connections since the server started; `None` from `FerretDB`, which does not report this number.
    pub n_connections: Option<u64>,
    /// How often the server has received each command.
    pub commands: Vec<(String, u64)>,
}

impl<S: Stream> Connection<S> {
    /// Returns the server's own version: `7.0.14`, or for `FerretDB` `1.24.2`.
    pub fn server_version(&self) -> &str {
        &self.server_version
    }

    /// Returns whether the server reports that it is `FerretDB`.
    pub fn is_ferretdb(&self) -> bool {
        self.is_ferretdb
    }

    /// Returns whether the server belongs to a replica set, so that writes are replicated to other servers.
    pub fn is_replicated(&self) -> bool {
        self.is_replicated
    }

    pub fn database(&self) -> &str {
        &self.database
    }

    /// Returns our address, as the server reported it at the login; `None` over a socket.
    pub fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// Asks the server for its report about its work so far.
    ///
    /// # Errors
    /// [`WireError::Server`] if the account may not read the report; [`WireError::Malformed`], [`WireError::TooLong`];
    /// `Timeout`, `Closed`, `Io`.
    ///
    /// # Source
    /// mongodb.com/docs/manual/reference/command/serverStatus, `metrics.commands`.
    pub fn status(&mut self) -> Result<Status, WireError> {
        let told = self.ask(ADMIN, Document::new().int("serverStatus", 1))?;
        let count = |names: &[&str]| told.number(names).and_then(whole);
        let Some(pid) = count(&["pid"]).filter(|it| *it > 0) else {
            return Err(broken(&told.0, ASK));
        };
        let each = told.each(&["metrics", "commands"]).into_iter();
        let commands = each.filter_map(|it| {
            let name = str::from_utf8(it.name).ok()?;
            let total = count(&["metrics", "commands", name, "total"])?;
            Some((name.to_owned(), total))
        });
        Ok(Status { pid, n_connections: count(&["connections", "totalCreated"]), commands: commands.collect() })
    }

    /// Returns how many connections the server accepts at the same time, and how many it has now; `None` if it does not
    /// report these numbers.
    ///
    /// # Errors
    /// As [`Self::status`].
    pub fn capacity(&mut self) -> Result<Option<(u64, u64)>, WireError> {
        let told = self.ask(ADMIN, Document::new().int("serverStatus", 1))?;
        let count = |name| told.number(&["connections", name]).and_then(whole);
        let used = count("current");
        Ok(count("available").zip(used).map(|(free, used)| (free.saturating_add(used), used)))
    }

    /// Returns the names of the server's databases.
    ///
    /// # Errors
    /// As [`Self::status`].
    pub fn databases(&mut self) -> Result<Vec<String>, WireError> {
        let told = self.ask(ADMIN, Document::new().int("listDatabases", 1).bool("nameOnly", true))?;
        let each = told.each(&["databases"]).into_iter();
        let names = each.filter_map(|it| {
            let place = str::from_utf8(it.name).ok()?;
            told.text(&["databases", place, "name"])
        });
        Ok(names.collect())
    }

    /// Inserts documents with these keys and values, which [`FindOne`] can find. Without `database`, uses the login's
    /// database.
    ///
    /// # Errors
    /// [`WireError::Server`] for the first document that was refused; otherwise as [`Self::status`].
    pub fn insert(
        &mut self,
        (database, collection): (Option<&str>, &str),
        documents: impl Iterator<Item = (u64, String)>,
    ) -> Result<(), WireError> {
        let database = database.unwrap_or(&self.database).to_owned();
        let documents = documents.map(|(key, value)| workload::stored(&workload::id_of(key), &value));
        let insert = Document::new().text("insert", collection);
        self.ask(&database, insert.array("documents", documents)).map(drop)
    }

    /// Makes an account without roles; `FerretDB` does not restrict such an account.
    ///
    /// # Errors
    /// As [`Self::status`].
    pub fn create_user(&mut self, database: &str, user: &str, password: &str) -> Result<(), WireError> {
        let create = Document::new().text("createUser", user).text("pwd", password);
        self.ask(database, create.array("roles", [])).map(drop)
    }

    /// Deletes a database with all its contents.
    ///
    /// # Errors
    /// As [`Self::status`].
    pub fn drop_database(&mut self, database: &str) -> Result<(), WireError> {
        self.ask(database, Document::new().int("dropDatabase", 1)).map(drop)
    }

    /// Returns the stream, for the load engine. No bytes after the last reply have been read from it.
    pub fn into_stream(self) -> S {
        self.stream
    }

    fn ask(&mut self, database: &str, command: Document) -> Result<Answer, WireError> {
        self.exchange(database, command, ASK, ANSWER_LIMIT)
    }

    fn exchange(
        &mut self,
        database: &str,
        command: Document,
        action: &'static str,
        limit: usize,
    ) -> Result<Answer, WireError> {
        let mut command = Command::new(command.text("$db", database));
        command.count_from(self.number);
        let mut message = Vec::new();
        command.write(&mut message);
        self.number = command.number();
        io::write_all(&mut self.stream, &message, action, self.timeout_hint)?;
        let mut received = Vec::new();
        loop {
            let mut piece = [0; PIECE_BYTES];
            // No more bytes are read than the message has, because later bytes would be lost.
            let n_wanted = message::n_missing(&received, limit).min(PIECE_BYTES);
            let n = io::read_some(&mut self.stream, &mut piece[..n_wanted], action, self.timeout_hint)?;
            received.extend_from_slice(&piece[..n]);
            if let Some(document) = answer(&received, self.number, action, limit)? {
                check(&received, document.clone(), action)?;
                received.drain(..document.start);
                return Ok(Answer(received));
            }
        }
    }
}

/// Returns the number as a count, if it is a valid count.
fn whole(number: f64) -> Option<u64> {
    let is_one = number >= 0.0 && number < u64::MAX as f64 && number.fract() == 0.0;
    is_one.then_some(number as u64)
}

/// Checks whether `text` may be the name of a database or a collection in one of our commands.
fn is_name(text: &str) -> bool {
    !text.is_empty() && !text.contains('\0')
}
