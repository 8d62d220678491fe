//! The stack machine that an expression runs on.
//!
//! Called for every `\set` and `\if` of a measured loop: no recursion, and no allocation once the
//! stack has its size.

use super::function::Function;
use crate::script::fault::RunFault;
use crate::script::value::Value;

/// An expression, ready to run. Steps are in order; jumps go forward only.
pub(crate) type Code = Box<[Step]>;

/// One step, with the offset in the script that an error points at.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Step {
    pub(crate) op: Op,
    pub(crate) at: u32,
}

impl Step {
    /// The variable that the step reads, to give it another index.
    pub(crate) fn variable(&mut self) -> Option<&mut u32> {
        match &mut self.op {
            Op::Load(variable) => Some(variable),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Op {
    Push(Value),
    /// Pushes a variable, by its index.
    Load(u32),
    /// Replaces this many values by the function's result.
    Call(Function, u32),
    /// Takes a value; goes on at the step unless it is true.
    Unless(u32),
    Jump(u32),
    /// The left side of AND: NULL and false decide, and stay; true is taken.
    And(u32),
    /// The left side of OR: NULL and true decide, and stay; false is taken.
    Or(u32),
    /// A number as its truth value.
    Truth,
}

/// Runs `code` to its value. `load` gives the value of a variable.
///
/// # Errors
/// The fault and the offset in the script.
pub(crate) fn run(
    code: &[Step],
    stack: &mut Vec<Value>,
    load: &dyn Fn(u32) -> Result<Value, RunFault>,
    random: &mut dyn FnMut() -> u64,
) -> Result<Value, (RunFault, u32)> {
    stack.clear();
    let mut next = 0;
    while let Some(&Step { op, at }) = code.get(next) {
        next += 1;
        match op {
            Op::Push(value) => stack.push(value),
            Op::Load(variable) => stack.push(load(variable).map_err(|fault| (fault, at))?),
            Op::Call(function, n_arguments) => {
                let start = stack.len().saturating_sub(n_arguments as usize);
                let value = function.call(&stack[start..], random).map_err(|fault| (fault, at))?;
                stack.truncate(start);
                stack.push(value);
            }
            Op::Jump(target) => next = target as usize,
            Op::Unless(target) => {
                if !pop(stack).is_true() {
                    next = target as usize;
                }
            }
            Op::And(target) | Op::Or(target) => {
                let left = truth(pop(stack));
                if left != Value::Boolean(matches!(op, Op::And(_))) {
                    stack.push(left);
                    next = target as usize;
                }
            }
            Op::Truth => {
                let value = truth(pop(stack));
                stack.push(value);
            }
        }
    }
    Ok(pop(stack))
}

/// The parser never takes more than it pushed; NULL stands for what cannot be.
fn pop(stack: &mut Vec<Value>) -> Value {
    stack.pop().unwrap_or(Value::Null)
}

fn truth(value: Value) -> Value {
    match value {
        Value::Null => Value::Null,
        other => Value::Boolean(other.is_true()),
    }
}
