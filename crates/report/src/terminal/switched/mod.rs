//! The output of `looptax switch`, for a terminal: the plan, each step, and the end; also the list of earlier switches.

mod list;
mod steps;

use std::fmt::Write;
use std::path::Path;

use looptax_advise::app::NOTHING_TO_DO;
use looptax_model::record::{
    Edit, Outcome, PointCode, SwitchConnection, SwitchFate, SwitchFile, SwitchProof, Switched, Topic,
};

use super::checked::change::{change_of, wrapped};
use super::checked::obstacles;
use super::style::{Style, cleaned};

pub use list::switches;
pub use steps::{is_failure, switch_end, switch_step};

/// Returns the plan: the connections, the lines, the checks, the consequences. Ends with a line break.
pub fn switch_plan(switched: &Switched, source: &str, style: Style) -> String {
    let mut text = headings(&switched.connections, source, style);
    for file in &switched.files {
        let is_only = switched.files.len() == 1;
        text += &lines_of(file, source, is_only, style);
    }
    for problem in &switched.unread {
        text += &wrapped(&format!("  not understood: {problem}\n"), style);
    }
    if !switched.files.is_empty() {
        let moved: Vec<&SwitchConnection> =
            { switched.connections.iter() }.filter(|it| it.fate == SwitchFate::Moves).collect();
        text += &looked_at(&moved, style);
        text += &what_follows(&moved, switched, style);
    }
    text
}

/// Returns one line for each connection, with the reason if the connection is not moved.
fn headings(connections: &[SwitchConnection], source: &str, style: Style) -> String {
    let name = Path::new(source).file_name().unwrap_or_default();
    let name = name.to_string_lossy();
    let mut text = String::new();
    if let [only] = connections {
        text += &wrapped(&format!("{name} ({}){}\n", title(only), why(only)), style);
        return text + &in_the_way(only, style);
    }
    text += &wrapped(&format!("{name}: {} connections\n", connections.len()), style);
    for it in connections {
        let fate = if it.fate == SwitchFate::Moves { ": moves".to_owned() } else { why(it) };
        let line = format!("  {}  {}{fate}\n", it.number, title(it));
        text += &wrapped(&line, style);
        text += &in_the_way(it, style);
    }
    text
}

/// Returns `WordPress, mysql at 127.0.0.1:3306, user wp`.
fn title(connection: &SwitchConnection) -> String {
    let check = &connection.check;
    let mut parts = vec![check.applications.join(" or ")];
    if !check.label.is_empty() {
        parts.push(check.label.clone());
    }
    let place = if check.place.is_empty() { String::new() } else { format!(" at {}", check.place) };
    parts.push(format!("{}{place}", check.product));
    parts.extend(connection.user.as_ref().map(|it| format!("user {it}")));
    parts.retain(|it| !it.is_empty());
    parts.join(", ")
}

/// Returns the reason why a connection is not moved.
fn why(connection: &SwitchConnection) -> String {
    match connection.fate {
        SwitchFate::Moves => String::new(),
        SwitchFate::IsThere => ": on the socket already".to_owned(),
        SwitchFate::Unwanted => ": unchanged, because of --only".to_owned(),
        SwitchFate::Blocked => ": stays, because the socket would not work at present".to_owned(),
        SwitchFate::Open => ": stays, because looptax cannot determine whether the socket would work".to_owned(),
        SwitchFate::WhichApplication => {
            let names = connection.may_be.iter();
            let names: Vec<String> = names.map(|it| format!("--as '{it}'")).collect();
            if names.is_empty() {
                return ": stays, because looptax knows no application with such a file: pass the application with \
                    --as NAME"
                    .to_owned();
            }
            format!(": which application is it? Pass {}", names.join(" or "))
        }
        SwitchFate::ByHand => ": write these lines yourself".to_owned(),
    }
}

fn in_the_way(connection: &SwitchConnection, style: Style) -> String {
    match connection.fate {
        SwitchFate::Blocked | SwitchFate::Open => obstacles(&connection.check.points, style),
        SwitchFate::ByHand => {
            { connection.check.changes.iter() }.map(|it| change_of(&connection.check, it, style)).collect()
        }
        _ => String::new(),
    }
}

/// Returns the changed lines as a diff. The name of the file is left out if the user passed this file and it is the
/// only one.
fn lines_of(file: &SwitchFile, source: &str, is_only: bool, style: Style) -> String {
    let mut text = String::new();
    if file.path != source || !is_only {
        text += &wrapped(&format!("  {}\n", file.path), style);
    }
    for edit in &file.lines {
        text += &cleaned(&diff_of(edit), style);
    }
    for remark in &file.remarks {
        let word = if remark.forbids { "FAIL" } else { "note" };
        let more = if remark.wants_a_word { "; looptax writes it only with --force" } else { "" };
        text += &labelled(word, &format!("{}{more}", remark.words), style);
    }
    text
}

/// Returns the lines that `--undo` would write into a file.
pub fn lines_back(path: &str, lines: &[Edit], style: Style) -> String {
    let lines = lines.iter().map(|it| cleaned(&diff_of(it), style));
    wrapped(&format!("  {path}\n"), style) + &lines.collect::<String>()
}

fn diff_of(edit: &Edit) -> String {
    let side = |sign: char, side: &Option<String>| {
        let lines = side.iter().flat_map(|text| text.lines());
        lines.fold(String::new(), |mut text, line| {
            let _ = writeln!(text, "  {sign} {}", line.trim_end());
            text
        })
    };
    side('-', &edit.before) + &side('+', &edit.after)
}

fn labelled(label: &str, words: &str, style: Style) -> String {
    wrapped(&format!("  {label:<7}  {words}\n"), style)
}

/// Returns the list of checks that have passed.
fn looked_at(moved: &[&SwitchConnection], style: Style) -> String {
    let telling = [Topic::Path, Topic::SameServer, Topic::Account, Topic::Login, Topic::Hba, Topic::Backlog];
    let (mut fine, mut notes): (Vec<String>, Vec<String>) = Default::default();
    for point in moved.iter().flat_map(|it| &it.check.points) {
        let (place, words) = match point.outcome {
            Outcome::Pass if telling.contains(&point.topic) => (&mut fine, point.what.clone()),
            Outcome::Note | Outcome::Unknown if !matches!(point.topic, Topic::Configuration | Topic::Losses) => {
                let mut words = format!("{}: {}", point.topic.name(), point.what);
                // Moving the connection does not remove this obstacle, so the plan shows the line that removes it.
                if let (PointCode::SessionsSealedOnSocket, Some(next)) = (point.code, &point.next) {
                    let _ = write!(words, "; {next}");
                }
                (&mut notes, words)
            }
            _ => continue,
        };
        if !place.contains(&words) {
            place.push(words);
        }
    }
    let mut text = String::new();
    if !fine.is_empty() {
        text += &labelled("checked", &fine.join("; "), style);
    }
    for note in notes {
        text += &labelled("note", &note, style);
    }
    text
}

fn what_follows(moved: &[&SwitchConnection], switched: &Switched, style: Style) -> String {
    let proof = &switched.proof;
    let back = if switched.files.len() == 1 { "the old file comes back" } else { "the old files come back" };
    let mut text = String::new();
    let changes = moved.iter().filter_map(|it| it.check.changes.get(it.change_idx?));
    let mut told: Vec<&str> = Vec::new();
    for change in changes {
        let advice = { [&change.advice] }.into_iter().map(|it| ("also", it));
        let traps = change.traps.iter().map(|it| ("beware", it));
        for (label, words) in advice.chain(traps) {
            if !words.is_empty() && !told.contains(&&**words) {
                told.push(words);
                text += &labelled(label, words, style);
            }
        }
    }
    let then = match &proof.reload {
        Some(command) => format!("{command} (by /bin/sh, as you)"),
        None if proof.reload_words.is_empty() => "reload the application".to_owned(),
        None if proof.reload_words.iter().all(|it| it.starts_with(NOTHING_TO_DO)) => proof.reload_words.join("; "),
        None => format!("{} (by you, or by --reload)", proof.reload_words.join("; ")),
    };
    text += &labelled("then", &then, style);
    let kept = if switched.files.len() == 1 { "the old file is kept" } else { "the old files are kept" };
    let undo = format!("looptax switch --undo last{} ({kept})", steps::way_back(switched));
    let undo = labelled("undo", &undo, style);
    let follows = proof.can_follow && proof.reload.is_some();
    let mut seen = { moved.iter() }.filter(|it| follows || !it.is_in_container()).peekable();
    if seen.peek().is_none() {
        let mut words =
            "none, and the new files stay in any case: the containers are created again, and looptax does not \
                         follow the application into its new container"
                .to_owned();
        if proof.can_follow {
            words += "; if you pass the command above with --reload, looptax follows it";
        }
        return text + &labelled("proof", &words, style) + &undo;
    }
    if moved.iter().all(|it| it.check.product == "php-fpm") {
        return text
            + &labelled("proof", &of_stack(proof), style)
            + &labelled("risk", &risk(proof, back), style)
            + &undo;
    }
    let whom: Vec<String> = seen.map(|it| it.user.clone().unwrap_or_else(|| "the application".to_owned())).collect();
    let page = { proof.url.as_ref() }.map_or_else(String::new, |url| format!("; {url} has to be as it is now"));
    let mut whom = whom;
    whom.dedup();
    let words = format!(
        "within {} s the server has to see {} over the socket, and no connection of the application over TCP{page}; {}",
        proof.within_s,
        whom.join(" and "),
        without(proof, back)
    );
    text + &labelled("proof", &words, style) + &labelled("risk", &risk(proof, back), style) + &undo
}

/// Returns what happens if the switch cannot be proved.
fn without(proof: &SwitchProof, back: &str) -> String {
    if proof.keeps_unproved {
        format!(
            "after a failure {back}; if there is neither a proof nor a failure, the new file stays (--keep-unproved)"
        )
    } else {
        format!("otherwise {back}")
    }
}

/// Returns for how long requests of other users may fail.
fn risk(proof: &SwitchProof, back: &str) -> String {
    match &proof.url {
        Some(url) => format!(
            "while programs read their files again, requests may fail; if {url} fails for some seconds, {back}; looptax \
             counts what failed"
        ),
        None => format!(
            "if the new file does not work, the application may fail until {back}, which can take {} s{}; with --url \
             PAGE looptax notices within seconds",
            proof.within_s,
            if proof.keeps_unproved { ", or until you undo it" } else { "" }
        ),
    }
}

/// Describes the proof for a web server and the servers behind it, which have no login.
fn of_stack(proof: &SwitchProof) -> String {
    let page = { proof.url.as_ref() }.map_or("the page of --url", |url| url);
    format!(
        "within {} s the kernel has to show connections to the upstream on the socket, and no connection at the port; \
         {page} has to be as it is now; {}",
        proof.within_s,
        without(proof, "both old files come back")
    )
}
