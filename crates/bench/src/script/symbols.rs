//! The names of variables, and a script's own name and text.
//!
//! After parsing, a variable is identified by its index; names are used again only in messages.

use std::collections::HashMap;
use std::ops::Range;

use crate::script::error::ScriptError;
use crate::script::fault::ParseFault;
use crate::script::place::Place;

/// A script during parsing.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Source<'a> {
    pub(crate) name: &'a str,
    pub(crate) text: &'a str,
}

impl Source<'_> {
    pub(crate) fn error(&self, span: Range<usize>, fault: ParseFault) -> ScriptError {
        ScriptError { place: Box::new(Place::new(self.name, self.text, &span)), fault: Box::new(fault) }
    }
}

/// A variable of one script or of a set.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Symbol {
    pub(crate) name: String,
    /// Whether a `\set` exists for the variable.
    pub(crate) is_set: bool,
    /// The first place that needs the variable's value.
    pub(crate) first_use: Option<Range<usize>>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Symbols {
    list: Vec<Symbol>,
    idx_of: HashMap<String, u32>,
}

impl Symbols {
    /// Returns the index of `name`, and adds `name` if it is new.
    pub(crate) fn idx(&mut self, name: &str) -> u32 {
        if let Some(&idx) = self.idx_of.get(name) {
            return idx;
        }
        let idx = self.list.len() as u32;
        self.idx_of.insert(name.to_owned(), idx);
        self.list.push(Symbol { name: name.to_owned(), is_set: false, first_use: None });
        idx
    }

    pub(crate) fn set(&mut self, name: &str) -> u32 {
        let idx = self.idx(name);
        self.list[idx as usize].is_set = true;
        idx
    }

    pub(crate) fn used(&mut self, name: &str, span: Range<usize>) -> u32 {
        let idx = self.idx(name);
        self.list[idx as usize].first_use.get_or_insert(span);
        idx
    }

    pub(crate) fn list(&self) -> &[Symbol] {
        &self.list
    }

    pub(crate) fn find(&self, name: &str) -> Option<u32> {
        self.idx_of.get(name).copied()
    }

    pub(crate) fn name(&self, idx: u32) -> &str {
        &self.list[idx as usize].name
    }
}

/// Returns whether a character may be in a name: letters of every alphabet, digits and underscores.
pub(crate) fn is_name_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii()
}

/// Returns whether `\set` and definitions accept this name.
pub(crate) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(is_name_character)
}
