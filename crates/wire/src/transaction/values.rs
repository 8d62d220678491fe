//! The values of a statement, in one buffer that is reused.

use std::ops::Range;

/// The values of a statement's placeholders.
#[derive(Debug, Default)]
pub struct Values {
    cells: Vec<Cell>,
    text: Vec<u8>,
}

#[derive(Debug, Clone)]
enum Cell {
    Number(i64),
    Text(Range<usize>),
    Sql(Range<usize>),
    Null,
}

/// One value, in the form in which a statement reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound<'a> {
    Number(i64),
    /// Text in the connection's character set.
    Text(&'a [u8]),
    /// SQL that is inserted unchanged; only for a statement that is sent as text.
    Sql(&'a [u8]),
    Null,
}

impl Values {
    /// Removes the values, but keeps the memory.
    pub fn clear(&mut self) {
        self.cells.clear();
        self.text.clear();
    }

    pub fn push_number(&mut self, number: i64) {
        self.cells.push(Cell::Number(number));
    }

    /// Adds the text that `write` appends.
    pub fn push_text(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.text.len();
        write(&mut self.text);
        self.cells.push(Cell::Text(start..self.text.len()));
    }

    /// Adds SQL that is inserted unchanged, for statements that are sent as text.
    pub fn push_sql(&mut self, sql: &[u8]) {
        let start = self.text.len();
        self.text.extend_from_slice(sql);
        self.cells.push(Cell::Sql(start..self.text.len()));
    }

    pub fn push_null(&mut self) {
        self.cells.push(Cell::Null);
    }

    pub fn iter(&self) -> impl Iterator<Item = Bound<'_>> {
        self.cells.iter().map(|cell| match cell {
            Cell::Number(number) => Bound::Number(*number),
            Cell::Text(range) => Bound::Text(&self.text[range.clone()]),
            Cell::Sql(range) => Bound::Sql(&self.text[range.clone()]),
            Cell::Null => Bound::Null,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_out_as_they_went_in() {
        let mut values = Values::default();
        values.push_text(|text| text.extend_from_slice(b"gone"));
        values.clear();
        values.push_number(-7);
        values.push_text(|text| text.extend_from_slice(b"one"));
        values.push_null();
        values.push_text(|text| text.extend_from_slice(b""));
        let wanted = [Bound::Number(-7), Bound::Text(b"one"), Bound::Null, Bound::Text(b"")];
        assert_eq!(values.iter().collect::<Vec<_>>(), wanted);
    }
}
