//! Configuration files as public repositories have them, and what is right for each: nothing wrong may be said.

use std::collections::BTreeMap;
use std::fmt::Write;

use looptax_advise::Takes;
use looptax_advise::app::Reading;
use serde::Deserialize;

use crate::apps::reading;

const TABLE: &str = include_str!("../collection/table.toml");
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

/// What is said, in the table's words.
fn said(reading: &Reading) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for found in &reading.found {
        let takes = match found.takes {
            Some(Takes::Unix) => "unix",
            Some(_) => "tcp",
            None => "open",
        };
        words.push(format!("{} {takes}", found.kind));
    }
    if !reading.sqlite.is_empty() {
        words.push("sqlite".to_owned());
    }
    words.sort();
    words
}

/// A claim that is not right is wrong; one that is missing, or left open where it is settled, is no answer.
fn verdict(said: &[String], right: &[String]) -> Verdict {
    if said == right {
        return Verdict::Answered;
    }
    let mut left = right.to_vec();
    for claim in said {
        let is_same = |it: &String| it == claim || is_weaker(claim, it);
        match left.iter().position(is_same) {
            Some(at) => drop(left.remove(at)),
            None => return Verdict::Wrong,
        }
    }
    Verdict::Unanswered
}

/// Whether a claim says no more than is right.
fn is_weaker(claim: &str, right: &str) -> bool {
    let kind = right.split(' ').next().unwrap_or_default();
    claim == "unknown open" || claim == format!("{kind} open")
}

fn judged() -> Vec<(File, Vec<String>, Verdict)> {
    let table: Table = toml::from_str(TABLE).unwrap();
    let files = table.file.into_iter().map(|mut file| {
        file.right.sort();
        let said = said(&reading(&file.path, file.text.as_bytes()));
        let verdict = verdict(&said, &file.right);
        (file, said, verdict)
    });
    files.collect()
}

/// The part of the page that is counted here.
fn counted(judged: &[(File, Vec<String>, Verdict)]) -> String {
    let mut groups: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for (file, _, verdict) in judged {
        let group = match file.right.first().map(String::as_str) {
            None => "name no server",
            Some("sqlite") => "SQLite alone",
            Some(_) if file.right.iter().all(|it| it.ends_with(" open")) => "leave it open",
            Some(_) => "name a server",
        };
        groups.entry(group).or_default()[*verdict as usize] += 1;
    }
    let mut text =
        String::from("| Files that | Answered | Wrong | Unanswered |\n|---|---|---|---|\n");
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

#[test]
fn nothing_wrong_is_said_of_files_out_of_public_repositories() {
    let judged = judged();
    let mut shown = String::new();
    for (file, said, verdict) in &judged {
        if *verdict != Verdict::Answered {
            let File { path, right, text } = file;
            writeln!(
                shown,
                "{verdict:?} {path}: {said:?}, right is {right:?}\n{text}"
            )
            .unwrap();
        }
    }
    let n = |wanted: Verdict| judged.iter().filter(|it| it.2 == wanted).count();
    println!("{shown}\n{}", counted(&judged));
    assert_eq!(n(Verdict::Wrong), 0, "{shown}");
    assert!(n(Verdict::Unanswered) * 20 <= judged.len(), "{shown}");
}

#[test]
fn the_page_has_what_is_counted() {
    let table = counted(&judged());
    assert!(PAGE.contains(&table), "the page has to have\n{table}");
}
