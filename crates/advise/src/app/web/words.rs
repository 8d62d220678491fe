//! Splits a file of directives into words, and the blocks that they open and close.

use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ends {
    /// A directive ends with a semicolon. A brace opens or closes a block anywhere.
    Semicolon,
    /// A directive ends with its line. A brace opens or closes a block only as a separate word.
    Line,
}

/// A directive, or the end of a block.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// The places of the words in `name word word`, without quotes around them.
    Directive(Vec<Range<usize>>),
    /// A directive with a block after it.
    Opened(Vec<Range<usize>>),
    /// The end of a block, with the place of its brace.
    Closed(usize),
}

pub(super) fn pieces(text: &str, ends: Ends) -> Vec<Piece> {
    let mut walk = Walk { text, ends, at: 0, words: Vec::new(), pieces: Vec::new() };
    while walk.step() {}
    walk.end();
    walk.pieces
}

/// The places of the words of a line, without quotes around them. `from` is the byte at which the line begins.
pub(super) fn words_of(line: &str, from: usize) -> Vec<Range<usize>> {
    let found = pieces(line.trim_end_matches('\\'), Ends::Line);
    let words = found.into_iter().find_map(|it| match it {
        Piece::Directive(words) | Piece::Opened(words) => Some(words),
        Piece::Closed(_) => None,
    });
    let words = words.unwrap_or_default().into_iter();
    words.map(|it| it.start + from..it.end + from).collect()
}

/// Returns a line with its continuation lines. A comment has no continuation lines.
pub(super) fn logical_line(text: &str) -> &str {
    let mut end = 0;
    let is_comment = text.trim_start().starts_with('#');
    for line in text.split_inclusive('\n') {
        end += line.len();
        if is_comment || !line.trim_end_matches(['\n', '\r']).ends_with('\\') {
            break;
        }
    }
    &text[..end]
}

struct Walk<'a> {
    text: &'a str,
    ends: Ends,
    at: usize,
    words: Vec<Range<usize>>,
    pieces: Vec<Piece>,
}

impl Walk<'_> {
    /// Reads one more character, word or comment. Returns `false` at the end of the text.
    fn step(&mut self) -> bool {
        let Some(sign) = self.text[self.at..].chars().next() else {
            return false;
        };
        let is_by_line = self.ends == Ends::Line;
        match sign {
            '\n' if is_by_line => self.end(),
            '#' => {
                let rest = &self.text[self.at..];
                self.at += rest.find('\n').unwrap_or(rest.len());
                return true;
            }
            _ if sign.is_whitespace() => {}
            ';' if !is_by_line => self.end(),
            '{' if !is_by_line || self.is_alone() => {
                let words = std::mem::take(&mut self.words);
                self.pieces.push(Piece::Opened(words));
            }
            '}' if !is_by_line || self.is_alone() => {
                self.end();
                self.pieces.push(Piece::Closed(self.at));
            }
            // The line continues on the next line.
            '\\' if is_by_line && self.text[self.at..].starts_with("\\\n") => self.at += 1,
            _ => {
                self.word(sign);
                return true;
            }
        }
        self.at += sign.len_utf8();
        true
    }

    /// Whether the character at the current position is a separate word.
    fn is_alone(&self) -> bool {
        let behind = self.text[self.at + 1..].chars().next();
        behind.is_none_or(char::is_whitespace)
    }

    fn end(&mut self) {
        if !self.words.is_empty() {
            let words = std::mem::take(&mut self.words);
            self.pieces.push(Piece::Directive(words));
        }
    }

    fn word(&mut self, first: char) {
        let is_quote = matches!(first, '"' | '\'' | '`');
        let start = self.at + usize::from(is_quote);
        let mut before = if is_quote { ' ' } else { first };
        let mut end = self.text.len();
        for (at, sign) in self.text[start..].char_indices() {
            let is_end = match (is_quote, self.ends) {
                (true, _) => sign == first && before != '\\',
                (false, Ends::Line) => sign.is_whitespace(),
                // In `${name}`, braces are part of the word.
                (false, Ends::Semicolon) if sign == '{' => before != '$',
                (false, Ends::Semicolon) if sign == '}' => !self.is_in_variable(start, start + at),
                (false, Ends::Semicolon) => sign.is_whitespace() || sign == ';',
            };
            if is_end {
                end = start + at;
                break;
            }
            before = sign;
        }
        self.words.push(start..end);
        self.at = (end + usize::from(is_quote)).min(self.text.len());
    }

    fn is_in_variable(&self, start: usize, end: usize) -> bool {
        let word = &self.text[start..end];
        let opened = word.rfind("${");
        opened.is_some_and(|at| !word[at..].contains('}'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, ends: Ends, expected: &str) {
        let shown: Vec<String> = pieces(text, ends)
            .iter()
            .map(|piece| {
                let joined = |words: &[Range<usize>]| {
                    let words: Vec<&str> = words.iter().map(|it| &text[it.clone()]).collect();
                    words.join("|")
                };
                match piece {
                    Piece::Directive(words) => joined(words),
                    Piece::Opened(words) => format!("{} {{", joined(words)),
                    Piece::Closed(_) => "}".to_owned(),
                }
            })
            .collect();
        assert_eq!(shown.join("; "), expected, "{text}");
    }

    #[test]
    fn directives_end_as_their_program_has_it() {
        check(
            "a b; # c; {\nd ~ \\.php$ {e \"f g;\" ${h}i;}\nj",
            Ends::Semicolon,
            "a|b; d|~|\\.php$ {; e|f g;|${h}i; }; j",
        );
        check("a {\n\tb {$C:d} `e f` {\n\t}\n\tg h#i # j\n}\n", Ends::Line, "a {; b|{$C:d}|e f {; }; g|h#i; }");
        check("a \\\n b\nc", Ends::Line, "a|b; c");
        check("\"open", Ends::Line, "open");
    }
}
