//! A block of Markdown for a pull request or an issue: figures and sentences, and below them the machine and the
//! command in a folded part.

mod reproduction;

use std::fmt::Write;

use looptax_model::record::Record;

use crate::format::Text;
use crate::words::command::CommandTable;
use crate::words::small_table::SmallTable;
use crate::words::table::{Table, Tail};
use crate::words::{self, Body, GroupStory};
pub use reproduction::reproduction_markdown;

/// Returns the record as Markdown for GitHub, GitLab and Forgejo. Ends with a line break.
pub fn markdown(record: &Record) -> String {
    let words = Text { is_unicode: true };
    let story = words::story_for(record, words);
    let mut text = String::new();
    for server in &story.servers {
        line(&mut text, &format!("### {}", escaped(&server.heading)));
        if let Some(own) = &server.ways {
            line(&mut text, &escaped(own));
        }
        for group in &server.groups {
            write_group(group, &mut text);
        }
    }
    for remedies in &story.remedies {
        write_small_table(&remedies.table, &mut text);
        for words in &remedies.sentences {
            let _ = writeln!(text, "- {}", escaped(words));
        }
        text.push('\n');
    }
    let run = &story.run;
    for words in run.verdicts.iter().chain(&run.problems) {
        let _ = writeln!(text, "- {}", escaped(words));
    }
    if let Some(words) = run.interrupted {
        let _ = writeln!(text, "- {}", escaped(words));
    }
    text.push('\n');
    write_machine(record, words, &mut text);
    text
}

fn line(text: &mut String, words: &str) {
    // Writing to a string cannot fail.
    let _ = write!(text, "{words}\n\n");
}

fn write_group(group: &GroupStory, text: &mut String) {
    match &group.body {
        Body::Requests { client, table, placement } => {
            line(text, &escaped(client));
            write_table(table, text);
            if let Some(words) = placement {
                line(text, &escaped(words));
            }
        }
        Body::Commands(commands) => {
            for it in commands {
                for words in &it.lines {
                    line(text, &escaped(words));
                }
                for table in &it.tables {
                    write_commands(table, text);
                }
            }
        }
    }
    for table in group.bills.iter().chain(&group.layers) {
        write_small_table(table, text);
    }
    for table in &group.hot {
        line(text, &escaped(&table.title));
        write_rows(&table.header, table.rows.iter().cloned(), text);
        line(text, table.closing);
    }
    for words in &group.sentences {
        line(text, &escaped(words));
    }
    for words in &group.notes {
        let _ = writeln!(text, "- {}", escaped(words));
    }
    text.push('\n');
}

fn write_small_table(table: &SmallTable, text: &mut String) {
    line(text, &escaped(&table.title));
    write_rows(&table.header, table.rows.iter().map(|row| row.to_vec()), text);
    if let Some(closing) = &table.closing {
        line(text, &escaped(closing));
    }
}

fn write_table(table: &Table, text: &mut String) {
    let header = header(&["connections", "placement"], &table.arms, &table.tax_header);
    let rows = table.rows.iter().map(|row| {
        let mut cells = vec![row.connections.clone(), row.placement.clone()];
        cells.extend(row.arms.iter().cloned());
        match &row.tail {
            Tail::Judged { tax, micros, verdict, .. } => cells.extend([tax.clone(), micros.clone(), verdict.clone()]),
            Tail::Open(words) => cells.push(words.clone()),
        }
        cells
    });
    write_rows(&header, rows, text);
    for row in &table.rows {
        for below in row.below.iter().filter(|it| !it.is_empty()) {
            let place = [&row.connections, &row.placement].map(|it| escaped(it)).join(" ");
            let _ = writeln!(text, "- {place}: {}", escaped(below));
        }
    }
}

fn write_commands(table: &CommandTable, text: &mut String) {
    let header = header(&[""], &table.arms, &table.tax_header);
    let rows = table.rows.iter().map(|row| {
        let mut cells = vec![row.label.to_owned()];
        cells.extend(row.arms.iter().cloned());
        cells.extend([row.tax.clone(), row.difference.clone()]);
        cells.extend(row.verdict.iter().map(|(words, _)| words.clone()));
        cells
    });
    write_rows(&header, rows, text);
}

/// Returns the header of a table whose rows compare arms.
fn header(first: &[&str], arms: &[String], tax: &str) -> Vec<String> {
    let first = first.iter().copied();
    let arms = arms.iter().map(String::as_str);
    let all = first.chain(arms).chain([tax, "", "verdict"]);
    all.map(str::to_owned).collect()
}

/// Writes the rows. If a row has fewer cells than the header, its last cells stay empty.
fn write_rows(header: &[String], rows: impl Iterator<Item = Vec<String>>, text: &mut String) {
    let mut write = |cells: &[String]| {
        let cells: Vec<String> =
            (0..header.len()).map(|idx| cells.get(idx).map(|cell| escaped(cell)).unwrap_or_default()).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    };
    write(header);
    write(&vec!["---".to_owned(); header.len()]);
    for row in rows {
        write(&row);
    }
    text.push('\n');
}

fn write_machine(record: &Record, words: Text, text: &mut String) {
    let host = &record.host;
    let _ = write!(text, "<details><summary>Machine and command</summary>\n\n");
    let mut fact = |name: &str, value: &str| {
        let _ = writeln!(text, "- {name}: {}", escaped(&words.clean(value)));
    };
    fact("kernel", &host.kernel);
    if let Some(model) = &host.cpu_model {
        fact("CPU", &format!("{model}, {} used", host.cpus));
    }
    if let Some(is_guest) = host.hypervisor {
        fact("virtual machine", if is_guest { "yes" } else { "no" });
    }
    fact("looptax", &record.looptax_version);
    fact("run", &format!("{}, {}", record.id, record.started_at));
    fact("seed", &record.seed.to_string());
    let command = record.command.join(" ");
    let _ = write!(text, "\n{}\n\n</details>\n", fenced(&words.clean(&command)));
}

/// Returns the code between two fences, which are longer than any fence inside the code.
fn fenced(code: &str) -> String {
    let mut fence = "```".to_owned();
    while code.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}\n{code}\n{fence}")
}

/// Escapes a text so that it contains no markup, no link and no mention.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' => {
                escaped.push('\\');
                escaped.push(c);
            }
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            // A mention would send a notification to a person.
            '@' => escaped.push_str("&#64;"),
            c => escaped.push(c),
        }
    }
    escaped
}
