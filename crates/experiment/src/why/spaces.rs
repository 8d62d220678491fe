//! Address spaces over time: finds which file was mapped at an address of a process when a sample was taken.
//!
//! A process's mappings are read from `/proc` when the process is first seen. After that the kernel's records update
//! them: a new mapping, a fork (copies the parent's mappings), an exec (clears the mappings), an exit. Only mappings
//! with code are kept. The sampler passes the records in order of time. The only file that is opened is
//! `/proc/PID/maps`.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use procfs::process::{MMPermissions, MMapPath, Process};

use crate::why::places::{FileId, Frame, Places};

/// The name of the code that the kernel maps into each process, used instead of a file's path.
pub(crate) const VDSO: &str = "[vdso]";

/// Paths of mappings that have no file with symbols. Source: Linux, `tools/perf/util/map.c`, `is_anon_memory` and
/// `is_no_dso_memory`.
const WITHOUT_FILE: [&str; 5] = ["//anon", "/dev/zero", "/anon_hugepage", "/memfd:", "/SYSV"];

/// A mapping with code, as the kernel's record reports it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mapped<'a> {
    pub(crate) pid: u32,
    pub(crate) start: u64,
    pub(crate) n_bytes: u64,
    /// The offset of the first mapped byte in the file.
    pub(crate) offset: u64,
    pub(crate) path: &'a Path,
    pub(crate) inode: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Mapping {
    end: u64,
    /// The offset in the file of the mapping's first byte.
    offset: u64,
    /// `None` for code that the program has made at run time.
    file: Option<FileId>,
}

type Mappings = BTreeMap<u64, Mapping>;

#[derive(Debug, Clone, Default)]
struct Space {
    /// The mappings. Processes that were forked from this process share them, until one of the processes changes its
    /// mappings.
    mappings: Arc<Mappings>,
    /// The number of the turn in which the mappings were last read from `/proc`.
    read_in: u64,
}

/// The address spaces of all processes that have samples.
#[derive(Debug, Default)]
pub(crate) struct Spaces {
    by_pid: HashMap<u32, Space>,
    exited: Vec<u32>,
    n_turns: u64,
}

impl Spaces {
    /// Begins a turn, in which the caller empties the kernel's buffers once: in a turn, each process is read from
    /// `/proc` at most once.
    pub(crate) fn begin_turn(&mut self) {
        self.n_turns += 1;
        for pid in self.exited.drain(..) {
            self.by_pid.remove(&pid);
        }
    }

    pub(crate) fn map(&mut self, places: &mut Places, mapped: Mapped<'_>) {
        // A process without samples is skipped; its mappings are read when its first sample arrives.
        if let Some(space) = self.by_pid.get_mut(&mapped.pid) {
            add_mapping(Arc::make_mut(&mut space.mappings), places, mapped);
        }
    }

    pub(crate) fn fork(&mut self, parent: u32, child: u32) {
        // The kernel also reports new threads in this way.
        if parent == child {
            return;
        }
        match self.by_pid.get(&parent).cloned() {
            Some(space) => self.by_pid.insert(child, space),
            None => self.by_pid.remove(&child),
        };
        self.exited.retain(|pid| *pid != child);
    }

    /// Clears the mappings of a process that executes another program; the new mappings are reported separately.
    pub(crate) fn exec(&mut self, pid: u32) {
        let read_in = self.by_pid.get(&pid).map_or(0, |space| space.read_in);
        let space = Space { mappings: Arc::default(), read_in };
        self.by_pid.insert(pid, space);
    }

    /// Marks a process as ended. Its mappings are kept until the next turn, for samples from its last moments.
    pub(crate) fn exit(&mut self, pid: u32) {
        self.exited.push(pid);
    }

    /// Returns the place of an address; `None` if the address is not code of the process. `is_exact`: the address
    /// itself was executed, so if no known mapping contains it, the mappings are read again.
    pub(crate) fn locate(&mut self, places: &mut Places, pid: u32, address: u64, is_exact: bool) -> Option<Frame> {
        let turn = self.n_turns;
        let known = self.by_pid.get(&pid);
        let found = known.and_then(|space| find(&space.mappings, address));
        let may_read = known.is_none_or(|space| is_exact && space.read_in < turn);
        let found = match found {
            None if may_read => {
                let space = Space { mappings: Arc::new(read_mappings(places, pid)), read_in: turn };
                let found = find(&space.mappings, address);
                // If the process has just ended, nothing can be read, and the known mappings are kept.
                if !space.mappings.is_empty() || known.is_none() {
                    self.by_pid.insert(pid, space);
                }
                found
            }
            found => found,
        };
        let (start, mapping) = found?;
        Some(match mapping.file {
            Some(file) => Frame::InFile { file, offset: address - start + mapping.offset },
            None => Frame::Anonymous { pid, address },
        })
    }
}

fn find(mappings: &Mappings, address: u64) -> Option<(u64, Mapping)> {
    let (start, mapping) = mappings.range(..=address).next_back()?;
    (address < mapping.end).then_some((*start, *mapping))
}

/// Adds a mapping, which replaces older mappings at the same addresses.
fn add_mapping(mappings: &mut Mappings, places: &mut Places, mapped: Mapped<'_>) {
    let (start, end) = (mapped.start, mapped.start.saturating_add(mapped.n_bytes));
    let covered: Vec<(u64, Mapping)> = mappings
        .range(..end)
        .rev()
        .take_while(|(_, old)| old.end > start)
        .map(|(old_start, old)| (*old_start, *old))
        .collect();
    for (old_start, old) in covered {
        mappings.remove(&old_start);
        if old_start < start {
            mappings.insert(old_start, Mapping { end: start, ..old });
        }
        if old.end > end {
            let offset = old.offset + (end - old_start);
            mappings.insert(end, Mapping { offset, ..old });
        }
    }
    let path = mapped.path;
    let is_vdso = path == Path::new(VDSO);
    let mapping = Mapping {
        end,
        offset: if is_vdso { 0 } else { mapped.offset },
        file: (is_vdso || is_file(path)).then(|| {
            let inode = if is_vdso { 0 } else { mapped.inode };
            places.add_file(path, inode, mapped.pid)
        }),
    };
    mappings.insert(start, mapping);
}

fn is_file(path: &Path) -> bool {
    let path = path.as_os_str().as_encoded_bytes();
    let is_named = |name: &&str| path.starts_with(name.as_bytes());
    path.starts_with(b"/") && !WITHOUT_FILE.iter().any(is_named)
}

/// Reads the mappings with code of a running process; empty if the process has ended or may not be read.
fn read_mappings(places: &mut Places, pid: u32) -> Mappings {
    let mut mappings = Mappings::new();
    let maps = Process::new(pid.cast_signed()).and_then(|process| process.maps());
    for map in maps.into_iter().flatten() {
        if !map.perms.contains(MMPermissions::EXECUTE) {
            continue;
        }
        let path = match &map.pathname {
            MMapPath::Path(path) => path.as_path(),
            MMapPath::Vdso => Path::new(VDSO),
            _ => Path::new("//anon"),
        };
        let (start, end) = map.address;
        let mapped = Mapped { pid, start, n_bytes: end - start, offset: map.offset, path, inode: map.inode };
        add_mapping(&mut mappings, places, mapped);
    }
    mappings
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No process has these numbers: the kernel's largest process number is 2^22.
    const PARENT: u32 = 1 << 24;
    const CHILD: u32 = PARENT + 1;

    fn map(spaces: &mut Spaces, places: &mut Places, pid: u32, start: u64, path: &str) {
        let mapped = Mapped { pid, start, n_bytes: 0x1000, offset: 0x200, path: Path::new(path), inode: 1 };
        spaces.map(places, mapped);
    }

    fn locate(spaces: &mut Spaces, places: &mut Places, pid: u32, address: u64) -> String {
        match spaces.locate(places, pid, address, true) {
            Some(Frame::InFile { file, offset }) => {
                format!("{}+{offset:#x}", places.file(file).path.display())
            }
            Some(Frame::Anonymous { pid, address }) => format!("{pid}@{address:#x}"),
            Some(frame) => panic!("{frame:?}"),
            None => "nowhere".to_owned(),
        }
    }

    #[test]
    fn a_process_goes_from_fork_over_exec_to_exit() {
        let (mut spaces, mut places) = (Spaces::default(), Places::default());
        spaces.begin_turn();
        spaces.exec(PARENT);
        map(&mut spaces, &mut places, PARENT, 0x1000, "/bin/server");
        spaces.fork(PARENT, CHILD);
        spaces.fork(CHILD, CHILD);
        map(&mut spaces, &mut places, CHILD, 0x5000, "/lib/plugin.so");
        map(&mut spaces, &mut places, CHILD, 0x7000, VDSO);
        map(&mut spaces, &mut places, CHILD, 0x9000, "//anon");
        let mut expect = |spaces: &mut Spaces, pid, address, place: &str| {
            assert_eq!(locate(spaces, &mut places, pid, address), place);
        };
        expect(&mut spaces, CHILD, 0x1010, "/bin/server+0x210");
        expect(&mut spaces, CHILD, 0x5000, "/lib/plugin.so+0x200");
        expect(&mut spaces, CHILD, 0x7123, "[vdso]+0x123");
        expect(&mut spaces, CHILD, 0x9001, &format!("{CHILD}@0x9001"));
        expect(&mut spaces, PARENT, 0x5000, "nowhere");
        expect(&mut spaces, PARENT, 0xfff, "nowhere");
        expect(&mut spaces, PARENT, 0x2000, "nowhere");
        spaces.exec(CHILD);
        expect(&mut spaces, CHILD, 0x1010, "nowhere");
        spaces.exit(PARENT);
        expect(&mut spaces, PARENT, 0x1010, "/bin/server+0x210");
        spaces.begin_turn();
        expect(&mut spaces, PARENT, 0x1010, "nowhere");
    }

    #[test]
    fn a_mapping_takes_the_place_of_what_it_covers() {
        let (mut mappings, mut places) = (Mappings::new(), Places::default());
        for (start, n_bytes, path) in
            [(0x1000, 0x1000, "/old"), (0x2000, 0x3000, "/large"), (0x3000, 0x1000, "/new"), (0x0, 0x1800, "/low")]
        {
            let mapped = Mapped { pid: 1, start, n_bytes, offset: 0, path: Path::new(path), inode: 1 };
            add_mapping(&mut mappings, &mut places, mapped);
        }
        let all: Vec<_> = mappings
            .iter()
            .map(|(start, mapping)| {
                let file = places.file(mapping.file.expect("all are files"));
                (*start, mapping.end, mapping.offset, file.path.to_owned())
            })
            .collect();
        let expected = [
            (0x0, 0x1800, 0x0, "/low".into()),
            (0x1800, 0x2000, 0x800, "/old".into()),
            (0x2000, 0x3000, 0x0, "/large".into()),
            (0x3000, 0x4000, 0x0, "/new".into()),
            (0x4000, 0x5000, 0x2000, "/large".into()),
        ];
        assert_eq!(all, expected);
    }

    #[test]
    fn a_living_process_is_read_when_it_is_first_seen() {
        let (mut spaces, mut places) = (Spaces::default(), Places::default());
        spaces.begin_turn();
        let here = locate as *const () as u64;
        let frame = spaces.locate(&mut places, std::process::id(), here, true);
        let Some(Frame::InFile { file, .. }) = frame else {
            panic!("{frame:?}");
        };
        let own = std::env::current_exe().unwrap();
        assert_eq!(places.file(file).path, own);
    }
}
