//! The form of what is sent: tables, their columns, the values of a row.
//!
//! Plain data, from which every engine makes its own statements. Nothing here knows an engine.

/// A table of what is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    /// Its name: lower-case letters and `_`.
    pub name: &'static str,
    pub doc: &'static str,
    /// Its columns, in the order of a row's values.
    pub columns: &'static [Column],
    /// The columns that tell a row from all others: a row that is sent twice counts once.
    pub key: &'static [&'static str],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name: lower-case letters, digits and `_`, units at its end.
    pub name: &'static str,
    pub kind: Kind,
    /// Its meaning, units and source.
    pub doc: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A text of which there are few: a kind of server, a kernel. Never absent; unknown is empty.
    Word,
    /// A text of which there may be many. Never absent; unknown is empty.
    Text,
    Count,
    /// A measured number; may be absent.
    Number,
    Flag,
    /// A time, to the millisecond, UTC.
    Time,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Of a [`Kind::Word`] or [`Kind::Text`].
    Text(String),
    /// Of a [`Kind::Count`].
    Count(u64),
    /// Of a [`Kind::Number`]: finite, or absent.
    Number(Option<f64>),
    /// Of a [`Kind::Flag`].
    Flag(bool),
    /// Of a [`Kind::Time`]: milliseconds since 1970, UTC.
    Time(i64),
}

/// The values of a row, in the order of its table's columns.
pub type Row = Vec<Value>;

impl Value {
    /// Whether a column of this kind can hold it.
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
    /// Whether the values are a row of this table: as many as it has columns, each of its column's kind.
    pub fn fits(&self, row: &[Value]) -> bool {
        row.len() == self.columns.len() && self.columns.iter().zip(row).all(|(column, value)| value.is_of(column.kind))
    }
}
