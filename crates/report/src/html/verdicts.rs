//! The results: verdicts as figures and as sentences, the table, the notes.
//!
//! The texts come from the story of the record; only headings are written in this file.

use looptax_model::record::{Comparison, Record};

use super::charts::Charts;
use super::data::tone_word;
use super::markup::{Markup, TEXT};
use crate::words::answer::Answer;
use crate::words::command::{CommandRow, CommandTable};
use crate::words::hot::HotTable;
use crate::words::remedies::RemediesStory;
use crate::words::row::{judged, versus};
use crate::words::small_table::SmallTable;
use crate::words::table::{Row, Table, Tail};
use crate::words::{Body, GroupStory, RunWords, ServerStory, sentence};

/// Maximum number of verdicts that are shown as cards; if there are more, they become a list.
const MOST_CARDS: usize = 6;

/// Writes the results in short, one line per server, at the top of the page.
pub(super) fn answers(answers: &[Answer], out: &mut Markup) {
    if answers.is_empty() {
        return;
    }
    out.open("ul", &[("class", "answers")]);
    for answer in answers {
        let server = format!("{}:", answer.server);
        out.open("li", &[]).element("strong", &[], &server);
        for (idx, part) in answer.parts.iter().enumerate() {
            let end = if idx + 1 < answer.parts.len() { ";" } else { "" };
            let words = format!("{}{end}", part.words);
            out.element("span", &[("class", tone_word(part.tone))], &words);
        }
        out.close("li");
    }
    out.close("ul");
}

/// Writes the problems that concern the whole run.
pub(super) fn alarms(run: &RunWords, out: &mut Markup) {
    let alarms: Vec<&str> = run.problems.iter().map(String::as_str).chain(run.interrupted).collect();
    if !alarms.is_empty() {
        out.open("div", &[("class", "alarm"), ("role", "note")]);
        list(&alarms, out);
        out.close("div");
    }
}

/// Writes the explanations of the verdicts.
pub(super) fn run_words(run: &RunWords, out: &mut Markup) {
    out.open("div", &[("class", "run")]);
    list(&[&run.verdicts[..], &run.explained].concat(), out);
    out.close("div");
}

/// Writes the section of a server with a workload: verdicts, table, notes, charts.
pub(super) fn server(record: &Record, server: &ServerStory, charts: &mut Charts, out: &mut Markup) {
    out.open("section", &[("class", "server")]);
    out.element("h3", &[], &server.heading);
    if let Some(line) = &server.ways {
        out.element("p", &[("class", "note")], line);
    }
    let mut is_first = true;
    for group in &server.groups {
        cards(record, group, out);
        // Sampled comparisons come first, because a reader who ran `why` looks for their result.
        let is_sampled = |idx: &usize| !record.comparisons[*idx].why.is_empty();
        let folds = group.comparisons.iter().copied();
        let (before, after): (Vec<usize>, Vec<usize>) = folds.partition(is_sampled);
        for idx in before {
            charts.comparison(idx, is_first, out);
            is_first = false;
        }
        charts.group(group, out);
        match &group.body {
            Body::Requests { client, table, placement } => {
                requests_table(client, table, out);
                if let Some(line) = placement {
                    out.element("p", &[("class", "note")], line);
                }
            }
            Body::Commands(commands) => {
                for it in commands {
                    out.open("pre", &[("tabindex", "0")]).text(&it.lines.join("\n")).close("pre");
                    for table in &it.tables {
                        command_table(table, out);
                    }
                }
            }
        }
        for table in &group.bills {
            small_table(table, out);
        }
        for table in &group.hot {
            hot_table(table, out);
        }
        let notes = [group.facts.clone(), group.notes.clone()].concat();
        if !notes.is_empty() {
            out.open("div", &[("class", "notes")]);
            list(&notes, out);
            out.close("div");
        }
        for idx in after {
            charts.comparison(idx, is_first, out);
            is_first = false;
        }
    }
    out.close("section");
}

pub(super) fn remedies(all: &[RemediesStory], out: &mut Markup) {
    for remedies in all {
        out.open("section", &[("class", "server")]);
        small_table(&remedies.table, out);
        out.open("div", &[("class", "notes")]);
        list(&remedies.sentences, out);
        out.close("div").close("section");
    }
}

/// Writes the verdicts of a group as cards or, if there are many, as a list of sentences.
fn cards(record: &Record, group: &GroupStory, out: &mut Markup) {
    if group.sentences.len() > MOST_CARDS {
        out.open("div", &[("class", "sentences")]);
        let summary = format!("All {} verdicts, one sentence for each", group.sentences.len());
        out.folded(&summary, |out| list(&group.sentences, out));
        out.close("div");
        return;
    }
    let comparisons = group.comparisons.iter().map(|idx| &record.comparisons[*idx]);
    let taxes = comparisons.flat_map(|it| it.tax.iter().map(move |tax| (it, tax)));
    let sentences = group.sentences.iter().zip(taxes);
    out.open("div", &[("class", "cards")]);
    for (sentence, (comparison, tax)) in sentences {
        card(sentence, comparison, tax, out);
    }
    out.close("div");
}

fn card(sentence: &str, comparison: &Comparison, tax: &looptax_model::record::Tax, out: &mut Markup) {
    let words = judged(tax, comparison, TEXT);
    let class = format!("card {}", tone_word(words.tone));
    out.open("article", &[("class", &class)]);
    let place = format!("{} · {}", sentence::place(comparison, TEXT), versus(&tax.arm, &tax.baseline, TEXT));
    out.element("p", &[("class", "place")], &place);
    out.open("p", &[("class", "figure")]);
    // The interval is part of the figure's text, and is shown next to the value in a smaller size.
    match words.tax.split_once('[') {
        Some((value, interval)) => {
            out.element("strong", &[], value.trim_end());
            out.text(" ").element("span", &[], &format!("[{interval}"));
        }
        None => {
            out.element("strong", &[], &words.tax);
        }
    }
    out.text(" ").element("span", &[("class", "verdict")], &words.verdict).close("p");
    out.element("p", &[], sentence).close("article");
}

fn requests_table(client: &str, table: &Table, out: &mut Markup) {
    out.element("h4", &[("class", "client")], client);
    out.judged_table(client, |out| {
        let has_verdict = table.has_verdict();
        let mut head = vec!["connections", "placement"];
        head.extend(table.arms.iter().map(String::as_str));
        if has_verdict {
            head.extend([table.tax_header.as_str(), "per request", "verdict"]);
        } else {
            head.push("");
        }
        out.head(&head).open("tbody", &[]);
        for row in &table.rows {
            requests_row(row, &head, out);
        }
        out.close("tbody");
    });
}

fn small_table(table: &SmallTable, out: &mut Markup) {
    out.element("h4", &[("class", "client")], &table.title);
    out.table(&table.title, |out| {
        out.head(&table.header.each_ref().map(String::as_str)).open("tbody", &[]);
        for row in &table.rows {
            out.open("tr", &[]);
            for cell in row {
                out.element("td", &[], cell);
            }
            out.close("tr");
        }
        out.close("tbody");
    });
    if let Some(closing) = &table.closing {
        out.element("p", &[("class", "note")], closing);
    }
}

fn hot_table(table: &HotTable, out: &mut Markup) {
    out.element("h4", &[("class", "client")], &table.title);
    out.table(&table.title, |out| {
        let head: Vec<&str> = table.header.iter().map(String::as_str).collect();
        out.head(&head).open("tbody", &[]);
        for row in &table.rows {
            out.open("tr", &[]);
            out.element("th", &[("scope", "row")], &row[0]);
            for cell in &row[1..] {
                out.element("td", &[], cell);
            }
            out.close("tr");
        }
        out.close("tbody");
    });
    out.element("p", &[("class", "note")], table.closing);
}

fn requests_row(row: &Row, head: &[&str], out: &mut Markup) {
    let n_columns = head.len();
    out.open("tr", &[]);
    let connections = [("scope", "row"), ("data-label", head[0])];
    out.element("th", &connections, &row.connections);
    out.element("td", &[("data-label", head[1])], &row.placement);
    let mut head = head[2..].iter();
    let mut label = || ("data-label", head.next().copied().unwrap_or_default());
    for cell in &row.arms {
        out.element("td", &[("class", "number"), label()], cell);
    }
    match &row.tail {
        Tail::Judged { tax, micros, verdict, tone } => {
            out.element("td", &[("class", "number"), label()], tax);
            out.element("td", &[("class", "number"), label()], micros);
            out.element("td", &[("class", tone_word(*tone)), label()], verdict);
        }
        Tail::Open(words) => {
            let span = head.len().to_string();
            let span = span.as_str();
            out.element("td", &[("colspan", span), ("class", "open")], words);
        }
    }
    out.close("tr");
    let span = n_columns.to_string();
    for line in row.below.iter().filter(|it| !it.is_empty()) {
        out.open("tr", &[]).element("td", &[("colspan", &span), ("class", "open")], line).close("tr");
    }
}

fn command_table(table: &CommandTable, out: &mut Markup) {
    out.judged_table(&table.tax_header, |out| {
        let mut head = vec![""];
        head.extend(table.arms.iter().map(String::as_str));
        head.extend([table.tax_header.as_str(), "difference", "verdict"]);
        out.head(&head).open("tbody", &[]);
        for row in &table.rows {
            command_row(row, &head, out);
        }
        out.close("tbody");
    });
}

fn command_row(row: &CommandRow, head: &[&str], out: &mut Markup) {
    out.open("tr", &[]).element("th", &[("scope", "row")], row.label);
    let cells = row.arms.iter().chain([&row.tax, &row.difference]);
    for (cell, label) in cells.zip(&head[1..]) {
        out.element("td", &[("class", "number"), ("data-label", label)], cell);
    }
    match &row.verdict {
        Some((words, tone)) => {
            let cell = [("class", tone_word(*tone)), ("data-label", "verdict")];
            out.element("td", &cell, words)
        }
        None => out.element("td", &[], ""),
    };
    out.close("tr");
}

fn list<S: AsRef<str>>(lines: &[S], out: &mut Markup) {
    out.open("ul", &[]);
    for line in lines {
        out.element("li", &[], line.as_ref());
    }
    out.close("ul");
}
