//! `diff`: compares two runs, or two saved counts of `watch`.

use std::path::{Path, PathBuf};

use looptax_host::read;
use looptax_model::analysis::{diff, watched_diff};
use looptax_model::failure::Failure;
use looptax_report::terminal as report;
use looptax_store::{is_watched, load_watched};

use crate::args::DiffArgs;
use crate::earlier_runs::{is_run, record_of, saved_watch};
use crate::failure::Exit;
use crate::outputs::show;
use crate::terminal::Terminal;

pub(crate) fn run(args: &DiffArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let words = [&*args.before, &*args.after];
    match [watch_of(words[0])?, watch_of(words[1])?] {
        [Some(before), Some(after)] => {
            let (before, after) = (load_watched(&before)?, load_watched(&after)?);
            let diff = watched_diff((Some(words[0]), &before), (Some(words[1]), &after))?;
            show(&diff, &args.json, || report::watched_diff(&diff, terminal.style()))?;
        }
        [None, None] => {
            let (before, _) = record_of(words[0])?.told(terminal);
            let (after, _) = record_of(words[1])?.told(terminal);
            let diff = diff(&before, &after)?;
            show(&diff, &args.json, || report::diff(&diff, terminal.style()))?;
        }
        [one, _] => {
            let [watch, other] = if one.is_some() { words } else { [words[1], words[0]] };
            // If this word names nothing at all, `record_of` returns a more exact error.
            record_of(other)?;
            return Err(Failure::usage(
                format!("`{watch}` is a count that `looptax watch` saved, and `{other}` is not"),
                "compare two counts (`looptax watch --save NAME`) or two runs (`looptax show` lists them)",
            ));
        }
    }
    Ok(Exit::Done)
}

/// Returns the file of the saved count of `watch` that the word names, by name or by path; `None` if the word names no
/// such count.
fn watch_of(word: &str) -> Result<Option<PathBuf>, Failure> {
    let file = Path::new(word);
    if word.contains('/') || read::is_file(file) {
        return Ok(is_watched(file).then(|| file.to_owned()));
    }
    let Some(saved) = saved_watch(word).filter(|it| read::is_file(it)) else {
        return Ok(None);
    };
    if is_run(word) {
        return Err(Failure::usage(
            format!("`{word}` is both a run in the history and a count that `looptax watch` saved"),
            format!("pass the file of the count: {}", saved.display()),
        ));
    }
    Ok(Some(saved))
}
