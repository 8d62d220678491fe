//! A scratch folder that root owns, which contains a folder of another user.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use looptax_testkit::skips::skip;
use tempfile::TempDir;

/// A user that no account has.
pub(crate) const STRANGER: u32 = 47_001;

/// The folder `hers/` belongs to the other user, and `secret/victim` to root.
pub(crate) struct World {
    folder: TempDir,
}

impl World {
    /// Makes the folders; `None` for an ordinary user, who cannot change the owner of a file.
    pub(crate) fn new() -> Option<Self> {
        if !rustix::process::geteuid().is_root() {
            skip("only root can make a folder of another user's");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let world = Self { folder };
        fs::create_dir(world.at("hers")).unwrap();
        world.give("hers");
        fs::create_dir(world.at("secret")).unwrap();
        fs::set_permissions(world.at("secret"), fs::Permissions::from_mode(0o700)).unwrap();
        fs::write(world.at("secret/victim"), "precious").unwrap();
        fs::set_permissions(world.at("secret/victim"), fs::Permissions::from_mode(0o600)).unwrap();
        Some(world)
    }

    pub(crate) fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(path)
    }

    /// Makes the other user the owner of a file or folder.
    pub(crate) fn give(&self, path: &str) {
        std::os::unix::fs::lchown(self.at(path), Some(STRANGER), Some(STRANGER)).unwrap();
    }

    /// Makes a link that belongs to the other user.
    pub(crate) fn her_link(&self, to: impl AsRef<Path>, at: &str) {
        symlink(to, self.at(at)).unwrap();
        self.give(at);
    }

    pub(crate) fn write(&self, path: &str, text: &str, mode: u32) {
        fs::write(self.at(path), text).unwrap();
        fs::set_permissions(self.at(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    pub(crate) fn own_by(&self, path: &str, uid: u32) {
        chown(self.at(path), Some(uid), Some(uid)).unwrap();
    }

    /// Whether root's file is unchanged.
    pub(crate) fn is_victim_well(&self) -> bool {
        let path = self.at("secret/victim");
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        fs::read(path).unwrap() == b"precious" && mode & 0o777 == 0o600
    }
}
