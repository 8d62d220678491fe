//! A script on one connection: runs it step by step, and writes the messages to send.
//!
//! This code is hot: it runs for each message of the measured loop. Between two messages the code only evaluates `\set`
//! and `\if`. After the first transactions, it allocates memory only for an error.

use std::sync::Arc;

use looptax_bench::path::{Conversation, PathError};
use looptax_bench::script::{Action, Presets, ScriptSet, Session};
use looptax_model::dsn::Protocol;
use looptax_wire::transaction::{Statement, Values};
use looptax_wire::{Codec, Draws, Reply, Sent, WireError};

/// PostgreSQL's Sync message, which is sent after each statement, or once after a whole pipeline.
const SYNC: &[u8] = b"S\0\0\0\x04";
/// MySQL's `COM_PING` in its packet.
const PING: &[u8] = b"\x01\0\0\0\x0e";
/// If this many successive transactions send no message, the script counts as wrong.
const MOST_IDLE: u32 = 10_000;

pub(crate) struct ScriptCodec {
    session: Session,
    statements: Vec<Box<dyn Statement>>,
    sent: Sent,
    protocol: Protocol,
    values: Values,
    scratch: Vec<u8>,
    /// The statement to which the next reply belongs.
    current: usize,
    is_pipeline: bool,
    /// Whether something was sent in a pipeline since the last Sync.
    is_unsynced: bool,
    n_answers: u32,
    /// The offset at which the next reply starts.
    at: usize,
    is_over: bool,
    failure: Option<String>,
}

impl ScriptCodec {
    /// Prepares a set's statements on a connection.
    ///
    /// # Errors
    /// The server's error for a statement that it does not accept, with the statement's place in the script.
    pub(crate) fn prepare(
        conversation: &mut Conversation,
        set: &Arc<ScriptSet>,
        sent: Sent,
        presets: Presets,
    ) -> Result<Self, PathError> {
        let mut statements = Vec::with_capacity(set.statements().len());
        for (idx, statement) in set.statements().iter().enumerate() {
            let text = match sent {
                Sent::Prepared => statement.prepared_sql(),
                // A statement that is sent as text is not prepared; the single placeholder is replaced by the whole
                // statement.
                Sent::Text => "?".to_owned(),
            };
            let place = set.place_of(idx).map(|place| place.to_string());
            statements.push(conversation.statement(&text, sent, place.as_deref())?);
        }
        Ok(Self {
            session: Session::new(Arc::clone(set), presets),
            statements,
            sent,
            protocol: conversation.protocol(),
            values: Values::default(),
            scratch: Vec::new(),
            current: 0,
            is_pipeline: false,
            is_unsynced: false,
            n_answers: 0,
            at: 0,
            is_over: true,
            failure: None,
        })
    }

    /// Runs the script until a message needs a reply, or the transaction is over.
    fn step(&mut self, draws: &mut dyn Draws, out: &mut Vec<u8>) -> Result<(), String> {
        let mut n_idle = 0;
        loop {
            let action = self.session.next(&mut || draws.bits());
            match action.map_err(|error| error.to_string())? {
                Action::Send { statement_idx } => {
                    self.write(statement_idx, out)?;
                    self.is_over = false;
                    if !self.is_pipeline {
                        self.n_answers = 1;
                        return Ok(());
                    }
                    // The statement's own Sync is removed: one Sync at the end of the pipeline ends the whole pipeline.
                    out.truncate(out.len() - SYNC.len());
                    self.is_unsynced = true;
                }
                Action::StartPipeline => self.is_pipeline = true,
                Action::SyncPipeline => self.sync(out),
                Action::EndPipeline => {
                    self.sync(out);
                    self.is_pipeline = false;
                    if self.n_answers > 0 {
                        return Ok(());
                    }
                }
                Action::Sleep(_) => {
                    return Err(
                        "`\\sleep` cannot be used in a measured transaction: --think pauses between transactions"
                            .to_owned(),
                    );
                }
                Action::Done if !self.is_over => {
                    self.is_over = true;
                    return Ok(());
                }
                Action::Done => {
                    n_idle += 1;
                    if n_idle == MOST_IDLE {
                        return Err(format!("the script sent nothing {MOST_IDLE} times in a row"));
                    }
                }
            }
        }
    }

    fn sync(&mut self, out: &mut Vec<u8>) {
        if self.is_unsynced {
            out.extend_from_slice(SYNC);
            self.n_answers += 1;
            self.is_unsynced = false;
        }
    }

    fn write(&mut self, idx: usize, out: &mut Vec<u8>) -> Result<(), String> {
        self.values.clear();
        let is_mysql = self.protocol == Protocol::Mysql;
        let Self { session, values, scratch, .. } = self;
        let written = match self.sent {
            Sent::Text => {
                scratch.clear();
                session.write_sql(idx, scratch).map(|()| values.push_sql(scratch))
            }
            Sent::Prepared => session.parameters(idx, scratch, &mut |value| match value {
                None => values.push_null(),
                // If numbers were sent as text, MySQL would compare them as floating point, and would refuse them in
                // LIMIT.
                Some(text) => match number(text).filter(|_| is_mysql) {
                    Some(number) => values.push_number(number),
                    None => values.push_text(|out| out.extend_from_slice(text)),
                },
            }),
        };
        written.map_err(|error| error.to_string())?;
        self.current = idx;
        self.statements[idx].write(&self.values, out);
        Ok(())
    }
}

fn number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

impl Codec for ScriptCodec {
    fn request(&mut self, draws: &mut dyn Draws, out: &mut Vec<u8>) {
        let start = out.len();
        if let Err(failure) = self.step(draws, out) {
            // This function cannot return an error. So it sends a harmless request, and the function that reads the
            // reply returns the failure.
            self.failure = Some(failure);
            self.session.restart();
            out.truncate(start);
            out.extend_from_slice(match self.protocol {
                Protocol::Mysql => PING,
                _ => SYNC,
            });
        }
    }

    fn reply(&mut self, received: &[u8]) -> Result<Option<Reply>, WireError> {
        if let Some(what) = self.failure.take() {
            return Err(WireError::Request { what });
        }
        while self.n_answers > 0 {
            let rest = received.get(self.at..).unwrap_or_default();
            let Some(answer) = self.statements[self.current].answer(rest)? else {
                return Ok(None);
            };
            self.at += answer.reply.bytes;
            self.n_answers -= 1;
        }
        let bytes = std::mem::take(&mut self.at);
        Ok(Some(Reply { bytes, data: bytes..bytes }))
    }

    fn goes_on(&self) -> bool {
        !self.is_over
    }
}
