//! The errors of changing other programs' files, and for each error the next step.

use std::io;
use std::path::PathBuf;

use looptax_model::failure::Explain;

/// The reason why a file was not replaced, or a switch was not kept. After any of these errors each file has either its
/// old or its new contents, never a mixture.
#[derive(Debug, thiserror::Error)]
pub enum SwitchError {
    /// The file cannot be read, or is not a regular file.
    #[error("cannot read {path}")]
    Read { path: PathBuf, source: io::Error },
    #[error("{path} is not an ordinary file")]
    NoFile { path: PathBuf },
    /// The new file cannot be made next to the old one, with the old one's attributes.
    #[error("cannot write a new {path}: {what}")]
    Stage { path: PathBuf, what: &'static str, source: io::Error },
    /// The new file cannot take the place of the old one.
    #[error("cannot replace the old {path} with the new one")]
    Exchange { path: PathBuf, source: io::Error },
    /// Another program wrote the file after looptax read it; the file stays as that program wrote it.
    #[error("{path} was changed after looptax read it; looptax leaves the file as it is now")]
    Changed { path: PathBuf },
    /// The file's contents are not those that the switch wrote; the file stays as it is.
    #[error("{path} is not the file that the switch wrote: {found}")]
    Foreign { path: PathBuf, found: String },
    /// A file that looptax was going to create exists already.
    #[error("{path} exists already, and stays as it is")]
    Exists { path: PathBuf },
    /// Somebody changed the lines that the switch had written; the file stays as it is.
    #[error("the lines that the switch wrote into {path} were changed later; looptax leaves the file as it is now")]
    Rewritten {
        path: PathBuf,
        /// The stored file with the contents from before the switch.
        kept: PathBuf,
    },
    /// The journal, or a file that is stored next to it, cannot be written.
    #[error("cannot write the journal in {path}")]
    Journal { path: PathBuf, source: io::Error },
    /// The old files are back, but the journal cannot record that.
    #[error("the old files are back, but looptax cannot note this in the journal in {path}")]
    Unnoted { path: PathBuf, source: io::Error },
    /// Some files could not be written, and some of the written files could not be put back.
    #[error("{why}, and not all old files are back")]
    NotBack {
        id: String,
        /// The folder in which the old files are stored.
        kept: PathBuf,
        why: String,
        source: Box<SwitchError>,
    },
    /// The journal cannot be read, or is not a journal.
    #[error("cannot read the journal in {path}: {why}")]
    Unreadable { path: PathBuf, why: String },
    #[error("another looptax process works on {id}")]
    Busy { id: String },
    /// The switch changed a server, and not only files.
    #[error("{id} changed something in {server}, and can be undone only there")]
    OnServer { id: String, server: String },
    #[error("there is no switch {id}")]
    Unknown { id: String },
}

impl SwitchError {
    /// Adapts an error to a step that is already done: an error about the journal then means only that the journal does
    /// not record the step.
    pub(crate) fn after_it(self) -> Self {
        match self {
            Self::Journal { path, source } => Self::Unnoted { path, source },
            other => other,
        }
    }
}

impl Explain for SwitchError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Read { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                "pass the file that the application reads".to_owned()
            }
            Self::Read { .. } => "run looptax as a user who may read the file".to_owned(),
            Self::NoFile { .. } => "pass the file that the application reads".to_owned(),
            Self::Stage { source, .. } | Self::Exchange { source, .. } => file_hint(source),
            Self::Changed { .. } => {
                "run the same command again: looptax then reads the file in its present state".to_owned()
            }
            Self::Foreign { .. } => {
                "looptax wrote nothing to this path; run `looptax switch --list` to see the folder with the old file"
                    .to_owned()
            }
            Self::Exists { .. } => {
                "read the file: it may belong to another switch (`looptax switch --list`)".to_owned()
            }
            Self::Rewritten { kept, .. } => {
                format!("use {}, which has the contents from before the switch", kept.display())
            }
            Self::Journal { path, source } => {
                let is_full = matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
                let what = if is_full { "free some space" } else { "run looptax as root, or allow this user to write" };
                format!("nothing was changed; {what} in {}", path.display())
            }
            Self::Unnoted { path, .. } => format!(
                "free some space in {}, or allow this user to write there; then run `looptax switch --undo` again, \
                 which only notes the undo in the journal",
                path.display()
            ),
            Self::NotBack { id, kept, .. } => format!(
                "fix the cause, then run: looptax switch --undo {id}; the old files are in {}, as 0.old and so on",
                kept.display()
            ),
            Self::Unreadable { path, .. } => {
                format!(
                    "restore the files by hand: both versions of each file are in {}: 0.old and 0.new are the first file's, and so on",
                    path.display()
                )
            }
            Self::OnServer { id, .. } => {
                format!("run: looptax switch --undo {id} --admin DSN, with the DSN of an administrator of that server")
            }
            Self::Busy { .. } => "wait until that process has ended".to_owned(),
            Self::Unknown { .. } => "looptax switch --list shows all switches".to_owned(),
        })
    }
}

/// Explains what a folder needs before a new file can be made in it.
fn file_hint(error: &io::Error) -> String {
    let words = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "run looptax as root, or as the user that owns the file and its folder (this user has to be in the file's \
             group)"
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            "mount the file system for writing, or change the source that the file is generated from"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "free some space; looptax did not change the file",
        io::ErrorKind::ResourceBusy => {
            "this file is mounted from another place, as in containers: change the file in that place"
        }
        _ => "looptax did not change the file; write the lines by hand",
    };
    words.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_that_cannot_be_written_needs_space_only_on_a_full_disk() {
        let hint = |kind: io::ErrorKind| {
            let path = PathBuf::from("/data");
            SwitchError::Journal { path, source: kind.into() }.hint().unwrap()
        };
        assert_eq!(hint(io::ErrorKind::StorageFull), "nothing was changed; free some space in /data");
        assert!(hint(io::ErrorKind::PermissionDenied).contains("run looptax as root"));
        assert!(!hint(io::ErrorKind::ReadOnlyFilesystem).contains("free some space"));
    }
}
