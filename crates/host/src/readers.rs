//! Reports the processes that open a file from now on; the kernel reports them only to root.

use std::ffi::OsString;
use std::path::PathBuf;

use nix::sys::fanotify::{EventFFlags, Fanotify, InitFlags, MarkFlags, MaskFlags};
use rustix::fs::fstat;

use crate::{FileId, Folder};

/// The maximum number of reads of the kernel's events in one call. A limit is needed because other processes may open
/// files faster than looptax reads events.
const MOST_READS: usize = 64;

/// The files whose readers are reported. If another file replaces one of these files, the new file's readers are
/// reported too.
#[derive(Debug)]
pub struct Readers {
    group: Fanotify,
    /// Each file's name with its folder, which is held open. If another folder gets the same path, it is not watched.
    files: Vec<(Folder, OsString)>,
}

impl Readers {
    /// Starts watching the files; `None` if the kernel refuses, as it does for every user except root.
    pub fn of(files: &[PathBuf]) -> Option<Self> {
        let init = InitFlags::FAN_CLASS_NOTIF | InitFlags::FAN_CLOEXEC | InitFlags::FAN_NONBLOCK;
        let open = EventFFlags::O_RDONLY | EventFFlags::O_CLOEXEC | EventFFlags::O_LARGEFILE;
        // If a file is a pipe without a writer, opening it must not block.
        let group = Fanotify::init(init, open | EventFFlags::O_NONBLOCK).ok()?;
        let named = |it: &PathBuf| Some((Folder::open(it.parent()?).ok()?, it.file_name()?.to_owned()));
        let files: Vec<_> = files.iter().map(named).collect::<Option<_>>()?;
        // The whole folder is watched, because the named file is about to be replaced by another file.
        for (folder, _) in &files {
            let mask = MaskFlags::FAN_OPEN | MaskFlags::FAN_EVENT_ON_CHILD;
            group.mark(MarkFlags::FAN_MARK_ADD, mask, folder, Some(".")).ok()?;
        }
        Some(Self { group, files })
    }

    /// Returns the processes that have opened one of the files since the last call, except looptax's own process.
    pub fn look(&self) -> Vec<u32> {
        let mut found = Vec::new();
        let now = self.files.iter().filter_map(|(folder, name)| folder.look(name).ok().flatten());
        let ids: Vec<FileId> = now.map(|it| FileId::from(&it)).collect();
        for events in (0..MOST_READS).map_while(|_| self.group.read_events().ok()).take_while(|it| !it.is_empty()) {
            for event in &events {
                let opened = event.fd().and_then(|it| fstat(it).ok()).map(|it| FileId::from(&it));
                let pid = u32::try_from(event.pid()).unwrap_or(0);
                if opened.is_some_and(|it| ids.contains(&it)) && pid != 0 && pid != std::process::id() {
                    found.push(pid);
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::process::{Command, Stdio};

    use looptax_testkit::scratch::Scratch;

    use super::*;

    #[test]
    fn who_reads_the_file_that_takes_its_place_is_told_and_who_reads_its_neighbour_is_not() {
        let scratch = Scratch::new();
        let [file, other, staged] = ["a", "b", "c"].map(|it| scratch.file(it));
        for path in [&file, &other, &staged] {
            std::fs::write(path, "x").unwrap();
        }
        let Some(readers) = Readers::of(std::slice::from_ref(&file)) else {
            looptax_testkit::skips::skip("needs root");
            return;
        };
        std::fs::rename(&staged, &file).unwrap();
        let read = |path: &Path| {
            let mut child = Command::new("cat").arg(path).stdout(Stdio::null()).spawn().unwrap();
            child.wait().unwrap();
            child.id()
        };
        read(&other);
        assert!(readers.look().is_empty());
        let reader = read(&file);
        std::fs::read(&file).unwrap();
        assert_eq!(readers.look(), [reader]);
    }
}
