//! Lists the files of a source tree, without files that other tools put there.
//!
//! Opens each folder through the descriptor of the folder above it, and leaves out links. The number of names and the
//! depth are limited, because any user may have made the tree. Called by the command line, which reads the files.

use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::FileType;

use crate::folder::Folder;
use crate::walk::Links;

/// Folders with files that the project's authors did not write: the history, and packages that package managers
/// installed.
const LEFT_OUT: [&str; 5] = [".git", ".hg", ".svn", "node_modules", "vendor"];
/// Files by which looptax recognises a folder that another tool made: a virtual environment of Python, or a cache
/// directory as described in <https://bford.info/cachedir/>.
const MARKS: [&str; 2] = ["pyvenv.cfg", "CACHEDIR.TAG"];
/// The maximum number of levels of folders. The Linux kernel's tree has 10 levels.
const MOST_DEPTH: usize = 32;
/// The maximum number of names in all folders together. The Linux kernel's tree has 90,000 names.
const MOST_NAMES: usize = 200_000;

/// The listed files of a source tree.
#[derive(Debug, Default)]
pub struct SourceTree {
    /// The regular files, by their paths relative to the root folder, sorted by name.
    pub files: Vec<PathBuf>,
    /// The folders and files that were left out, each with the reason.
    pub left_out: Vec<String>,
    n_names: usize,
}

/// Lists the regular files below a folder. Leaves out files that have more than `most_bytes`.
///
/// # Errors
/// The folder cannot be opened or read.
pub fn source_tree(root: &Path, most_bytes: u64) -> io::Result<SourceTree> {
    let mut tree = SourceTree::default();
    let folder = Folder::following(Links::All, root)?;
    tree.add(&folder, Path::new(""), 0, most_bytes)?;
    Ok(tree)
}

impl SourceTree {
    fn add(&mut self, folder: &Folder, path: &Path, depth: usize, most_bytes: u64) -> io::Result<()> {
        let mut names = folder.names()?;
        if depth > 0 && names.iter().any(|it| MARKS.iter().any(|mark| it == mark)) {
            return Ok(());
        }
        names.sort_unstable();
        for name in names {
            if self.n_names == MOST_NAMES {
                self.leave_out(path, &format!("the tree has more than {MOST_NAMES} files and folders"));
                return Ok(());
            }
            self.n_names += 1;
            let Some(stat) = folder.look(&name).ok().flatten() else { continue };
            let below = path.join(&name);
            match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile if u64::try_from(stat.st_size).is_ok_and(|it| it <= most_bytes) => {
                    self.files.push(below);
                }
                FileType::Directory if LEFT_OUT.iter().any(|it| name == *it) => {}
                FileType::Directory if depth == MOST_DEPTH => {
                    self.leave_out(&below, &format!("the folder is more than {MOST_DEPTH} levels deep"));
                }
                FileType::Directory => {
                    let walked = folder.folder(&name).and_then(|it| self.add(&it, &below, depth + 1, most_bytes));
                    if let Err(error) = walked {
                        self.leave_out(&below, &error.to_string());
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn leave_out(&mut self, path: &Path, why: &str) {
        self.left_out.push(format!("{}: {why}", path.display()));
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_others_put_there_and_links_are_left_out() {
        let scratch = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = scratch.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for name in ["a/.env", "b.py", ".git/config", "web/node_modules/x/.env", "vendor/x/.env", "env/pyvenv.cfg"] {
            write(name, "");
        }
        write("env/lib/settings.py", "");
        write("large.js", "0123456789");
        symlink("/etc", scratch.path().join("etc")).unwrap();
        symlink("/etc/passwd", scratch.path().join("passwd")).unwrap();
        let deep = "d/".repeat(MOST_DEPTH + 2);
        write(&format!("{deep}.env"), "");
        let tree = source_tree(scratch.path(), 9).unwrap();
        assert_eq!(tree.files, [Path::new("a/.env"), Path::new("b.py")]);
        assert_eq!(tree.left_out.len(), 1, "{:?}", tree.left_out);
        assert!(source_tree(&scratch.path().join("missing"), 9).is_err());
    }
}
