//! Parses an expression by precedence climbing and writes the steps of the stack machine.
//!
//! `operator` defines how tightly operators bind. The depth is limited, because the text is untrusted.

use std::ops::Range;

use super::callable::{self, Callable};
use super::function::Function;
use super::machine::{Code, Op, Step};
use super::operator::{AND, BITS, COMPARISON, IS, LOOSEST, NOT, SIGN, infix};
use super::token::{Reader, Token};
use crate::script::error::ScriptError;
use crate::script::fault::ParseFault;
use crate::script::place::word;
use crate::script::symbols::Symbols;
use crate::script::value::Value;

/// Deepest nesting of parentheses, signs, calls and CASE: far more than people write, and far less than a thread's
/// stack can hold.
const MAX_DEPTH: usize = 100;

/// Parses the expression up to the end of the meta command.
pub(crate) fn parse(reader: &mut Reader<'_>, symbols: &mut Symbols) -> Result<Code, ScriptError> {
    let next = reader.next_token()?;
    let mut parser = Parser { reader, symbols, next, steps: Vec::new(), depth: 0 };
    parser.expression(LOOSEST)?;
    if parser.next.0 != Token::End {
        return Err(parser.unexpected("an operator or the end of the line"));
    }
    Ok(parser.steps.into_boxed_slice())
}

struct Parser<'r, 'a> {
    reader: &'r mut Reader<'a>,
    symbols: &'r mut Symbols,
    next: (Token<'a>, Range<usize>),
    steps: Vec<Step>,
    depth: usize,
}

impl<'a> Parser<'_, 'a> {
    /// Parses an expression whose operators all bind at least as tightly as `loosest`.
    fn expression(&mut self, loosest: u8) -> Result<(), ScriptError> {
        const LIMIT: ParseFault = ParseFault::TooMuch { what: "the expression is nested too deeply", limit: MAX_DEPTH };
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error(LIMIT));
        }
        self.operand()?;
        let mut is_comparison = false;
        while let Some((strength, function)) = infix(&self.next.0) {
            if strength < loosest {
                break;
            }
            if is_comparison && strength == COMPARISON {
                return Err(self.unexpected("AND or OR between comparisons"));
            }
            is_comparison = strength == COMPARISON;
            self.operator(strength, function)?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// Parses an operator and its right side; the steps of the left side are already written.
    fn operator(&mut self, strength: u8, function: Option<Function>) -> Result<(), ScriptError> {
        if strength == IS {
            return self.test();
        }
        let (_, span) = self.advance()?;
        if let Some(function) = function {
            self.expression(strength + 1)?;
            self.push(Op::Call(function, 2), &span);
            return Ok(());
        }
        let branch = self.push(Op::Jump(0), &span);
        self.expression(strength + 1)?;
        self.push(Op::Truth, &span);
        let end = self.steps.len() as u32;
        let is_and = strength == AND;
        self.steps[branch].op = if is_and { Op::And(end) } else { Op::Or(end) };
        Ok(())
    }

    /// Parses `IS [NOT] NULL|TRUE|FALSE`, `ISNULL`, `NOTNULL`.
    fn test(&mut self) -> Result<(), ScriptError> {
        let (token, span) = self.advance()?;
        let mut is_negated = token.is_word("notnull");
        let function = if token.is_word("is") {
            if self.next.0.is_word("not") {
                self.advance()?;
                is_negated = true;
            }
            let tested = [("null", Function::IsNull), ("true", Function::IsTrue), ("false", Function::IsFalse)];
            let found = tested.iter().find(|(word, _)| self.next.0.is_word(word));
            let Some((_, function)) = found else {
                return Err(self.unexpected("NULL, TRUE or FALSE"));
            };
            self.advance()?;
            *function
        } else {
            Function::IsNull
        };
        self.push(Op::Call(function, 1), &span);
        if is_negated {
            self.push(Op::Call(Function::Not, 1), &span);
        }
        Ok(())
    }

    fn operand(&mut self) -> Result<(), ScriptError> {
        const EXPECTED: &str = "a value";
        let (token, span) = self.next.clone();
        let value = match token {
            Token::Integer(integer) => Value::Integer(integer),
            Token::Double(double) => Value::Double(double),
            Token::Word(found) => return self.named(found, &span),
            Token::Symbol(symbol) => return self.prefix(symbol, &span),
            Token::Variable(name) => {
                let variable = self.symbols.used(name, span.clone());
                self.advance()?;
                self.push(Op::Load(variable), &span);
                return Ok(());
            }
            Token::LeastInteger => {
                let text = &self.reader.source.text[span];
                let found = text.to_owned();
                return Err(self.error(ParseFault::Constant { found }));
            }
            Token::End => return Err(self.unexpected(EXPECTED)),
        };
        self.advance()?;
        self.push(Op::Push(value), &span);
        Ok(())
    }

    /// Parses a sign, `~` or parentheses.
    fn prefix(&mut self, symbol: &str, span: &Range<usize>) -> Result<(), ScriptError> {
        let (strength, function) = match symbol {
            "(" => {
                self.advance()?;
                self.expression(LOOSEST)?;
                return self.close();
            }
            "-" => (SIGN, Some(Function::Negate)),
            "+" => (SIGN, None),
            "~" => (BITS, Some(Function::BitNot)),
            _ => return Err(self.unexpected("a value")),
        };
        self.advance()?;
        if symbol == "-" && self.next.0 == Token::LeastInteger {
            self.advance()?;
            self.push(Op::Push(Value::Integer(i64::MIN)), span);
            return Ok(());
        }
        self.expression(strength + 1)?;
        if let Some(function) = function {
            self.push(Op::Call(function, 1), span);
        }
        Ok(())
    }

    /// Parses a constant, NOT, CASE or a call.
    fn named(&mut self, found: &str, span: &Range<usize>) -> Result<(), ScriptError> {
        let is = |keyword: &str| found.eq_ignore_ascii_case(keyword);
        let constant = match found {
            _ if is("null") => Some(Value::Null),
            _ if is("true") => Some(Value::Boolean(true)),
            _ if is("false") => Some(Value::Boolean(false)),
            _ => None,
        };
        if is("not") {
            self.advance()?;
            self.expression(NOT)?;
            self.push(Op::Call(Function::Not, 1), span);
        } else if is("case") {
            self.advance()?;
            self.case()?;
        } else if let Some(value) = constant {
            self.advance()?;
            self.push(Op::Push(value), span);
        } else if ["and", "or", "when", "then", "else", "end", "is", "isnull", "notnull"]
            .iter()
            .any(|keyword| is(keyword))
        {
            return Err(self.unexpected("a value"));
        } else {
            self.call(found, span)?;
        }
        Ok(())
    }

    fn case(&mut self) -> Result<(), ScriptError> {
        let mut jumps = Vec::new();
        if !self.next.0.is_word("when") {
            return Err(self.unexpected("WHEN"));
        }
        while self.next.0.is_word("when") {
            let (_, span) = self.advance()?;
            self.expression(LOOSEST)?;
            let branch = self.push(Op::Unless(0), &span);
            self.keyword("then", "THEN")?;
            self.expression(LOOSEST)?;
            jumps.push(self.push(Op::Jump(0), &span));
            self.steps[branch].op = Op::Unless(self.steps.len() as u32);
        }
        if self.next.0.is_word("else") {
            self.advance()?;
            self.expression(LOOSEST)?;
        } else {
            let span = self.next.1.clone();
            self.push(Op::Push(Value::Null), &span);
        }
        let end = self.steps.len() as u32;
        for jump in jumps {
            self.steps[jump].op = Op::Jump(end);
        }
        self.keyword("end", "WHEN, ELSE or END")
    }

    fn call(&mut self, name: &str, span: &Range<usize>) -> Result<(), ScriptError> {
        let callable = callable::find(name).map_err(|fault| self.reader.source.error(span.clone(), fault))?;
        self.advance()?;
        if self.next.0 != Token::Symbol("(") {
            return Err(self.unexpected("`(` after the function's name"));
        }
        self.advance()?;
        let mut n_arguments = 0;
        if self.next.0 != Token::Symbol(")") {
            loop {
                self.expression(LOOSEST)?;
                n_arguments += 1;
                if self.next.0 != Token::Symbol(",") {
                    break;
                }
                self.advance()?;
            }
        }
        self.close()?;
        self.check_count(callable, n_arguments, span)?;
        let is_hash = matches!(callable.function, Function::HashFnv1a | Function::HashMurmur2);
        if is_hash && n_arguments == 1 {
            let seed = self.symbols.used("default_seed", span.clone());
            self.push(Op::Load(seed), span);
            n_arguments = 2;
        }
        self.push(Op::Call(callable.function, n_arguments as u32), span);
        Ok(())
    }

    fn check_count(&self, callable: &Callable, found: usize, span: &Range<usize>) -> Result<(), ScriptError> {
        let (least, most) = callable.n_arguments;
        if (least..=most).contains(&found) {
            return Ok(());
        }
        let plural = if most == 1 { "" } else { "s" };
        let wanted = match most {
            0 => "no arguments".to_owned(),
            usize::MAX => format!("at least {least} argument"),
            _ if least == most => format!("{least} argument{plural}"),
            _ => format!("{least} to {most} arguments"),
        };
        let fault = ParseFault::Arguments { function: callable.name, wanted, found };
        Err(self.reader.source.error(span.clone(), fault))
    }

    fn close(&mut self) -> Result<(), ScriptError> {
        if self.next.0 != Token::Symbol(")") {
            return Err(self.unexpected("an operator, `,` or `)`"));
        }
        self.advance().map(|_| ())
    }

    fn keyword(&mut self, keyword: &str, expected: &'static str) -> Result<(), ScriptError> {
        if !self.next.0.is_word(keyword) {
            return Err(self.unexpected(expected));
        }
        self.advance().map(|_| ())
    }

    fn advance(&mut self) -> Result<(Token<'a>, Range<usize>), ScriptError> {
        let next = self.reader.next_token()?;
        Ok(std::mem::replace(&mut self.next, next))
    }

    fn push(&mut self, op: Op, span: &Range<usize>) -> usize {
        let at = span.start as u32;
        self.steps.push(Step { op, at });
        self.steps.len() - 1
    }

    fn unexpected(&self, expected: &'static str) -> ScriptError {
        let found = match self.next.1.clone() {
            _ if self.next.0 == Token::End => "the end of the line".to_owned(),
            span => format!("`{}`", word(&self.reader.source.text[span])),
        };
        self.error(ParseFault::Expected { expected, found })
    }

    fn error(&self, fault: ParseFault) -> ScriptError {
        self.reader.source.error(self.next.1.clone(), fault)
    }
}
