//! The form of the data that are sent: tables, their columns, the values of a row.
//!
//! Plain data, from which each engine makes its own statements. This file does not depend on an engine.

/// A table of the data that are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    /// The table's name: lower-case letters and `_`.
    pub name: &'static str,
    pub doc: &'static str,
    /// The table's columns, in the order of a row's values.
    pub columns: &'static [Column],
    /// The columns that identify a row: if a row is sent twice, it counts once.
    pub key: &'static [&'static str],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// The column's name: lower-case letters, digits and `_`, with the unit at its end.
    pub name: &'static str,
    pub kind: Kind,
    /// The column's meaning, units and source.
    pub doc: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A text with few different values, such as a kind of server or a kernel. Never absent; empty if unknown.
    Word,
    /// A text that may have many different values. Never absent; empty if unknown.
    Text,
    Count,
    /// A measured number; may be absent.
    Number,
    Flag,
    /// A time in UTC, to the millisecond.
    Time,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A value of a [`Kind::Word`] or [`Kind::Text`] column.
    Text(String),
    /// A value of a [`Kind::Count`] column.
    Count(u64),
    /// A value of a [`Kind::Number`] column: finite, or absent.
    Number(Option<f64>),
    /// A value of a [`Kind::Flag`] column.
    Flag(bool),
    /// A value of a [`Kind::Time`] column: milliseconds since 1970, UTC.
    Time(i64),
}

/// The values of a row, in the order of its table's columns.
pub type Row = Vec<Value>;

impl Value {
    /// Whether a column of this kind can contain this value.
    pub fn is_of(&self, kind: Kind) -> bool {
        match self {
            Self::Text(_) => matches!(kind, Kind::Word | Kind::Text),
            Self::Count(_) => kind == Kind::Count,
            Self::Number(number) => kind == Kind::Number && number.is_none_or(f64::is_finite),
            Self::Flag(_) => kind == Kind::Flag,
            Self::Time(_) => kind == Kind::Time,
        }
    }
}

impl Table {
    /// Whether the values form a row of this table: one value per column, each of its column's kind.
    pub fn fits(&self, row: &[Value]) -> bool {
        row.len() == self.columns.len() && self.columns.iter().zip(row).all(|(column, value)| value.is_of(column.kind))
    }
}
