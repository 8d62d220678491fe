//! `\if`, `\elif`, `\else`, `\endif`: which of them belong together, and the jumps between them.
//!
//! Each branch starts with an `Unless` that leads to the next branch, and ends with a `Jump` to the position after the
//! `\endif`. Targets are filled in when they are known.

use std::ops::Range;

use super::instruction::{Instruction, Kind};
use crate::script::error::ScriptError;
use crate::script::fault::ParseFault;
use crate::script::symbols::Source;

/// The `\if`s that are open.
#[derive(Default)]
pub(super) struct Conditionals {
    open: Vec<Conditional>,
}

struct Conditional {
    span: Range<usize>,
    /// The `Unless` of the previous branch, whose target is the next branch; `None` after `\else`.
    pending: Option<usize>,
    /// The `Jump`s at the ends of the branches.
    jumps: Vec<usize>,
}

impl Conditionals {
    /// Handles `\if` if `is_first`, otherwise `\elif`. Returns the index of the instruction that has to become the
    /// `Unless`.
    pub(super) fn enter(
        &mut self,
        source: Source<'_>,
        is_first: bool,
        span: &Range<usize>,
        instructions: &mut Vec<Instruction>,
    ) -> Result<usize, ScriptError> {
        if !is_first {
            self.end_branch(source, "elif", span, instructions)?;
        }
        let pending = Some(instructions.len());
        match self.open.last_mut().filter(|_| !is_first) {
            Some(conditional) => conditional.pending = pending,
            None => self.open.push(Conditional { span: span.clone(), pending, jumps: Vec::new() }),
        }
        push_jump(span, instructions);
        Ok(instructions.len() - 1)
    }

    /// Handles `\else`.
    pub(super) fn otherwise(
        &mut self,
        source: Source<'_>,
        span: &Range<usize>,
        instructions: &mut Vec<Instruction>,
    ) -> Result<(), ScriptError> {
        self.end_branch(source, "else", span, instructions)
    }

    /// Handles `\endif`.
    pub(super) fn leave(
        &mut self,
        source: Source<'_>,
        span: &Range<usize>,
        instructions: &mut [Instruction],
    ) -> Result<(), ScriptError> {
        let conditional = self.open.pop().ok_or_else(|| alone(source, "endif", span))?;
        let end = instructions.len();
        for jump in conditional.jumps.into_iter().chain(conditional.pending) {
            aim(instructions, jump, end);
        }
        Ok(())
    }

    /// Checks that no `\if` is open at the end of the script.
    pub(super) fn finish(&self, source: Source<'_>) -> Result<(), ScriptError> {
        match self.open.last() {
            None => Ok(()),
            Some(conditional) => {
                let fault = ParseFault::Unclosed { what: "the `\\if`" };
                Err(source.error(conditional.span.clone(), fault))
            }
        }
    }

    /// Ends a branch with a jump, and sets the target of the branch's condition to the position after that jump.
    fn end_branch(
        &mut self,
        source: Source<'_>,
        command: &'static str,
        span: &Range<usize>,
        instructions: &mut Vec<Instruction>,
    ) -> Result<(), ScriptError> {
        let Some(conditional) = self.open.last_mut() else {
            return Err(alone(source, command, span));
        };
        let Some(pending) = conditional.pending.take() else {
            let problem = "after the `\\else` of the same `\\if`";
            let fault = ParseFault::Conditional { command, problem };
            return Err(source.error(span.clone(), fault));
        };
        conditional.jumps.push(instructions.len());
        push_jump(span, instructions);
        let next = instructions.len();
        aim(instructions, pending, next);
        Ok(())
    }
}

fn alone(source: Source<'_>, command: &'static str, span: &Range<usize>) -> ScriptError {
    let problem = "without an `\\if` before it";
    source.error(span.clone(), ParseFault::Conditional { command, problem })
}

fn push_jump(span: &Range<usize>, instructions: &mut Vec<Instruction>) {
    instructions.push(Instruction { span: span.clone(), kind: Kind::Jump { target: 0 } });
}

fn aim(instructions: &mut [Instruction], jump: usize, aim: usize) {
    if let Kind::Jump { target } | Kind::Unless { target, .. } = &mut instructions[jump].kind {
        *target = aim;
    }
}
