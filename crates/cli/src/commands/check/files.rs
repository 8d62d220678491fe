//! The files that `check` reads: the files that the user named, and the files in the folders that the user named.

use std::path::{Path, PathBuf};

use looptax_advise::app::{is_worth_reading, may_name_a_server};
use looptax_host::{read, source_tree};
use looptax_model::failure::Failure;
use looptax_switch::MOST_FILE_BYTES;

/// The files to read, and the parts of folders that were left out.
#[derive(Debug, Default)]
pub(super) struct SourceFiles {
    pub(super) files: Vec<SourceFile>,
    pub(super) left_out: Vec<String>,
}

#[derive(Debug)]
pub(super) struct SourceFile {
    pub(super) path: PathBuf,
    /// Whether the user named this file itself; if so, it is an error if the file cannot be read.
    pub(super) is_named: bool,
}

impl SourceFile {
    /// Whether the file is one of a folder's many files whose text cannot name a server. This check is much faster than
    /// reading the file's connections, for which looptax also reads files beside it and in the folders above.
    pub(super) fn is_without_server(&self) -> bool {
        let bytes = || read::read(&self.path, MOST_FILE_BYTES).ok();
        !self.is_named && bytes().is_some_and(|it| !may_name_a_server(&self.path.to_string_lossy(), &it))
    }
}

impl SourceFiles {
    /// Finds the files to read.
    ///
    /// # Errors
    /// If a folder cannot be read.
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
            Failure::usage(words, "run looptax as a user who may read the file")
        })?;
        // The patterns match whole paths. If `folder` is a folder `config`, its file database.yml must match as
        // config/database.yml.
        let whole = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        let is_worth_it = |it: &PathBuf| is_worth_reading(&whole.join(it).to_string_lossy());
        let files = tree.files.into_iter().filter(is_worth_it);
        self.files.extend(files.map(|it| SourceFile { path: folder.join(it), is_named: false }));
        self.left_out.extend(tree.left_out);
        Ok(())
    }
}
