//! Places in code, each stored once. A sample's call chain is a list of places, which stay valid after the process has
//! ended.
//!
//! The sampler adds places while it drains its buffers, and `symbols` finds the names of the places after the run.
//! Memory grows with the number of different places, and not with the number of samples.

use std::collections::HashMap;
use std::hash::Hash;
use std::path::{Path, PathBuf};

/// Values that are each stored once, and numbered in the order of their first occurrence.
#[derive(Debug)]
pub(crate) struct Interner<T> {
    ids: HashMap<T, u32>,
    values: Vec<T>,
}

// A derived implementation would also require `T: Default`.
impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self { ids: HashMap::new(), values: Vec::new() }
    }
}

impl<T: Clone + Eq + Hash> Interner<T> {
    pub(crate) fn intern(&mut self, value: T) -> u32 {
        if let Some(&id) = self.ids.get(&value) {
            return id;
        }
        let id = self.values.len() as u32;
        self.values.push(value.clone());
        self.ids.insert(value, id);
        id
    }

    pub(crate) fn value(&self, id: u32) -> &T {
        &self.values[id as usize]
    }
}

/// A file with code, as an index into [`Places`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FileId(u32);

/// A frame of a call chain, as an index into [`Places`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FrameId(u32);

impl FrameId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Where the code of a frame is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Frame {
    /// An address in the kernel's code.
    Kernel(u64),
    /// A byte of a file that a process has mapped.
    InFile { file: FileId, offset: u64 },
    /// An address that belongs to no file: code that the program has made at run time.
    Anonymous { pid: u32, address: u64 },
    /// An address that does not belong to the process, or no longer belongs to it.
    Unknown,
}

/// A file that a process has mapped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct MappedFile<'a> {
    /// The path as the process sees it, below its own root folder; `[vdso]` for the kernel's code in the process.
    pub(crate) path: &'a Path,
    /// Zero if the code does not come from a file.
    pub(crate) inode: u64,
    /// The process in which the file was first seen.
    pub(crate) pid: u32,
}

/// All frames and files that were seen so far.
#[derive(Debug, Default)]
pub(crate) struct Places {
    frames: Interner<Frame>,
    files: Interner<(PathBuf, u64)>,
    /// The process in which each file was first seen.
    seen_in: Vec<u32>,
}

impl Places {
    pub(crate) fn add_frame(&mut self, frame: Frame) -> FrameId {
        FrameId(self.frames.intern(frame))
    }

    /// The same path in two containers means two files, whose inodes differ.
    pub(crate) fn add_file(&mut self, path: &Path, inode: u64, pid: u32) -> FileId {
        let id = self.files.intern((path.to_path_buf(), inode));
        if id as usize == self.seen_in.len() {
            self.seen_in.push(pid);
        }
        FileId(id)
    }

    pub(crate) fn frame(&self, id: FrameId) -> Frame {
        *self.frames.value(id.0)
    }

    pub(crate) fn file(&self, id: FileId) -> MappedFile<'_> {
        let (path, inode) = self.files.value(id.0);
        MappedFile { path, inode: *inode, pid: self.seen_in[id.0 as usize] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_and_a_file_are_held_once() {
        let mut places = Places::default();
        let library = Path::new("/lib/libc.so.6");
        let file = places.add_file(library, 7, 100);
        assert_eq!(places.add_file(library, 7, 200), file);
        let other = places.add_file(library, 8, 200);
        assert_ne!(other, file);
        assert_eq!((places.file(file).pid, places.file(other).pid), (100, 200));
        assert_eq!(places.file(other).path, library);
        let frame = Frame::InFile { file, offset: 16 };
        let id = places.add_frame(frame);
        assert_ne!(places.add_frame(Frame::Kernel(16)), id);
        assert_eq!(places.add_frame(frame), id);
        assert_eq!(places.frame(id), frame);
    }
}
