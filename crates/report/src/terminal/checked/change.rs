//! The lines to change in an application's configuration, for copying.

use std::fmt::Write;

use looptax_model::record::{Change, CheckedConnection, Edit, PointCode, SwitchVerdict};

use crate::terminal::lines::fitted;
use crate::terminal::style::{Style, cleaned};

/// Returns the cleaned text, broken into lines of the terminal's width.
pub(in crate::terminal) fn wrapped(part: &str, style: Style) -> String {
    fitted(&cleaned(part, style), style.width)
}

/// Returns the lines for copying, which are never broken.
pub(in crate::terminal) fn change_of(answer: &CheckedConnection, change: &Change, style: Style) -> String {
    // If no server listens at the address, these lines are the repair, so the user does not have to repair anything
    // else first.
    let is_the_mend = answer.points.iter().any(|it| it.code == PointCode::ReachesNothing);
    let when = match answer.verdict {
        SwitchVerdict::WouldNotWork if !is_the_mend => "once that is fixed, ",
        _ => "",
    };
    let many = answer.changes.len() > 1;
    let whose = if many { format!(", if the application is {}", change.title) } else { String::new() };
    let place = match answer.line {
        Some(_) => answer.source.clone(),
        None => format!("the place that sets {} (unit, container, shell)", answer.source),
    };
    if change.edits.is_empty() && !change.advice.is_empty() {
        let rest = beyond(change, many, style);
        return wrapped(&format!("  do    {when}change {place}{whose}: {}\n", change.advice), style) + &rest;
    }
    let mut text = wrapped(&format!("  do    {when}change {place}{whose}:\n"), style);
    for edit in &change.edits {
        text += &cleaned(&edited(edit), style);
    }
    if !change.advice.is_empty() {
        text += &wrapped(&format!("        also: {}\n", change.advice), style);
    }
    text + &beyond(change, many, style)
}

/// Returns the lines about the steps after the change.
fn beyond(change: &Change, many: bool, style: Style) -> String {
    let mut rest = String::new();
    if !change.restart.is_empty() {
        let _ = writeln!(rest, "        then: {}", change.restart);
    }
    // If the application is not known, there would be too many traps to list.
    for trap in change.traps.iter().filter(|_| !many) {
        let _ = writeln!(rest, "        beware: {trap}");
    }
    if !change.is_read {
        let _ = writeln!(
            rest,
            "        how we know: from general knowledge of the application, not from its source code; try the \
            change on a copy"
        );
    }
    wrapped(&rest, style)
}

fn edited(edit: &Edit) -> String {
    let place = edit.line.map(|line| format!("line {line}, ")).unwrap_or_default();
    // A setting of several lines is shown in one line.
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
        (Some(before), None) => format!("        {place}remove      {}\n", flat(before)),
        (None, Some(after)) if edit.line.is_some() => {
            format!("        {place}add below   {}\n", flat(after))
        }
        (None, Some(after)) => format!("        set         {}\n", flat(after)),
        (None, None) => String::new(),
    }
}
