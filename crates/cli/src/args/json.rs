//! `--json`, the same for every command: alone it prints, with `=FILE` it writes.

use std::path::{Path, PathBuf};

use clap::Args;

/// The option.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct JsonArgs {
    /// Print JSON; --json=FILE writes it and prints the text.
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

/// The name of stdout among files.
const STDOUT: &str = "-";

impl JsonArgs {
    /// Where JSON goes, `-` for stdout; `None` without the option.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Whether JSON is printed in the text's place.
    pub(crate) fn is_printed(&self) -> bool {
        self.path() == Some(Path::new(STDOUT))
    }
}

/// The word behind a `--json` that was meant as its file, as far as that can be told: earlier versions took it so.
pub(super) fn file_behind(words: &[String]) -> Option<&str> {
    let options = words.iter().take_while(|it| *it != "--");
    let at = { options }.position(|it| it == "--json")?;
    let next = words.get(at + 1)?;
    let is_file = next == STDOUT || Path::new(next).extension().is_some_and(|it| it == "json");
    is_file.then_some(&**next)
}

pub(super) fn advice(file: &str) -> String {
    let instead = match file {
        STDOUT => "`--json` alone prints".to_owned(),
        file => format!("`--json={file}` writes there, `--json` alone prints"),
    };
    format!("`--json {file}`: the file of --json stands behind `=`: {instead}")
}
