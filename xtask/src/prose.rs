//! `cargo xtask prose`: finds phrases that have to be read twice, and suggests a plainer phrase for each.
//!
//! Looks for the phrases of data/prose.toml in pages, comments and strings. Each area may have as many phrases as its
//! number in that file; more are a failure, and the number may only be lowered. Changes no file.

mod pages;
mod passage;
mod rules;
mod rust;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::docs::is_made;
use crate::workspace;
use passage::Kind;
use rules::{Area, Phrases};

/// Characters between sentences, with which a match may begin or end.
const BETWEEN: [char; 4] = [' ', '.', ';', ':'];
/// Longest part of a match that is printed, in characters.
const MOST_SHOWN: usize = 60;

/// A phrase in a file.
struct Finding {
    area_idx: usize,
    rule_idx: usize,
    words: String,
    place: String,
}

/// Fails if an area has more phrases than it may have. Prints all phrases of the areas and files in `shown`, and a table
/// of rules if `with_counts`.
pub(crate) fn run(shown: &[String], with_counts: bool) -> Result<()> {
    let root = workspace::root()?;
    let phrases = Phrases::read(&fs::read_to_string(root.join("xtask/data/prose.toml"))?)?;
    let (_, texts) = workspace::texts(&root)?;
    let mut findings = Vec::new();
    for (path, text) in &texts {
        findings.extend(findings_of(&phrases, path, text).with_context(|| format!("cannot read {path}"))?);
    }
    for finding in &findings {
        let area = &phrases.areas[finding.area_idx].name;
        if shown.iter().any(|it| it == area || finding.place.starts_with(it.as_str())) {
            println!("{}", sentence(&phrases, finding));
        }
    }
    if with_counts {
        print_counts(&phrases, &findings);
    }
    judge(&phrases, &findings)
}

fn findings_of(phrases: &Phrases, path: &str, text: &str) -> Result<Vec<Finding>> {
    let kind = Path::new(path).extension().and_then(|it| it.to_str());
    if is_made(path) || !phrases.areas.iter().any(|it| it.has_path(path)) {
        return Ok(Vec::new());
    }
    let passages = match kind {
        Some("md") => pages::passages(text, 1, Kind::Pages),
        Some("rs") => rust::passages(path, text)?,
        _ => return Ok(Vec::new()),
    };
    let mut found = Vec::new();
    for passage in &passages {
        let Some(area_idx) = phrases.areas.iter().position(|it| it.has(path, passage.kind)) else {
            continue;
        };
        for (rule_idx, range) in phrases.matches(&phrases.areas[area_idx], &passage.text, passage.is_heading) {
            let matched = &passage.text[range.clone()];
            let words = matched.trim_start_matches(BETWEEN);
            let place = format!("{path}:{}", passage.line(range.end - words.len()));
            let words: String = words.trim_end_matches(BETWEEN).chars().take(MOST_SHOWN).collect();
            found.push(Finding { area_idx, rule_idx, words, place });
        }
    }
    Ok(found)
}

fn sentence(phrases: &Phrases, finding: &Finding) -> String {
    let rule = &phrases.rules[finding.rule_idx];
    format!("{}: \"{}\": say: {} ({})", finding.place, finding.words, rule.say, rule.because)
}

/// Prints how many phrases each area still has, and fails if an area has more than it may have.
fn judge(phrases: &Phrases, findings: &[Finding]) -> Result<()> {
    let mut objections = Vec::new();
    for (area_idx, area) in phrases.areas.iter().enumerate() {
        let of_area: Vec<&Finding> = findings.iter().filter(|it| it.area_idx == area_idx).collect();
        println!("{}", state(area, of_area.len()));
        if of_area.len() > area.left {
            objections.push(format!("{}: {} phrases, {} at most", area.name, of_area.len(), area.left));
            objections.extend(of_area.into_iter().map(|it| sentence(phrases, it)));
        }
    }
    if objections.is_empty() {
        return Ok(());
    }
    bail!("write these phrases in plainer words:\n  {}", objections.join("\n  "));
}

fn state(area: &Area, n_found: usize) -> String {
    let advice = match n_found.cmp(&area.left) {
        std::cmp::Ordering::Less => format!("; write `left = {n_found}` into xtask/data/prose.toml"),
        std::cmp::Ordering::Equal => String::new(),
        std::cmp::Ordering::Greater => format!("; at most {}", area.left),
    };
    format!("{:<14}{n_found:>6} left{advice}", area.name)
}

fn print_counts(phrases: &Phrases, findings: &[Finding]) {
    let heads: Vec<String> = phrases.areas.iter().map(|it| format!("{:>14}", it.name)).collect();
    println!("{}  phrase", heads.concat());
    for (rule_idx, rule) in phrases.rules.iter().enumerate() {
        let count = |area_idx| findings.iter().filter(|it| (it.area_idx, it.rule_idx) == (area_idx, rule_idx)).count();
        let cells: Vec<String> = (0..phrases.areas.len()).map(|it| format!("{:>14}", count(it))).collect();
        println!("{}  {}", cells.concat(), rule.find);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: &str = "
[[rule]]
find = '\\bis no\\b'
except = ['\\bthere is no\\b']
say = 'is not a'
because = 'plain'
[[rule]]
find = '(^|[.] )what [^?.]*(\\.|$)'
say = 'a noun'
because = 'plain'
sentences = true
[[rule]]
find = 'contrast'
say = 'pair'
because = 'glossary'
glossary = true
[[area]]
name = 'help'
of = ['comments', 'strings']
paths = ['crates/cli/src/args']
left = 0
[[area]]
name = 'pages'
of = ['pages']
paths = ['README.md', 'docs/']
left = 1
[[area]]
name = 'strings'
of = ['strings']
paths = ['crates/']
left = 0
[[area]]
name = 'comments'
of = ['comments']
paths = ['crates/wire/src/']
without_glossary = true
left = 0
";

    #[track_caller]
    fn check(path: &str, text: &str, expected: &[&str]) {
        let phrases = Phrases::read(DATA).unwrap();
        let found = findings_of(&phrases, path, text).unwrap();
        let found: Vec<String> = found.iter().map(|it| sentence(&phrases, it)).collect();
        assert_eq!(found.len(), expected.len(), "{found:#?}");
        for (finding, words) in found.iter().zip(expected) {
            assert!(finding.starts_with(words), "`{finding}` does not start with `{words}`");
        }
    }

    #[test]
    fn finds_phrases_in_the_prose_of_a_page() {
        check("README.md", "# A\n\nOne.\nThis is\nno server.\n", &["README.md:4: \"is no\": say: is not a (plain)"]);
        check("README.md", "There is no server, `is no`, \"it is no\" [a](is-no).\n\n    is no\n", &[]);
        check("README.md", "| a |\n|---|\n| it is no b |\n", &["README.md:3: \"is no\""]);
        check("README.md", "# What it is\n\nWhat is it?\n", &[]);
        check("docs/a.md", "Words. What\nit is.\n", &["docs/a.md:1: \"What it is\""]);
        for elsewhere in ["METHOD.md", "docs/man/a.md"] {
            check(elsewhere, "It is no server.\n", &[]);
        }
    }

    #[test]
    fn finds_phrases_in_comments_and_strings_of_rust() {
        let text = "//! A room.\n\n/// One.\n/// This is no `server`.\nconst A: &str = \"it \\\n    is no server\";\n\
                    #[cfg(test)]\nmod tests {\n    const B: &str = \"it is no server\";\n}\n";
        let (comment, string) = ("crates/cli/src/args.rs:4: \"is no\"", "crates/cli/src/args.rs:5: \"is no\"");
        check("crates/cli/src/args.rs", text, &[comment, string]);
        let (comment, string) = ("crates/wire/src/a.rs:4: \"is no\"", "crates/wire/src/a.rs:5: \"is no\"");
        check("crates/wire/src/a.rs", text, &[comment, string]);
        check("crates/wire/tests/it/a.rs", text, &[]);
    }

    #[test]
    fn finds_synonyms_of_the_glossary_except_in_areas_without_it() {
        let text = "/// A contrast.\nconst A: &str = \"a contrast\";\n";
        check("crates/wire/src/a.rs", text, &["crates/wire/src/a.rs:2: \"contrast\": say: pair (glossary)"]);
    }

    #[test]
    fn an_area_may_keep_what_it_has_and_no_more() {
        let phrases = Phrases::read(DATA).unwrap();
        let found = |text| findings_of(&phrases, "README.md", text).unwrap();
        assert!(judge(&phrases, &found("It is no a.")).is_ok());
        let error = judge(&phrases, &found("It is no a. It is no b.")).expect_err("one too many");
        assert!(error.to_string().contains("pages: 2 phrases, 1 at most\n  README.md:1"), "{error}");
        assert_eq!(
            state(&phrases.areas[1], 0),
            "pages              0 left; write `left = 0` into xtask/data/prose.toml"
        );
    }
}
