//! Published figures next to measured ones, as Markdown.

use std::fmt::Write;

use looptax_model::record::Reproduction;

use super::{escaped, line};
use crate::format::Text;
use crate::words::reproduction::{CLAIM_HEAD, PartStory, head, part_stories};

/// Returns a reproduction as Markdown for GitHub, GitLab and Forgejo. Ends with a line break.
pub fn reproduction_markdown(reproduction: &Reproduction) -> String {
    let words = Text { is_unicode: true };
    let mut text = String::new();
    for part in part_stories(reproduction, words) {
        write_part(&part, &mut text);
    }
    for words in head(reproduction, words) {
        let _ = writeln!(text, "- {}", escaped(&words));
    }
    text
}

fn write_part(part: &PartStory, text: &mut String) {
    line(text, &format!("### {}", escaped(&format!("{}: {}", part.name, part.title))));
    for words in &part.about {
        line(text, &escaped(words));
    }
    let claims: Vec<Vec<String>> = part.claims.iter().map(|it| it.cells.to_vec()).collect();
    table(&CLAIM_HEAD, &claims, text);
    for (_, head, rows) in part.tables() {
        table(head, rows, text);
    }
    for words in &part.findings {
        let _ = writeln!(text, "- {}", escaped(words));
    }
    for (claim, sentences) in part.claims_without_repeats() {
        let [what, arms, ..] = &claim.cells;
        let _ = writeln!(text, "- {}", escaped(&format!("{what} ({arms})")));
        for (word, sentence) in sentences {
            let _ = writeln!(text, "  - {word}: {}", escaped(sentence));
        }
    }
    for words in &part.notes {
        let _ = writeln!(text, "- {}", escaped(words));
    }
    text.push('\n');
    for command in &part.commands {
        let _ = writeln!(text, "    {}", command.line);
    }
    text.push('\n');
}

fn table(head: &[&str], rows: &[Vec<String>], text: &mut String) {
    if rows.is_empty() {
        return;
    }
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    text.push_str(&row(head.iter().map(|it| (*it).to_owned()).collect()));
    text.push_str(&row(head.iter().map(|_| "---".to_owned()).collect()));
    for cells in rows {
        text.push_str(&row(cells.iter().map(|cell| escaped(cell)).collect()));
    }
    text.push('\n');
}
