//! Reads the lines of `pg_hba.conf`.
//!
//! If looptax does not understand a line, it keeps only the line's number, because the effect of the line is not known.
//! There are three kinds of such lines: lines that the server would reject (it then keeps its earlier rules), lines
//! that include files, and texts that the versions of the server read differently.
//!
//! # Source
//! postgresql.org/docs/current/auth-pg-hba-conf.html; PostgreSQL, src/backend/libpq/hba.c, `next_token`,
//! `next_field_expand` and `parse_hba_line`.

use std::net::IpAddr;

use super::Hba;
use super::address::Address;
use super::line::{HbaLine, Kind};
use super::name::{Name, Word};

/// Maximum lengths in bytes: every version of the server reads a line and a word of these lengths completely.
const MAX_LINE_BYTES: usize = 8191;
const MAX_WORD_BYTES: usize = 255;

impl Hba {
    /// Reads the text of a file. Does not read included files: a line that includes a file counts as not understood.
    pub fn parse(text: &str) -> Self {
        let mut found = Self::default();
        let mut first = 1;
        let mut joined = String::new();
        for (number, line) in (1..).zip(text.split('\n')) {
            let line = line.trim_end_matches('\r');
            // A backslash at the end of a line joins it with the next line.
            if let Some(start) = line.strip_suffix('\\') {
                joined.push_str(start);
                // The versions disagree about whether a comment also continues on the next line.
                if joined.contains('#') {
                    found.unread.push(first);
                    joined.clear();
                    first = number + 1;
                }
                continue;
            }
            joined.push_str(line);
            found.take(first, &std::mem::take(&mut joined));
            first = number + 1;
        }
        if !joined.is_empty() {
            found.unread.push(first);
        }
        found
    }

    fn take(&mut self, number: u32, line: &str) {
        let words = words(line).filter(|_| line.len() <= MAX_LINE_BYTES);
        match words {
            Some(words) if words.is_empty() => {}
            Some(words) => match line_of(number, &words) {
                Some(line) => self.lines.push(line),
                None => self.unread.push(number),
            },
            None => self.unread.push(number),
        }
    }
}

/// Makes a rule from the words of a line; `None` if the server would reject it, or if looptax does not know its form.
fn line_of(number: u32, words: &[Word]) -> Option<HbaLine> {
    let [kind, databases, users, rest @ ..] = words else {
        return None;
    };
    if !databases.iter().chain(users).all(Name::is_readable) {
        return None;
    }
    let kind = Kind::named(&one(kind)?.text)?;
    let (address, rest) = if kind == Kind::Local {
        (None, rest)
    } else {
        let (address, n_words) = address(rest)?;
        (Some(address), &rest[n_words..])
    };
    let [method, options @ ..] = rest else {
        return None;
    };
    let line = HbaLine {
        number,
        kind,
        databases: databases.clone(),
        users: users.clone(),
        address,
        method: one(method)?.text.clone(),
        options: options.iter().flatten().map(|it| it.text.clone()).collect(),
    };
    line.is_taken().then_some(line)
}

/// Reads an address, and returns the number of its words: the mask may be a separate word.
fn address(words: &[Word]) -> Option<(Address, usize)> {
    let first = one(words.first()?)?;
    if !first.text.contains('/')
        && let Ok(network) = first.text.parse::<IpAddr>()
    {
        let mask: IpAddr = one(words.get(1)?)?.text.parse().ok()?;
        let is_same_family = network.is_ipv4() == mask.is_ipv4();
        return is_same_family.then_some((Address::masked(network, mask), 2));
    }
    Some((Address::of_word(first)?, 1))
}

fn one(word: &Word) -> Option<&Name> {
    match &word[..] {
        [name] => Some(name),
        _ => None,
    }
}

/// The kind of text that was read before the current character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// The end of a word, or nothing yet.
    Blank,
    Comma,
    /// A part of a name.
    Name,
    /// A part of a quoted text.
    Quote,
    Quoted,
}

/// Splits a line into words at white space outside of double quotes; `#` begins a comment. `None` if commas or quotes
/// are in unusual places.
fn words(line: &str) -> Option<Vec<Word>> {
    let mut words: Vec<Word> = Vec::new();
    let mut name = Name::default();
    let mut goes_on = false;
    let mut before = Before::Blank;
    let mut end = |name: &mut Name, goes_on: bool| {
        let name = std::mem::take(name);
        match words.last_mut() {
            Some(word) if goes_on => word.push(name),
            _ => words.push(vec![name]),
        }
    };
    for c in line.chars() {
        let is_in_name = matches!(before, Before::Name | Before::Quoted);
        before = match (c, before) {
            ('"', Before::Quote) => Before::Quoted,
            (c, Before::Quote) => {
                name.text.push(c);
                Before::Quote
            }
            ('#', _) => break,
            (',', _) if is_in_name => {
                end(&mut name, goes_on);
                goes_on = true;
                Before::Comma
            }
            (' ' | '\t' | '\r', Before::Comma) => Before::Comma,
            (' ' | '\t' | '\r', _) => {
                if is_in_name {
                    end(&mut name, goes_on);
                    goes_on = false;
                }
                Before::Blank
            }
            ('"', Before::Blank | Before::Comma) => {
                name.is_quoted = true;
                Before::Quote
            }
            (',' | '"', _) | (_, Before::Quoted) => return None,
            (c, _) => {
                name.text.push(c);
                Before::Name
            }
        };
    }
    match before {
        Before::Name | Before::Quoted => end(&mut name, goes_on),
        Before::Blank => {}
        Before::Comma | Before::Quote => return None,
    }
    let is_short = |name: &Name| name.text.len() <= MAX_WORD_BYTES;
    words.iter().flatten().all(is_short).then_some(words)
}
