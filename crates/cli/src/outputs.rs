//! The files that a command will write, checked before the command does anything.
//!
//! A run must not end with a result that cannot be written anywhere, and no file may replace another file that the same
//! command reads or writes.

use std::io;
use std::path::{Path, PathBuf};

use looptax_host::output::Output;
use looptax_host::{FileId, Links, Walk};
use looptax_model::failure::Failure;
use looptax_store::save_value;
use rustix::fs::FileType;
use serde::Serialize;

use crate::args::JsonArgs;
use crate::terminal;

#[derive(Default)]
pub(crate) struct Outputs {
    /// The option or word that names the file, and the file.
    files: Vec<(String, PathBuf)>,
    printed: Option<String>,
}

impl Outputs {
    /// Whether a machine format, such as JSON, is printed to stdout instead of the text.
    pub(crate) fn is_printed(&self) -> bool {
        self.printed.is_some()
    }

    /// Adds a file that the command reads, so that the command does not overwrite it.
    pub(crate) fn reads(mut self, path: &Path) -> Self {
        self.files.push(("the record".to_owned(), path.to_owned()));
        self
    }

    /// Adds the file that an option names, if the option was given; `-` means stdout.
    ///
    /// # Errors
    /// A usage failure if the file cannot be written, or if the same command already reads or writes it.
    pub(crate) fn writes(mut self, option: &str, path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else {
            return Ok(self);
        };
        if path.as_os_str() == "-" {
            if let Some(other) = self.printed.replace(option.to_owned()) {
                return Err(Failure::usage(
                    format!("{other} and {option} cannot both go to standard output"),
                    "write one of the two to a file",
                ));
            }
            return Ok(self);
        }
        check_place(option, path)?;
        if let Some((other, _)) = self.files.iter().find(|(_, it)| is_same(it, path)) {
            return Err(Failure::usage(
                format!("{option} would overwrite {other}: both are {}", path.display()),
                "choose a separate file for each",
            ));
        }
        self.files.push((option.to_owned(), path.to_owned()));
        Ok(self)
    }
}

/// Prints a result, either as text or as JSON. If the result is printed as text and the user named a file for JSON,
/// also writes the JSON to this file.
///
/// # Errors
/// If something cannot be written or printed. The text is printed even if the file cannot be written.
pub(crate) fn show(value: &impl Serialize, json: &JsonArgs, text: impl FnOnce() -> String) -> Result<(), Failure> {
    if json.is_printed() {
        terminal::json(value)?;
        return Ok(());
    }
    let saved = json.path().map_or(Ok(()), |path| save_value(value, path));
    terminal::data(&text())?;
    Ok(saved?)
}

fn check_place(option: &str, path: &Path) -> Result<(), Failure> {
    let problem = match Output::find(path) {
        Ok(output) if output.is_stream() || output.is_there() => return Ok(()),
        Ok(output) if output.folder().takes_files() => return Ok(()),
        Ok(_) => "the folder is not writable".to_owned(),
        Err(error) => match error.kind() {
            io::ErrorKind::IsADirectory => "it is a folder".to_owned(),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => "the folder does not exist".to_owned(),
            _ => error.to_string(),
        },
    };
    Err(Failure::usage(
        format!("{option} cannot be written to {}: {problem}", path.display()),
        "choose a file in a folder that you can write to",
    ))
}

/// Whether both paths lead to the same file. The file need not exist yet. A device never counts as the same file,
/// because two results may be written to one device.
fn is_same(one: &Path, other: &Path) -> bool {
    let end = |path: &Path| Walk::following(Links::All).to(path).ok();
    let (Some(one), Some(other)) = (end(one), end(other)) else {
        return false;
    };
    match (&one.last, &other.last) {
        (Some(its), Some(others)) => {
            let is_file = its.file_type() == FileType::RegularFile;
            is_file && FileId::from(&its.stat) == FileId::from(&others.stat)
        }
        (None, None) => one.path() == other.path(),
        _ => false,
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "files in a scratch folder")]
mod tests {
    use super::*;

    #[test]
    fn one_file_has_one_use_however_it_is_spelled() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("record.json"), "{}").unwrap();
        std::os::unix::fs::symlink(at("record.json"), at("link")).unwrap();
        std::fs::create_dir(at("folder")).unwrap();
        let reading = || Outputs::default().reads(&at("record.json"));
        let check = |path: PathBuf, words: &str| {
            let refused = reading().writes("--md", Some(&path)).err().unwrap();
            assert!(refused.to_string().contains(words), "{refused:?}");
        };
        check(at("record.json"), "overwrite the record");
        check(at("link"), "overwrite the record");
        check(at("folder/../record.json"), "overwrite the record");
        check(at("folder"), "it is a folder");
        check(at("nowhere/x"), "the folder does not exist");
        let both = |one: &Path, other: &Path| {
            let first = reading().writes("--md", Some(one)).unwrap();
            first.writes("--csv", Some(other)).err()
        };
        assert!(both(&at("new"), &at("folder/../new")).is_some());
        assert!(both(&at("new"), &at("newer")).is_none());
        assert!(both(Path::new("-"), Path::new("-")).is_some());
        assert!(both(Path::new("/dev/null"), Path::new("/dev/null")).is_none());
        assert!(reading().writes("--md", None).is_ok());
    }
}
