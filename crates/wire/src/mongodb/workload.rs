//! The measured commands as codecs: ping, find of one document by its id, insert of one document.
//!
//! Runs in the measured loop: `request` copies a template and writes a number and an id into it, `reply` finds the
//! bounds of one answer and reads its first elements. Neither function allocates (except for an error), locks, logs, or
//! makes a system call. The load engine calls them; this file does no I/O.

use std::io;
use std::ops::Range;

use super::bson::{self, ARRAY, DOCUMENT, Document, Elements, ID_BYTES};
use super::message::{ANSWER_LIMIT, Command, answer, broken, check};
use crate::{Codec, Draws, Reply, WireError, random};

const READ_REPLY: &str = "read the reply to a measured command";

/// The placeholder in a template that is replaced by the real id. It is not the id of any key.
const ID_PLACE: [u8; ID_BYTES] = [0xfe; ID_BYTES];
/// The first byte of the ids of inserted documents; in the ids of keys it is 0.
const INSERTED: u8 = 0x80;

/// Returns the id of the document with this key. The id has the type that `MongoDB` assigns by default: for such an id,
/// `FerretDB` 1.24 on `SQLite` searches the documents only up to the document with this id; for a numeric id it
/// searches all documents.
pub(super) fn id_of(key: u64) -> [u8; ID_BYTES] {
    let mut id = [0; ID_BYTES];
    id[4..].copy_from_slice(&key.to_be_bytes());
    id
}

/// Returns a document in the form in which it is stored.
pub(super) fn stored(id: &[u8; ID_BYTES], value: &str) -> Document {
    Document::new().id("_id", id).text("c", value)
}

/// The command `ping`. Its reply has no data.
#[derive(Debug, Clone)]
pub struct Ping(Command);

impl Ping {
    pub fn new(database: &str) -> Self {
        Self(Command::new(Document::new().int("ping", 1).text("$db", database)))
    }
}

impl Codec for Ping {
    #[inline]
    fn request(&mut self, _draws: &mut dyn Draws, out: &mut Vec<u8>) {
        self.0.write(out);
    }

    #[inline]
    fn reply(&mut self, received: &[u8]) -> Result<Option<Reply>, WireError> {
        let Some(document) = whole(received, &self.0)? else {
            return Ok(None);
        };
        Ok(Some(without_data(&document)))
    }
}

/// The command `find` for one document by its id. The reply's data is the document, empty if it does not exist.
#[derive(Debug, Clone)]
pub struct FindOne {
    command: Command,
    id_at: usize,
}

impl FindOne {
    /// Makes the command for documents that [`super::Connection::insert`] inserts.
    pub fn new(database: &str, collection: &str) -> Self {
        let command = Command::new(
            Document::new()
                .text("find", collection)
                .document("filter", Document::new().id("_id", &ID_PLACE))
                .int("limit", 1)
                .bool("singleBatch", true)
                .text("$db", database),
        );
        let id_at = command.position(&ID_PLACE);
        Self { command, id_at }
    }
}

impl Codec for FindOne {
    #[inline]
    fn request(&mut self, draws: &mut dyn Draws, out: &mut Vec<u8>) {
        let id = id_of(draws.key());
        let start = self.command.write(out);
        out[start + self.id_at..][..ID_BYTES].copy_from_slice(&id);
    }

    #[inline]
    fn reply(&mut self, received: &[u8]) -> Result<Option<Reply>, WireError> {
        let Some(document) = whole(received, &self.command)? else {
            return Ok(None);
        };
        let bytes = document.end;
        match first_found(received, document) {
            Ok(Some(data)) => Ok(Some(Reply { bytes, data })),
            _ => Err(broken(received, READ_REPLY)),
        }
    }
}

/// Returns the first document of the cursor's first batch; an empty range if the batch is empty, and `None` if there is
/// no cursor.
#[inline]
fn first_found(received: &[u8], document: Range<usize>) -> Result<Option<Range<usize>>, bson::Broken> {
    let end = document.end;
    let cursor = Elements::of(received, document)?.named("cursor")?;
    let Some(cursor) = cursor.filter(|it| it.kind == DOCUMENT) else {
        return Ok(None);
    };
    let batch = Elements::of(received, cursor.value)?.named("firstBatch")?;
    let Some(batch) = batch.filter(|it| it.kind == ARRAY) else {
        return Ok(None);
    };
    let first = Elements::of(received, batch.value)?.element()?;
    Ok(Some(first.map_or(end..end, |it| it.value)))
}

/// The command `insert` for one document with a unique id. The answer is the number of inserted documents; the reply
/// has no data.
#[derive(Debug, Clone)]
pub struct InsertOne {
    command: Command,
    id_at: usize,
    id: [u8; ID_BYTES],
    n_inserted: u32,
}

impl InsertOne {
    /// Makes the command for documents of the form that [`super::Connection::insert`] inserts, with this value.
    ///
    /// # Errors
    /// If the kernel returns no random bytes for the ids.
    pub fn new(database: &str, collection: &str, value: &str) -> Result<Self, WireError> {
        let command = Command::new(
            Document::new()
                .text("insert", collection)
                .array("documents", [stored(&ID_PLACE, value)])
                .text("$db", database),
        );
        let mut id = random::bytes::<ID_BYTES>().map_err(no_ids)?;
        id[0] |= INSERTED;
        Ok(Self { id_at: command.position(&ID_PLACE), command, id, n_inserted: 0 })
    }
}

fn no_ids(source: io::Error) -> WireError {
    WireError::Io { action: "get random bytes for document ids", source }
}

impl Codec for InsertOne {
    #[inline]
    fn request(&mut self, _draws: &mut dyn Draws, out: &mut Vec<u8>) {
        self.n_inserted = self.n_inserted.wrapping_add(1);
        self.id[ID_BYTES - 4..].copy_from_slice(&self.n_inserted.to_be_bytes());
        let start = self.command.write(out);
        out[start + self.id_at..][..ID_BYTES].copy_from_slice(&self.id);
    }

    #[inline]
    fn reply(&mut self, received: &[u8]) -> Result<Option<Reply>, WireError> {
        let Some(document) = whole(received, &self.command)? else {
            return Ok(None);
        };
        let n = Elements::of(received, document.clone()).and_then(|mut it| it.named("n"));
        match n {
            Ok(Some(n)) if bson::number(received, &n) == Some(1.0) => Ok(Some(without_data(&document))),
            _ => Err(broken(received, READ_REPLY)),
        }
    }
}

/// Returns the document of an answer; fails if the answer contains an error.
#[inline]
fn whole(received: &[u8], command: &Command) -> Result<Option<Range<usize>>, WireError> {
    let Some(document) = answer(received, command.number(), READ_REPLY, ANSWER_LIMIT)? else {
        return Ok(None);
    };
    check(received, document.clone(), READ_REPLY)?;
    Ok(Some(document))
}

fn without_data(document: &Range<usize>) -> Reply {
    Reply { bytes: document.end, data: document.end..document.end }
}
