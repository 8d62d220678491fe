//! Finds the connections in a file's text, each with its position and with the text that `switch` would write there.
//!
//! Contacts no server and starts no program. The socket's path in a fix is therefore an assumption, and every message
//! states this assumption. The replacement text comes from the plan, shortened to the bytes that change. Called by the
//! command line.

use std::ops::Range;
use std::path::Path;

use looptax_advise::app::{self, Rewrite};
use looptax_model::dsn::{Secret, secrets_in};
use looptax_model::failure::Failure;
use looptax_model::record::{
    FileRemarkCode, Finding, FindingLevel, Point, PointCode, Region, Replacement, SourceFile, SwitchFate, TextPlace,
};

use crate::file::MOST_BYTES;
use crate::plan::{FileToSwitch, Plan, Planned, Wish};

/// The size of the largest file that is read.
pub const MOST_FILE_BYTES: u64 = MOST_BYTES;

/// Reads a file and finds its connections. `socket` is the value of `--socket`, `application` the value of `--as`;
/// `shown` is the file's path in messages.
///
/// # Errors
/// If the file cannot be read, or if no application has that name.
pub fn look_by_text(
    path: &Path,
    shown: &str,
    socket: Option<&Path>,
    application: Option<&str>,
) -> Result<SourceFile, Failure> {
    let file = FileToSwitch::read_only(Wish { application, socket, ..Wish::of(path) })?;
    let (text, encoding) = (file.content().content.clone(), file.content().encoding());
    if application.is_none() && !app::may_name_a_server(&path.to_string_lossy(), text.as_bytes()) {
        return Ok(SourceFile { uri: String::new(), encoding, findings: Vec::new() });
    }
    let plan = file.plan_by_text()?;
    // In source code, a connection that looptax guesses only from the names of variables may be anything else, so it is
    // not reported.
    let is_configuration = application.is_some() || app::is_configuration(&path.to_string_lossy());
    let told = plan.connections.iter().filter(|it| is_configuration || !it.found.is_known_by_names);
    let findings = told.filter_map(|it| finding(it, &plan, &text, shown)).collect();
    Ok(SourceFile { uri: String::new(), encoding, findings })
}

/// Returns the point that decides what is reported about the connection: a point about the destination, otherwise the
/// first point.
fn deciding(planned: &Planned) -> Option<&Point> {
    let points = &planned.found.checked.points;
    let is_place = |it: &&Point| {
        use PointCode as Code;
        matches!(
            it.code,
            Code::ServerElsewhere | Code::ServerInContainer | Code::LoopbackOfContainer | Code::FolderNotInContainer
        )
    };
    points.iter().find(is_place).or_else(|| points.first())
}

fn finding(planned: &Planned, plan: &Plan, text: &str, shown: &str) -> Option<Finding> {
    let found = &planned.found;
    let point = deciding(planned)?;
    let level = match point.code {
        // The server's own listening address is not a finding: the server's clients decide how they connect.
        _ if found.is_of_the_server => return None,
        PointCode::TakesSocket | PointCode::ServerElsewhere => return None,
        PointCode::ReachesNothing => FindingLevel::Error,
        PointCode::TakesTcp if !found.is_guessed => FindingLevel::Warning,
        _ => FindingLevel::Note,
    };
    let (fix, rest) = match point.code {
        PointCode::TakesTcp => match fix(planned, plan, text) {
            Ok((fix, socket)) => (fix, resting_on(&socket, shown)),
            Err(why) => (Vec::new(), format!("No fix: {why}")),
        },
        _ => (Vec::new(), point.next.clone().map(|it| format!("To find out: {it}")).unwrap_or_default()),
    };
    let rest = if rest.is_empty() { rest } else { format!(" {rest}.") };
    let message = format!("{}: {}.{rest}", title(planned), point.what.trim_end_matches('.'));
    Some(Finding { code: point.code, level, message, region: region(planned, text)?, fix })
}

/// Returns a title such as `WordPress, mysql at 127.0.0.1:3306`.
fn title(planned: &Planned) -> String {
    let checked = &planned.found.checked;
    let who = checked.applications.join(" or ");
    let label = if checked.label.is_empty() { String::new() } else { format!(" ({})", checked.label) };
    let place = if checked.place.is_empty() { String::new() } else { format!(" at {}", checked.place) };
    let who = if who.is_empty() { who } else { format!("{who}{label}, ") };
    format!("{who}{}{place}", checked.product)
}

fn resting_on(socket: &str, shown: &str) -> String {
    format!(
        "The fix assumes that the server has the socket {socket}, and that the server accepts this account over the \
         socket; looptax queried no server. To check both assumptions, run `looptax check {shown}` on the server's \
         machine. If the server has another socket, pass its path with --socket PATH"
    )
}

/// Returns the region of the connection's setting, or the connection's whole line if the setting starts in another
/// line.
fn region(planned: &Planned, text: &str) -> Option<Region> {
    let line = planned.found.checked.line?;
    let exact = planned.found.at.as_ref().and_then(|it| Region::of(text, it)).filter(|it| it.start.line == line);
    let at = |column| TextPlace { line, column };
    let columns = || text.split('\n').nth(line - 1).map(|it| it.trim_end_matches('\r').chars().count());
    exact.or_else(|| Some(Region { start: at(1), end: at(columns()? + 1) }))
}

/// Returns the text that `switch` would write for a connection, and the socket's path.
///
/// # Errors
/// The reason why there is no fix.
fn fix(planned: &Planned, plan: &Plan, text: &str) -> Result<(Vec<Replacement>, String), String> {
    let found = &planned.found;
    let Some(socket) = &found.socket else {
        return Err(format!("{} has no usual socket, and --socket PATH is not given", found.checked.product));
    };
    let moves = match (planned.fate, planned.change_idx) {
        (SwitchFate::Moves, Some(idx)) => found.moves.get(idx).and_then(Option::as_ref),
        (SwitchFate::WhichApplication, _) => {
            let may_be = match &*planned.may_be {
                [] => String::new(),
                titles => format!("; the application may be {}", titles.join(", ")),
            };
            return Err(format!(
                "looptax does not know which application reads this file; pass the application's name with --as \
                NAME{may_be}"
            ));
        }
        _ => None,
    };
    let moves = moves.ok_or_else(|| {
        let advice = found.checked.changes.first().map(|it| &*it.advice).filter(|it| !it.is_empty());
        let advice = advice.map(|it| format!(": {it}")).unwrap_or_default();
        format!("`looptax switch` does not make this change; make it by hand{advice}")
    })?;
    if !moves.variables.is_empty() {
        return Err(
            "this file takes the value from an environment variable; change it where the variable is set".to_owned()
        );
    }
    let written = plan.edited.iter().zip(&plan.files).find(|(edited, _)| !edited.original.is_absent());
    let Some((_, file)) = written else {
        return Err("`looptax switch` writes the value into a new file next to this file".to_owned());
    };
    if let Some(remark) = file.remarks.iter().find(|it| it.code == FileRemarkCode::Managed) {
        return Err(remark.words.clone());
    }
    let password = found.address.as_ref().and_then(|it| it.password.as_ref());
    let parts = moves.here.iter().map(|it| without_secrets(text, it));
    let parts = parts.collect::<Option<Vec<_>>>().map(|it| it.concat());
    let parts = parts.filter(|all| all.iter().all(|it| !holds(&it.text, password, socket)));
    let parts = parts.ok_or(
        "the new text contains a password, so looptax does not show the text; `looptax switch` writes the text",
    )?;
    let replacement = |it: Rewrite| Some(Replacement { region: Region::of(text, &it.at)?, text: it.text });
    let fix: Option<Vec<Replacement>> = parts.into_iter().map(replacement).collect();
    Ok((fix.ok_or("looptax cannot determine the line and the column of the text")?, socket.clone()))
}

/// Whether a new text contains a password; a password that is also part of the socket's path does not count.
fn holds(text: &str, password: Option<&Secret>, socket: &str) -> bool {
    let password = password.map(Secret::reveal).filter(|it| !it.is_empty());
    !secrets_in(text).is_empty() || password.is_some_and(|it| text.contains(it) && !socket.contains(it))
}

/// Splits a replacement at the secrets in the text, and returns the parts that change; `None` if the replacement
/// changes a secret.
fn without_secrets(text: &str, rewrite: &Rewrite) -> Option<Vec<Rewrite>> {
    let old = text.get(rewrite.at.clone())?;
    let new = &*rewrite.text;
    let (kept, again) = (secrets_in(old), secrets_in(new));
    if again.is_empty() {
        return Some(changed(old, new, rewrite.at.start).into_iter().collect());
    }
    let is_same = |(one, other): (&Range<usize>, &Range<usize>)| old[one.clone()] == new[other.clone()];
    if kept.len() != again.len() || !kept.iter().zip(&again).all(is_same) {
        return None;
    }
    let between = |secrets: &[Range<usize>], whole: usize| {
        let starts = std::iter::once(0).chain(secrets.iter().map(|it| it.end));
        let ends = secrets.iter().map(|it| it.start).chain([whole]);
        starts.zip(ends).map(|(start, end)| start..end).collect::<Vec<_>>()
    };
    let pairs = between(&kept, old.len()).into_iter().zip(between(&again, new.len()));
    Some(
        pairs
            .filter_map(|(one, other)| changed(&old[one.clone()], &new[other], rewrite.at.start + one.start))
            .collect(),
    )
}

/// Reduces two texts to the part in which they differ, without their common beginning and end. `start` is the offset of
/// `old` in the file.
fn changed(old: &str, new: &str, start: usize) -> Option<Rewrite> {
    if old == new {
        return None;
    }
    let same = |pairs: &mut dyn Iterator<Item = (char, char)>| -> usize {
        pairs.take_while(|(one, other)| one == other).map(|(it, _)| it.len_utf8()).sum()
    };
    let before = same(&mut old.chars().zip(new.chars()));
    let (old, new) = (&old[before..], &new[before..]);
    let behind = same(&mut old.chars().rev().zip(new.chars().rev()));
    let at = start + before..start + before + old.len() - behind;
    Some(Rewrite { at, text: new[..new.len() - behind].to_owned() })
}

#[cfg(test)]
mod tests {
    use looptax_advise::app::rewritten;

    use super::*;

    #[track_caller]
    fn check(old: &str, new: &str, expected: &[&str]) {
        let parts = without_secrets(old, &Rewrite { at: 0..old.len(), text: new.to_owned() }).unwrap();
        assert_eq!(parts.iter().map(|it| &*it.text).collect::<Vec<_>>(), expected);
        assert_eq!(rewritten(old, &parts).as_deref(), Some(new));
    }

    #[test]
    fn only_what_changes_around_a_secret_is_written() {
        check("'HOST': '127.0.0.1'", "'HOST': '/run/postgresql'", &["/run/postgresql"]);
        check("U=mysql://u:se@c@127.0.0.1/d", "U=mysql://u:se@c@localhost/d?socket=/s", &["localhost/d?socket=/s"]);
        check("r://:pw@127.0.0.1:6379/3", "unix://:pw@/s?db=3", &["unix", "/s?db="]);
        check("redis://:pw@127.0.0.1", "redis:///s?password=pw", &["/s?password=", ""]);
        check("a", "a", &[]);
        check("", "\nB=ü", &["\nB=ü"]);
    }

    #[test]
    fn a_secret_that_would_be_written_anew_has_no_parts() {
        let other = Rewrite { at: 0..21, text: "redis:///s?password=p%77".to_owned() };
        assert!(without_secrets("redis://:pw@127.0.0.1", &other).is_none());
    }
}
