//! The functions that expressions can call: their names and their numbers of arguments.
//!
//! Used by the parser; `function` uses these names in its messages.

use looptax_model::failure::nearest;

use super::function::Function;
use crate::script::fault::ParseFault;
use crate::script::place::word;

/// A function that can be called by name.
pub(crate) struct Callable {
    pub(crate) name: &'static str,
    pub(crate) function: Function,
    pub(crate) n_arguments: (usize, usize),
}

const fn callable(name: &'static str, function: Function, least: usize, most: usize) -> Callable {
    let n_arguments = (least, most);
    Callable { name, function, n_arguments }
}

const CALLABLE: [Callable; 19] = [
    callable("abs", Function::Abs, 1, 1),
    callable("double", Function::Double, 1, 1),
    callable("exp", Function::Exp, 1, 1),
    callable("greatest", Function::Greatest, 1, usize::MAX),
    callable("hash", Function::HashMurmur2, 1, 2),
    callable("hash_fnv1a", Function::HashFnv1a, 1, 2),
    callable("hash_murmur2", Function::HashMurmur2, 1, 2),
    callable("int", Function::Integer, 1, 1),
    callable("least", Function::Least, 1, usize::MAX),
    callable("ln", Function::Ln, 1, 1),
    callable("mod", Function::Modulo, 2, 2),
    callable("pi", Function::Pi, 0, 0),
    callable("pow", Function::Power, 2, 2),
    callable("power", Function::Power, 2, 2),
    callable("random", Function::Random, 2, 2),
    callable("random_exponential", Function::RandomExponential, 3, 3),
    callable("random_gaussian", Function::RandomGaussian, 3, 3),
    callable("random_zipfian", Function::RandomZipfian, 3, 3),
    callable("sqrt", Function::Sqrt, 1, 1),
];

impl Function {
    /// Returns the function's sign or name, for messages.
    pub(super) fn operation(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract | Self::Negate => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Modulo => "%",
            Self::Equal => "=",
            Self::NotEqual => "<>",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::BitOr => "|",
            Self::BitXor => "#",
            Self::BitAnd => "&",
            Self::BitNot => "~",
            Self::ShiftLeft => "<<",
            Self::ShiftRight => ">>",
            Self::Not => "NOT",
            Self::IsNull | Self::IsTrue | Self::IsFalse => "IS",
            named => CALLABLE.iter().find(|callable| callable.function == named).map_or("", |callable| callable.name),
        }
    }
}

/// Finds the function of this name; case does not matter.
pub(crate) fn find(name: &str) -> Result<&'static Callable, ParseFault> {
    let is = |known: &str| name.eq_ignore_ascii_case(known);
    if is("permute") {
        return Err(ParseFault::Refused {
            what: "permute()",
            because: "the function's results would differ from pgbench's",
            instead: "use abs(hash(:r)) % :size, which also scatters values, with some collisions",
        });
    }
    if is("debug") {
        return Err(ParseFault::Refused {
            what: "debug()",
            because: "looptax prints nothing while it measures",
            instead: "write the argument without debug() around it",
        });
    }
    CALLABLE.iter().find(|callable| is(callable.name)).ok_or_else(|| ParseFault::UnknownFunction {
        found: word(name),
        nearest: nearest(name, CALLABLE.iter().map(|callable| callable.name)),
    })
}
