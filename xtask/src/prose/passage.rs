//! A piece of prose and its position in its file. Called by `prose` and its readers; pure.

use serde::Deserialize;

/// The kind of source that a text comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Pages,
    Comments,
    Strings,
}

/// A paragraph, a heading, a cell of a table, a comment or a string, without its code and quotations.
#[derive(Debug, PartialEq)]
pub(super) struct Passage {
    pub(super) kind: Kind,
    pub(super) is_heading: bool,
    pub(super) text: String,
    /// Offsets in `text` at which a line of the file begins, each with the number of that line.
    pub(super) lines: Vec<(usize, usize)>,
}

impl Passage {
    pub(super) fn line(&self, offset: usize) -> usize {
        let before = self.lines.iter().take_while(|(start, _)| *start <= offset);
        before.last().map_or(0, |(_, line)| *line)
    }
}

/// The offsets at which the lines of a text begin.
pub(super) struct LineStarts(Vec<usize>);

impl LineStarts {
    pub(super) fn of(text: &str) -> Self {
        Self(std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect())
    }

    /// Returns the line of an offset, counted from 1.
    pub(super) fn line(&self, offset: usize) -> usize {
        self.0.partition_point(|it| *it <= offset)
    }
}
