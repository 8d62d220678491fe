//! How functions and operators are evaluated.
//!
//! If an argument is NULL the result is NULL, except for the tests for NULL and truth. In cases that the manual does
//! not describe, the results are those of pgbench.

use super::hash;
use crate::script::fault::RunFault;
use crate::script::random;
use crate::script::value::Value;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Negate,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    BitOr,
    BitXor,
    BitAnd,
    BitNot,
    ShiftLeft,
    ShiftRight,
    Not,
    IsNull,
    IsTrue,
    IsFalse,
    Abs,
    Sqrt,
    Exp,
    Ln,
    Power,
    Pi,
    Least,
    Greatest,
    Integer,
    Double,
    Random,
    RandomExponential,
    RandomGaussian,
    RandomZipfian,
    HashFnv1a,
    HashMurmur2,
}

impl Function {
    /// Returns the function's value.
    ///
    /// # Errors
    /// Division by zero, overflow, a wrong type, or a range or parameter that is not allowed.
    pub(crate) fn call(self, arguments: &[Value], random: &mut dyn FnMut() -> u64) -> Result<Value, RunFault> {
        if let Some(truth) = self.test(arguments) {
            return Ok(Value::Boolean(truth));
        }
        if arguments.contains(&Value::Null) {
            return Ok(Value::Null);
        }
        match *arguments {
            [] => Ok(Value::Double(std::f64::consts::PI)),
            [first, ref rest @ ..] if matches!(self, Self::Least | Self::Greatest) => self.select(first, rest),
            [only] => self.one(only),
            [left, right] => self.two(left, right, random),
            [first, last, parameter, ..] => self.draw(first, last, parameter, random),
        }
    }

    /// Evaluates a test, which also accepts NULL; `None` if the function is not a test.
    fn test(self, arguments: &[Value]) -> Option<bool> {
        let value = arguments.first()?;
        match self {
            Self::IsNull => Some(*value == Value::Null),
            Self::IsTrue => Some(*value == Value::Boolean(true)),
            Self::IsFalse => Some(*value == Value::Boolean(false)),
            _ => None,
        }
    }

    fn one(self, value: Value) -> Result<Value, RunFault> {
        let operation = self.operation();
        let exact = |result: Option<i64>| result.map(Value::Integer).ok_or(RunFault::Overflow { operation });
        match (self, value) {
            (Self::Not, value) => Ok(Value::Boolean(!value.is_true())),
            (Self::Negate, Value::Integer(integer)) => exact(integer.checked_neg()),
            (Self::Abs, Value::Integer(integer)) => exact(integer.checked_abs()),
            (Self::Integer, value) => value.integer(operation).map(Value::Integer),
            (Self::BitNot, value) => Ok(Value::Integer(!value.integer(operation)?)),
            (_, value) => {
                let double = value.double()?;
                Ok(Value::Double(match self {
                    // As in pgbench, there is no negative zero.
                    Self::Negate => 0.0 - double,
                    Self::Abs => double.abs(),
                    Self::Sqrt => double.sqrt(),
                    Self::Exp => double.exp(),
                    Self::Ln => double.ln(),
                    _ => double,
                }))
            }
        }
    }

    fn two(self, left: Value, right: Value, random: &mut dyn FnMut() -> u64) -> Result<Value, RunFault> {
        if self.is_overloaded()
            && let (Value::Double(_), _) | (_, Value::Double(_)) = (left, right)
        {
            return Ok(self.with_doubles(left.double()?, right.double()?));
        }
        if self == Self::Power {
            return Ok(Value::Double(left.double()?.powf(right.double()?)));
        }
        let operation = self.operation();
        let (left, right) = (left.integer(operation)?, right.integer(operation)?);
        self.with_integers(left, right, random)
    }

    /// Returns whether this function calculates with doubles if at least one argument is a double.
    fn is_overloaded(self) -> bool {
        use Function as F;
        matches!(self, F::Add | F::Subtract | F::Multiply | F::Divide | F::Equal | F::NotEqual)
            || matches!(self, F::Less | F::LessOrEqual | F::Greater | F::GreaterOrEqual)
    }

    // The comparison is exact on purpose, because a script that compares doubles asks for this.
    #[allow(clippy::float_cmp)]
    fn with_doubles(self, left: f64, right: f64) -> Value {
        match self {
            Self::Add => Value::Double(left + right),
            Self::Subtract => Value::Double(left - right),
            Self::Multiply => Value::Double(left * right),
            Self::Divide => Value::Double(left / right),
            Self::Equal => Value::Boolean(left == right),
            Self::NotEqual => Value::Boolean(left != right),
            Self::Less => Value::Boolean(left < right),
            Self::LessOrEqual => Value::Boolean(left <= right),
            Self::Greater => Value::Boolean(left > right),
            _ => Value::Boolean(left >= right),
        }
    }

    fn with_integers(self, left: i64, right: i64, random: &mut dyn FnMut() -> u64) -> Result<Value, RunFault> {
        if right == 0 && matches!(self, Self::Divide | Self::Modulo) {
            return Err(RunFault::DivisionByZero);
        }
        let result = match self {
            Self::Equal => return Ok(Value::Boolean(left == right)),
            Self::NotEqual => return Ok(Value::Boolean(left != right)),
            Self::Less => return Ok(Value::Boolean(left < right)),
            Self::LessOrEqual => return Ok(Value::Boolean(left <= right)),
            Self::Greater => return Ok(Value::Boolean(left > right)),
            Self::GreaterOrEqual => return Ok(Value::Boolean(left >= right)),
            Self::Add => left.checked_add(right),
            Self::Subtract => left.checked_sub(right),
            Self::Multiply => left.checked_mul(right),
            Self::Divide => left.checked_div(right),
            // The least integer modulo -1 is 0, although the quotient overflows.
            Self::Modulo => Some(left.wrapping_rem(right)),
            Self::BitOr => Some(left | right),
            Self::BitXor => Some(left ^ right),
            Self::BitAnd => Some(left & right),
            Self::ShiftLeft => Some(left << shift(right)?),
            Self::ShiftRight => Some(left >> shift(right)?),
            Self::HashFnv1a => Some(hash::fnv1a(left, right)),
            Self::HashMurmur2 => Some(hash::murmur2(left, right)),
            _ => Some(random::uniform(left, right, random)?),
        };
        let operation = self.operation();
        result.map(Value::Integer).ok_or(RunFault::Overflow { operation })
    }

    fn select(self, first: Value, rest: &[Value]) -> Result<Value, RunFault> {
        let is_least = self == Self::Least;
        let is_double = |value: &Value| matches!(value, Value::Double(_));
        if is_double(&first) || rest.iter().any(is_double) {
            let mut best = first.double()?;
            for value in rest {
                let double = value.double()?;
                best = if is_least { best.min(double) } else { best.max(double) };
            }
            return Ok(Value::Double(best));
        }
        let operation = self.operation();
        let mut best = first.integer(operation)?;
        for value in rest {
            let integer = value.integer(operation)?;
            best = if is_least { best.min(integer) } else { best.max(integer) };
        }
        Ok(Value::Integer(best))
    }

    fn draw(
        self,
        first: Value,
        last: Value,
        parameter: Value,
        random: &mut dyn FnMut() -> u64,
    ) -> Result<Value, RunFault> {
        let operation = self.operation();
        let (first, last) = (first.integer(operation)?, last.integer(operation)?);
        let parameter = parameter.double()?;
        let drawn = match self {
            Self::RandomExponential => random::exponential(first, last, parameter, random),
            Self::RandomGaussian => random::gaussian(first, last, parameter, random),
            _ => random::zipfian(first, last, parameter, random),
        };
        drawn.map(Value::Integer)
    }
}

fn shift(n_bits: i64) -> Result<u32, RunFault> {
    u32::try_from(n_bits).ok().filter(|&n_bits| n_bits < i64::BITS).ok_or(RunFault::Shift { n_bits })
}
