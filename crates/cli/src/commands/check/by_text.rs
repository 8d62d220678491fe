//! `check --sarif`: checks only the text of files, for a repository's continuous integration.

use std::path::{Path, PathBuf};

use looptax_host::read;
use looptax_model::failure::Failure;
use looptax_model::record::FindingLevel;
use looptax_report::{SarifLog, sarif};
use looptax_switch::look_by_text;
use url::Url;

use super::files::SourceFiles;
use crate::args::CheckArgs;
use crate::failure::Exit;
use crate::terminal::{self, Terminal};

pub(super) fn run(named: &[PathBuf], args: &CheckArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let root = root(named)?;
    let url = uri(Url::from_directory_path(&root), &root)?;
    let tree = SourceFiles::find(named)?;
    let mut left_out = tree.left_out;
    let mut files = Vec::new();
    for file in &tree.files {
        let path = read::real_path(&file.path).unwrap_or_else(|_| file.path.clone());
        let shown = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
        match look_by_text(&file.path, &shown, args.socket.as_deref(), args.application.as_deref()) {
            Ok(mut found) => {
                found.uri = below(&uri(Url::from_file_path(&path), &path)?, &url);
                files.push(found);
            }
            Err(failure) if file.is_named => return Err(failure),
            Err(failure) => left_out.push(format!("{failure:#}")),
        }
    }
    for it in &left_out {
        terminal.words(&format!("not read: {it}\n"));
    }
    terminal::json(&sarif(&SarifLog {
        root: &url,
        files: &files,
        left_out: &left_out,
        version: env!("CARGO_PKG_VERSION"),
        home: env!("CARGO_PKG_HOMEPAGE"),
    }))?;
    let mut findings = files.iter().flat_map(|it| &it.findings);
    Ok(match () {
        () if findings.any(|it| it.level == FindingLevel::Error) => Exit::No,
        () if !left_out.is_empty() => Exit::Invalid,
        () => Exit::Done,
    })
}

/// Returns the folder to which paths in the output are relative: the folder that the user named, if the user named only
/// this folder; otherwise the working folder.
fn root(named: &[PathBuf]) -> Result<PathBuf, Failure> {
    let root = match named {
        [folder] if read::is_folder(folder) => folder,
        _ => Path::new("."),
    };
    // Following a link does no harm at this point: this is only a name, and the folder itself is opened later.
    read::real_path(root).map_err(|error| Failure::new(format!("cannot find `{}`: {error}", root.display())))
}

fn uri(made: Result<Url, ()>, path: &Path) -> Result<String, Failure> {
    let url = made.map_err(|()| Failure::new(format!("`{}` has no URI", path.display())))?;
    Ok(url.to_string())
}

/// Returns the URI relative to the root. A URI that is not below the root is returned unchanged.
fn below(uri: &str, root: &str) -> String {
    // A colon before the first slash would be mistaken for the end of a URI scheme.
    uri.strip_prefix(root).map_or_else(|| uri.to_owned(), |it| it.replace(':', "%3A"))
}
