//! The values of expressions. Expected values are those of pgbench 15.18 (`\set x debug(EXPRESSION)`), except in lines
//! whose comment says otherwise.

use crate::{bits, session_of, trace};

fn value(expression: &str) -> Result<String, String> {
    let text = format!("\\set seven 7\n\\set x {expression}\nSELECT :x;");
    let mut session = session_of(&text, &["pi2=6.28", "yes=true", "word=abc", "none=null"]);
    let sent = trace(&mut session, &mut bits())?;
    Ok(sent[0].trim_start_matches("SELECT ").to_owned())
}

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    for (expression, wanted) in cases {
        assert_eq!(value(expression).as_deref(), Ok(*wanted), "{expression}");
    }
}

#[track_caller]
fn fails(cases: &[(&str, &str)]) {
    for (expression, wanted) in cases {
        let error = value(expression).expect_err(expression);
        assert!(error.contains(wanted), "{expression}: {error}");
        assert!(error.starts_with("a.sql:"), "{error}");
    }
}

#[test]
fn calculates_with_integers_and_doubles() {
    check(&[
        ("-2 * 3", "-6"),
        ("2 + 3 * 4 - 5", "9"),
        ("10 - 4 - 3", "3"),
        ("(2 + 3) * 4", "20"),
        ("5 / 3", "1"),
        ("-5 / 3", "-1"),
        ("-5 % 3", "-2"),
        ("5.7 % 2", "0"),
        (":seven % 4", "3"),
        ("- - 3", "3"),
        ("+3", "3"),
        ("1 - -3", "4"),
        (".5 + 1.", "1.5"),
        ("1e3", "1000"),
        ("0.1+0.2", "0.3"),
        ("1e16 + 0.0", "1e+16"),
        ("1.0/3", "0.333333333333333"),
        ("1e-5 * 1", "1e-05"),
        ("-0.0", "0"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("-9223372036854775808 % -1", "0"),
        (":pi2 / 2", "3.14"),
    ]);
}

#[test]
fn compares_and_decides() {
    check(&[
        ("1 <> 2", "true"),
        ("1 != 1", "false"),
        ("2 = 2.0", "true"),
        ("2 >= 1 and 3 <= 4", "true"),
        ("1 < 2 or 1 / 0", "true"),
        ("false and 1 / 0", "false"),
        ("null and false", "NULL"),
        ("false and null", "false"),
        ("null or true", "NULL"),
        ("true or null", "true"),
        ("not null", "NULL"),
        ("not true is false", "true"),
        ("1 = 1 is true", "true"),
        ("1 is null is null", "false"),
        ("1 is true", "false"),
        ("1.0 is true", "false"),
        ("1 is not null", "true"),
        ("1 isnull", "false"),
        ("(1) notnull", "true"),
        ("null is null", "true"),
        ("NULL + 1", "NULL"),
        ("CASE WHEN null THEN 1 WHEN 2 THEN 3 END", "3"),
        ("case when false then 1 end", "NULL"),
        ("case when false then 1 else 2 + 3 end * 2", "10"),
        ("case when 1 then true else 2.5 end", "true"),
        ("case when :seven <> 0 then 21 / :seven else null end", "3"),
        // In these cases the manual counts numbers as truth values, but pgbench 15 refuses them.
        ("5 or 0", "true"),
        ("3 and 0", "false"),
        ("not 5", "false"),
        (":yes and true", "true"),
        (":none is null", "true"),
    ]);
}

#[test]
fn works_on_bits() {
    check(&[
        ("~1 + 2", "-4"),
        ("~1 | 4", "-2"),
        ("1 | 2 & 3", "3"),
        ("1 # 3 | 8 << 2", "40"),
        ("1 << 63", "-9223372036854775808"),
        ("-8 >> 1", "-4"),
    ]);
}

#[test]
fn calls_functions() {
    check(&[
        ("abs(-17)", "17"),
        ("abs(-1.5)", "1.5"),
        ("int(2.5)", "2"),
        ("int(3.5)", "4"),
        ("INT(5.4 + 3.8)", "9"),
        ("double(5)", "5"),
        ("exp(1.0)", "2.71828182845905"),
        ("ln(2.718281828459045)", "1"),
        ("sqrt(2.0)", "1.4142135623731"),
        ("pi()", "3.14159265358979"),
        ("pow(2,10)", "1024"),
        ("power(2.0, -1)", "0.5"),
        ("mod(54, 32)", "22"),
        ("mod(5.5,2)", "0"),
        ("least(5, 4, 3, 2.1)", "2.1"),
        ("least(null, 1)", "NULL"),
        ("greatest(1,2,3)", "3"),
        ("greatest(7)", "7"),
        ("random(5, 5)", "5"),
        ("Random(1.4, 1.4)", "1"),
        ("random_gaussian(5, 5, 2)", "5"),
        ("random_zipfian(5, 5, 1.001)", "5"),
        ("random_exponential(5, 5, 1)", "5"),
        ("random(null, 5)", "NULL"),
        ("hash(10, 5432)", "-5817877081768721676"),
        ("hash(10)", "-5817877081768721676"),
        ("hash_murmur2(10, 5432)", "-5817877081768721676"),
        ("hash_fnv1a(10, :default_seed)", "-7793829335365542153"),
        ("hash(null)", "NULL"),
    ]);
}

#[test]
fn names_the_place_of_what_cannot_be_calculated() {
    fails(&[
        ("1 / 0", "a.sql:2:10: division by zero"),
        ("5 % 0", "division by zero"),
        ("9223372036854775807 + 1", "`+` overflows"),
        ("-9223372036854775808 / -1", "`/` overflows"),
        ("-(-9223372036854775808)", "`-` overflows"),
        ("3037000500 * 3037000500", "`*` overflows"),
        ("int(1e30)", "`int` overflows"),
        ("true = true", "expected an integer, found a truth value"),
        ("true + 1", "expected an integer"),
        ("true + 1.5", "expected a number"),
        ("double(true)", "expected a number"),
        ("random(2, 1)", "the range from 2 to 1 is empty"),
        ("random(-9223372036854775808, 9223372036854775807)", "too large"),
        ("random_zipfian(1, 10, 1.0)", "from 1.001 to 1000, not 1"),
        ("random_gaussian(1, 10, 1.9)", "at least 2.0, not 1.9"),
        ("random_exponential(1, 10, 0)", "above 0, not 0"),
        (":word + 1", "`word` is defined as text"),
        // pgbench instead shifts by the lowest six bits, and leaves the least integer as it is.
        ("1 << 64", "cannot shift by 64 bits"),
        ("1 >> -1", "cannot shift by -1 bits"),
        ("abs(-9223372036854775808)", "`abs` overflows"),
        // pgbench instead sends these words.
        ("1.5 / 0", "`x` is inf"),
        ("sqrt(-1)", "`x` is NaN"),
    ]);
}
