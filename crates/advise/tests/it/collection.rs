//! Configuration files with the form of files in public repositories, with the right claims for each. looptax may make
//! no wrong claim.

use std::collections::BTreeMap;
use std::fmt::Write;

use looptax_advise::Takes;
use looptax_advise::app::{Found, Loopback, Reading, is_loopback};
use regex::Regex;
use serde::Deserialize;

use crate::apps::{fields, reading};

const TABLE: &str = include_str!("../collection/table.toml");
/// Files that were collected, with right claims found by hand, before the reader was tried with any of them.
const UNSEEN: &str = include_str!("../collection/unseen.toml");
/// More such files, collected after the reader was fixed with `UNSEEN`.
const LATER: &str = include_str!("../collection/later.toml");
/// More such files, collected after the rules of drivers were fixed. Those without an answer are still to be fixed.
const THIRD: &str = include_str!("../collection/third.toml");
const THIRD_RIGHT: usize = 144;
/// More such files, collected after the reader was fixed with `THIRD`.
const FOURTH: &str = include_str!("../collection/fourth.toml");
const FOURTH_RIGHT: usize = 47;
/// More such files, collected after the reader was fixed with `FOURTH`.
const FIFTH: &str = include_str!("../collection/fifth.toml");
const FIFTH_RIGHT: usize = 47;
/// More such files, collected after the reader was fixed with `FIFTH`.
const SIXTH: &str = include_str!("../collection/sixth.toml");
const SIXTH_RIGHT: usize = 42;
const PAGE: &str = include_str!("../../../../docs/src/results/switch.md");

#[derive(Deserialize)]
struct Table {
    file: Vec<File>,
}

#[derive(Deserialize)]
struct File {
    path: String,
    right: Vec<String>,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Answered,
    Wrong,
    Unanswered,
}

/// The claims of a reading, in the form of the collection.
fn said(reading: &Reading) -> Vec<String> {
    let whole = |it: &Found| claim_of(it) + &unspoken_place(it);
    let mut words: Vec<String> = reading.found.iter().map(whole).collect();
    if !reading.sqlite.is_empty() {
        words.push("sqlite".to_owned());
    }
    words.sort();
    words
}

/// The kind and the transport of a connection. If they are known, the place and `user/database` follow.
pub(crate) fn claim_of(found: &Found) -> String {
    let kind = found.kind;
    let Some(takes) = found.takes else {
        return format!("{kind} open");
    };
    let takes = if takes == Takes::Unix { "unix" } else { "tcp" };
    let Some(address) = &found.address else {
        return format!("{kind} {takes}");
    };
    // A container has its own loopback, and the file does not show which server listens there.
    let is_apart = found.inside.as_ref().is_some_and(|it| !matches!(it.loopback, Loopback::Machine));
    if is_apart && takes == "tcp" && address.host.as_deref().is_none_or(is_loopback) {
        return format!("{kind} open");
    }
    let or_dash = |it: &Option<String>| match it.as_deref() {
        None | Some("") => "-".to_owned(),
        Some(text) => text.to_owned(),
    };
    let place = match &address.socket {
        Some(path) => path.display().to_string(),
        None if takes == "unix" => "-".to_owned(),
        None => format!("{}:{}", or_dash(&address.host), address.port),
    };
    let (user, database) = (or_dash(&address.user), or_dash(&address.database));
    format!("{kind} {takes} {place} {user}/{database}")
}

/// The place of a server whose protocol looptax does not speak. `claim_of` leaves this place out.
fn unspoken_place(found: &Found) -> String {
    let (Some(it), None, Some(_)) = (&found.unspoken, &found.address, found.takes) else {
        return String::new();
    };
    let or_dash = |it: &Option<String>| it.clone().unwrap_or_else(|| "-".to_owned());
    let place = match &it.socket {
        Some(path) => path.display().to_string(),
        None => format!("{}:{}", or_dash(&it.host), it.port),
    };
    format!(" {place} {}/{}", or_dash(&it.user), or_dash(&it.database))
}

/// Compares the claims with the right claims. A claim that contradicts them is wrong. If a claim is missing, or open
/// although the file decides it, the file is unanswered.
fn verdict(said: &[String], right: &[String]) -> Verdict {
    let mut left = right.to_vec();
    let mut others = Vec::new();
    for claim in said {
        match left.iter().position(|it| is_same(claim, it)) {
            Some(at) => drop(left.remove(at)),
            None => others.push(claim),
        }
    }
    if others.is_empty() && left.is_empty() {
        return Verdict::Answered;
    }
    for claim in others {
        match left.iter().position(|it| is_weaker(claim, it)) {
            Some(at) => drop(left.remove(at)),
            None => return Verdict::Wrong,
        }
    }
    Verdict::Unanswered
}

/// Whether the claim has all parts of the right claim.
fn is_same(claim: &str, right: &str) -> bool {
    let mut claim = claim.split(' ');
    right.split(' ').all(|it| claim.next() == Some(it))
}

/// Whether a claim has no other parts than the right claim.
fn is_weaker(claim: &str, right: &str) -> bool {
    let kind = right.split(' ').next().unwrap_or_default();
    if claim == "unknown open" || claim == format!("{kind} open") {
        return true;
    }
    let parts = |text: &str| text.replace('/', " / ");
    let (claim, right) = (parts(claim), parts(right));
    let mut claim = claim.split(' ');
    let mut pairs = right.split(' ').map(|it| (claim.next(), it));
    pairs.all(|(said, right)| said.is_none_or(|it| it == right || it == "-"))
}

fn judged(table: &str) -> Vec<(File, Vec<String>, Verdict)> {
    let table: Table = toml::from_str(table).unwrap();
    let files = table.file.into_iter().map(|mut file| {
        file.right.sort();
        let said = said(&reading(&file.path, file.text.as_bytes()));
        let verdict = verdict(&said, &file.right);
        (file, said, verdict)
    });
    files.collect()
}

fn judged_all() -> Vec<(File, Vec<String>, Verdict)> {
    [TABLE, UNSEEN, LATER].into_iter().flat_map(judged).collect()
}

/// The part of the page that this test counts.
fn counted(judged: &[(File, Vec<String>, Verdict)]) -> String {
    let mut groups: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for (file, _, verdict) in judged {
        let group = match file.right.first().map(String::as_str) {
            None => "name no server",
            Some("sqlite") => "have only SQLite",
            Some(_) if file.right.iter().all(|it| it.ends_with(" open")) => "leave the answer open",
            Some(_) => "name a server",
        };
        groups.entry(group).or_default()[*verdict as usize] += 1;
    }
    let mut text = String::from("| Files that | Answered | Wrong | Unanswered |\n|---|---|---|---|\n");
    let mut total = [0; 3];
    for (group, counts) in groups {
        let [answered, wrong, unanswered] = counts;
        writeln!(text, "| {group} | {answered} | {wrong} | {unanswered} |").unwrap();
        for (sum, n) in total.iter_mut().zip(counts) {
            *sum += n;
        }
    }
    let [answered, wrong, unanswered] = total;
    writeln!(text, "| all | {answered} | {wrong} | {unanswered} |").unwrap();
    text
}

/// The files that are not answered, with the claims about them.
fn unanswered(judged: &[(File, Vec<String>, Verdict)]) -> String {
    let mut shown = String::new();
    for (file, said, verdict) in judged {
        if *verdict != Verdict::Answered {
            let File { path, right, text } = file;
            writeln!(shown, "{verdict:?} {path}: {said:?}, right is {right:?}\n{text}").unwrap();
        }
    }
    shown
}

#[test]
fn nothing_wrong_is_said_of_files_out_of_public_repositories() {
    let judged = judged_all();
    let shown = unanswered(&judged);
    let n = |wanted: Verdict| judged.iter().filter(|it| it.2 == wanted).count();
    println!("{shown}\n{}", counted(&judged));
    assert_eq!(n(Verdict::Wrong), 0, "{shown}");
    assert!(n(Verdict::Unanswered) * 20 <= judged.len(), "{shown}");
}

#[test]
fn no_fewer_of_the_latest_collections_are_read_right() {
    for (table, least) in [(THIRD, THIRD_RIGHT), (FOURTH, FOURTH_RIGHT), (FIFTH, FIFTH_RIGHT), (SIXTH, SIXTH_RIGHT)] {
        let judged = judged(table);
        let n = |wanted: Verdict| judged.iter().filter(|it| it.2 == wanted).count();
        let shown = unanswered(&judged);
        println!("{shown}");
        assert!(n(Verdict::Wrong) == 0 && n(Verdict::Answered) >= least, "{shown}");
    }
}

/// Patterns for the values of settings whose names mean a password or a secret, and for passwords in URLs.
const SECRETS: [&str; 2] = [
    r#"(?i)((?:pass|passwd|password|pwd|_pw|secret)["'\]\)]*\s*(?:=>|[:=,]|\s)\s*["']?)[A-Za-z0-9_.-]+"#,
    r#"(://[^:/@\s"']*:)[^@\s"'/$]+(?:@)"#,
];

#[test]
fn no_secret_of_any_file_is_in_what_is_to_be_shown() {
    let secrets = SECRETS.map(|it| Regex::new(it).unwrap());
    let directive = Regex::new("_pass(\\s+)qZ7mark").unwrap();
    let mut n_marked = 0;
    for table in [TABLE, UNSEEN, LATER, THIRD, FOURTH, FIFTH, SIXTH] {
        let table: Table = toml::from_str(table).unwrap();
        for file in table.file {
            let text = secrets[0].replace_all(&file.text, "${1}qZ7mark");
            let text = secrets[1].replace_all(&text, "${1}qZ7mark@");
            // Directives of nginx have names like `fastcgi_pass`, too, but their values are addresses.
            let text = directive.replace_all(&text, "_pass${1}h");
            n_marked += usize::from(text.contains("qZ7"));
            let reading = reading(&file.path, text.as_bytes());
            for it in &reading.found {
                let mut shown = fields(it.kind);
                shown.password = Some("****".to_owned());
                let address = it.address.as_ref().map(|it| format!("{:?}", it.host));
                let words = (it.changes(&shown), &it.why, &it.titles, &it.label, &it.service, &it.credentials, address);
                assert!(!format!("{words:?}").contains("qZ7"), "{}: {words:?}", file.path);
            }
            assert!(!format!("{:?}", reading.problems).contains("qZ7"), "{}", file.path);
        }
    }
    assert!(n_marked > 250, "{n_marked}");
}

#[test]
fn the_page_has_what_is_counted() {
    let table = counted(&judged_all());
    assert!(PAGE.contains(&table), "the page has to have\n{table}");
}
