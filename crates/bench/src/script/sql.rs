//! Finds the end of a statement and the variables in it, by the quoting rules of the database.
//!
//! A statement ends at a `;` outside quotes, comments and parentheses, at a backslash, or at the end of the text, as in
//! psql. No other part of SQL is parsed. Line comments are removed; block comments stay, because servers read hints in
//! them.

use std::ops::Range;

use crate::script::dialect::Dialect;
use crate::script::error::ScriptError;
use crate::script::fault::ParseFault;
use crate::script::statement::{MAX_PARAMETERS, Piece, Statement};
use crate::script::symbols::{Source, Symbols, is_name_character};

pub(crate) struct Scanner<'a, 's> {
    pub(crate) source: Source<'a>,
    pub(crate) dialect: Dialect,
    pub(crate) symbols: &'s mut Symbols,
    /// `:name` within quotes and comments, which stays as it is.
    pub(crate) quoted: &'s mut Vec<(String, Range<usize>)>,
    /// The position at which reading continues.
    pub(crate) at: usize,
    n_parentheses: usize,
    has_sql: bool,
}

impl<'a, 's> Scanner<'a, 's> {
    pub(crate) fn new(
        source: Source<'a>,
        dialect: Dialect,
        symbols: &'s mut Symbols,
        quoted: &'s mut Vec<(String, Range<usize>)>,
        at: usize,
    ) -> Self {
        Self { source, dialect, symbols, quoted, at, n_parentheses: 0, has_sql: false }
    }

    /// Reads the statement that starts at `at`; `None` if only white space and comments are left. Afterwards `at` is
    /// after the `;`, on the backslash, or at the end of the text.
    pub(crate) fn statement(&mut self) -> Result<Option<Statement>, ScriptError> {
        let mut statement =
            Statement { script_idx: 0, span: self.at..self.at, pieces: Vec::new(), dialect: self.dialect };
        while let Some(first) = self.rest().chars().next() {
            if first == ';' && self.n_parentheses == 0 {
                self.at += 1;
                break;
            }
            if first == '\\' {
                if self.rest().starts_with("\\;") {
                    return Err(self.compound());
                }
                break;
            }
            let start = self.at;
            self.piece(first, &mut statement)?;
            if statement.is_empty() {
                statement.span = self.at..self.at;
            } else {
                statement.span.start = statement.span.start.min(start);
                statement.span.end = self.at;
            }
        }
        statement.trim_end();
        if statement.parameters().count() > MAX_PARAMETERS {
            let fault = ParseFault::TooMuch { what: "the statement uses too many variables", limit: MAX_PARAMETERS };
            return Err(self.source.error(statement.span, fault));
        }
        Ok(self.has_sql.then_some(statement))
    }

    fn rest(&self) -> &'a str {
        &self.source.text[self.at..]
    }

    /// Reads one variable, word, quote, comment or character.
    fn piece(&mut self, first: char, statement: &mut Statement) -> Result<(), ScriptError> {
        let start = self.at;
        if first == ':'
            && let Some((idx, span)) = self.variable()
        {
            self.has_sql = true;
            self.at = span.end;
            statement.pieces.push(Piece::Variable { idx, span });
            return Ok(());
        }
        if self.is_line_comment() {
            let n_bytes = self.rest().find('\n').unwrap_or(self.rest().len());
            self.at += n_bytes;
            return Ok(());
        }
        self.text(first)?;
        let text = &self.source.text[start..self.at];
        let is_blank = text.trim_ascii().is_empty();
        self.has_sql |= !is_blank && !self.is_plain_comment(text);
        if !(statement.is_empty() && is_blank) {
            statement.push_text(text);
        }
        Ok(())
    }

    /// Moves past one word, quote, block comment or character.
    fn text(&mut self, first: char) -> Result<(), ScriptError> {
        let rest = self.rest();
        let is_mysql = self.dialect == Dialect::Mysql;
        match first {
            '/' if rest.starts_with("/*") => self.block_comment(),
            '\'' | '"' => self.quote(self.at, is_mysql),
            '`' if is_mysql => self.quote(self.at, false),
            '$' if !is_mysql => self.dollar(rest),
            // The name after `::` is a type, not a variable.
            ':' if rest.starts_with("::") => {
                self.at += 2;
                Ok(())
            }
            _ if is_name_character(first) => self.word(rest),
            _ => {
                self.character(first);
                Ok(())
            }
        }
    }

    /// Moves past a name, keyword or number, and past the quoted text that follows PostgreSQL's `E`.
    fn word(&mut self, rest: &str) -> Result<(), ScriptError> {
        let is_part = |c| is_name_character(c) || c == '$';
        let n_bytes = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        self.at += n_bytes;
        let is_escape = matches!(&rest[..n_bytes], "E" | "e") && self.dialect == Dialect::Postgres;
        if is_escape && self.rest().starts_with('\'') {
            return self.quote(self.at, true);
        }
        Ok(())
    }

    /// Returns whether `text` starts with a comment that the server ignores. MySQL and MariaDB run the text in
    /// `/*! … */` and `/*M! … */`.
    fn is_plain_comment(&self, text: &str) -> bool {
        let is_run = text.starts_with("/*!") || text.starts_with("/*M!");
        text.starts_with("/*") && !(is_run && self.dialect == Dialect::Mysql)
    }

    fn character(&mut self, first: char) {
        match first {
            '(' => self.n_parentheses += 1,
            ')' => self.n_parentheses = self.n_parentheses.saturating_sub(1),
            _ => {}
        }
        self.at += first.len_utf8();
    }

    /// Returns whether a line comment starts here. A line comment starts with `--` or, in MySQL, also with `#`. In
    /// MySQL, white space must follow `--`, because `5--1` is a subtraction.
    fn is_line_comment(&self) -> bool {
        let rest = self.rest();
        let Some(behind) = rest.strip_prefix("--") else {
            return self.dialect == Dialect::Mysql && rest.starts_with('#');
        };
        let is_blank = |c: char| c.is_ascii_whitespace() || c.is_ascii_control();
        self.dialect == Dialect::Postgres || behind.is_empty() || behind.starts_with(is_blank)
    }

    fn block_comment(&mut self) -> Result<(), ScriptError> {
        let start = self.at;
        self.at += 2;
        let mut n_open = 1;
        while n_open > 0 {
            let rest = self.rest();
            if rest.starts_with("*/") {
                n_open -= 1;
                self.at += 2;
            } else if rest.starts_with("/*") && self.dialect == Dialect::Postgres {
                n_open += 1;
                self.at += 2;
            } else {
                self.within(start, "the comment")?;
            }
        }
        Ok(())
    }

    /// Moves past the quoted text that starts at `open`. A doubled quote does not end it; with `has_escapes`, a quote
    /// after a backslash does not end it either.
    fn quote(&mut self, open: usize, has_escapes: bool) -> Result<(), ScriptError> {
        let quote = self.source.text.as_bytes()[open];
        self.at = open + 1;
        loop {
            match self.rest().as_bytes() {
                [first, second, ..] if *first == quote && *second == quote => self.at += 2,
                [first, ..] if *first == quote => {
                    self.at += 1;
                    return Ok(());
                }
                [b'\\', second, ..] if has_escapes && second.is_ascii() => self.at += 2,
                _ => self.within(open, "the quote")?,
            }
        }
    }

    /// Moves past `$tag$ … $tag$`, or past a single dollar sign.
    fn dollar(&mut self, rest: &str) -> Result<(), ScriptError> {
        let open = self.at;
        let tag = rest[1..].find('$').map(|n_bytes| &rest[..n_bytes + 2]);
        let is_tag = |tag: &&str| {
            let name = &tag[1..tag.len() - 1];
            name.chars().all(is_name_character) && !name.starts_with(|c: char| c.is_ascii_digit())
        };
        let Some(tag) = tag.filter(is_tag) else {
            self.at += 1;
            return Ok(());
        };
        self.at += tag.len();
        while !self.rest().starts_with(tag) {
            self.within(open, "the dollar quote")?;
        }
        self.at += tag.len();
        Ok(())
    }

    /// Moves past one character of quoted text, and records a name that looks like a variable.
    fn within(&mut self, open: usize, what: &'static str) -> Result<(), ScriptError> {
        let Some(first) = self.rest().chars().next() else {
            let fault = ParseFault::Unclosed { what };
            return Err(self.source.error(open..open + 1, fault));
        };
        if first == ':'
            && let Some(span) = self.variable_span()
        {
            let name = self.source.text[span.start + 1..span.end].to_owned();
            self.quoted.push((name, span));
        }
        self.at += first.len_utf8();
        Ok(())
    }

    fn variable(&mut self) -> Option<(u32, Range<usize>)> {
        let span = self.variable_span()?;
        let name = &self.source.text[span.start + 1..span.end];
        Some((self.symbols.used(name, span.clone()), span))
    }

    /// Returns the place of `:name`, unless the text is a cast or a time such as `12:30`.
    fn variable_span(&self) -> Option<Range<usize>> {
        let name = self.rest().strip_prefix(':')?;
        let is_first = |c: char| is_name_character(c) && !c.is_ascii_digit();
        let is_cast = self.source.text[..self.at].ends_with(':');
        if is_cast || !name.starts_with(is_first) {
            return None;
        }
        let n_bytes = name.find(|c| !is_name_character(c)).unwrap_or(name.len());
        Some(self.at..self.at + 1 + n_bytes)
    }

    fn compound(&self) -> ScriptError {
        let fault = ParseFault::Refused {
            what: "\\;",
            because: "each request holds only one statement",
            instead: "end each statement with `;`; to send statements together, put them between \\startpipeline \
                and \\endpipeline",
        };
        self.source.error(self.at..self.at + 2, fault)
    }
}
