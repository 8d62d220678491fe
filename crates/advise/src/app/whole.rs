//! A file and the files from which its containers take variables, joined into one text.
//!
//! Every finding then has one place, and each change is written to the file that contains this place. The code that
//! reads the files makes the joined text; `share` uses it.

use std::ops::Range;

use super::code::Included;
use super::rewrite::{Rewrite, newline};

/// The text between two files: it makes each manifest a document of the joined text.
const BETWEEN: &str = "\n---\n";

#[derive(Debug)]
pub struct Whole {
    text: String,
    parts: Vec<Part>,
}

/// One of the joined files.
#[derive(Debug)]
pub(super) struct Part {
    /// The words with which the first file names this file; empty for the first file.
    pub(super) words: String,
    pub(super) at: Range<usize>,
    /// The number of lines before this file.
    pub(super) first_line: usize,
}

impl Whole {
    pub fn new(text: &str, included: &[Included]) -> Self {
        let mut whole = Self { text: String::new(), parts: Vec::new() };
        whole.add("", text);
        for it in included {
            whole.text.push_str(BETWEEN);
            whole.add(&it.words, &it.text);
        }
        whole
    }

    fn add(&mut self, words: &str, text: &str) {
        let (start, first_line) = (self.text.len(), self.text.matches('\n').count());
        self.text.push_str(text);
        self.parts.push(Part { words: words.to_owned(), at: start..self.text.len(), first_line });
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// The text of the first file.
    pub fn own(&self) -> &str {
        &self.text[self.parts[0].at.clone()]
    }

    /// The other files, each with its text.
    pub(super) fn others(&self) -> impl Iterator<Item = (&Part, &str)> {
        self.parts.iter().skip(1).map(|it| (it, &self.text[it.at.clone()]))
    }

    /// Whether a byte of the joined text is in the first file.
    pub fn is_own(&self, at: usize) -> bool {
        at <= self.parts[0].at.end
    }

    /// For a line of the joined text, returns the words that name its file, and the number of the line in that file.
    /// The first file has no words.
    pub fn line(&self, line: usize) -> (Option<&str>, usize) {
        let part = self.parts.iter().rfind(|it| it.first_line < line).unwrap_or(&self.parts[0]);
        (Some(&*part.words).filter(|it| !it.is_empty()), line - part.first_line)
    }

    /// Each file with the words that name it, its text, and the changes to it. The first file has no words.
    pub fn parted(&self, rewrites: &[Rewrite]) -> Vec<(Option<&str>, &str, Vec<Rewrite>)> {
        let own = |part: &Part| {
            let text = &self.text[part.at.clone()];
            let is_in = |it: &&Rewrite| part.at.start <= it.at.start && it.at.start <= part.at.end;
            let rewrites = rewrites.iter().filter(is_in).map(|it| Rewrite {
                at: it.at.start - part.at.start..it.at.end.min(part.at.end) - part.at.start,
                text: it.text.replace("\r\n", "\n").replace('\n', newline(text)),
            });
            rewrites.collect()
        };
        { self.parts.iter() }
            .map(|it| (Some(&*it.words).filter(|it| !it.is_empty()), &self.text[it.at.clone()], own(it)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_comes_back_to_its_file() {
        let included = [("a.env", "A=b"), ("b.env", "C=d\r\nE=f\r\n")];
        let included = included.map(|(words, text)| Included { words: words.to_owned(), text: text.to_owned() });
        let whole = Whole::new("x: y\n", &included);
        let at = |text: &str| whole.text().find(text).unwrap();
        let line = |text: &str| 1 + whole.text()[..at(text)].matches('\n').count();
        assert_eq!(whole.line(line("x: y")), (None, 1));
        assert_eq!(whole.line(line("A=b")), (Some("a.env"), 1));
        assert_eq!(whole.line(line("E=f")), (Some("b.env"), 2));
        let end = at("A=b") + 3;
        let rewrites = [
            Rewrite { at: end..end, text: "\nG=h".to_owned() },
            // Removes a last line that has no line end, together with the separator between the files.
            Rewrite { at: at("A=b")..end + 1, text: String::new() },
            Rewrite { at: at("E=f")..at("E=f") + 3, text: "E=g\nH=i".to_owned() },
        ];
        let parted = whole.parted(&rewrites);
        let of = |idx: usize| parted[idx].2.iter().map(|it| (it.at.clone(), &*it.text)).collect::<Vec<_>>();
        assert_eq!(of(0), []);
        assert_eq!(of(1), [(3..3, "\nG=h"), (0..3, "")]);
        assert_eq!(of(2), [(5..8, "E=g\r\nH=i")]);
    }
}
