//! Converts the replies of an engine to values. The replies are untrusted, so each cell is checked against its column's
//! kind, and cleaned.

use crate::column::{Column, Kind, Row, Value};
use crate::text::cleaned;

/// Parses one row of a reply.
///
/// # Errors
/// An explanation: a cell is missing, there are too many cells, or a cell is not of its column's kind.
pub(super) fn row(columns: &[Column], cells: impl Iterator<Item = Option<Vec<u8>>>) -> Result<Row, String> {
    let mut cells = cells;
    let mut row = Row::with_capacity(columns.len());
    for column in columns {
        let cell = cells.next();
        let cell = cell.ok_or_else(|| format!("a row ends before `{}`", column.name))?;
        let value = value(column.kind, cell.as_deref());
        row.push(value.ok_or_else(|| format!("`{}` has an unexpected type", column.name))?);
    }
    match cells.next() {
        Some(_) => Err("a row has more columns than requested".to_owned()),
        None => Ok(row),
    }
}

fn value(kind: Kind, cell: Option<&[u8]>) -> Option<Value> {
    let Some(bytes) = cell else {
        return (kind == Kind::Number).then_some(Value::Number(None));
    };
    if matches!(kind, Kind::Word | Kind::Text) {
        return Some(Value::Text(cleaned(&String::from_utf8_lossy(bytes))));
    }
    let text = std::str::from_utf8(bytes).ok()?;
    Some(match kind {
        Kind::Count => Value::Count(text.parse().ok()?),
        Kind::Number => {
            let number: f64 = text.parse().ok()?;
            Value::Number(Some(number).filter(|it| it.is_finite()))
        }
        Kind::Flag => Value::Flag(match text {
            "0" => false,
            "1" => true,
            _ => return None,
        }),
        // The queries ask the engines for times in seconds.
        Kind::Time => Value::Time(text.parse::<i64>().ok()?.checked_mul(1_000)?),
        Kind::Word | Kind::Text => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn column(name: &'static str, kind: Kind) -> Column {
        Column { name, kind, doc: "" }
    }

    const COLUMNS: [Column; 4] =
        [column("a", Kind::Text), column("b", Kind::Count), column("c", Kind::Number), column("d", Kind::Flag)];

    #[track_caller]
    fn read(line: &str) -> Result<Row, String> {
        row(&COLUMNS, super::super::tsv::cells(line.as_bytes()))
    }

    #[test]
    fn a_row_has_a_value_of_its_kind_in_each_column() {
        let found = read("x\u{1b}\t3\t\\N\t1").unwrap();
        let wanted = [Value::Text("x ".to_owned()), Value::Count(3), Value::Number(None), Value::Flag(true)];
        assert_eq!(found, wanted);
        assert_eq!(read("x\t3\tnan\t0").unwrap()[2], Value::Number(None));
    }

    #[test]
    fn anything_else_is_refused() {
        for (line, words) in [
            ("x\t3\t1", "ends before `d`"),
            ("x\t3\t1\t1\t1", "more columns"),
            ("x\t-3\t1\t1", "`b`"),
            ("x\t3\tyes\t1", "`c`"),
            ("x\t3\t1\tyes", "`d`"),
            ("\\N\t3\t1\t1", "`a`"),
        ] {
            let said = read(line).unwrap_err();
            assert!(said.contains(words), "{line}: {said}");
        }
    }
}
