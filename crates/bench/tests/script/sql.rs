//! The ends of statements, and the variables in them.

use looptax_bench::script::Dialect::{self, Mysql, Postgres};
use looptax_bench::script::Statement;

use crate::set_of;

#[track_caller]
fn check(dialect: Dialect, text: &str, wanted: &[&str]) {
    let set = set_of(text, dialect, &["a=1", "b=2"]).unwrap_or_else(|error| panic!("{error}"));
    let sql: Vec<String> = set.statements().iter().map(Statement::prepared_sql).collect();
    assert_eq!(sql, wanted, "{text}");
}

#[test]
fn ends_statements_at_semicolons_commands_and_the_end() {
    for dialect in [Postgres, Mysql] {
        check(dialect, "SELECT 1; SELECT 2;SELECT 3", &["SELECT 1", "SELECT 2", "SELECT 3"]);
        check(dialect, ";;\n ;SELECT 1\n\\set x 1\nSELECT 2", &["SELECT 1", "SELECT 2"]);
        check(dialect, "SELECT\n  1,\n  2\n;\n", &["SELECT\n  1,\n  2"]);
        check(dialect, "SELECT (1; 2); SELECT 3)", &["SELECT (1; 2)", "SELECT 3)"]);
        check(dialect, "\r\nSELECT 1;\r\n\\set x 1\r\nSELECT 2;\r\n", &["SELECT 1", "SELECT 2"]);
        check(dialect, "SELECT ';', \"x;y\", 'it''s; '; END;", &["SELECT ';', \"x;y\", 'it''s; '", "END"]);
    }
}

#[test]
fn replaces_variables_outside_of_quotes_only() {
    check(Postgres, "SELECT :a, ':b', \":b\", :b::int, x::a", &["SELECT $1, ':b', \":b\", $2::int, x::a"]);
    check(Mysql, "SELECT :a, ':b', \":b\", `:b`, @x := :b", &["SELECT ?, ':b', \":b\", `:b`, @x := ?"]);
    check(Postgres, "SELECT '12:30', 12:30, x[1 : 2], : a", &["SELECT '12:30', 12:30, x[1 : 2], : a"]);
    check(Postgres, ":a", &["$1"]);
    check(Postgres, "SELECT :a:b", &["SELECT $1$2"]);
}

#[test]
fn reads_quotes_as_the_database_does() {
    check(Postgres, "SELECT 'a\\'; SELECT E'b\\';c', e'\\\\';", &["SELECT 'a\\'", "SELECT E'b\\';c', e'\\\\'"]);
    check(Mysql, "SELECT 'a\\';b', \"\\\"; \"; SELECT `c\\`;", &["SELECT 'a\\';b', \"\\\"; \"", "SELECT `c\\`"]);
    check(
        Postgres,
        "DO $$ a; :a $$; DO $x$ $$ ; $x$; SELECT a$b$c, $1; END",
        &["DO $$ a; :a $$", "DO $x$ $$ ; $x$", "SELECT a$b$c, $1", "END"],
    );
    check(Postgres, "SELECT 5 # 3; SELECT 'ä', naïve;", &["SELECT 5 # 3", "SELECT 'ä', naïve"]);
    check(Postgres, "SELECT somE'x'; END", &["SELECT somE'x'", "END"]);
}

#[test]
fn leaves_line_comments_out_and_block_comments_in() {
    check(Postgres, "-- head; :a\nSELECT 1 -- it's :a;\n, 2;--end", &["SELECT 1 \n, 2"]);
    check(Postgres, "SELECT 5--1\n;", &["SELECT 5"]);
    check(Mysql, "SELECT 5--1; # it's;\nSELECT 2 -- ;\n, 3 --", &["SELECT 5--1", "SELECT 2 \n, 3"]);
    check(Postgres, "/* a /* ; */ ' */ SELECT 1; /* only */ ; END", &["/* a /* ; */ ' */ SELECT 1", "END"]);
    check(
        Mysql,
        "/* a /* ; */ SELECT 1; /*!50000 SET x = 1 */; /* no */",
        &["/* a /* ; */ SELECT 1", "/*!50000 SET x = 1 */"],
    );
}

#[test]
fn tells_of_variables_that_stay_within_quotes() {
    let text = "SELECT ':a', 'x:y', '12:30' /* :b */, '::a';";
    let set = set_of(text, Postgres, &["a=1", "b=2"]).unwrap();
    let seen: Vec<String> = set.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(
        seen,
        [
            "a.sql:1:9: `:a` is not replaced within quotes or a comment",
            "a.sql:1:32: `:b` is not replaced within quotes or a comment",
        ]
    );
}
