//! The option `--json` of every command: without a value it prints JSON, and `--json=FILE` writes JSON to a file.

use std::path::{Path, PathBuf};

use clap::Args;

/// The option `--json`.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct JsonArgs {
    /// Print JSON; --json=FILE prints the table and writes JSON to FILE.
    #[arg(
        id = "json",
        long = "json",
        value_name = "FILE",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = STDOUT
    )]
    file: Option<PathBuf>,
}

/// The value of an option that means stdout instead of a file.
const STDOUT: &str = "-";

impl JsonArgs {
    /// Returns the file for JSON, `-` for stdout; `None` without the option.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Whether JSON is printed instead of the text.
    pub(crate) fn is_printed(&self) -> bool {
        self.path() == Some(Path::new(STDOUT))
    }
}

/// Returns the word after `--json` if it was probably meant as the file for JSON. Earlier versions accepted the file as
/// a separate word.
pub(super) fn file_behind(words: &[String]) -> Option<&str> {
    let options = words.iter().take_while(|it| *it != "--");
    let at = { options }.position(|it| it == "--json")?;
    let next = words.get(at + 1)?;
    let is_file = next == STDOUT || Path::new(next).extension().is_some_and(|it| it == "json");
    is_file.then_some(&**next)
}

pub(super) fn advice(file: &str) -> String {
    let instead = match file {
        STDOUT => "`--json` prints".to_owned(),
        file => format!("`--json={file}` writes this file, `--json` prints"),
    };
    format!("`--json {file}`: --json needs an `=` before its file; {instead}")
}
