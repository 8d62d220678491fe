//! Finds where a value begins: after an assignment, `define` or `return`. Also reads the name of the setting.

use std::ops::Range;

use super::super::Language;
use super::super::lexer::{Kind, Token};
use super::{MOST_DEPTH, Sets, Slot, Walk};
use crate::app::setting::{Joins, Value, named};

/// Parts of the names of files that applications include for their own purposes. These files set no connection.
const OWN_FILES: [&str; 8] = [
    "wp-settings.php",
    "lib/setup.php",
    "autoload.php",
    "/includes/",
    "/extensions/",
    "/skins/",
    "/vendor/",
    "wp-salt",
];

impl Walk<'_> {
    pub(super) fn statements(&mut self) {
        let may_be_whole = matches!(self.language, Language::Script | Language::Perl);
        let is_whole = may_be_whole && matches!(self.word(0), "{" | "[");
        if is_whole {
            self.value(&self.slot(Vec::new(), 0..0));
        }
        while self.at < self.tokens.len() {
            let before = self.at;
            self.statement();
            // Each step has to move on by at least one token.
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
            doubt: None,
        }
    }

    /// The start of the statement, including words like `public` or `const` before the name.
    fn statement_start(&self) -> usize {
        let is_modifier = |at: &usize| {
            let token = &self.tokens[*at];
            let word = &self.text[token.at.clone()];
            matches!(word, "public" | "protected" | "private" | "var" | "const" | "let" | "export" | "static")
        };
        let first = (0..self.at).rev().take(4).take_while(is_modifier).last();
        first.map_or_else(|| self.start(), |at| self.tokens[at].at.start)
    }

    fn statement(&mut self) {
        if self.is_other_file() || self.counts() {
            return;
        }
        if self.word(1) == "("
            && self.word(3) == ","
            && (self.word(0) == "define" || self.is_own_define())
            && let Some((name, key)) = self.name(2)
        {
            let mut slot = self.slot(vec![named(&name)], key);
            slot.ends_with_line = false;
            slot.is_define = true;
            if self.word(0) != "define" && self.language == Language::Php {
                let what = format!("passed to {}(), which may or may not set the constant", self.word(0));
                slot.doubt = Some(what);
            }
            self.at += 4;
            self.value(&slot);
            return;
        }
        if self.word(0) == "putenv" && self.word(1) == "(" && self.language == Language::Php {
            self.variable_of_environment();
            return;
        }
        if self.word(0) == "return" {
            let slot = self.slot(Vec::new(), 0..0);
            self.at += 1;
            self.skip_cast();
            if self.opening(0).is_some() {
                self.value(&slot);
            }
            return;
        }
        if self.is_type() {
            return;
        }
        let is_default = self.opening(1).is_some() || self.word(1) == "(";
        if self.word(0) == "default" && is_default && self.language == Language::Script {
            self.at += 1;
            let slot = self.slot(Vec::new(), 0..0);
            self.value(&slot);
            return;
        }
        let Some((path, key, n_tokens)) = self.target() else {
            return;
        };
        if self.language == Language::Go && matches!(self.word(0), "const" | "var" | "import" | "type" | "func") {
            return;
        }
        let is_declared = self.language == Language::Go && self.word(n_tokens) == ":" && self.word(n_tokens + 1) == "=";
        let n_of_type = if is_declared { 1 } else { self.n_of_type(n_tokens) };
        let n_tokens = n_tokens + n_of_type;
        let mut slot = self.slot(path, key);
        if n_of_type > 0 && self.language == Language::Python && self.is_indented() {
            slot.doubt = Some("the default value of a class's field".to_owned());
        }
        if self.word(n_tokens) == "=" {
            self.at += n_tokens + 1;
            self.value(&slot);
        } else if self.calls_with_names(0).is_some() {
            // A call with named arguments is treated as a list of settings. The list has the name of the called
            // function, without the object before this name.
            slot.path = slot.path.pop().into_iter().collect();
            self.value(&slot);
        }
    }

    /// Reads PHP's `putenv('NAME=value')`. The value is the text after the name.
    fn variable_of_environment(&mut self) {
        let slot = self.slot(Vec::new(), 0..0);
        self.at += 2;
        let before = self.settings.len();
        self.literal(&slot);
        if self.settings.len() == before {
            return;
        }
        let Some(whole) = self.settings.pop() else { return };
        let Value::Text(text) = &whole.value else { return };
        if let Some((name, value)) = text.split_once('=')
            && whole.item[whole.literal.clone()].len() == text.len() + 2
        {
            let at = whole.literal.start + 1..whole.literal.end - 1;
            let part = whole.part(name, value, at, name.len(), Joins::Line);
            self.settings.push(part);
        }
    }

    /// Whether the current token begins a call of a function that is like `define`: its arguments are the name and the
    /// value of a setting.
    fn is_own_define(&self) -> bool {
        let token = self.tokens.get(self.at + 2);
        let is_text = matches!(token, Some(Token { kind: Kind::Text(Some(_)), .. }));
        match self.language {
            Language::Php => {
                let reads = matches!(self.word(0), "array" | "env" | "getenv");
                self.is_word(0) && !reads && is_text
            }
            // Request Tracker writes `Set($Name, 'value');`.
            Language::Perl => self.word(0) == "Set" && self.word(2).starts_with('$'),
            _ => false,
        }
    }

    /// Skips a TypeScript declaration `type A = {…}`: it describes the form of a value, and sets no value.
    fn is_type(&mut self) -> bool {
        let is_own = self.language == Language::Script && self.word(0) == "type";
        if !is_own || !self.is_word(1) || self.word(2) != "=" {
            return false;
        }
        self.at += 3;
        self.skip_expression(true);
        true
    }

    /// Whether other text is before the current token on its line.
    fn is_indented(&self) -> bool {
        self.starts.start_of(self.starts.line(self.start())) < self.start()
    }

    /// The number of tokens of the type after a declared name, in TypeScript and Python.
    fn n_of_type(&self, ahead: usize) -> usize {
        let before = self.at.checked_sub(1).map_or("", |at| {
            let token = &self.tokens[at];
            &self.text[token.at.clone()]
        });
        let declares = match self.language {
            Language::Script => matches!(before, "const" | "let" | "var"),
            // The first word of a line can declare a name, unless the word begins a branch.
            Language::Python => {
                let line = self.starts.line(self.start());
                let begins = &self.text[self.starts.start_of(line)..self.start()];
                let is_branch = matches!(self.word(0), "else" | "try" | "finally");
                begins.trim().is_empty() && !is_branch
            }
            _ => false,
        };
        if !declares || self.word(ahead) != ":" {
            return 0;
        }
        let line = self.starts.line(self.start());
        let is_near = |it: &usize| {
            let token = self.tokens.get(self.at + ahead + it);
            let is_same = token.is_some_and(|it| self.starts.line(it.at.start) == line);
            is_same || self.language == Language::Script
        };
        let mut ahead_of_it = (1..64).take_while(is_near);
        ahead_of_it.find(|it| self.word(ahead + it) == "=").unwrap_or(0)
    }

    /// Skips a statement like `require 'x.php';` or `from x import *` that reads another file, and notes the file.
    /// Returns whether there was such a statement.
    fn is_other_file(&mut self) -> bool {
        let is_include = self.language == Language::Php
            && matches!(self.word(0), "include" | "include_once" | "require" | "require_once");
        let is_import = self.language == Language::Python && self.word(0) == "from";
        if !is_include && !is_import {
            return false;
        }
        let first = self.at;
        self.at += 1;
        self.skip_expression(self.language.ends_with_line());
        let name = &self.text[self.tokens[first].at.end..self.start()];
        let name = name.lines().next().unwrap_or_default().trim();
        if is_include || name.ends_with("import *") {
            self.includes.push((self.tokens[first].at.start, name.to_owned()));
        }
        true
    }

    /// Notes a counter: `$i = 0;` sets it, and `$i++;` increases it. phpMyAdmin numbers its servers with a counter.
    /// Returns whether the statement was `$i++;`, which is then skipped.
    fn counts(&mut self) -> bool {
        let name = self.word(0).to_owned();
        if self.language != Language::Php || !name.starts_with('$') {
            return false;
        }
        if self.word(1) == "+" && self.word(2) == "+" {
            *self.counters.entry(name).or_default() += 1;
            self.at += 3;
            return true;
        }
        let number = self.word(2).parse().ok();
        if let Some(number) = number.filter(|_| self.word(1) == "=" && self.word(3) == ";") {
            self.counters.insert(name, number);
        }
        false
    }

    /// Removes the files that applications include for their own purposes, and that set no connection.
    pub(super) fn forget_own_files(&mut self) {
        let is_own = |name: &str| OWN_FILES.iter().any(|own| name.contains(own));
        self.includes.retain(|(_, name)| !is_own(name));
    }

    /// Adds a doubt to each setting that an included file may also set. A constant becomes doubtful if the program
    /// includes the file before it sets the constant. Any other setting becomes doubtful if the program includes the
    /// file after it sets the setting. `sets` has the settings of each included file; `None` if the file may set
    /// anything.
    pub(in crate::app::code) fn doubt_by_includes(&mut self, sets: &[Option<Sets>]) {
        let (text, is_php) = (self.text, self.language == Language::Php);
        for setting in &mut self.settings {
            let is_constant = setting.item.starts_with("define");
            let is_between = |at: usize| (at < setting.start) == is_constant;
            let is_same = |path: &Vec<String>| path.starts_with(&setting.path) || setting.path.starts_with(path);
            let sets_it = |sets: &Sets| sets.paths.iter().any(is_same);
            // An included file may set the parts of a list under a name that differs from the list's name.
            let first = setting.path.first().map_or("", |it| it);
            let is_named = is_constant || !is_php || text.contains(&format!("${first}"));
            let may_set = |sets: &Option<Sets>| {
                let Some(sets) = sets else { return true };
                sets_it(sets) || !is_named || sets.text.contains(first)
            };
            let mut others = self.includes.iter().zip(sets);
            let other = others.find(|((at, _), sets)| is_between(*at) && may_set(sets));
            if let Some(((_, name), sets)) = other.filter(|_| setting.doubt.is_none()) {
                let order = if is_constant { "before" } else { "after" };
                let is_sure = sets.as_ref().is_some_and(sets_it);
                let perhaps = if is_sure { "" } else { "perhaps " };
                setting.doubt = Some(format!("{perhaps}also set by {name}, which is read {order} this setting"));
            }
        }
    }

    /// The word or string as a name. If the word is a counter, returns the current number of the counter.
    fn index(&self, ahead: usize) -> Option<(String, Range<usize>)> {
        let (name, at) = self.name(ahead)?;
        let counted = self.counters.get(self.word(ahead));
        Some((counted.map_or(name, usize::to_string), at))
    }

    /// Reads the target of an assignment, `$a['b']->c` or `a.b`: its parts, the place of the last part, and the number
    /// of tokens.
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
                // In Perl, `$a->{b}` is a part of the target.
                "->" if self.word(n + 1) == "{" && self.word(n + 3) == "}" => (self.name(n + 2)?, 4),
                "[" if self.word(n + 2) == "]" => (self.index(n + 1)?, 3),
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
