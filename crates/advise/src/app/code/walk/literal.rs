//! Reads a value that is not a list: makes its setting, and finds where it ends and how another setting is added next
//! to it.

use std::ops::Range;

use super::super::{Language, expression};
use super::{Slot, Walk};
use crate::app::quotes::{Dialect, Quotes};
use crate::app::setting::{Joins, MOST_SETTINGS, MOST_VALUE_BYTES, Setting, Value};

impl Walk<'_> {
    pub(super) fn literal(&mut self, slot: &Slot) {
        let first = self.at;
        self.skip_expression(slot.ends_with_line);
        let used = &self.tokens[first..self.at];
        let (Some(head), Some(tail)) = (used.first(), used.last()) else {
            return;
        };
        let Some(value) = expression::value(self.text, used) else {
            return;
        };
        let at = head.at.start..tail.at.end;
        let raw = &self.text[at.clone()];
        let dialect = match self.language {
            Language::Php | Language::Perl => Dialect::Php,
            Language::Ruby => Dialect::Ruby,
            Language::Script => Dialect::Script,
            Language::Python | Language::Go | Language::Java => Dialect::Plain,
        };
        let quotes = match (&value, raw.chars().next()) {
            // In Perl, an `@` between double quotes begins an array.
            _ if self.language == Language::Perl => Quotes::Around('\'', dialect),
            (Value::Text(_), Some(quote @ ('\'' | '"' | '`'))) if used.len() == 1 => Quotes::Around(quote, dialect),
            (Value::Text(_), Some(_)) if self.language == Language::Script => Quotes::Around('"', dialect),
            _ => Quotes::Around('\'', dialect),
        };
        let end = self.item_end(at.end, slot.is_define);
        if self.settings.len() >= MOST_SETTINGS || end - slot.start > MOST_VALUE_BYTES {
            return;
        }
        let item = self.text[slot.start..end].to_owned();
        let joins = self.joins(slot.start..end, &item);
        let condition = self.conditions.iter().find(|it| it.0.contains(&at.start));
        let line = self.starts.line(slot.start);
        let doubt = condition.map(|(_, reason)| format!("{reason} (line {line})"));
        self.settings.push(Setting {
            joins,
            path: slot.path.clone(),
            value,
            line,
            start: slot.start,
            doubt: doubt.or_else(|| slot.doubt.clone()),
            item,
            key: slot.key.start.saturating_sub(slot.start)..slot.key.end.saturating_sub(slot.start),
            literal: at.start - slot.start..at.end - slot.start,
            quotes,
            doubled: None,
        });
    }

    /// How another setting is added next to this one. The other setting gets a separate line only under two conditions:
    /// this setting's line has nothing else except a comment, and this setting ends with a separator or with its line.
    fn joins(&self, at: Range<usize>, item: &str) -> Joins {
        let before = self.text[..at.start].rsplit('\n').next().unwrap_or_default();
        let after = self.text[at.end..].split('\n').next().unwrap_or_default().trim();
        let is_alone = before.trim().is_empty() && (after.is_empty() || after.starts_with(['#', '/']));
        let is_ended = item.ends_with([',', ';']) || item.ends_with(')');
        let is_statement = self.language.ends_with_line() && !before.starts_with([' ', '\t']);
        if is_alone && (is_ended || is_statement) {
            Joins::Line
        } else if is_ended {
            Joins::With(" ")
        } else {
            Joins::With(", ")
        }
    }

    /// The end of the setting, including the signs that close it.
    fn item_end(&self, end: usize, is_define: bool) -> usize {
        let mut end = end;
        let n_signs = match self.word(0) {
            ")" if is_define => 1 + usize::from(self.word(1) == ";"),
            ";" | "," => 1,
            _ => 0,
        };
        for token in self.tokens.iter().skip(self.at).take(n_signs) {
            end = token.at.end;
        }
        end
    }

    /// Moves to the sign that ends the current expression.
    pub(super) fn skip_expression(&mut self, ends_with_line: bool) {
        let mut depth = 0_usize;
        let mut line = self.starts.line(self.start());
        while self.at < self.tokens.len() {
            let here = self.starts.line(self.start());
            let is_new_line = here != line && depth == 0 && ends_with_line;
            if is_new_line && !self.goes_on() {
                return;
            }
            match self.word(0) {
                "," | ";" | ")" | "]" | "}" if depth == 0 => return,
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            line = self.starts.line(self.tokens[self.at].at.end);
            self.at += 1;
        }
    }

    /// Whether the statement on the line before continues on the line of the current token.
    fn goes_on(&self) -> bool {
        let Some(before) = self.at.checked_sub(1) else {
            return false;
        };
        let word = &self.text[self.tokens[before].at.clone()];
        // In Python, a sign at the beginning of the next line does not continue this line.
        let begins = self.language != Language::Python && matches!(self.word(0), "+" | ".");
        begins || matches!(word, "=" | "+" | "." | "|" | "(" | "or" | "||" | "?" | ":")
    }
}
