//! Reads the lines of `pg_hba.conf`.
//!
//! What is not understood is kept by its number, since nobody knows what it would have said.

use std::net::IpAddr;

use super::{Hba, HbaLine, Name, Word};

impl Hba {
    /// Reads the text of a file. Files that it includes are not followed and count as unread.
    pub fn parse(text: &str) -> Self {
        let mut found = Self::default();
        let mut number = 0;
        let mut joined = String::new();
        for line in text.lines() {
            number += 1;
            // A backslash at the end joins the next line.
            if let Some(start) = line.strip_suffix('\\') {
                joined.push_str(start);
                continue;
            }
            joined.push_str(line);
            let words = words(&std::mem::take(&mut joined));
            if words.is_empty() {
                continue;
            }
            match line_of(number, &words) {
                Some(line) => found.lines.push(line),
                None => found.unread.push(number),
            }
        }
        found
    }
}

fn line_of(number: u32, words: &[Word]) -> Option<HbaLine> {
    let [kind, databases, users, rest @ ..] = words else {
        return None;
    };
    let rest: Vec<&str> = rest.iter().map(|word| one(word)).collect::<Option<_>>()?;
    let kind = one(kind)?;
    let (address, mask, method, options) = match (kind, &rest[..]) {
        ("local", [method, options @ ..]) => (None, None, method, options),
        (
            "host" | "hostssl" | "hostnossl" | "hostgssenc" | "hostnogssenc",
            [address, rest @ ..],
        ) => {
            // The mask may stand in a column of its own.
            let has_mask = !address.contains('/') && address.parse::<IpAddr>().is_ok();
            match (has_mask, rest) {
                (true, [mask, method, options @ ..]) => {
                    (Some(*address), Some(*mask), method, options)
                }
                (false, [method, options @ ..]) => (Some(*address), None, method, options),
                _ => return None,
            }
        }
        _ => return None,
    };
    Some(HbaLine {
        number,
        kind: kind.to_owned(),
        databases: databases.clone(),
        users: users.clone(),
        address: address.map(str::to_owned),
        mask: mask.map(str::to_owned),
        method: (*method).to_owned(),
        has_map: options.iter().any(|option| option.starts_with("map=")),
    })
}

/// A word of one name.
fn one(word: &Word) -> Option<&str> {
    match &word[..] {
        [name] => Some(&name.text),
        _ => None,
    }
}

/// The words of a line: by white space, but for what is in double quotes; `#` begins a comment.
fn words(line: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut name = Name::default();
    let mut is_open = false;
    // After a comma the list goes on, also behind white space.
    let mut goes_on = false;
    let mut end = |name: &mut Name, goes_on: bool| {
        let name = std::mem::take(name);
        if name.text.is_empty() && !name.is_quoted {
            return;
        }
        match words.last_mut() {
            Some(word) if goes_on => word.push(name),
            _ => words.push(vec![name]),
        }
    };
    for c in line.chars() {
        match c {
            '"' => {
                is_open = !is_open;
                name.is_quoted = true;
            }
            '#' if !is_open => break,
            ',' if !is_open => {
                end(&mut name, goes_on);
                goes_on = true;
            }
            c if c.is_whitespace() && !is_open => {
                let is_name = !name.text.is_empty() || name.is_quoted;
                end(&mut name, goes_on);
                goes_on &= !is_name;
            }
            c => name.text.push(c),
        }
    }
    end(&mut name, goes_on);
    words
}
