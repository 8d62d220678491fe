//! Scripts that are refused: the message, the place of the caret, and what to do.

use looptax_bench::script::{Dialect, Script, ScriptSet, SetError};

use crate::set_of;

/// Checks the first line of the error, and a part of its hint.
#[track_caller]
fn check(text: &str, wanted: &str, hint: &str) {
    let error = set_of(text, Dialect::Postgres, &[]).expect_err(text);
    let shown = error.to_string();
    assert_eq!(shown.lines().next(), Some(wanted), "{shown}");
    assert_eq!(shown.lines().count(), 3, "{shown}");
    let found = error.hint().unwrap_or_default();
    assert!(found.contains(hint), "`{found}` does not contain `{hint}`");
}

#[test]
fn shows_the_line_and_a_caret() {
    let error = set_of("BEGIN;\n  \\sett x 1\n", Dialect::Postgres, &[]).unwrap_err();
    assert_eq!(error.to_string(), "a.sql:2:3: unknown command `\\sett`\n    \\sett x 1\n    ^^^^^");
    assert_eq!(
        error.hint().unwrap(),
        "did you mean `\\set`? commands are \\set \\if \\elif \\else \\endif \\sleep \\startpipeline \\endpipeline \\syncpipeline"
    );
}

#[test]
fn names_unknown_and_refused_commands() {
    check("\\nosuchthing", "a.sql:1:1: unknown command `\\nosuchthing`", "commands are \\set");
    check("a;\n\\ set x 1", "a.sql:2:1: unknown command `\\`", "commands are");
    check("a \\if", "a.sql:1:6: expected a value, found the end of the line", "");
    check(
        "\\SHELL ls",
        "a.sql:1:1: looptax does not support `\\shell`: looptax starts no programs while it measures",
        "definition",
    );
    check(
        "\\setshell x ls",
        "a.sql:1:1: looptax does not support `\\setshell`: looptax starts no programs while it measures",
        "definition",
    );
    check(
        "SELECT 1 \\gset x_",
        "a.sql:1:10: looptax does not support `\\gset`: looptax counts and checks answers, but does not store their \
        values",
        ";",
    );
    check(
        "SELECT 1 \\aset",
        "a.sql:1:10: looptax does not support `\\aset`: looptax counts and checks answers, but does not store their \
        values",
        ";",
    );
    check(
        "SELECT 1 \\; SELECT 2;",
        "a.sql:1:10: looptax does not support `\\;`: each request holds only one statement",
        "pipeline",
    );
}

#[test]
fn names_mistakes_in_expressions() {
    check("\\set x 1 +", "a.sql:1:11: expected a value, found the end of the line", "");
    check("\\set x 1 2", "a.sql:1:10: expected an operator or the end of the line, found `2`", "");
    check("\\set x (1", "a.sql:1:10: expected an operator, `,` or `)`, found the end of the line", "");
    check("\\set x 1 == 2", "a.sql:1:11: expected a value, found `=`", "");
    check("\\set x 1 < 2 < 3", "a.sql:1:14: expected AND or OR between comparisons, found `<`", "");
    check("\\set x 'a'", "a.sql:1:8: expected a value, an operator or a function, found `'`", "");
    check("\\set x radnom(1, 2)", "a.sql:1:8: unknown function `radnom`", "did you mean `random`?");
    check("\\set x foo()", "a.sql:1:8: unknown function `foo`", "");
}

#[test]
fn names_mistakes_in_calls_and_constants() {
    check("\\set x random(1)", "a.sql:1:8: `random` takes 2 arguments, found 1", "");
    check("\\set x abs(1, 2)", "a.sql:1:8: `abs` takes 1 argument, found 2", "");
    check("\\set x pi(1)", "a.sql:1:8: `pi` takes no arguments, found 1", "");
    check("\\set x least()", "a.sql:1:8: `least` takes at least 1 argument, found 0", "");
    check("\\set x hash(1, 2, 3)", "a.sql:1:8: `hash` takes 1 to 2 arguments, found 3", "");
    check("\\set x random", "a.sql:1:14: expected `(` after the function's name, found the end of the line", "");
    check(
        "\\set x permute(1, 2)",
        "a.sql:1:8: looptax does not support `permute()`: the function's results would differ from pgbench's",
        "hash",
    );
    check(
        "\\set x debug(1)",
        "a.sql:1:8: looptax does not support `debug()`: looptax prints nothing while it measures",
        "",
    );
    check("\\set x 9223372036854775808", "a.sql:1:8: the constant `9223372036854775808` is out of range", "");
    check("\\set x 1e400", "a.sql:1:8: the constant `1e400` is out of range", "");
    check("\\set x case 1 when 1 then 2 end", "a.sql:1:13: expected WHEN, found `1`", "");
    check("\\set x case when 1 then 2", "a.sql:1:26: expected WHEN, ELSE or END, found the end of the line", "");
    check("\\set x 1 is 2", "a.sql:1:13: expected NULL, TRUE or FALSE, found `2`", "");
    check("\\set x \\\n 1 +\n", "a.sql:2:5: expected a value, found the end of the line", "");
}

#[test]
fn names_mistakes_in_arguments() {
    check(
        "\\set",
        "a.sql:1:5: expected a variable's name of letters, digits and underscores, found the end of the line",
        "",
    );
    check("\\set x-y 1", "a.sql:1:6: expected a variable's name of letters, digits and underscores, found `x-y`", "");
    check("\\set x", "a.sql:1:7: expected a value, found the end of the line", "");
    check("\\sleep", "a.sql:1:7: expected a whole number or a variable, found the end of the line", "");
    check("\\sleep 1.5 s", "a.sql:1:9: expected `us`, `ms` or `s`, found `.5`", "");
    check("\\sleep 5 min", "a.sql:1:10: expected `us`, `ms` or `s`, found `min`", "");
    check("\\sleep 5 s now", "a.sql:1:12: expected the end of the line, found `now`", "");
    check("\\if 1\n\\else no\n", "a.sql:2:7: expected the end of the line, found `no`", "");
}

#[test]
fn names_conditions_that_do_not_match() {
    check("\\endif", "a.sql:1:1: `\\endif` without an `\\if` before it", "");
    check("\\elif 1", "a.sql:1:1: `\\elif` without an `\\if` before it", "");
    check("\\else", "a.sql:1:1: `\\else` without an `\\if` before it", "");
    check("\\if 1\n\\else\n\\elif 1", "a.sql:3:1: `\\elif` after the `\\else` of the same `\\if`", "");
    check("\\if 1\n\\else\n\\else", "a.sql:3:1: `\\else` after the `\\else` of the same `\\if`", "");
    check("a;\n\\if 1\nb;", "a.sql:2:1: the `\\if` is never closed", "");
    check("\\if 1\n\\endif\n\\endif", "a.sql:3:1: `\\endif` without an `\\if` before it", "");
}

#[test]
fn names_variables_that_nobody_sets() {
    check("\\set aid 1\nSELECT :aidd;", "a.sql:2:8: the variable `aidd` is never set", "did you mean `aid`?");
    check(
        "SELECT :x;",
        "a.sql:1:8: the variable `x` is never set",
        "put `\\set x …` before this line, or define x=VALUE",
    );
    check("\\set x :y\nSELECT 1;", "a.sql:1:8: the variable `y` is never set", "");
    check("\\sleep :t\nSELECT 1;", "a.sql:1:8: the variable `t` is never set", "");
}

#[test]
fn names_what_never_ends_and_what_is_too_much() {
    check("SELECT 'a", "a.sql:1:8: the quote is never closed", "");
    check("SELECT \"a;\n", "a.sql:1:8: the quote is never closed", "");
    check("a /* b", "a.sql:1:3: the comment is never closed", "");
    check("a $x$ b $y$", "a.sql:1:3: the dollar quote is never closed", "");
    check("", "a.sql:1:1: the script sends no statement", "`;`");
    check("\\set x 1\n-- SELECT 1;\n", "a.sql:3:1: the script sends no statement", "`;`");
    check("a\0b;", "a.sql:1:2: a NUL character in the script", "");
    let many = format!("\\set x 1\nSELECT {};", [":x"; 256].join(", "));
    check(&many, "a.sql:2:1: the statement uses too many variables: at most 255 are allowed", "");
    let deep = format!("\\set x {}1{}", "(".repeat(101), ")".repeat(101));
    check(&deep, "a.sql:1:108: the expression is nested too deeply: at most 100 are allowed", "");
}

#[test]
fn finds_pipelines_for_those_who_have_none() {
    let parse = |text| Script::parse("a.sql", text, Dialect::Mysql).unwrap();
    assert!(parse("a;").without_pipeline("MySQL has none").is_ok());
    let error = parse("a;\n\\startpipeline\nb;\n\\endpipeline").without_pipeline("MySQL has none");
    let shown = error.unwrap_err().to_string();
    let wanted = "a.sql:2:1: `\\startpipeline` cannot be used: MySQL has none";
    assert_eq!(shown.lines().next(), Some(wanted));
}

#[test]
fn wants_something_to_run() {
    assert_eq!(ScriptSet::new(Vec::new(), Vec::new()), Err(SetError::NothingToRun));
    let script = Script::parse("a.sql", "a;", Dialect::Mysql).unwrap();
    let none = ScriptSet::new(vec![(script, 0)], Vec::new());
    assert_eq!(none, Err(SetError::NothingToRun));
}
