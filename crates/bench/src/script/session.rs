//! One connection's run of a set: variables, the position in the script, and the next action.
//!
//! The measured loop calls this module. After the first transaction the module allocates memory only for errors; values
//! go into the caller's buffers. The module does no I/O and reads no clock: the caller sleeps and sends.

mod presets;
mod variables;

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use crate::script::error::RunError;
use crate::script::fault::RunFault;
use crate::script::parse::{Instruction, Kind};
use crate::script::set::ScriptSet;
use crate::script::statement::Piece;
pub use presets::Presets;
use variables::Variables;

/// The next task of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Send this statement of the set; outside a pipeline, wait for its answer.
    Send {
        /// Index into [`ScriptSet::statements`].
        statement_idx: usize,
    },
    /// From now on send without waiting.
    StartPipeline,
    /// Ask the server to answer the statements sent so far, without waiting.
    SyncPipeline,
    EndPipeline,
    Sleep(Duration),
    /// The transaction is over; the next call starts another. A transaction can be over without a statement, if `\if`
    /// skipped all its statements.
    Done,
}

/// One connection's variables and its position in the scripts of a set.
#[derive(Debug, Clone)]
pub struct Session {
    set: Arc<ScriptSet>,
    variables: Variables,
    /// The next instruction of the running script; `None` between transactions.
    next: Option<usize>,
    script_idx: usize,
    is_pipeline: bool,
}

impl Session {
    /// Makes a session that has not begun a transaction.
    pub fn new(set: Arc<ScriptSet>, presets: Presets) -> Self {
        let variables = Variables::new(&set.symbols, &set.definitions, presets);
        Self { set, variables, next: None, script_idx: 0, is_pipeline: false }
    }

    /// Runs the script until the caller has to act, and returns that action. `random` returns 64 random bits per call.
    ///
    /// # Errors
    /// A [`RunError`] with the place in the script. The transaction is then abandoned, its variables keep their values,
    /// and the next call starts another transaction.
    ///
    /// # Cost
    /// No allocation after the first transaction, except for errors.
    pub fn next(&mut self, random: &mut dyn FnMut() -> u64) -> Result<Action, RunError> {
        if self.next.is_none() {
            self.script_idx = self.set.choose(random);
        }
        self.step(random).map_err(|(fault, span)| {
            self.restart();
            self.error(self.script_idx, &span, fault)
        })
    }

    /// Abandons the transaction, for instance after a failed request. Variables keep their values.
    pub fn restart(&mut self) {
        self.next = None;
        self.is_pipeline = false;
    }

    /// Returns the index of the current script in the set. The current script is the script whose transaction is
    /// running, or has run last.
    pub fn script_idx(&self) -> usize {
        self.script_idx
    }

    /// Appends the statement with the variables' values in it: NULL as `NULL`, other values as their text.
    ///
    /// # Errors
    /// A variable without a value, an infinite value, or a value that is not a number.
    ///
    /// # Panics
    /// If the set has no such statement.
    ///
    /// # Cost
    /// No allocation unless `out` has to grow.
    pub fn write_sql(&self, statement_idx: usize, out: &mut Vec<u8>) -> Result<(), RunError> {
        let statement = &self.set.statements()[statement_idx];
        for piece in &statement.pieces {
            match piece {
                Piece::Text(text) => out.extend_from_slice(text.as_bytes()),
                Piece::Variable { idx, span } => {
                    let start = out.len();
                    self.variables
                        .write(*idx, &self.set.symbols, out)
                        .map_err(|fault| self.error(statement.script_idx, span, fault))?;
                    // `- -5` is a subtraction, but `--5` would be a comment.
                    if start > 0 && out[start - 1] == b'-' && out.get(start) == Some(&b'-') {
                        out.insert(start, b' ');
                    }
                }
            }
        }
        Ok(())
    }

    /// Passes each parameter of the prepared statement to `each`, in order: NULL as `None`, any other value as text.
    /// `scratch` holds one value at a time.
    ///
    /// # Errors
    /// A variable without a value, an infinite value, or a value that is not a number.
    ///
    /// # Panics
    /// If the set has no such statement.
    ///
    /// # Cost
    /// No allocation unless `scratch` has to grow.
    pub fn parameters(
        &self,
        statement_idx: usize,
        scratch: &mut Vec<u8>,
        each: &mut dyn FnMut(Option<&[u8]>),
    ) -> Result<(), RunError> {
        let statement = &self.set.statements()[statement_idx];
        for (idx, span) in statement.parameters() {
            if self.variables.is_null(idx) {
                each(None);
                continue;
            }
            scratch.clear();
            self.variables
                .write(idx, &self.set.symbols, scratch)
                .map_err(|fault| self.error(statement.script_idx, span, fault))?;
            each(Some(scratch));
        }
        Ok(())
    }

    fn step(&mut self, random: &mut dyn FnMut() -> u64) -> Result<Action, (RunFault, Range<usize>)> {
        let Self { set, variables, .. } = self;
        let mut next = self.next.unwrap_or(0);
        while let Some(Instruction { span, kind }) = set.instruction(self.script_idx, next) {
            next += 1;
            let action = match kind {
                Kind::Jump { target } => {
                    next = *target;
                    continue;
                }
                Kind::Set { variable, code } => {
                    let value = variables.evaluate(code, &set.symbols, random)?;
                    variables.set(*variable, value);
                    continue;
                }
                Kind::Unless { code, target } => {
                    let value = variables.evaluate(code, &set.symbols, random)?;
                    next = if value.is_true() { next } else { *target };
                    continue;
                }
                Kind::Send { statement_idx } => Action::Send { statement_idx: *statement_idx },
                Kind::Sleep { amount, unit_us } => variables
                    .pause(*amount, *unit_us, &set.symbols)
                    .map(Action::Sleep)
                    .map_err(|fault| (fault, span.clone()))?,
                Kind::StartPipeline => Action::StartPipeline,
                Kind::SyncPipeline => Action::SyncPipeline,
                Kind::EndPipeline => Action::EndPipeline,
            };
            self.is_pipeline = in_pipeline(self.is_pipeline, action).map_err(|fault| (fault, span.clone()))?;
            self.next = Some(next);
            return Ok(action);
        }
        self.next = None;
        if self.is_pipeline {
            // The place after the last character.
            return Err((RunFault::PipelineAtEnd, usize::MAX..usize::MAX));
        }
        Ok(Action::Done)
    }

    fn error(&self, script_idx: usize, span: &Range<usize>, fault: RunFault) -> RunError {
        RunError { place: Box::new(self.set.place(script_idx, span)), fault: Box::new(fault) }
    }
}

/// Returns whether a pipeline is open after `action`.
fn in_pipeline(is_pipeline: bool, action: Action) -> Result<bool, RunFault> {
    match action {
        Action::StartPipeline if is_pipeline => Err(RunFault::PipelineOpen),
        Action::EndPipeline | Action::SyncPipeline if !is_pipeline => Err(RunFault::NoPipeline),
        Action::StartPipeline => Ok(true),
        Action::EndPipeline => Ok(false),
        _ => Ok(is_pipeline),
    }
}
