//! Finds the parts of a program's text that do not always run: branches, loops and functions, as ranges of bytes.

use std::ops::Range;

use super::Language;
use super::lexer::{Kind, Token};
use crate::app::setting::LineStarts;

/// A range of bytes that does not always run, and the reason. In messages, the words `it is` precede the reason.
pub(super) type Condition = (Range<usize>, &'static str);

/// Maximum number of branches that are distinguished in a text.
const MOST_CONDITIONS: usize = 500;

pub(super) const BRANCH: &str = "set under a condition";
const LOOP: &str = "set in a loop";
const SETTINGS: &str = "set as the default of an environment variable";
pub(super) const FUNCTION: &str = "set in a function, which may never be called";

const ATTEMPT: &str = "set in a `try` block that may fail";
const AS_PROGRAM: &str = "set if the file is run as a program";

pub(super) fn conditions(text: &str, tokens: &[Token], language: Language) -> Vec<Condition> {
    let program = Program::new(text, tokens);
    let mut found = match language {
        Language::Php | Language::Perl | Language::Script | Language::Go | Language::Java => program.braced(language),
        Language::Python => program.indented(),
        Language::Ruby => program.ended(),
    };
    if found.len() >= MOST_CONDITIONS {
        // The rest of the text is not read, so the whole text counts as a branch that may not run.
        found = vec![(0..text.len(), BRANCH)];
    }
    found
}

fn reason(word: &str, language: Language) -> Option<&'static str> {
    Some(match word {
        "if" | "elseif" | "elsif" | "else" | "elif" | "switch" | "case" | "catch" | "unless" | "except" => BRANCH,
        "try" => ATTEMPT,
        "foreach" | "for" | "while" | "until" => LOOP,
        "def" => FUNCTION,
        "sub" if language == Language::Perl => FUNCTION,
        // Pydantic prefers environment variables to the values of the fields in a class.
        "class" if language == Language::Python => SETTINGS,
        "function" if language == Language::Php => FUNCTION,
        _ => return None,
    })
}

pub(super) struct Program<'a> {
    text: &'a str,
    tokens: &'a [Token],
    starts: LineStarts,
    /// For each opening bracket, the token after its closing bracket.
    behind: Vec<usize>,
    /// For each token, the end of its statement.
    ends: Vec<usize>,
}

impl<'a> Program<'a> {
    pub(super) fn new(text: &'a str, tokens: &'a [Token]) -> Self {
        let n = tokens.len();
        let mut new =
            Self { text, tokens, starts: LineStarts::from_text(text), behind: vec![n; n], ends: vec![n; n + 1] };
        let mut open = Vec::new();
        for idx in 0..n {
            match new.word(idx) {
                "(" | "[" | "{" => open.push(idx),
                ")" | "]" | "}" => {
                    if let Some(from) = open.pop() {
                        new.behind[from] = idx + 1;
                    }
                }
                _ => {}
            }
        }
        for idx in (0..n).rev() {
            new.ends[idx] = match new.word(idx) {
                ";" => idx + 1,
                "}" | ")" | "]" => idx,
                "(" | "[" | "{" => new.ends[new.behind[idx]],
                _ => new.ends[idx + 1],
            };
        }
        new
    }

    pub(super) fn word(&self, at: usize) -> &'a str {
        let token = self.tokens.get(at);
        let token = token.filter(|it| !matches!(it.kind, Kind::Text(_)));
        token.map_or("", |it| &self.text[it.at.clone()])
    }

    pub(super) fn start(&self, at: usize) -> usize {
        let token = self.tokens.get(at);
        token.map_or(self.text.len(), |it| it.at.start)
    }

    pub(super) fn behind(&self, at: usize) -> usize {
        self.behind.get(at).copied().unwrap_or(self.tokens.len())
    }

    pub(super) fn statement_end(&self, at: usize) -> usize {
        self.ends.get(at).copied().unwrap_or(self.tokens.len())
    }

    fn braced(&self, language: Language) -> Vec<Condition> {
        let mut found = Vec::new();
        for idx in 0..self.tokens.len() {
            if found.len() >= MOST_CONDITIONS {
                break;
            }
            let before = idx.checked_sub(1).map_or("", |at| self.word(at));
            let is_or = matches!(before, "or" | "and" | "OR" | "AND" | "|" | "&" | "?");
            if is_or && self.word(idx) == "define" {
                found.push((self.start(idx)..self.start(self.statement_end(idx)), BRANCH));
            }
            let Some(reason) = reason(self.word(idx), language) else {
                continue;
            };
            // In OTRS and its forks, every configuration file in Perl has a function `Load`, which the program calls.
            let is_called = self.word(idx) == "sub" && self.word(idx + 1) == "Load";
            let is_name = matches!(before, "." | "->" | "::" | "function" | "$")
                || is_called
                || self.word(idx) == "try"
                || language == Language::Script && matches!(self.word(idx + 1), ":" | "," | "=");
            if !(is_name || self.word(idx) == "case" || before == "case") {
                found.extend(self.block(idx + 1, reason, language));
            }
        }
        found
    }

    /// Returns the block or the statement of a keyword; `at` is the token after the keyword.
    fn block(&self, at: usize, reason: &'static str, language: Language) -> Option<Condition> {
        let mut at = at;
        if reason == FUNCTION || language == Language::Go {
            while at < self.tokens.len() && !matches!(self.word(at), "{" | ";") {
                at = if self.word(at) == "(" { self.behind(at) } else { at + 1 };
            }
        } else if self.word(at) == "(" {
            at = self.behind(at);
        }
        let end = match self.word(at) {
            "{" => self.behind(at),
            ":" => self.alternative_end(at),
            _ => self.statement_end(at),
        };
        (at < self.tokens.len()).then(|| (self.start(at)..self.start(end), reason))
    }

    /// Finds the end of PHP's `if (…): … endif;`.
    fn alternative_end(&self, at: usize) -> usize {
        let mut depth = 1_usize;
        let mut idx = at + 1;
        while idx < self.tokens.len() {
            match self.word(idx) {
                "endif" | "endforeach" | "endfor" | "endwhile" | "endswitch" => depth -= 1,
                "if" | "foreach" | "for" | "while" | "switch" if self.word(idx + 1) == "(" => {
                    idx = self.behind(idx + 1);
                    depth += usize::from(self.word(idx) == ":");
                    continue;
                }
                _ => {}
            }
            if depth == 0 {
                return idx;
            }
            idx += 1;
        }
        idx
    }

    /// The tokens that begin a line outside brackets, each with the indentation of its line.
    fn statements(&self) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let mut depth = 0_usize;
        let mut done = 0;
        for (idx, token) in self.tokens.iter().enumerate() {
            let before = self.starts.start_of(self.starts.line(token.at.start));
            let is_first = idx == 0 || done <= before;
            let indent = &self.text[before..token.at.start];
            if is_first && depth == 0 {
                found.push((idx, indent.len()));
            }
            match self.word(idx) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth = depth.saturating_sub(1),
                _ => {}
            }
            done = token.at.end;
        }
        found
    }

    fn indented(&self) -> Vec<Condition> {
        let mut found: Vec<Condition> = Vec::new();
        let mut open: Vec<(usize, usize, &'static str)> = Vec::new();
        for (idx, indent) in self.statements() {
            let start = self.start(idx);
            while let Some((_, from, reason)) = open.pop_if(|it| it.0 >= indent) {
                found.push((from..start, reason));
            }
            let named = reason(self.word(idx), Language::Python);
            let named = named.filter(|it| *it != SETTINGS || self.word(idx + 3).ends_with("Settings"));
            let is_main = self.word(idx) == "if" && self.word(idx + 1) == "__name__";
            if let Some(reason) = named {
                open.push((indent, start, if is_main { AS_PROGRAM } else { reason }));
            }
        }
        let rest = open.into_iter().map(|it| (it.1..self.text.len(), it.2));
        found.extend(rest);
        found
    }

    fn ended(&self) -> Vec<Condition> {
        let mut found: Vec<Condition> = Vec::new();
        let mut open: Vec<(usize, Option<&'static str>)> = Vec::new();
        let mut statements = self.statements().into_iter().map(|it| it.0).peekable();
        let mut first = 0;
        for idx in 0..self.tokens.len() {
            let is_first = statements.next_if_eq(&idx).is_some();
            if is_first {
                first = idx;
            }
            let before = if is_first { "" } else { self.word(idx.saturating_sub(1)) };
            if matches!(before, "." | ":") || self.word(idx + 1) == ":" {
                continue;
            }
            let opens = is_first || matches!(before, "=" | "(");
            match self.word(idx) {
                "end" => {
                    if let Some((from, Some(reason))) = open.pop() {
                        found.push((from..self.start(idx), reason));
                    }
                }
                "if" | "unless" if !opens => {
                    found.push((self.start(first)..self.start(idx), BRANCH));
                }
                word @ ("if" | "unless" | "case" | "while" | "until" | "for" | "def") => {
                    open.push((self.start(idx), reason(word, Language::Ruby)));
                }
                "do" if matches!(self.word(first), "while" | "until" | "for") => {}
                "begin" | "class" | "module" | "do" => open.push((self.start(idx), None)),
                _ => {}
            }
        }
        let rest = open.into_iter().filter_map(|(from, reason)| Some((from..self.text.len(), reason?)));
        found.extend(rest);
        found
    }
}
