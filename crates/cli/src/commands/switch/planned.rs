//! A plan in three forms: as it is shown, as it is saved, and as a patch.

use std::path::{Path, PathBuf};

use looptax_host::read;
use looptax_model::dsn::masked;
use looptax_model::failure::Failure;
use looptax_model::record::{Edit, FileRemarkCode, SwitchConnection, SwitchFate, SwitchOutcome, SwitchProof, Switched};
use looptax_switch::Plan;

use super::doing::Doing;
use crate::args::SwitchArgs;
use crate::failure::Exit;
use crate::terminal::{self, Terminal};

/// The kinds of server behind web servers. These servers have no list of sessions that could prove a move.
const BEHIND: [&str; 3] = ["php-fpm", "http", "uwsgi"];

/// Adds a reload in the form `COMMAND: EFFECT`. If the command is listed already, only the effect is added to it.
fn add_reload(all: &mut Vec<String>, words: String) {
    let (command, effect) = words.split_once(": ").unwrap_or((&words, ""));
    let is_same = |it: &&mut String| it.split_once(": ").is_some_and(|it| it.0 == command);
    if all.contains(&words) {
        return;
    }
    match all.iter_mut().find(is_same) {
        Some(earlier) => {
            earlier.push_str("; ");
            earlier.push_str(effect);
        }
        None => all.push(words),
    }
}

/// Returns the plan without passwords.
pub(super) fn switched(plan: &Plan, args: &SwitchArgs) -> Switched {
    let connections = plan.connections();
    let mut reload_words: Vec<String> = plan.reload.iter().cloned().collect();
    for it in &connections {
        let change = it.change_idx.and_then(|idx| it.check.changes.get(idx));
        let words = change.map(|it| it.restart.clone());
        if let Some(words) = words.filter(|it| !it.is_empty()) {
            add_reload(&mut reload_words, words);
        }
    }
    Switched {
        id: None,
        prepared: Vec::new(),
        files: plan.files.clone(),
        connections,
        unread: plan.unread.clone(),
        proof: SwitchProof {
            reload: args.reload.clone(),
            reload_words,
            can_follow: plan.can_follow,
            url: args.url.clone(),
            keeps_unproved: args.keep_unproved,
            within_s: args.within.as_secs_f64(),
        },
        steps: Vec::new(),
        requests: None,
        outcome: SwitchOutcome::NotDone,
    }
}

/// Returns the title in the list of switches: `wp-config.php: WordPress, mysql at 127.0.0.1:3306`.
pub(super) fn title(switched: &Switched, source: &str) -> String {
    let name = Path::new(source).file_name().unwrap_or_default();
    let moved = switched.connections.iter();
    let moved = moved.filter(|it| it.fate == SwitchFate::Moves).map(|it| {
        let check = &it.check;
        format!("{}, {} at {}", check.applications.join(" or "), check.product, check.place)
    });
    let moved: Vec<String> = moved.collect();
    format!("{}: {}", name.to_string_lossy(), moved.join("; "))
}

/// Whether all requested connections already use the socket.
pub(super) fn is_all_there(switched: &Switched) -> bool {
    let wanted = { switched.connections.iter() }.filter(|it| it.fate != SwitchFate::Unwanted);
    let mut fates = wanted.map(|it| it.fate).peekable();
    fates.peek().is_some() && fates.all(|it| it == SwitchFate::IsThere)
}

/// Fails if one of the files must not be written in its present state.
///
/// # Errors
/// Names the file, and says what to do.
pub(super) fn refuse_unwritable(switched: &Switched) -> Result<(), Failure> {
    for file in &switched.files {
        if let Some(remark) = file.remarks.iter().find(|it| it.forbids) {
            let hint = match remark.code {
                FileRemarkCode::RestartUnknown => "pass --restart='COMMAND', or print the lines with --patch",
                _ => "change the source that the file is generated from, or print the lines with --patch",
            };
            return Err(Failure::usage(format!("{} cannot be written: {}", file.path, remark.words), hint));
        }
    }
    Ok(())
}

/// Prints a hint if the file belongs to a web server: looptax changes it only together with the file of the upstream,
/// because no list of sessions can prove that a web server's connections moved.
pub(super) fn hint_at_pair(doing: Doing<'_>, switched: &Switched, file: &Path) {
    let is_behind = |it: &SwitchConnection| it.fate != SwitchFate::IsThere && BEHIND.contains(&&*it.check.product);
    if doing.args.other.is_none() && !doing.args.containers && switched.connections.iter().any(is_behind) {
        let words = format!(
            "hint: looptax changes a web server's file together with the file of its upstream: looptax switch SITE \
             POOL --url PAGE; `looptax check {} --socket PATH` shows the lines of both files\n",
            file.display()
        );
        doing.terminal.words_for(true, &words);
    }
}

/// Returns the lines in which two texts differ, without passwords.
pub(super) fn lines_between(before: &[u8], after: &[u8]) -> Vec<Edit> {
    let texts = [before, after].map(String::from_utf8_lossy);
    let patch = diffy::DiffOptions::new().set_context_len(0).create_patch(&texts[0], &texts[1]).to_string();
    // The first two lines are the names of both files. The `match` below also drops the lines that give the position of
    // each part.
    let lines = patch.lines().skip(2).filter_map(|line| {
        let (sign, text) = line.split_at_checked(1)?;
        let text = Some(masked(text));
        match sign {
            "-" => Some(Edit { line: None, before: text, after: None }),
            "+" => Some(Edit { line: None, before: None, after: text }),
            _ => None,
        }
    });
    lines.collect()
}

/// Prints the changes as a unified diff, byte for byte. The paths are relative to a folder, which is printed too; `git
/// apply` and `patch -p1` accept the diff in this folder.
pub(super) fn print_patch(plan: &Plan, terminal: Terminal) -> Result<Exit, Failure> {
    if plan.edited.is_empty() {
        return Err(Failure::usage(
            "there is nothing to write",
            "to see why, run the same command with --dry-run instead of --patch",
        ));
    }
    let folder = project(plan.edited.iter().map(|it| it.original.path()));
    for edited in &plan.edited {
        let path = edited.original.path();
        let shown = path.strip_prefix(&folder).unwrap_or(path).display().to_string();
        let before = if edited.original.is_absent() { "/dev/null".to_owned() } else { format!("a/{shown}") };
        let mut diff = diffy::DiffOptions::new();
        diff.set_original_filename(before).set_modified_filename(format!("b/{shown}"));
        let text = diff.create_patch_bytes(edited.original.bytes(), &edited.new).to_bytes();
        for (idx, line) in text.split_inclusive(|it| *it == b'\n').enumerate() {
            // A file name that contains a blank needs a tab after it; without the tab, the name would end at the blank.
            match line.strip_suffix(b"\n").filter(|it| idx < 2 && it[4..].contains(&b' ')) {
                Some(name) => terminal::bytes_as_data(&[name, b"\t\n"].concat())?,
                None => terminal::bytes_as_data(line)?,
            }
        }
    }
    terminal.words(&format!("for `git apply` or `patch -p1` in {}\n", folder.display()));
    Ok(Exit::Done)
}

/// Returns the folder of the repository that contains the files, otherwise the innermost folder that contains all of
/// them.
fn project<'a>(mut paths: impl Iterator<Item = &'a Path>) -> PathBuf {
    let folder = |it: &'a Path| it.parent().unwrap_or(it);
    let first = paths.next().map_or(Path::new("/"), folder);
    let common = paths.fold(first, |common, path| {
        let holds = |it: &&Path| path.starts_with(it);
        common.ancestors().find(holds).unwrap_or(Path::new("/"))
    });
    let repository = common.ancestors().find(|it| read::exists(&it.join(".git")));
    repository.unwrap_or(common).to_owned()
}
