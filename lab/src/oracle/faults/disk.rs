//! The possible states of a disk after a loss of power: synced data is on the disk, and any part of the other data may
//! be missing.
//!
//! The names in a folder reach the disk in the order of their changes, at the latest when the folder is synced. Changes
//! in two different folders may reach the disk in any order. Bytes, owner, rights and attributes of a file reach the
//! disk when the file is synced, or not at all.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rustix::fs::XattrFlags;

/// The extended attribute that the files of a trial have.
pub(super) const NOTE: &str = "user.note";

/// The state of a file: everything that a switch has to keep.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) bytes: Vec<u8>,
    pub(super) mode: u32,
    pub(super) owner: [u32; 2],
    pub(super) note: Option<Vec<u8>>,
}

impl Held {
    pub(super) fn read(path: &Path) -> Result<Self> {
        let stat = fs::symlink_metadata(path)?;
        let mut note = [0; 64];
        let n_bytes = rustix::fs::lgetxattr(path, NOTE, &mut note[..]).ok();
        Ok(Self {
            bytes: fs::read(path)?,
            mode: stat.mode() & 0o7777,
            owner: [stat.uid(), stat.gid()],
            note: n_bytes.map(|n| note[..n].to_vec()),
        })
    }

    pub(super) fn lay_down(&self, path: &Path) -> Result<()> {
        fs::write(path, &self.bytes)?;
        if self.owner != [rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw()] {
            chown(path, Some(self.owner[0]), Some(self.owner[1]))?;
        }
        fs::set_permissions(path, Permissions::from_mode(self.mode))?;
        if let Some(note) = &self.note {
            rustix::fs::lsetxattr(path, NOTE, note, XattrFlags::empty())?;
        }
        Ok(())
    }
}

#[derive(Debug, Clone)]
struct Inode {
    synced: Held,
    now: Held,
}

/// The names in a folder. Each has the inode number of its file or folder, and whether it is a folder.
type Names = BTreeMap<String, (u64, bool)>;

/// A tree of folders, with all changes that may still be missing on the disk.
#[derive(Debug, Clone)]
pub(super) struct Disk {
    root: PathBuf,
    files: BTreeMap<u64, Inode>,
    /// For each folder, its versions since it was synced; the oldest version is certainly on the disk.
    folders: BTreeMap<u64, Vec<Names>>,
}

impl Disk {
    /// Makes the state in which everything in the folder is on the disk.
    pub(super) fn synced(root: &Path) -> Result<Self> {
        let mut disk = Self { root: root.to_owned(), files: BTreeMap::new(), folders: BTreeMap::new() };
        disk.see()?;
        disk.folders.values_mut().for_each(|it| drop(it.drain(..it.len() - 1)));
        disk.files.values_mut().for_each(|it| it.synced = it.now.clone());
        Ok(disk)
    }

    /// Records the changes since the last call.
    pub(super) fn see(&mut self) -> Result<()> {
        self.see_folder(&self.root.clone())
    }

    fn see_folder(&mut self, path: &Path) -> Result<()> {
        let mut names = Names::new();
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let stat = entry.metadata()?;
            let name = entry.file_name().into_string().ok().context("a name that is not UTF-8")?;
            names.insert(name, (stat.ino(), stat.is_dir()));
            if stat.is_dir() {
                self.see_folder(&entry.path())?;
                continue;
            }
            let now = Held::read(&entry.path())?;
            let made = Held { mode: 0o600, owner: now.owner, ..Held::default() };
            self.files.entry(stat.ino()).or_insert(Inode { synced: made, now: Held::default() }).now = now;
        }
        // The first version of a new folder is empty.
        let seen = self.folders.entry(fs::metadata(path)?.ino()).or_insert_with(|| vec![Names::new()]);
        if seen.last() != Some(&names) {
            seen.push(names);
        }
        Ok(())
    }

    /// Records that a process has synced the file or folder with this descriptor.
    pub(super) fn sync(&mut self, pid: i32, fd: u64) -> Result<()> {
        let ino = fs::metadata(format!("/proc/{pid}/fd/{fd}"))?.ino();
        if let Some(seen) = self.folders.get_mut(&ino) {
            seen.drain(..seen.len() - 1);
        } else if let Some(file) = self.files.get_mut(&ino) {
            file.synced = file.now.clone();
        }
        Ok(())
    }

    /// Writes a state that the disk may have after a loss of power. `choose` draws a number below its argument. Folders
    /// of `root` that existed from the beginning are kept, not made again.
    pub(super) fn lose(&self, choose: &mut dyn FnMut(usize) -> usize) -> Result<()> {
        let ino = fs::metadata(&self.root)?.ino();
        self.lay_out(ino, &self.root, choose)
    }

    fn lay_out(&self, ino: u64, path: &Path, choose: &mut dyn FnMut(usize) -> usize) -> Result<()> {
        let seen = self.folders.get(&ino).context("a folder that was never seen")?;
        let names = &seen[choose(seen.len())];
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            let (stat, name) = (entry.metadata()?, entry.file_name());
            let stays = name.to_str().and_then(|it| names.get(it)) == Some(&(stat.ino(), true));
            match stat.is_dir() {
                true if stays => {}
                true => fs::remove_dir_all(entry.path())?,
                false => fs::remove_file(entry.path())?,
            }
        }
        let mut laid: BTreeMap<u64, PathBuf> = BTreeMap::new();
        for (name, (ino, is_folder)) in names {
            let path = path.join(name);
            if *is_folder {
                if !path.is_dir() {
                    fs::create_dir(&path)?;
                    fs::set_permissions(&path, Permissions::from_mode(0o700))?;
                }
                self.lay_out(*ino, &path, choose)?;
                continue;
            }
            if let Some(first) = laid.get(ino) {
                fs::hard_link(first, &path)?;
                continue;
            }
            let file = self.files.get(ino).context("a file that was never seen")?;
            let is_synced = file.synced == file.now || choose(2) == 0;
            if is_synced { &file.synced } else { &file.now }.lay_down(&path)?;
            laid.insert(*ino, path);
        }
        Ok(())
    }
}
