//! The tokens of an expression, read from one meta command.
//!
//! A meta command ends at the end of its line, unless a backslash before the line feed continues it. Offsets count from
//! the start of the whole script.

use std::ops::Range;

use crate::script::error::ScriptError;
use crate::script::fault::ParseFault;
use crate::script::place::word;
use crate::script::symbols::{Source, is_name_character};

/// The magnitude of the least integer; allowed only after a minus sign.
const LEAST_INTEGER: &str = "9223372036854775808";

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Token<'a> {
    Integer(i64),
    /// 9223372036854775808, which must follow a minus sign.
    LeastInteger,
    Double(f64),
    Variable(&'a str),
    Word(&'a str),
    /// An operator, a parenthesis or a comma.
    Symbol(&'static str),
    End,
}

impl Token<'_> {
    pub(crate) fn is_word(&self, keyword: &str) -> bool {
        matches!(self, Self::Word(found) if found.eq_ignore_ascii_case(keyword))
    }
}

/// Longer symbols first, so that `<=` is not read as `<` and `=`.
const SYMBOLS: [&str; 20] =
    ["<=", ">=", "<>", "!=", "<<", ">>", "+", "-", "*", "/", "%", "=", "<", ">", "|", "&", "#", "~", "(", ")"];

/// Reads the tokens of one meta command.
pub(crate) struct Reader<'a> {
    pub(crate) source: Source<'a>,
    at: usize,
    end: usize,
}

impl<'a> Reader<'a> {
    /// Makes a reader of the meta command whose arguments start at `at`.
    pub(crate) fn new(source: Source<'a>, at: usize) -> Self {
        let end = command_end(source.text, at);
        Self { source, at, end }
    }

    /// Returns the end of the command: at its line feed, or at the end of the text.
    pub(crate) fn end(&self) -> usize {
        self.end
    }

    /// Reads the text up to the next white space, and returns it with its place; empty at the end of the command.
    pub(crate) fn next_argument(&mut self) -> (&'a str, Range<usize>) {
        self.skip_blanks();
        let start = self.at;
        while self.at < self.end && self.n_blank_bytes() == 0 {
            self.at += 1;
        }
        (&self.source.text[start..self.at], start..self.at)
    }

    /// Reads the next token of an expression, and returns it with its place.
    pub(crate) fn next_token(&mut self) -> Result<(Token<'a>, Range<usize>), ScriptError> {
        self.skip_blanks();
        let start = self.at;
        let rest = &self.source.text[start..self.end];
        let Some(first) = rest.bytes().next() else {
            return Ok((Token::End, start..start));
        };
        let second = rest.as_bytes().get(1);
        let is_fraction = first == b'.' && second.is_some_and(u8::is_ascii_digit);
        let (token, n_bytes) = match first {
            b'0'..=b'9' => self.number(rest)?,
            b'.' if is_fraction => self.number(rest)?,
            b':' if rest[1..].starts_with(is_name_character) => {
                let name = leading(&rest[1..], is_name_character);
                (Token::Variable(name), 1 + name.len())
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => {
                let found = leading(rest, |c| c.is_ascii_alphanumeric() || c == '_');
                (Token::Word(found), found.len())
            }
            b',' => (Token::Symbol(","), 1),
            _ => match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
                Some(symbol) => (Token::Symbol(symbol), symbol.len()),
                None => return Err(self.strange(rest)),
            },
        };
        self.at += n_bytes;
        Ok((token, start..self.at))
    }

    fn strange(&self, rest: &str) -> ScriptError {
        let found = rest.chars().next().unwrap_or_default();
        let fault = ParseFault::Expected {
            expected: "a value, an operator or a function",
            found: format!("`{}`", word(&found.to_string())),
        };
        self.source.error(self.at..self.at + found.len_utf8(), fault)
    }

    fn number(&self, rest: &str) -> Result<(Token<'a>, usize), ScriptError> {
        let digits = |text: &str| leading(text, |c| c.is_ascii_digit()).len();
        let n_whole = digits(rest);
        let mut n_bytes = n_whole;
        if rest[n_bytes..].starts_with('.') {
            n_bytes += 1;
            n_bytes += digits(&rest[n_bytes..]);
        }
        if rest[n_bytes..].starts_with(['e', 'E']) {
            let n_sign = usize::from(rest[n_bytes + 1..].starts_with(['+', '-']));
            let n_digits = digits(&rest[n_bytes + 1 + n_sign..]);
            if n_digits > 0 {
                n_bytes += 1 + n_sign + n_digits;
            }
        }
        let text = &rest[..n_bytes];
        let token = if n_bytes > n_whole {
            text.parse().ok().filter(|d: &f64| d.is_finite()).map(Token::Double)
        } else if text == LEAST_INTEGER {
            Some(Token::LeastInteger)
        } else {
            text.parse().ok().map(Token::Integer)
        };
        let found = || ParseFault::Constant { found: word(text) };
        token.map(|token| (token, n_bytes)).ok_or_else(|| self.source.error(self.at..self.at + n_bytes, found()))
    }

    fn skip_blanks(&mut self) {
        loop {
            match self.n_blank_bytes() {
                0 => return,
                n_bytes => self.at += n_bytes,
            }
        }
    }

    /// Returns how many bytes of white space or line continuation follow.
    fn n_blank_bytes(&self) -> usize {
        let rest = &self.source.text.as_bytes()[self.at..self.end];
        match rest {
            [b'\\', b'\n', ..] => 2,
            [b'\\', b'\r', b'\n', ..] => 3,
            [b' ' | b'\t' | b'\r' | b'\n' | 0x0b | 0x0c, ..] => 1,
            _ => 0,
        }
    }
}

fn leading(text: &str, is_part: impl Fn(char) -> bool) -> &str {
    text.find(|c| !is_part(c)).map_or(text, |end| &text[..end])
}

/// Returns the first line feed that does not follow a continuing backslash. The search begins at `at`.
fn command_end(text: &str, at: usize) -> usize {
    let mut from = at;
    while let Some(n_bytes) = text[from..].find('\n') {
        let line = &text[at..from + n_bytes];
        if !line.strip_suffix('\r').unwrap_or(line).ends_with('\\') {
            return from + n_bytes;
        }
        from += n_bytes + 1;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, wanted: &[Token<'_>]) {
        let source = Source { name: "a", text };
        let mut reader = Reader::new(source, 0);
        let mut found = Vec::new();
        loop {
            let (token, span) = reader.next_token().unwrap();
            assert!(text.get(span).is_some());
            if token == Token::End {
                break;
            }
            found.push(token);
        }
        assert_eq!(found, wanted);
    }

    #[test]
    fn reads_numbers_names_and_operators() {
        use Token::{Double, Integer, LeastInteger, Symbol, Variable, Word};
        check(
            "1 2.5 .5 1. 1e3 1e",
            &[Integer(1), Double(2.5), Double(0.5), Double(1.0), Double(1000.0), Integer(1), Word("e")],
        );
        check(":a+:ä_1", &[Variable("a"), Symbol("+"), Variable("ä_1")]);
        check("a<=b<>c", &[Word("a"), Symbol("<="), Word("b"), Symbol("<>"), Word("c")]);
        check("9223372036854775808", &[LeastInteger]);
    }

    #[test]
    fn continues_after_a_backslash_at_the_end_of_the_line() {
        let both = [Token::Integer(1), Token::Integer(2)];
        check("1\\\n 2\n3", &both);
        check("1 \\\r\n2\r\n3", &both);
        check("1\n2", &both[..1]);
    }

    #[test]
    fn refuses_what_no_number_can_hold() {
        for text in ["9223372036854775809", "1e400", "?", "'a'", "\\", ":", ".", "ä"] {
            let source = Source { name: "a", text };
            assert!(Reader::new(source, 0).next_token().is_err(), "{text}");
        }
    }
}
