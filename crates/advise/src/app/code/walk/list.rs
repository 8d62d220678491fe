//! Follows nested values: lists, objects, and calls with named arguments.

use std::ops::Range;

use super::super::Language;
use super::super::lexer::Kind;
use super::{MOST_DEPTH, Slot, Walk};
use crate::app::setting::Setting;

impl Walk<'_> {
    /// Reads the arguments of a call. They begin at the token `first`.
    pub(in crate::app::code) fn arguments(&mut self, first: usize, close: &str) -> Vec<Setting> {
        self.at = first;
        let here = self.start();
        let slot = Slot {
            path: Vec::new(),
            key: here..here,
            start: here,
            depth: 1,
            ends_with_line: false,
            is_define: false,
            doubt: None,
        };
        self.is_in_call = true;
        self.entries(&slot, close, false);
        self.is_in_call = false;
        std::mem::take(&mut self.settings)
    }

    /// If a list begins `ahead` tokens after the current one, returns the sign that closes it, and the number of tokens
    /// that open it.
    pub(super) fn opening(&self, ahead: usize) -> Option<(&'static str, usize)> {
        match self.word(ahead) {
            "[" if self.language != Language::Go => Some(("]", 1)),
            "{" => Some(("}", 1)),
            "(" if self.word(ahead + 1) == "{" => Some((")", 1)),
            "(" if self.language == Language::Perl => Some((")", 1)),
            // In Python, this is a tuple.
            "(" if self.language == Language::Python && self.is_text(ahead + 1) && self.word(ahead + 2) == "," => {
                Some((")", 1))
            }
            "array" | "dict" if self.word(ahead + 1) == "(" => Some((")", 2)),
            _ if self.language == Language::Go => self.literal_of_go(ahead),
            _ => None,
        }
    }

    /// If a literal of Go begins here (`&redis.Options{`, `[]string{`), returns its closing sign, and the number of
    /// tokens up to the brace.
    fn literal_of_go(&self, ahead: usize) -> Option<(&'static str, usize)> {
        let is_part = |it: &usize| self.is_word(*it) || matches!(self.word(*it), "&" | "." | "[" | "]" | "*");
        let brace = (ahead..ahead + 8).find(|it| !is_part(it))?;
        (brace > ahead && self.word(brace) == "{").then_some(("}", brace + 1 - ahead))
    }

    fn is_text(&self, ahead: usize) -> bool {
        let token = self.tokens.get(self.at + ahead);
        token.is_some_and(|it| matches!(it.kind, Kind::Text(Some(_))))
    }

    /// If a list or a named argument follows `new A::B(` or `a.b(`, returns the number of tokens before it.
    pub(super) fn calls_with_names(&self, ahead: usize) -> Option<usize> {
        let mut n = ahead;
        while matches!(self.word(n), "new" | "await" | "\\") && n < ahead + 4 {
            n += 1;
        }
        let asks_environment = matches!(self.word(n), "dj_database_url" | "env" | "os" | "config");
        if !self.is_word(n) || asks_environment {
            return None;
        }
        n += 1;
        while matches!(self.word(n), "." | "::" | "->" | "\\") && self.is_word(n + 1) && n < ahead + 16 {
            n += 2;
        }
        if self.word(n) == "(" && self.word(n - 1) == "require" && self.word(n + 2) == ")" {
            n += 3;
        }
        if self.word(n) != "(" {
            return None;
        }
        // In Python, an argument without a name may come before the first named argument.
        let has_first = self.language == Language::Python && self.word(n + 2) == ",";
        let n = if has_first && self.word(n + 4) == "=" { n + 2 } else { n };
        let is_perl = self.language == Language::Perl && self.word(n + 2) == "=>" && self.name(n + 1).is_some();
        let is_named = self.is_word(n + 1)
            && (self.word(n + 2) == ":" || self.word(n + 2) == "=")
            && !matches!(self.language, Language::Php | Language::Perl);
        (self.opening(n + 1).is_some() || is_named || is_perl).then_some(n + 1)
    }

    /// Reads the value at the current token: follows a list, and makes a setting of anything else.
    pub(super) fn value(&mut self, slot: &Slot) {
        self.skip_cast();
        if slot.depth == 0
            && let Some(n_tokens) = self.arrow()
        {
            self.at += n_tokens;
            // The statements in the body of a function are read like any other statements.
            if self.word(0) == "{" {
                self.at += 1;
                return;
            }
            self.at += usize::from(self.word(0) == "(" && self.word(1) == "{");
        }
        let opened = self.opening(0).map(|(close, n)| (close, n, false));
        let called = || self.calls_with_names(0).map(|n| (")", n, true));
        let Some((close, n_tokens, is_call)) = opened.or_else(called) else {
            return self.literal(slot);
        };
        if slot.depth >= MOST_DEPTH {
            let line = self.starts.line(self.start());
            self.skip_expression(false);
            self.problem(line, format!("lists nested deeper than {MOST_DEPTH} are not read"));
            return;
        }
        self.at += n_tokens;
        self.entries(slot, close, is_call);
    }

    /// The number of tokens of JavaScript's `({ env }) =>`, which comes before the result of a function.
    fn arrow(&self) -> Option<usize> {
        if self.language != Language::Script || self.word(0) != "(" {
            return None;
        }
        let mut depth = 0_usize;
        for ahead in 0..64 {
            match self.word(ahead) {
                "(" => depth += 1,
                ")" if depth == 1 => return (self.word(ahead + 1) == "=>").then_some(ahead + 2),
                ")" => depth -= 1,
                _ => {}
            }
        }
        None
    }

    /// Skips PHP's `(object)` before a list.
    pub(super) fn skip_cast(&mut self) {
        let is_cast = self.word(0) == "(" && self.word(1) == "object" && self.word(2) == ")";
        if is_cast && self.language == Language::Php {
            self.at += 3;
        }
    }

    fn entries(&mut self, slot: &Slot, close: &str, is_call: bool) {
        let mut idx = 0;
        while self.at < self.tokens.len() {
            let before = self.at;
            match self.word(0) {
                it if it == close => {
                    self.at += 1;
                    return;
                }
                "," | ";" => self.at += 1,
                _ => {
                    if let Some((name, key, n_tokens)) = self.key(close) {
                        let inner = slot.inner(&name, key, self.start());
                        self.at += n_tokens;
                        self.value(&inner);
                    } else {
                        let here = self.start();
                        let mut inner = slot.inner(&idx.to_string(), here..here, here);
                        if is_call {
                            inner.path.pop();
                        }
                        idx += 1;
                        self.value(&inner);
                    }
                }
            }
            self.at = self.at.max(before + 1);
        }
    }

    /// Reads the key at the current token: `'name' =>`, `name:`, `:name =>`, `name=`.
    fn key(&self, close: &str) -> Option<(String, Range<usize>, usize)> {
        let is_symbol = self.language == Language::Ruby && self.word(0) == ":";
        let ahead = usize::from(is_symbol);
        let (name, key) = self.name(ahead)?;
        // In JavaScript's `{ host, port }`, each word is both a name and a value.
        let is_both = self.is_in_call && self.language == Language::Script && close == "}" && self.is_word(0);
        if is_both && matches!(self.word(1), "," | "}") {
            return Some((name, key, 0));
        }
        let is_key = match self.word(ahead + 1) {
            "=>" => true,
            ":" | "=" => !matches!(self.language, Language::Php | Language::Perl),
            _ => false,
        };
        is_key.then_some((name, key, ahead + 2))
    }
}
