//! Where a value begins: assignments, `define`, `return`, and what the name before it is made of.

use std::ops::Range;

use super::super::Language;
use super::{MOST_DEPTH, Slot, Walk};
use crate::app::setting::named;

impl Walk<'_> {
    pub(super) fn statements(&mut self) {
        let is_whole = self.language == Language::Script && matches!(self.word(0), "{" | "[");
        if is_whole {
            self.value(&self.slot(Vec::new(), 0..0));
        }
        while self.at < self.tokens.len() {
            let before = self.at;
            self.statement();
            // Whatever it was, it must not be met again.
            self.at = self.at.max(before + 1);
        }
    }

    fn slot(&self, path: Vec<String>, key: Range<usize>) -> Slot {
        Slot {
            path,
            key,
            start: self.statement_start(),
            depth: 0,
            ends_with_line: self.language.ends_with_line(),
            is_define: false,
        }
    }

    /// With the words before a name: `public`, `const`.
    fn statement_start(&self) -> usize {
        let is_modifier = |at: &usize| {
            let token = &self.tokens[*at];
            let word = &self.text[token.at.clone()];
            matches!(
                word,
                "public" | "protected" | "private" | "var" | "const" | "let" | "export" | "static"
            )
        };
        let first = (0..self.at).rev().take(4).take_while(is_modifier).last();
        first.map_or_else(|| self.start(), |at| self.tokens[at].at.start)
    }

    fn statement(&mut self) {
        if self.word(0) == "define"
            && self.word(1) == "("
            && self.word(3) == ","
            && let Some((name, key)) = self.name(2)
        {
            let mut slot = self.slot(vec![named(&name)], key);
            slot.ends_with_line = false;
            slot.is_define = true;
            self.at += 4;
            self.value(&slot);
            return;
        }
        if self.word(0) == "return" {
            let slot = self.slot(Vec::new(), 0..0);
            self.at += 1;
            if self.opening(0).is_some() {
                self.value(&slot);
            }
            return;
        }
        let Some((path, key, n_tokens)) = self.target() else {
            return;
        };
        let mut slot = self.slot(path, key);
        if self.word(n_tokens) == "=" {
            self.at += n_tokens + 1;
            self.value(&slot);
        } else if self.calls_with_names(0).is_some() {
            // A call whose arguments have names is a list of settings; the object it is called on is not.
            slot.path = slot.path.pop().into_iter().collect();
            self.value(&slot);
        }
    }

    /// `$a['b']->c`, `a.b`: the parts, where the last one stands, and how many tokens they are.
    fn target(&self) -> Option<(Vec<String>, Range<usize>, usize)> {
        if !self.is_word(0) {
            return None;
        }
        let (name, mut key) = self.name(0)?;
        let mut path = vec![named(&name)];
        let mut n = 1;
        loop {
            let (found, n_more) = match self.word(n) {
                "->" | "." | "::" if self.is_word(n + 1) => (self.name(n + 1)?, 2),
                "[" if self.word(n + 2) == "]" => (self.name(n + 1)?, 3),
                "[" if self.word(n + 1) == "]" => (("0".to_owned(), key.clone()), 2),
                _ => return Some((path, key, n)),
            };
            path.push(named(&found.0));
            key = found.1;
            n += n_more;
            if path.len() > MOST_DEPTH {
                return None;
            }
        }
    }
}
