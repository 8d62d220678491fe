//! `show --html` writes records as one page that loads nothing else. `show --publish` writes the figures of records for
//! a shared pool of results.

use std::path::{Path, PathBuf};

use looptax_fleet::{contribution, contribution_line};
use looptax_model::failure::Failure;
use looptax_model::record::Record;
use looptax_store::{Existing, save_text};

use crate::page::{Source, page};
use crate::terminal::{self, Terminal};

const HINT: &str = "pass unchanged records of `looptax compare` from one machine";

/// Writes the page of these records to a file, or prints it.
pub(super) fn write(sources: &[Source<'_>], path: &Path, terminal: Terminal) -> Result<(), Failure> {
    let mut notes = Vec::new();
    let text = page(sources, &mut notes);
    for note in notes {
        terminal.words(&format!("{note}\n"));
    }
    if path == Path::new("-") {
        terminal::data(&text)?;
    } else {
        save_text(&text, path, Existing::Replace)?;
        terminal.words(&format!("page: {}\n", path.display()));
    }
    Ok(())
}

/// Writes or prints the figures of the records for a shared pool of results.
pub(super) fn publish(records: &[(Record, PathBuf)], path: &Path, terminal: Terminal) -> Result<(), Failure> {
    let records: Vec<&Record> = records.iter().map(|(record, _)| record).collect();
    let (made, n_left_out) = contribution(&records).map_err(|error| Failure::usage(error.to_string(), HINT))?;
    let line = format!("{}\n", contribution_line(&made));
    if path == Path::new("-") {
        terminal::data(&line)?;
    } else {
        save_text(&line, path, Existing::Keep)?;
        terminal.words(&format!("published: {}, {} results\n", path.display(), made.results.len()));
    }
    if n_left_out > 0 {
        terminal.words(&format!("left out: {n_left_out} comparisons that use scripts, programs or applications\n"));
    }
    Ok(())
}
