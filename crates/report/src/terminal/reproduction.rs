//! Published figures next to measured ones, for a terminal.

use looptax_model::record::Reproduction;

use super::columns::Table;
use super::lines::Lines;
use super::style::{LEAST_WIDTH, Style};
use crate::words::reproduction::{CLAIM_HEAD, ClaimStory, PartStory, head, part_stories};

/// Returns the text of `looptax reproduce`; `path` is the file with the saved result, if it was saved. Ends with a line
/// break.
pub fn reproduction(reproduction: &Reproduction, path: Option<&str>, style: Style) -> String {
    let style = Style { width: style.width.max(LEAST_WIDTH), ..style };
    let text = style.text();
    let mut lines = Lines::new(style);
    let parts = part_stories(reproduction, text);
    for part in &parts {
        write_part(part, &mut lines);
    }
    if parts.len() > 1 {
        write_all(&parts, &mut lines);
    }
    for line in head(reproduction, text) {
        lines.item(0, &line);
    }
    if let Some(path) = path {
        lines.verbatim(&format!("result: {}", text.clean(path)));
    }
    lines.finish()
}

fn write_part(part: &PartStory, lines: &mut Lines) {
    lines.heading(0, &format!("{}: {}", part.name, part.title));
    for line in &part.about {
        lines.item(2, line);
    }
    lines.blank();
    if !part.claims.is_empty() {
        let rows = part.claims.iter().map(|claim| claim.cells.to_vec());
        Table::new(&CLAIM_HEAD, rows.collect()).write(lines);
        lines.blank();
    }
    for line in &part.findings {
        lines.item(2, line);
    }
    for (_, header, rows) in part.tables() {
        lines.blank();
        Table::new(header, rows.to_vec()).write(lines);
    }
    if !part.claims.is_empty() {
        lines.blank();
    }
    for (claim, sentences) in part.claims_without_repeats() {
        write_claim(claim, &sentences, lines);
    }
    for line in &part.notes {
        lines.item(2, line);
    }
    for command in &part.commands {
        lines.item(2, &format!("to repeat: {} (run {})", command.what, command.run));
        lines.verbatim(&format!("    {}", command.line));
    }
    lines.blank();
}

/// Writes the published figures of all parts at the end, so that they stay visible on the screen.
fn write_all(parts: &[PartStory], lines: &mut Lines) {
    let [_, _, published, measured, verdict] = CLAIM_HEAD;
    let mut rows = Vec::new();
    for part in parts {
        for claim in part.claims.iter().filter(|it| it.is_published) {
            let [what, _, published, measured, verdict] = &claim.cells;
            let what = format!("{}: {what}", part.name);
            rows.push([&what, published, measured, verdict].map(String::clone).to_vec());
        }
    }
    lines.heading(0, "all claims");
    Table::new(&["", published, measured, verdict], rows).write(lines);
    lines.blank();
}

fn write_claim(claim: &ClaimStory, sentences: &[(&str, &str)], lines: &mut Lines) {
    let [what, arms, ..] = &claim.cells;
    lines.item(2, &format!("{what} ({arms})"));
    for (word, sentence) in sentences {
        lines.item(4, &format!("{word}: {sentence}"));
    }
}
