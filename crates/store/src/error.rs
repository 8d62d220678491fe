//! The errors of saving and reading records. Each action that can fail has a variant, which contains the object of the
//! action.

use std::io;
use std::path::PathBuf;

use looptax_model::failure::Explain;
use looptax_model::record::SCHEMA_VERSION;

/// Why a record could not be saved or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file exists already, and the caller did not allow looptax to replace it.
    #[error("`{}` exists already", path.display())]
    AlreadyExists { path: PathBuf },
    #[error("cannot create `{}`", path.display())]
    CreateFile { path: PathBuf, source: io::Error },
    /// A file could not be written or synced to disk.
    #[error("cannot write `{}`", path.display())]
    WriteFile { path: PathBuf, source: io::Error },
    /// The finished file could not be renamed to its final name.
    #[error("cannot move the finished record to `{}`", path.display())]
    RenameFile { path: PathBuf, source: io::Error },
    #[error("cannot read `{}`", path.display())]
    ReadFile { path: PathBuf, source: io::Error },
    /// The file is not a record: it is not JSON, or it is JSON without a schema version.
    #[error("`{}` is not a looptax record: it has no schema version", path.display())]
    NotARecord { path: PathBuf },
    /// The record has a schema version that this looptax does not know.
    #[error("`{}` has schema version {found}; this looptax reads version {SCHEMA_VERSION}", path.display())]
    SchemaVersion { path: PathBuf, found: u64 },
    /// The record is cut off, or a field of it is invalid.
    #[error("`{}` is broken at `{field}`", path.display())]
    Broken {
        path: PathBuf,
        /// The invalid field, such as `comparisons[0].tax[0].verdict`.
        field: String,
        source: serde_json::Error,
    },
    /// Latencies in a record are not in the form that looptax writes.
    #[error("{count} latencies in the record cannot be read")]
    BrokenSamples { count: u64 },
    /// Call chains in a record are not in the form that looptax writes.
    #[error("the call chains in the record cannot be read")]
    BrokenStacks,
    #[error("cannot make the folder `{}`", path.display())]
    CreateFolder { path: PathBuf, source: io::Error },
    /// The folder of a run could not be removed.
    #[error("cannot remove `{}`", path.display())]
    RemoveRun { path: PathBuf, source: io::Error },
    /// The history could not be read or written.
    #[error("cannot use the history `{}`", path.display())]
    History { path: PathBuf, source: rusqlite::Error },
    /// The history was made by a newer looptax.
    #[error("the history `{}` has version {found}, which this looptax does not know", path.display())]
    HistoryVersion { path: PathBuf, found: i64 },
    /// An entry of the history cannot be parsed.
    #[error("the history's entry for run `{id}` is broken")]
    HistoryEntry { id: String, source: serde_json::Error },
    #[error("no run in the history has the label `{id}` or a name that begins with it")]
    NoSuchRun { id: String },
    #[error("several names of runs in the history begin with `{start}`")]
    SeveralRuns { start: String },
}

impl StoreError {
    /// Whether the disk is full; a smaller file may still fit.
    pub(crate) fn is_of_full_disk(&self) -> bool {
        match self {
            Self::CreateFile { source, .. } | Self::WriteFile { source, .. } | Self::RenameFile { source, .. } => {
                matches!(
                    source.kind(),
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
                )
            }
            _ => false,
        }
    }
}

impl Explain for StoreError {
    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::AlreadyExists { .. } => "pass another name, or remove the file first",
            Self::CreateFile { source, .. }
            | Self::WriteFile { source, .. }
            | Self::RenameFile { source, .. }
            | Self::CreateFolder { source, .. } => write_hint(source.kind())?,
            Self::SchemaVersion { found, .. } if *found > u64::from(SCHEMA_VERSION) => {
                "read the file with the newer looptax that wrote it"
            }
            Self::Broken { source, .. } if source.is_eof() => {
                "copy the file again, or use another copy: the file was cut off while it was copied or written"
            }
            Self::SchemaVersion { .. } | Self::NotARecord { .. } => "pass a record that looptax compare saved",
            Self::Broken { field, .. } if field == "." => "pass a record that looptax compare saved",
            Self::Broken { .. } | Self::BrokenSamples { .. } => {
                "use the original file: this file was changed after it was saved"
            }
            Self::ReadFile { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                "check the name: looptax compare prints the path of its record"
            }
            Self::History { source, .. } if source.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull) => {
                "the disk is full: free some space; records are separate files and were not changed"
            }
            Self::History { .. } | Self::HistoryEntry { .. } => {
                "pass --no-history to run without the history; records are separate files and were not changed"
            }
            Self::HistoryVersion { .. } => "use the newer looptax that wrote the history, or pass --no-history",
            Self::NoSuchRun { .. } => "`looptax show` lists the runs",
            Self::SeveralRuns { .. } => "type more of the name: `looptax show` lists the runs",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

fn write_hint(kind: io::ErrorKind) -> Option<&'static str> {
    Some(match kind {
        io::ErrorKind::StorageFull => "free some space, or choose another place: the disk is full",
        io::ErrorKind::QuotaExceeded => "free some space, or choose another place: the quota is used up",
        io::ErrorKind::FileTooLarge => "raise the limit on file sizes (`ulimit -f`): the file would exceed this limit",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => "choose a place where you can write",
        io::ErrorKind::NotFound => "create the folder first: it does not exist",
        io::ErrorKind::IsADirectory => "add a file name: this is a folder",
        _ => return None,
    })
}
