//! Parses the text of a script into statements, and instructions in the order of the text.
//!
//! `\if`, `\elif`, `\else` and `\endif` become forward jumps, so a transaction always ends. `set` joins scripts,
//! `session` runs them.

mod conditional;
mod instruction;

use std::ops::Range;

use crate::script::command::{self, Command};
use crate::script::dialect::Dialect;
use crate::script::error::ScriptError;
use crate::script::expression::{self, Reader};
use crate::script::fault::ParseFault;
use crate::script::place::word;
use crate::script::sql::Scanner;
use crate::script::statement::Statement;
use crate::script::symbols::{Source, Symbols, is_name};
use conditional::Conditionals;
pub(crate) use instruction::{Amount, Instruction, Kind};

/// Largest size of a script: generous, and small enough for 32-bit offsets.
const MAX_BYTES: usize = 16 << 20;

/// One script, parsed and checked by itself. To run it, add it to a [`ScriptSet`](crate::script::ScriptSet).
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    pub(crate) name: String,
    pub(crate) text: String,
    pub(crate) symbols: Symbols,
    pub(crate) statements: Vec<Statement>,
    pub(crate) instructions: Vec<Instruction>,
    /// Names within quotes and comments that look like variables.
    pub(crate) quoted: Vec<(String, Range<usize>)>,
}

impl Script {
    /// Parses a script. `name` is for messages: the path as the user gave it.
    ///
    /// # Errors
    /// The first mistake in the text, with its place. [`ScriptSet::new`](crate::script::ScriptSet::new) checks whether
    /// each variable is set, because it knows the other scripts and the definitions.
    pub fn parse(name: &str, text: &str, dialect: Dialect) -> Result<Self, ScriptError> {
        let source = Source { name, text };
        if text.len() > MAX_BYTES {
            let fault = ParseFault::TooMuch { what: "the script has too many bytes", limit: MAX_BYTES };
            return Err(source.error(0..0, fault));
        }
        if let Some(at) = text.find('\0') {
            return Err(source.error(at..at + 1, ParseFault::Nul));
        }
        let mut script = Self {
            name: name.to_owned(),
            text: text.to_owned(),
            symbols: Symbols::default(),
            statements: Vec::new(),
            instructions: Vec::new(),
            quoted: Vec::new(),
        };
        script.read(source, dialect)?;
        if script.statements.is_empty() {
            return Err(source.error(text.len()..text.len(), ParseFault::NoStatement));
        }
        Ok(script)
    }

    /// Checks that the script uses no pipeline, which only PostgreSQL's extended protocol supports.
    ///
    /// # Errors
    /// The first pipeline command, with its place and the caller's reason: `MySQL has no pipelines`.
    pub fn without_pipeline(&self, because: &str) -> Result<(), ScriptError> {
        for instruction in &self.instructions {
            let command = match instruction.kind {
                Kind::StartPipeline => "startpipeline",
                Kind::EndPipeline => "endpipeline",
                Kind::SyncPipeline => "syncpipeline",
                _ => continue,
            };
            let because = because.to_owned();
            let fault = ParseFault::Pipeline { command, because };
            return Err(self.source().error(instruction.span.clone(), fault));
        }
        Ok(())
    }

    pub(crate) fn source(&self) -> Source<'_> {
        Source { name: &self.name, text: &self.text }
    }

    fn read(&mut self, source: Source<'_>, dialect: Dialect) -> Result<(), ScriptError> {
        let mut conditionals = Conditionals::default();
        let mut at = 0;
        loop {
            let mut scanner = Scanner::new(source, dialect, &mut self.symbols, &mut self.quoted, at);
            let statement = scanner.statement()?;
            at = scanner.at;
            if let Some(statement) = statement {
                let statement_idx = self.statements.len();
                self.push(statement.span.clone(), Kind::Send { statement_idx });
                self.statements.push(statement);
            }
            if source.text[at..].starts_with('\\') {
                at = self.command(source, at, &mut conditionals)?;
            } else if at == source.text.len() {
                return conditionals.finish(source);
            }
        }
    }

    /// Parses the meta command whose backslash is at `at`, and returns the position of its end.
    fn command(
        &mut self,
        source: Source<'_>,
        at: usize,
        conditionals: &mut Conditionals,
    ) -> Result<usize, ScriptError> {
        let mut reader = Reader::new(source, at + 1);
        let (found, name_span) = match source.text[at + 1..].chars().next() {
            Some(first) if !first.is_whitespace() => reader.next_argument(),
            _ => ("", at + 1..at + 1),
        };
        let span = at..name_span.end;
        let command = command::find(source, found, span.clone())?;
        match command {
            Command::Set => self.set(&mut reader, span)?,
            Command::Sleep => self.sleep(&mut reader, span)?,
            Command::If | Command::Elif => {
                let is_first = command == Command::If;
                let jump = conditionals.enter(source, is_first, &span, &mut self.instructions)?;
                let code = expression::parse(&mut reader, &mut self.symbols)?;
                self.instructions[jump].kind = Kind::Unless { code, target: 0 };
            }
            Command::Else => conditionals.otherwise(source, &span, &mut self.instructions)?,
            Command::Endif => conditionals.leave(source, &span, &mut self.instructions)?,
            Command::StartPipeline => self.push(span, Kind::StartPipeline),
            Command::EndPipeline => self.push(span, Kind::EndPipeline),
            Command::SyncPipeline => self.push(span, Kind::SyncPipeline),
        }
        if !matches!(command, Command::Set | Command::If | Command::Elif) {
            let (found, span) = reader.next_argument();
            if !found.is_empty() {
                return Err(expected(source, span, "the end of the line", found));
            }
        }
        Ok(reader.end())
    }

    fn push(&mut self, span: Range<usize>, kind: Kind) {
        self.instructions.push(Instruction { span, kind });
    }

    /// Parses `\set NAME EXPRESSION`.
    fn set(&mut self, reader: &mut Reader<'_>, span: Range<usize>) -> Result<(), ScriptError> {
        let (name, name_span) = reader.next_argument();
        if !is_name(name) {
            let wanted = "a variable's name of letters, digits and underscores";
            return Err(expected(reader.source, name_span, wanted, name));
        }
        let code = expression::parse(reader, &mut self.symbols)?;
        let variable = self.symbols.set(name);
        self.push(span, Kind::Set { variable, code });
        Ok(())
    }

    /// Parses `\sleep NUMBER|:NAME [us|ms|s]`, and also `\sleep 10ms`.
    fn sleep(&mut self, reader: &mut Reader<'_>, span: Range<usize>) -> Result<(), ScriptError> {
        let (found, amount_span) = reader.next_argument();
        let end = amount_span.end;
        let variable = found.strip_prefix(':').filter(|name| is_name(name));
        let (amount, attached) = if let Some(name) = variable {
            let variable = self.symbols.used(name, amount_span);
            (Amount::Variable(variable), "")
        } else {
            let is_unit = |c: char| !c.is_ascii_digit();
            let (digits, unit) = found.split_at(found.find(is_unit).unwrap_or(found.len()));
            let Ok(amount) = digits.parse() else {
                let wanted = "a whole number or a variable";
                return Err(expected(reader.source, amount_span, wanted, found));
            };
            (Amount::Constant(amount), unit)
        };
        let (unit, unit_span) = match attached {
            "" => reader.next_argument(),
            attached => (attached, end - attached.len()..end),
        };
        let unit_us = match unit.to_ascii_lowercase().as_str() {
            "us" => 1,
            "ms" => 1_000,
            "" | "s" => 1_000_000,
            _ => {
                return Err(expected(reader.source, unit_span, "`us`, `ms` or `s`", unit));
            }
        };
        self.push(span, Kind::Sleep { amount, unit_us });
        Ok(())
    }
}

fn expected(source: Source<'_>, span: Range<usize>, expected: &'static str, found: &str) -> ScriptError {
    let found = match found {
        "" => "the end of the line".to_owned(),
        found => format!("`{}`", word(found)),
    };
    source.error(span, ParseFault::Expected { expected, found })
}
