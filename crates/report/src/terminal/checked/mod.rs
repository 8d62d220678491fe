//! The result of `looptax check`, for a terminal. Every name comes from outside and is cleaned.

use std::fmt::Write;

use looptax_record::{Change, Checked, CheckedConnection, Edit, Outcome, Point, SwitchVerdict};

use super::lines::fitted;
use super::style::{Style, cleaned};

/// All points, the lines to change, and what they come to; `unread` is what was not understood, with its place.
/// Ends with a line break.
pub fn checked(checked: &Checked, unread: &[String], style: Style) -> String {
    match checked {
        Checked::Address(found) => points(found, style) + &wrapped(&outcome(found), style),
        Checked::Connections(found) => connections(found, unread, style),
    }
}

fn wrapped(part: &str, style: Style) -> String {
    fitted(&cleaned(part, style), style.width)
}

/// Point by point. Statements stay whole, however long: they are there to be copied.
fn points(points: &[Point], style: Style) -> String {
    let mut text = String::new();
    for point in points {
        let word = match point.outcome {
            Outcome::Pass => "pass",
            Outcome::Note => "note",
            Outcome::Unknown => "open",
            Outcome::Fail => "FAIL",
        };
        text += &wrapped(
            &format!("{word}  {}: {}\n", point.topic.name(), point.what),
            style,
        );
        if let Some(next) = &point.next {
            let (first, statements) = next.split_once('\n').unwrap_or((next, ""));
            text += &wrapped(&format!("        do: {first}\n"), style);
            for statement in cleaned(statements, style).lines() {
                let _ = writeln!(text, "            {statement}");
            }
        }
        text += &wrapped(&format!("        how we know: {}\n", point.how), style);
    }
    text
}

/// What they come to.
fn outcome(points: &[Point]) -> String {
    let n = |outcome| points.iter().filter(|it| it.outcome == outcome).count();
    let (n_failed, n_open) = (n(Outcome::Fail), n(Outcome::Unknown));
    let counted = |n: usize| match n {
        1 => "1 point".to_owned(),
        n => format!("{n} points"),
    };
    match (n_failed, n_open) {
        (0, 0) => "the switch would work\n".to_owned(),
        (0, n) => format!(
            "nothing stands in the way that is known; open: {}\n",
            counted(n)
        ),
        (n, _) => format!(
            "the switch would not work as things are: {} to mend\n",
            counted(n)
        ),
    }
}

/// Connection by connection: heading, points, the lines to change.
fn connections(found: &[CheckedConnection], unread: &[String], style: Style) -> String {
    let mut text = String::new();
    for connection in found {
        text += &wrapped(&heading(connection), style);
        text += &points(&connection.points, style);
        for change in &connection.changes {
            text += &change_of(connection, change, style);
        }
        let is_switched = matches!(
            connection.verdict,
            SwitchVerdict::AlreadyThere | SwitchVerdict::NobodyThere
        );
        if !is_switched {
            text += &wrapped(&outcome(&connection.points), style);
        }
        text.push('\n');
    }
    for problem in unread {
        text += &wrapped(&format!("not understood: {problem}\n"), style);
    }
    text + &wrapped(&summary(found), style)
}

fn heading(answer: &CheckedConnection) -> String {
    let mut text = answer.source.clone();
    if let Some(line) = answer.line {
        let _ = write!(text, " line {line}");
    }
    let _ = write!(text, ": {}", answer.applications.join(" or "));
    if !answer.label.is_empty() {
        let _ = write!(text, " ({})", answer.label);
    }
    let whom = answer.product.as_str();
    if answer.applications.is_empty() {
        let _ = write!(text, "{whom}");
    } else {
        let _ = write!(text, ", {whom}");
    }
    if !answer.place.is_empty() {
        let _ = write!(text, " at {}", answer.place);
    }
    text + "\n"
}

/// Lines to be copied stay whole, however long.
fn change_of(answer: &CheckedConnection, change: &Change, style: Style) -> String {
    let has_failed = answer.verdict == SwitchVerdict::WouldNotWork;
    let when = if has_failed {
        "once that is mended, "
    } else {
        ""
    };
    let many = answer.changes.len() > 1;
    let whose = if many {
        format!(", if it is {}", change.title)
    } else {
        String::new()
    };
    let place = match answer.line {
        Some(_) => answer.source.clone(),
        None => format!("what sets {} (unit, container, shell)", answer.source),
    };
    let mut text = wrapped(&format!("do    {when}change {place}{whose}:\n"), style);
    for edit in &change.edits {
        text += &cleaned(&edited(edit), style);
    }
    let mut rest = String::new();
    if !change.advice.is_empty() {
        let _ = writeln!(rest, "        also: {}", change.advice);
    }
    if !change.restart.is_empty() {
        let _ = writeln!(rest, "        then: {}", change.restart);
    }
    // Where it is not known which application it is, those of all would be a wall of text.
    for trap in change.traps.iter().filter(|_| !many) {
        let _ = writeln!(rest, "        beware: {trap}");
    }
    if !change.is_read {
        let _ = writeln!(
            rest,
            "        how we know: generally known, not read in its source: try it on a copy"
        );
    }
    text + &wrapped(&rest, style)
}

fn edited(edit: &Edit) -> String {
    let place = edit
        .line
        .map(|line| format!("line {line}, "))
        .unwrap_or_default();
    // A setting of several lines is shown in one.
    let flat = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    match (&edit.before, &edit.after) {
        (Some(before), Some(after)) => {
            format!(
                "        {place}instead of  {}\n        write       {:indent$}{}\n",
                flat(before),
                "",
                flat(after),
                indent = place.len()
            )
        }
        (Some(before), None) => format!("        {place}take out    {}\n", flat(before)),
        (None, Some(after)) if edit.line.is_some() => {
            format!("        {place}add below   {}\n", flat(after))
        }
        (None, Some(after)) => format!("        set         {}\n", flat(after)),
        (None, None) => String::new(),
    }
}

/// All of them in a sentence.
fn summary(answers: &[CheckedConnection]) -> String {
    let n = |verdict| answers.iter().filter(|it| it.verdict == verdict).count();
    let words = [
        (SwitchVerdict::AlreadyThere, "on the socket already"),
        (SwitchVerdict::WouldWork, "would work"),
        (SwitchVerdict::Open, "open"),
        (SwitchVerdict::WouldNotWork, "would not work as things are"),
        (
            SwitchVerdict::NobodyThere,
            "point where nothing listens: are they in use?",
        ),
    ];
    let parts: Vec<String> = words
        .iter()
        .filter(|(verdict, _)| n(*verdict) > 0)
        .map(|(verdict, word)| format!("{} {word}", n(*verdict)))
        .collect();
    let counted = match answers.len() {
        1 => "1 connection".to_owned(),
        n => format!("{n} connections"),
    };
    format!("{counted}: {}\n", parts.join(", "))
}
