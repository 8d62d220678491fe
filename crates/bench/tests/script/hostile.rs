//! Text that no user would write: no input makes the room panic, hang, or print characters that control the terminal.
//!
//! Fixed seeds; the inputs are words of the language in random order, damaged scripts, and noise.

use std::sync::Arc;

use looptax_bench::script::{Action, Definition, Dialect, Script, ScriptSet, Session, parse_spec};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use crate::PRESETS;

const WORDS: [&str; 78] = [
    "\\set",
    "\\if",
    "\\elif",
    "\\else",
    "\\endif",
    "\\sleep",
    "\\startpipeline",
    "\\endpipeline",
    "\\syncpipeline",
    "\\gset",
    "\\;",
    "\\",
    "x",
    "y",
    ":x",
    ":y",
    ":scale",
    ":é",
    "::",
    ":",
    "1",
    "0",
    "-1",
    "63",
    "64",
    "9223372036854775807",
    "9223372036854775808",
    "1.5",
    "1e308",
    "1e-320",
    ".",
    "+",
    "-",
    "*",
    "/",
    "%",
    "|",
    "#",
    "&",
    "~",
    "<<",
    ">>",
    "<",
    "<=",
    "=",
    "<>",
    "!=",
    "(",
    ")",
    ",",
    "case",
    "when",
    "then",
    "else",
    "end",
    "and",
    "or",
    "not",
    "is",
    "null",
    "true",
    "isnull",
    "random(",
    "random_zipfian(1, ",
    "random_gaussian(",
    "random_exponential(",
    "least(",
    "hash(",
    "int(",
    "sqrt(",
    "'",
    "\"",
    "`",
    "$$",
    "$x$",
    "/*",
    "*/",
    "--",
];
const N_SCRIPTS: usize = 10_000;
const N_TRANSACTIONS: usize = 5;

/// Parses `text` and, if that works, runs it; all errors must be printable.
fn exercise(text: &str, random: &mut dyn FnMut() -> u64) -> bool {
    let is_clean = |shown: String| {
        let is_fine = |c: char| c == '\n' || !c.is_control();
        assert!(shown.chars().all(is_fine), "{shown:?} of {text:?}");
    };
    let dialect = if random().is_multiple_of(2) { Dialect::Mysql } else { Dialect::Postgres };
    let script = match Script::parse("a\x1b.sql", text, dialect) {
        Ok(script) => script,
        Err(error) => {
            assert!(error.place.line() >= 1 && error.place.column() >= 1);
            is_clean(error.to_string());
            is_clean(error.hint().unwrap_or_default());
            return false;
        }
    };
    let definitions = vec![Definition::parse("y=word").expect("a name and a text")];
    let set = match ScriptSet::new(vec![(script, 1)], definitions) {
        Ok(set) => Arc::new(set),
        Err(error) => {
            is_clean(error.to_string());
            return false;
        }
    };
    let mut session = Session::new(Arc::clone(&set), PRESETS);
    let mut out = Vec::new();
    let mut n_done = 0;
    while n_done < N_TRANSACTIONS {
        match session.next(random) {
            Ok(Action::Send { statement_idx }) => {
                let written = session.write_sql(statement_idx, &mut out);
                let asked = session.parameters(statement_idx, &mut out, &mut |_| {});
                for error in [written.err(), asked.err()].into_iter().flatten() {
                    is_clean(error.to_string());
                }
            }
            Ok(Action::Done) => n_done += 1,
            Ok(_) => {}
            Err(error) => {
                is_clean(error.to_string());
                n_done += 1;
            }
        }
    }
    true
}

#[test]
fn survives_the_language_in_random_order() {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(2);
    let mut random = move || generator.next_u64();
    let mut n_good = 0;
    for _ in 0..N_SCRIPTS {
        let mut text = String::new();
        for _ in 0..random() % 25 {
            text.push_str(WORDS[(random() % WORDS.len() as u64) as usize]);
            text.push_str([" ", " ", "", "\n", ";\n"][(random() % 5) as usize]);
        }
        text.push_str("\nSELECT :x;");
        if random().is_multiple_of(2) {
            text.insert_str(0, "\\set x 5\n");
        }
        n_good += usize::from(exercise(&text, &mut random));
    }
    assert!(n_good > N_SCRIPTS / 100, "only {n_good} ran: the words are chosen badly");
}

#[test]
fn survives_expressions_in_random_order() {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(3);
    let mut random = move || generator.next_u64();
    let mut n_good = 0;
    for _ in 0..N_SCRIPTS {
        let text = format!("\\set x {}\nSELECT :x;", expression(3, &mut random));
        n_good += usize::from(exercise(&text, &mut random));
    }
    assert_eq!(n_good, N_SCRIPTS, "all of them are well formed");
}

/// Returns a well-formed expression, mostly with values that cause trouble.
fn expression(depth: u32, random: &mut dyn FnMut() -> u64) -> String {
    const VALUES: [&str; 12] = [
        "0",
        "1",
        "-1",
        "64",
        "1.5",
        "1e308",
        "null",
        "true",
        ":scale",
        "9223372036854775807",
        "(-9223372036854775808)",
        ":y",
    ];
    const OPERATORS: [&str; 14] = ["+", "-", "*", "/", "%", "|", "#", "&", "<<", ">>", "and", "or", "=", "<"];
    const FUNCTIONS: [(&str, u32); 13] = [
        ("abs", 1),
        ("int", 1),
        ("sqrt", 1),
        ("ln", 1),
        ("exp", 1),
        ("hash", 1),
        ("pow", 2),
        ("mod", 2),
        ("random", 2),
        ("least", 2),
        ("random_zipfian", 3),
        ("random_gaussian", 3),
        ("random_exponential", 3),
    ];
    let mut pick = |n: usize| (random() % n as u64) as usize;
    if depth == 0 {
        return VALUES[pick(VALUES.len())].to_owned();
    }
    let (kind, operator, function) = (pick(6), pick(OPERATORS.len()), pick(FUNCTIONS.len()));
    let mut inner = || expression(depth - 1, random);
    match kind {
        0 | 1 => format!("({}) {} ({})", inner(), OPERATORS[operator], inner()),
        2 => format!("-({}) is null", inner()),
        3 => format!("case when {} then {} else {} end", inner(), inner(), inner()),
        4 => format!("~({})", inner()),
        _ => {
            let (name, n_arguments) = FUNCTIONS[function];
            let arguments: Vec<String> = (0..n_arguments).map(|_| inner()).collect();
            format!("{name}({})", arguments.join(", "))
        }
    }
}

#[test]
fn survives_noise() {
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(4);
    let mut random = move || generator.next_u64();
    for _ in 0..N_SCRIPTS {
        let mut bytes = vec![0_u8; (random() % 40) as usize];
        bytes.fill_with(|| [random() as u8, b'\\', b'\'', b':', b'$', b'\n'][(random() % 6) as usize]);
        exercise(&String::from_utf8_lossy(&bytes), &mut random);
    }
}

#[test]
fn takes_long_and_deep_scripts() {
    let mut random = || 5;
    assert!(exercise(&format!("\\set x 1{}\na;", " + 1".repeat(100_000)), &mut random));
    assert!(exercise(&format!("{}a;{}", "\\if 1\n".repeat(20_000), "\\endif\n".repeat(20_000)), &mut random));
    assert!(exercise(&format!("a{};", " /**/".repeat(20_000)), &mut random));
    for (open, n) in [("(", 100_000), ("-", 100_000), ("not ", 100_000), ("abs(", 100_000), ("case when ", 100_000)] {
        assert!(!exercise(&format!("\\set x {}", open.repeat(n)), &mut random));
    }
    for open in ["/*", "'", "\\if 1\n", "$$ $x$ ", ":x", "\\set x \\\n"] {
        exercise(&open.repeat(50_000), &mut random);
    }
    assert!(!exercise(&"a".repeat((16 << 20) + 1), &mut random));
}

#[test]
fn reads_any_list_of_files() {
    for spec in ["", "@", "@@", ",@,", "a@99999999999999999999", "é@1", "\0"] {
        let _ = parse_spec(spec);
    }
}
