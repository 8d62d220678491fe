//! A file with noise in it is edited in the same way as the file without noise, and each byte of the noise stays.

use looptax_advise::app::{Found, Rewrite, rewritten};
use looptax_advise::{Fields, Takes};
use looptax_testkit::dice::Dice;

use crate::apps::{Case, cases, fields, reading};

/// The number of noisy copies of each application's file.
const COPIES: usize = 25;
/// A mark in each line of noise.
const MARK: &str = "NO1SE";

/// Words that people leave in comments: quotes, escapes, characters of other encodings, and settings that are commented
/// out.
const WORDS: [&str; 18] = [
    "'",
    "\"",
    "\\",
    "`",
    "é",
    "\u{85}",
    "ÿ",
    "日本",
    "DB_HOST=10.0.0.1",
    "host: 10.0.0.1",
    "define('DB_HOST', '10.0.0.1');",
    "mysql://x:y@10.0.0.1/z",
    "$",
    "#",
    ";",
    "=",
    "\t",
    "%s",
];

/// The text that begins a comment line in a file of this name, and the text that ends it; `None` if the format has no
/// comments.
fn comment(path: &str, text: &str) -> Option<(&'static str, &'static str)> {
    let name = path.rsplit('/').next().unwrap_or_default();
    Some(match name.rsplit('.').next().unwrap_or_default() {
        "json" => return None,
        "xml" => ("<!-- ", " -->"),
        "js" | "ts" | "mjs" | "cjs" => ("// ", ""),
        _ if text.contains("<?php") => ("// ", ""),
        "ini" => ("; ", ""),
        _ => ("# ", ""),
    })
}

/// A comment line with random words that do not end the comment.
fn noise(dice: &mut Dice, (start, end): (&str, &str)) -> String {
    let n_words = dice.below(5);
    let words: Vec<&str> = (0..n_words).map(|_| dice.one(&WORDS)).collect();
    format!("{start}{MARK} {}{end}", words.join(" "))
}

/// Returns the text, with lines of noise between its lines.
fn noisy(dice: &mut Dice, case: &Case) -> String {
    let text = &case.tcp;
    let comment = comment(&case.path, text);
    let is_xml = case.path.rsplit('.').next() == Some("xml");
    let mut lines: Vec<String> = Vec::new();
    let mut is_open = !text.contains("<?php");
    let mut may_stand = !is_xml;
    for line in text.lines() {
        if is_open && may_stand && dice.below(3) == 0 {
            match comment {
                Some(comment) => lines.push(noise(dice, comment)),
                None => lines.push(String::new()),
            }
        }
        lines.push(line.to_owned());
        is_open |= line.contains("<?php");
        // Between the lines of a value that continues on the next line, no comment is possible.
        may_stand = if is_xml { line.ends_with('>') } else { !line.ends_with('\\') };
    }
    let newline = dice.one(&["\n", "\r\n"]);
    let mut noisy = lines.join(newline);
    if text.ends_with('\n') || dice.below(2) == 0 {
        noisy.push_str(newline);
    }
    noisy
}

/// Returns the text without the noise.
fn quiet(noisy: &str) -> String {
    let lines = noisy.lines().filter(|it| !it.contains(MARK) && !it.trim().is_empty());
    lines.collect::<Vec<_>>().join("\n")
}

fn fields_of(found: &Found, kind: &str) -> Fields {
    let usual = fields(kind);
    let Some(address) = &found.address else {
        return usual;
    };
    Fields {
        user: address.user.clone(),
        password: address.password.as_ref().map(|it| it.reveal().to_owned()),
        database: address.database.clone(),
        port: address.port,
        ..usual
    }
}

/// For each connection and application, the changes, or `None` if nothing can be written.
fn edits(path: &str, text: &str) -> Vec<(String, Option<Vec<Rewrite>>)> {
    let mut all = Vec::new();
    for found in reading(path, text.as_bytes()).found {
        if matches!(found.takes, None | Some(Takes::Unix)) {
            continue;
        }
        let kind = found.kind;
        let rewrites = found.rewrites(&fields_of(&found, kind), text);
        for (title, rewrites) in found.titles.iter().zip(rewrites) {
            all.push((format!("{title} {}", found.label), rewrites));
        }
    }
    all
}

#[test]
fn noise_around_a_setting_changes_nothing_of_what_is_written_and_stays() {
    let mut dice = Dice::new(22);
    let mut n_edits = 0;
    let mut wrong = Vec::new();
    for case in cases() {
        let plain = edits(&case.path, &case.tcp);
        for _ in 0..COPIES {
            let text = noisy(&mut dice, &case);
            let found = edits(&case.path, &text);
            let names = |all: &[(String, Option<Vec<Rewrite>>)]| -> Vec<(String, bool)> {
                all.iter().map(|it| (it.0.clone(), it.1.is_some())).collect()
            };
            if names(&plain) != names(&found) {
                wrong.push(format!("{}: {:?} and not {:?} in\n{text}", case.app, names(&found), names(&plain)));
                break;
            }
            for ((name, plain), (_, found)) in plain.iter().zip(&found) {
                let (Some(plain), Some(found)) = (plain, found) else {
                    continue;
                };
                n_edits += 1;
                let expected = rewritten(&case.tcp, plain).unwrap();
                let new = rewritten(&text, found).unwrap();
                let lines_of_noise = |text: &str| -> Vec<String> {
                    let lines = text.split_inclusive('\n').filter(|it| it.contains(MARK));
                    lines.map(str::to_owned).collect()
                };
                let is_same = quiet(&new) == quiet(&expected) && lines_of_noise(&new) == lines_of_noise(&text);
                let is_dos = text.contains("\r\n");
                let keeps_ends = !is_dos || !new.replace("\r\n", "").contains('\n');
                if !is_same || !keeps_ends {
                    wrong.push(format!("{} {name}:\n{text:?}\nbecomes\n{new:?}\nand not\n{expected:?}", case.app));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {n_edits}\n{}",
        wrong.len(),
        wrong.iter().take(12).cloned().collect::<Vec<_>>().join("\n----\n")
    );
    assert!(n_edits > 3_000, "{n_edits}");
}
