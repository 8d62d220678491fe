//! Determines which lines of a Kamailio file take effect, by `#!ifdef NAME`, `#!ifndef NAME`, `#!else`, `#!endif` and
//! `#!define NAME`.
//!
//! A name that the file does not define is treated as undefined, unless the file reads another file that may define it.
//! Called by `lines`.

use std::collections::BTreeSet;

/// Maximum number of nested branches that are followed.
const MOST_DEPTH: usize = 64;

pub(super) struct Branches<'a> {
    /// Whether another file may also define names.
    reads_others: bool,
    defined: BTreeSet<&'a str>,
    /// Names whose definition is in a branch that may not take effect.
    perhaps: BTreeSet<&'a str>,
    /// For each open branch, whether its lines take effect; `None` if that is not known.
    open: Vec<Option<bool>>,
}

impl<'a> Branches<'a> {
    pub(super) fn from_text(text: &str) -> Self {
        let reads = |line: &str| ["include_file", "import_file"].iter().any(|it| line.trim_start().starts_with(it));
        let reads_others = text.lines().any(|line| reads(line.trim_start_matches("#!").trim_start_matches("!!")));
        Self { reads_others, defined: BTreeSet::new(), perhaps: BTreeSet::new(), open: Vec::new() }
    }

    /// Whether the current line takes effect; `None` if that cannot be determined.
    pub(super) fn is_taken(&self) -> Option<bool> {
        if self.open.contains(&Some(false)) {
            return Some(false);
        }
        (!self.open.contains(&None)).then_some(true)
    }

    /// Reads the directive in a line, if the line has one, and updates the branches.
    pub(super) fn follow(&mut self, line: &'a str) {
        let Some(directive) = line.strip_prefix("#!").or_else(|| line.strip_prefix("!!")) else {
            return;
        };
        let mut words = directive.split_whitespace();
        let (word, name) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        match word {
            "ifdef" if self.open.len() < MOST_DEPTH => self.open.push(self.is_defined(name)),
            "ifndef" if self.open.len() < MOST_DEPTH => self.open.push(self.is_defined(name).map(|it| !it)),
            "ifexp" if self.open.len() < MOST_DEPTH => self.open.push(None),
            "else" => {
                if let Some(last) = self.open.last_mut() {
                    *last = last.map(|it| !it);
                }
            }
            "endif" => {
                self.open.pop();
            }
            "define" | "trydef" | "redefine" | "redef" => match self.is_taken() {
                Some(true) => {
                    self.defined.insert(name);
                }
                Some(false) => {}
                None => {
                    self.perhaps.insert(name);
                }
            },
            "undef" => {
                self.defined.remove(name);
            }
            _ => {}
        }
    }

    fn is_defined(&self, name: &str) -> Option<bool> {
        if self.defined.contains(name) {
            return Some(true);
        }
        (!self.reads_others && !self.perhaps.contains(name)).then_some(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the line `here` takes effect.
    #[track_caller]
    fn check(text: &str, expected: Option<bool>) {
        let mut branches = Branches::from_text(text);
        for line in text.lines() {
            if line == "here" {
                assert_eq!(branches.is_taken(), expected, "{text}");
                return;
            }
            branches.follow(line);
        }
        panic!("{text}");
    }

    #[test]
    fn a_branch_counts_by_what_the_file_defines() {
        check("#!define A\n#!ifdef A\nhere\n", Some(true));
        check("##!define A\n#!ifdef A\nhere\n", Some(false));
        check("#!ifdef A\n#!else\nhere\n", Some(true));
        check("#!define A\n#!ifdef A\n#!ifndef B\nhere\n", Some(true));
        check("#!define A\n#!ifndef A\n#!define B\n#!endif\n#!ifdef B\nhere\n", Some(false));
        check("#!ifexp A == 1\nhere\n", None);
        check("import_file \"x.cfg\"\n#!ifdef A\nhere\n", None);
        check("#!endif\n#!else\nhere\n", Some(true));
    }
}
