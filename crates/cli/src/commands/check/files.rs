//! The files that `check` names: each by itself, and those of a folder.

use std::path::{Path, PathBuf};

use looptax_advise::app::is_worth_reading;
use looptax_host::{read, source_tree};
use looptax_model::failure::Failure;
use looptax_switch::MOST_FILE_BYTES;

/// Files to read, and what is left out of a folder.
#[derive(Debug, Default)]
pub(super) struct SourceFiles {
    pub(super) files: Vec<SourceFile>,
    pub(super) left_out: Vec<String>,
}

#[derive(Debug)]
pub(super) struct SourceFile {
    pub(super) path: PathBuf,
    /// Whether it was named itself, so that it has to be readable.
    pub(super) is_named: bool,
}

impl SourceFiles {
    /// Finds them.
    ///
    /// # Errors
    /// That a folder cannot be read.
    pub(super) fn find(named: &[PathBuf]) -> Result<Self, Failure> {
        let mut found = Self::default();
        for path in named {
            if read::is_folder(path) {
                found.add_folder(path)?;
            } else {
                found.files.push(SourceFile { path: path.clone(), is_named: true });
            }
        }
        Ok(found)
    }

    fn add_folder(&mut self, folder: &Path) -> Result<(), Failure> {
        let tree = source_tree(folder, MOST_FILE_BYTES).map_err(|error| {
            let words = format!("cannot read `{}`: {error}", folder.display());
            Failure::usage(words, "run it as a user who may read it")
        })?;
        // Patterns are about whole paths: config/database.yml is there if `config` is the folder.
        let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let is_worth_it = |it: &PathBuf| is_worth_reading(&whole.join(it).to_string_lossy());
        let files = tree.files.into_iter().filter(is_worth_it);
        self.files.extend(files.map(|it| SourceFile { path: folder.join(it), is_named: false }));
        self.left_out.extend(tree.left_out);
        Ok(())
    }
}
