//! One SQL statement of a script: text with gaps for variables.
//!
//! The caller has two choices: prepare the statement once with placeholders and then send parameters, or send the
//! statement's text with the values in it.

use std::fmt::Write;
use std::ops::Range;

use crate::script::dialect::Dialect;

/// At most this many uses of variables in one statement: the manual's limit.
pub(crate) const MAX_PARAMETERS: usize = 255;

/// One SQL statement of a script.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    pub(crate) script_idx: usize,
    /// The place of the statement in its script.
    pub(crate) span: Range<usize>,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) dialect: Dialect,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Piece {
    Text(String),
    Variable { idx: u32, span: Range<usize> },
}

impl Statement {
    /// Returns the number of parameters of the prepared statement. Each use of a variable counts, as in pgbench, so
    /// that one variable can have two types.
    pub fn n_parameters(&self) -> usize {
        self.parameters().count()
    }

    /// Returns the statement with a placeholder for each use of a variable: `$1`, `$2`… for PostgreSQL, `?` for MySQL.
    pub fn prepared_sql(&self) -> String {
        let mut sql = String::new();
        let mut n_parameters = 0;
        for piece in &self.pieces {
            match (piece, self.dialect) {
                (Piece::Text(text), _) => sql.push_str(text),
                (Piece::Variable { .. }, Dialect::Mysql) => sql.push('?'),
                (Piece::Variable { .. }, Dialect::Postgres) => {
                    n_parameters += 1;
                    write!(sql, "${n_parameters}").expect("writing to memory does not fail");
                }
            }
        }
        sql
    }

    /// Returns the index of this statement's script in the set.
    pub fn script_idx(&self) -> usize {
        self.script_idx
    }

    /// Returns the variables in the order of their use, each with its place.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = (u32, &Range<usize>)> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Variable { idx, span } => Some((*idx, span)),
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    pub(crate) fn push_text(&mut self, more: &str) {
        match self.pieces.last_mut() {
            Some(Piece::Text(text)) => text.push_str(more),
            _ => self.pieces.push(Piece::Text(more.to_owned())),
        }
    }

    /// Drops white space at the end, which has no meaning.
    pub(crate) fn trim_end(&mut self) {
        if let Some(Piece::Text(text)) = self.pieces.last_mut() {
            text.truncate(text.trim_ascii_end().len());
            if text.is_empty() {
                self.pieces.pop();
            }
        }
    }
}
