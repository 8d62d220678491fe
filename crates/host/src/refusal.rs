//! The accesses that this crate refuses although the kernel would allow them.

use std::fmt;
use std::io;
use std::path::PathBuf;

use crate::control::{Distrust, Stranger};

/// The reason why this crate refused an access that the kernel would have allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// A link that the walk's rule does not follow.
    Link {
        /// The link's path.
        at: PathBuf,
        owner: u32,
    },
    /// A folder or file that looptax reads on behalf of a user who may not read it.
    Unreadable { at: PathBuf, viewer: u32 },
    /// A folder in which users other than root and the caller may write.
    Stranger(Stranger),
    /// A file or folder that belongs to another user, or that other users can change.
    NotOwn { at: PathBuf, owner: u32, mode: u32 },
    /// A file or folder that only root should be able to change, but that other users can change.
    Changeable(Distrust),
}

impl std::error::Error for Refusal {}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link { at, owner } => {
                write!(f, "`{}` is a link of user {owner}, and looptax does not follow such a link", at.display())
            }
            Self::Unreadable { at, viewer } => {
                write!(
                    f,
                    "looptax does not read `{}` on behalf of user {viewer}: that user may not read this path",
                    at.display()
                )
            }
            Self::Stranger(stranger) => stranger.fmt(f),
            Self::Changeable(what) => write!(f, "users other than root can change {what}"),
            Self::NotOwn { at, owner, mode } => write!(
                f,
                "`{}` belongs to user {owner} (mode {mode:o}), but here looptax uses only files and folders that \
                 belong to you and that no other user can change",
                at.display()
            ),
        }
    }
}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> Self {
        Self::new(io::ErrorKind::PermissionDenied, refusal)
    }
}

/// Returns the refusal that an error of this crate contains; `None` if the kernel refused.
pub fn refusal(error: &io::Error) -> Option<&Refusal> {
    error.get_ref()?.downcast_ref()
}
