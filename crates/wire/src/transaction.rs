//! Requests of several SQL statements: their description, and the codec that runs the statements in turn.
//!
//! Each protocol provides its own [`Statement`]; this file decides which statement comes next and which values it gets.
//! The codec runs once per message: buffers keep their capacity, and nothing is allocated except for errors. `path`
//! describes workloads with these types, `Connection::prepare_transaction` makes the codec, and the load engine calls
//! it.

mod digits;
mod pieces;
mod values;

use std::sync::Arc;

use crate::{Codec, Draws, Reply, WireError};
pub use pieces::{Escapes, Pieces, quote};
pub use values::{Bound, Values};

/// A request of one or more statements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    /// Random numbers that are drawn when the request starts; a [`Value`] refers to a number by its position.
    pub draws: Vec<Draw>,
    pub steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The text, with `?` for each value.
    pub sql: String,
    pub values: Vec<Value>,
    pub expects: Expected,
}

/// A number that a request draws.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Draw {
    Key,
    /// A number in the range from the first to the second number, with equal probability.
    Between(i64, i64),
    /// 64 random bits, from which text is made.
    Bits,
}

/// The value of a statement's placeholder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Value {
    /// The drawn number plus a constant.
    Number { draw: usize, plus: i64 },
    /// Groups of eleven digits with dashes between them, made from drawn bits, as in sysbench's columns `c` and `pad`.
    Digits { draw: usize, n_groups: usize },
}

/// The required answer to a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    Done,
    /// At least one row.
    Row,
    Changed(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// The statement is prepared once per connection, then run by its name with values.
    Prepared,
    Text,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The reply's position in the received bytes.
    pub reply: Reply,
    pub has_row: bool,
    /// Rows that the statement changed, as the server counts them.
    pub n_changed: u64,
}

/// A statement of one connection, prepared or as text.
pub trait Statement: Send {
    /// Appends the message that runs the statement with these values.
    fn write(&mut self, values: &Values, out: &mut Vec<u8>);

    /// Reads the answer, as [`Codec::reply`] does.
    ///
    /// # Errors
    /// As [`Codec::reply`].
    fn answer(&mut self, received: &[u8]) -> Result<Option<Answer>, WireError>;
}

#[derive(Debug)]
pub struct Running<S> {
    transaction: Arc<Transaction>,
    /// Steps with equal texts share one statement.
    statements: Vec<S>,
    statement_of: Vec<usize>,
    drawn: Vec<i64>,
    values: Values,
    at: usize,
}

impl<S: Statement> Running<S> {
    /// Prepares each different text once, with `prepare`.
    ///
    /// # Errors
    /// The errors of `prepare`.
    pub(crate) fn prepare(
        transaction: Arc<Transaction>,
        mut prepare: impl FnMut(&str) -> Result<S, WireError>,
    ) -> Result<Self, WireError> {
        let mut texts: Vec<&str> = Vec::new();
        let mut statements = Vec::new();
        let mut statement_of = Vec::with_capacity(transaction.steps.len());
        for step in &transaction.steps {
            let idx = texts.iter().position(|text| *text == step.sql);
            if idx.is_none() {
                statements.push(prepare(&step.sql)?);
                texts.push(&step.sql);
            }
            statement_of.push(idx.unwrap_or(texts.len() - 1));
        }
        Ok(Self {
            drawn: Vec::with_capacity(transaction.draws.len()),
            transaction,
            statements,
            statement_of,
            values: Values::default(),
            at: 0,
        })
    }

    fn draw(&mut self, draws: &mut dyn Draws) {
        self.drawn.clear();
        let drawn = self.transaction.draws.iter().map(|draw| match *draw {
            Draw::Key => draws.key().cast_signed(),
            Draw::Between(first, last) => between(draws.bits(), first, last),
            Draw::Bits => draws.bits().cast_signed(),
        });
        self.drawn.extend(drawn);
    }
}

/// Returns a number from `first` to `last`; the bias is below 2^-32 for each range in use.
fn between(bits: u64, first: i64, last: i64) -> i64 {
    let n = u128::from(last.abs_diff(first)) + 1;
    first.wrapping_add(((u128::from(bits) * n) >> 64) as i64)
}

impl<S: Statement> Codec for Running<S> {
    fn request(&mut self, draws: &mut dyn Draws, out: &mut Vec<u8>) {
        if self.at == 0 {
            self.draw(draws);
        }
        self.values.clear();
        for value in &self.transaction.steps[self.at].values {
            match *value {
                Value::Number { draw, plus } => {
                    self.values.push_number(self.drawn[draw].wrapping_add(plus));
                }
                Value::Digits { draw, n_groups } => {
                    let bits = self.drawn[draw].cast_unsigned();
                    self.values.push_text(|text| digits::write(bits, n_groups, text));
                }
            }
        }
        self.statements[self.statement_of[self.at]].write(&self.values, out);
    }

    fn reply(&mut self, received: &[u8]) -> Result<Option<Reply>, WireError> {
        let step = &self.transaction.steps[self.at];
        let statement = &mut self.statements[self.statement_of[self.at]];
        let Some(answer) = statement.answer(received)? else {
            return Ok(None);
        };
        check(step, &answer)?;
        self.at = (self.at + 1) % self.transaction.steps.len();
        Ok(Some(answer.reply))
    }

    fn goes_on(&self) -> bool {
        self.at != 0
    }
}

#[inline]
fn check(step: &Step, answer: &Answer) -> Result<(), WireError> {
    match step.expects {
        Expected::Row if !answer.has_row => Err(unexpected(&step.sql, "rows", 1, 0)),
        Expected::Changed(n) if answer.n_changed != n => {
            Err(unexpected(&step.sql, "changed rows", n, answer.n_changed))
        }
        _ => Ok(()),
    }
}

#[cold]
fn unexpected(sql: &str, what: &'static str, expected: u64, found: u64) -> WireError {
    WireError::Unexpected { statement: sql.to_owned(), what, expected, found }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_include_both_ends() {
        assert_eq!(between(0, -5, 5), -5);
        assert_eq!(between(u64::MAX, -5, 5), 5);
        assert_eq!(between(u64::MAX / 2 + 1, 1, 2), 2);
        assert_eq!(between(u64::MAX, i64::MIN, i64::MAX), i64::MAX);
    }
}
