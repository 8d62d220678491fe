//! Published figures next to measured ones, as a page: tables and a drawing, without a script.

use looptax_model::record::{Reproduction, ReproductionPart};

use super::data::tone_word;
use super::head;
use super::markup::{Markup, TEXT};
use super::sweep::sweep;
use crate::words::reproduction::{ALSO, CLAIM_HEAD, ClaimStory, PartStory, head as machine, part_stories};

/// Returns one page with all parts of a reproduction; the page loads nothing.
pub fn reproduction_page(reproduction: &Reproduction) -> String {
    let mut out = Markup::default();
    out.verbatim("<!doctype html>\n").open("html", &[("lang", "en")]);
    head("looptax report", &mut out);
    out.open("body", &[]).open("header", &[]);
    out.element("p", &[("class", "brand")], "looptax reproduce");
    out.element("h1", &[], "Published and measured");
    out.element(
        "p",
        &[("class", "about")],
        "Published comparisons of TCP loopback with Unix sockets, measured again on one machine. The brackets \
         contain the 95 % interval; n is the number of epochs that the interval comes from.",
    );
    out.close("header").open("main", &[("id", "main"), ("class", "record")]);
    for line in machine(reproduction, TEXT) {
        out.element("p", &[("class", "machine")], &line);
    }
    let parts = part_stories(reproduction, TEXT);
    summary(&parts, &mut out);
    for (part, story) in reproduction.parts.iter().zip(&parts) {
        section(part, story, &mut out);
    }
    out.close("main").close("body").close("html");
    out.finish()
}

/// Writes all claims of all parts in one table.
fn summary(parts: &[PartStory], out: &mut Markup) {
    out.open("section", &[]);
    out.element("h2", &[], "All claims");
    out.table("All claims", |out| {
        let mut columns = vec!["publication", "claim"];
        columns.extend(&CLAIM_HEAD[1..]);
        columns.push("other differences");
        out.head(&columns).open("tbody", &[]);
        for part in parts {
            let published = part.claims.iter().filter(|it| it.is_published);
            for claim in published {
                let mut cells = vec![part.name.clone()];
                cells.extend(claim.cells.iter().cloned());
                cells.push(differences(claim));
                out.row(true, &cells);
            }
        }
        out.close("tbody");
    });
    out.close("section");
}

fn differences(claim: &ClaimStory) -> String {
    let also = claim.sentences.iter().filter(|(word, _)| *word == ALSO);
    also.map(|(_, sentence)| sentence.as_str()).collect::<Vec<_>>().join("; ")
}

fn section(measured: &ReproductionPart, part: &PartStory, out: &mut Markup) {
    out.open("section", &[]);
    out.element("h2", &[], &format!("{}: {}", part.name, part.title));
    for line in &part.about {
        out.element("p", &[("class", "note")], line);
    }
    if !part.claims.is_empty() {
        let claims: Vec<Vec<String>> = part.claims.iter().map(|it| it.cells.to_vec()).collect();
        table("Claims and measurements", &CLAIM_HEAD, &claims, out);
    }
    list(part.findings.iter().map(String::as_str), out);
    sweep(&measured.points, out);
    for (caption, head, rows) in part.tables() {
        table(caption, head, rows, out);
    }
    list(part.notes.iter().map(String::as_str), out);
    out.folded("Each claim: rates, times and reasons, and the proof that the work was done", |out| {
        for (claim, sentences) in part.claims_without_repeats() {
            details(claim, &sentences, out);
        }
    });
    out.folded("Commands that repeat the measurements", |out| {
        for command in &part.commands {
            out.element("p", &[], &format!("{} (run {})", command.what, command.run));
            out.element("pre", &[("tabindex", "0")], &command.line);
        }
    });
    out.close("section");
}

fn details(claim: &ClaimStory, sentences: &[(&str, &str)], out: &mut Markup) {
    let [what, arms, ..] = &claim.cells;
    out.open("div", &[("class", tone_word(claim.tone))]);
    out.element("h3", &[], &format!("{what} ({arms})"));
    let lines = sentences.iter();
    let lines: Vec<String> = lines.map(|(word, it)| format!("{word}: {it}")).collect();
    list(lines.iter().map(String::as_str), out);
    out.close("div");
}

fn table(caption: &str, head: &[&str], rows: &[Vec<String>], out: &mut Markup) {
    out.table(caption, |out| {
        out.head(head).open("tbody", &[]);
        for row in rows {
            out.row(true, row);
        }
        out.close("tbody");
    });
}

fn list<'a>(lines: impl Iterator<Item = &'a str>, out: &mut Markup) {
    out.open("ul", &[]);
    for line in lines {
        out.element("li", &[], line);
    }
    out.close("ul");
}
