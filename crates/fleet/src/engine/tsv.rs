//! Rows as tab-separated text, which ClickHouse and PostgreSQL read and write in the same way.

use std::fmt::Write;

use jiff::Timestamp;

use crate::column::{Row, Value};

/// The last time that is sent, in seconds since 1970: the end of 2099. ClickHouse's times end in 2106.
pub(crate) const LAST_SECOND: i64 = 4_102_444_799;

/// Writes the rows, each ended by a newline.
///
/// # Source
/// ClickHouse documentation, `TabSeparated`; PostgreSQL documentation, "COPY", text format.
pub(super) fn from_rows<'a>(rows: impl Iterator<Item = &'a Row>) -> String {
    let mut text = String::new();
    for row in rows {
        for (idx, value) in row.iter().enumerate() {
            if idx > 0 {
                text.push('\t');
            }
            push(value, &mut text);
        }
        text.push('\n');
    }
    text
}

fn push(value: &Value, text: &mut String) {
    match value {
        Value::Text(it) => it.chars().for_each(|char| escape(char, text)),
        // The number is limited to PostgreSQL's largest integer.
        Value::Count(it) => text.push_str(&(*it).min(i64::MAX.unsigned_abs()).to_string()),
        Value::Number(Some(it)) if it.is_finite() => {
            // Writing to memory cannot fail.
            let _ = write!(text, "{it:?}");
        }
        Value::Number(_) => text.push_str("\\N"),
        Value::Flag(it) => text.push(if *it { '1' } else { '0' }),
        Value::Time(ms) => {
            let second = ms.div_euclid(1_000).clamp(0, LAST_SECOND);
            let at = Timestamp::from_second(second).unwrap_or(Timestamp::UNIX_EPOCH);
            text.push_str(&at.strftime("%Y-%m-%d %H:%M:%S").to_string());
        }
    }
}

fn escape(char: char, text: &mut String) {
    match char {
        '\\' => text.push_str("\\\\"),
        '\t' => text.push_str("\\t"),
        '\n' => text.push_str("\\n"),
        '\r' => text.push_str("\\r"),
        // PostgreSQL cannot store this character in a text.
        '\0' => text.push(' '),
        other => text.push(other),
    }
}

/// Returns the decoded cells of one line; `None` for an absent value. A backslash that starts no known escape is kept.
pub(super) fn cells(line: &[u8]) -> impl Iterator<Item = Option<Vec<u8>>> {
    let cells = line.split(|byte| *byte == b'\t');
    cells.map(|cell| (cell != b"\\N").then(|| unescaped(cell)))
}

fn unescaped(cell: &[u8]) -> Vec<u8> {
    let mut found = Vec::with_capacity(cell.len());
    let mut bytes = cell.iter();
    while let Some(byte) = bytes.next() {
        if *byte != b'\\' {
            found.push(*byte);
            continue;
        }
        found.push(match bytes.next() {
            Some(b't') => b'\t',
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'0') => 0,
            Some(other) => *other,
            None => b'\\',
        });
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again_whatever_it_says() {
        let texts = ["", "a\tb\\N\n", "\\N", "\\", "'; DROP TABLE x; --", "é\u{202e}"];
        let row: Row = texts.iter().map(|it| Value::Text((*it).to_owned())).collect();
        let text = from_rows([&row, &row].into_iter());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        for line in lines {
            let found: Vec<String> = cells(line.as_bytes()).map(|it| String::from_utf8(it.unwrap()).unwrap()).collect();
            assert_eq!(found, texts);
        }
    }

    #[test]
    fn numbers_and_times_are_what_both_engines_read() {
        let check = |value: Value, wanted: &str| {
            assert_eq!(from_rows([&vec![value]].into_iter()), format!("{wanted}\n"));
        };
        check(Value::Number(Some(0.1)), "0.1");
        check(Value::Number(Some(1e300)), "1e300");
        check(Value::Number(Some(f64::NAN)), "\\N");
        check(Value::Count(u64::MAX), "9223372036854775807");
        check(Value::Flag(true), "1");
        check(Value::Time(1_795_000_000_999), "2026-11-18 11:06:40");
        check(Value::Time(-1), "1970-01-01 00:00:00");
        check(Value::Time(i64::MAX), "2099-12-31 23:59:59");
    }
}
