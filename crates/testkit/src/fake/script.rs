//! The script of a fake server: the protocol that it speaks, and the answer that it sends.

use std::io::{self, Read};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaks {
    Mysql,
    Postgres,
    Redis,
    Memcached,
    Mongodb,
}

impl Speaks {
    pub const ALL: [Self; 5] = [Self::Mysql, Self::Postgres, Self::Redis, Self::Memcached, Self::Mongodb];

    pub const fn scheme(self) -> &'static str {
        match self {
            Self::Mysql => "mysql",
            Self::Postgres => "postgres",
            Self::Redis => "redis",
            Self::Memcached => "memcached",
            Self::Mongodb => "mongodb",
        }
    }
}

/// The answer that a fake server sends to every query after the login.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The answer to a statement that has no result.
    Done,
    /// A result without rows.
    Empty,
    Nulls,
    /// A row with more columns than were requested.
    Wide,
    /// A row in which every cell contains this text.
    Cells(&'static str),
    Error,
}

impl Answer {
    /// All answers. None of the texts in `Cells` has the type that a query expects.
    pub const ALL: [Self; 9] = [
        Self::Done,
        Self::Empty,
        Self::Nulls,
        Self::Wide,
        Self::Cells("abc"),
        Self::Cells("-1"),
        Self::Cells("18446744073709551616"),
        Self::Cells(""),
        Self::Error,
    ];

    /// Returns the row of the answer, with this number of columns; `None` if the answer has no row.
    pub(super) fn row(self, n_columns: usize) -> Option<Vec<Option<&'static str>>> {
        match self {
            Self::Nulls => Some(vec![None; n_columns]),
            Self::Wide => Some(vec![Some("1"); n_columns + 1]),
            Self::Cells(text) => Some(vec![Some(text); n_columns]),
            Self::Done | Self::Empty | Self::Error => None,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Script {
    pub speaks: Speaks,
    pub answer: Answer,
    /// Whether the server requests the password in clear text before it accepts a login.
    pub wants_password: bool,
    /// The user that the server runs as; `None` for the user that runs the test. Needs root.
    pub uid: Option<u32>,
}

impl Script {
    /// Makes a script for a server that runs as the test's own user and does not request a password.
    pub const fn new(speaks: Speaks, answer: Answer) -> Self {
        Self { speaks, answer, wants_password: false, uid: None }
    }
}

/// Returns the number of columns that a statement requests, as far as its text shows this.
pub(super) fn n_columns(sql: &str) -> usize {
    let upper = sql.to_ascii_uppercase();
    let Some(at) = upper.find("SELECT ") else {
        let is_pair = ["VARIABLES", "STATUS"].iter().any(|it| upper.contains(it));
        return 1 + usize::from(is_pair);
    };
    let mut depth = 0_i32;
    let mut n = 1;
    let list = &upper[at..];
    for (place, sign) in list.char_indices() {
        match sign {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => n += 1,
            _ => {}
        }
        if depth < 0 || depth == 0 && list[place..].starts_with(" FROM ") {
            break;
        }
    }
    n
}

pub(super) fn read_exact<const N: usize>(stream: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Reads `n` bytes; fails if `n` is above a limit that no real client exceeds.
pub(super) fn read_some(stream: &mut impl Read, n: usize) -> io::Result<Vec<u8>> {
    const MOST: usize = 1 << 20;
    if n > MOST {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut bytes = vec![0; n];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// Reads a line, and returns it without the line end.
pub(super) fn line(stream: &mut impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    while bytes.last() != Some(&b'\n') {
        let [byte] = read_exact(stream)?;
        bytes.push(byte);
    }
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_counted_by_what_stands_before_the_table() {
        for (sql, n) in [
            ("SELECT 1", 1),
            ("SELECT a, b(c, d), e FROM t WHERE f IN (1,2)", 3),
            ("SHOW GLOBAL STATUS LIKE 'x'", 2),
            ("SHOW GRANTS", 1),
        ] {
            assert_eq!(n_columns(sql), n, "{sql}");
        }
    }
}
