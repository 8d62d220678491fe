//! The stack machine that runs an expression.
//!
//! Called for every `\set` and `\if` of a measured loop: it does not recurse, and does not allocate once the stack has
//! its final size.

use super::function::Function;
use crate::script::fault::RunFault;
use crate::script::value::Value;

/// An expression, ready to run. Steps run in order; jumps only lead forward.
pub(crate) type Code = Box<[Step]>;

/// One step, with the position in the script that an error reports.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Step {
    pub(crate) op: Op,
    pub(crate) at: u32,
}

impl Step {
    /// Returns the variable that the step reads, so that the caller can change its index.
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
    /// Pushes the value of a variable, given by its index.
    Load(u32),
    /// Replaces this many values by the result of the function.
    Call(Function, u32),
    /// Pops a value; unless it is true, continues at the given step.
    Unless(u32),
    Jump(u32),
    /// After the left side of AND: NULL and false are the result and stay on the stack; true is popped.
    And(u32),
    /// After the left side of OR: NULL and true are the result and stay on the stack; false is popped.
    Or(u32),
    /// Replaces a number by its truth value.
    Truth,
}

/// Runs `code` and returns its value. `load` returns the value of a variable.
///
/// # Errors
/// The fault and its position in the script.
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

/// Pops a value. The parser never writes steps that pop more than they pushed, so the stack is never empty here.
fn pop(stack: &mut Vec<Value>) -> Value {
    stack.pop().unwrap_or(Value::Null)
}

fn truth(value: Value) -> Value {
    match value {
        Value::Null => Value::Null,
        other => Value::Boolean(other.is_true()),
    }
}
