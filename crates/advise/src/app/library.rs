//! The kind of server that a program's text uses, according to the library that it loads or calls.

use looptax_model::dsn::Kind;

/// Texts that show that a program uses a client for a kind of server. If a program has texts for two kinds of server,
/// the texts show nothing.
const SIGNS: [(&str, Kind); 17] = [
    ("new mysqli(", Kind::Mysql),
    ("mysqli_connect(", Kind::Mysql),
    ("mysql_connect(", Kind::Mysql),
    ("import pymysql", Kind::Mysql),
    ("import MySQLdb", Kind::Mysql),
    ("import mysql.connector", Kind::Mysql),
    ("require('mysql", Kind::Mysql),
    ("require(\"mysql", Kind::Mysql),
    ("from 'mysql", Kind::Mysql),
    ("from \"mysql", Kind::Mysql),
    ("pg_connect(", Kind::Postgres),
    ("import psycopg", Kind::Postgres),
    ("import asyncpg", Kind::Postgres),
    ("require('pg')", Kind::Postgres),
    ("require(\"pg\")", Kind::Postgres),
    ("from 'pg'", Kind::Postgres),
    ("from \"pg\"", Kind::Postgres),
];

/// The kind of server of the only client that the text uses outside comments.
pub(super) fn kind_of_library(text: &str) -> Option<Kind> {
    let is_comment = |line: &&str| {
        let line = line.trim_start();
        ["#", "//", "*", "/*", "--"].iter().any(|it| line.starts_with(it))
    };
    let lines = || text.lines().filter(|it| !is_comment(it));
    let used = |sign: &str| lines().any(|it| it.contains(sign));
    let mut kinds = SIGNS.iter().filter(|it| used(it.0)).map(|it| it.1);
    let first = kinds.next()?;
    kinds.all(|it| it == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_library_tells_the_kind_and_two_do_not() {
        let text = "$c = new mysqli($h, $u);\n";
        assert_eq!(kind_of_library(text), Some(Kind::Mysql));
        assert_eq!(kind_of_library("# import pymysql\n"), None);
        let both = "import pymysql\nimport psycopg2\n";
        assert_eq!(kind_of_library(both), None);
    }
}
