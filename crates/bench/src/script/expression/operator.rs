//! Binary operators: how tightly each binds, and its function.
//!
//! From the loosest to the tightest: OR; AND; NOT; IS; comparisons, which cannot be chained; bit operators; sums;
//! products; signs. All bit operators bind equally tightly, as in pgbench.

use super::function::Function;
use super::token::Token;

pub(crate) const LOOSEST: u8 = 0;
pub(crate) const OR: u8 = 1;
pub(crate) const AND: u8 = 2;
pub(crate) const NOT: u8 = 3;
pub(crate) const IS: u8 = 4;
pub(crate) const COMPARISON: u8 = 5;
pub(crate) const BITS: u8 = 6;
pub(crate) const SUM: u8 = 7;
pub(crate) const PRODUCT: u8 = 8;
pub(crate) const SIGN: u8 = 9;

/// Returns how tightly a binary operator binds, and its function; AND, OR and IS do not have a function.
pub(crate) fn infix(token: &Token<'_>) -> Option<(u8, Option<Function>)> {
    use Function as F;
    let (strength, function) = match token {
        Token::Word(_) if token.is_word("or") => return Some((OR, None)),
        Token::Word(_) if token.is_word("and") => return Some((AND, None)),
        Token::Word(_) => {
            let is_test = ["is", "isnull", "notnull"].iter().any(|word| token.is_word(word));
            return is_test.then_some((IS, None));
        }
        Token::Symbol(symbol) => match *symbol {
            "=" => (COMPARISON, F::Equal),
            "<>" | "!=" => (COMPARISON, F::NotEqual),
            "<" => (COMPARISON, F::Less),
            "<=" => (COMPARISON, F::LessOrEqual),
            ">" => (COMPARISON, F::Greater),
            ">=" => (COMPARISON, F::GreaterOrEqual),
            "|" => (BITS, F::BitOr),
            "#" => (BITS, F::BitXor),
            "&" => (BITS, F::BitAnd),
            "<<" => (BITS, F::ShiftLeft),
            ">>" => (BITS, F::ShiftRight),
            "+" => (SUM, F::Add),
            "-" => (SUM, F::Subtract),
            "*" => (PRODUCT, F::Multiply),
            "/" => (PRODUCT, F::Divide),
            "%" => (PRODUCT, F::Modulo),
            _ => return None,
        },
        _ => return None,
    };
    Some((strength, Some(function)))
}
