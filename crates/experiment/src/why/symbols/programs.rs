//! Finds the names of places in programs and libraries. Uses the ELF symbols of the file itself, or of its debug file.
//! A debug file is found by its build-id, at the path that the distributions' packages use. DWARF is not read: an
//! inlined function counts for the function that contains it.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use blazesym::Pid;
use blazesym::helper::{ElfResolver, read_elf_build_id};
use blazesym::symbolize::source::{Elf, Process as ProcessSource, Source};
use blazesym::symbolize::{Input, Reason, Symbolized, Symbolizer, TranslateFileOffset};
use looptax_host::{View, Viewer, read};
use procfs::process::{MMapPath, Process};
use rustix::fs::{MemfdFlags, memfd_create};

use crate::why::places::{FileId, MappedFile};
use crate::why::spaces::VDSO;

/// The folder in which packages of the distributions install debug files.
const DEBUG_FILES: &str = "/usr/lib/debug/.build-id";

/// Maximum size in bytes of a program of another user whose symbols are read.
const MOST_COPIED: u64 = 1 << 30;

/// A file with code that can be read.
struct Program {
    elf: ElfResolver,
    /// The files with the program's symbols, the best first.
    sources: Vec<Source<'static>>,
    _held: Vec<File>,
}

/// The files in which names have been looked up.
pub(super) struct Programs {
    symbolizer: Symbolizer,
    /// `None` for a file that cannot be read, or can no longer be read.
    by_file: HashMap<FileId, Option<Program>>,
    /// The address at which the kernel maps its own code (vDSO) into this process. This code is the same in all
    /// processes.
    vdso: Option<u64>,
    stripped: BTreeSet<PathBuf>,
}

impl Programs {
    pub(super) fn new() -> Self {
        let maps = Process::myself().and_then(|process| process.maps());
        let mut maps = maps.into_iter().flatten();
        Self {
            symbolizer: Symbolizer::builder().enable_auto_reload(false).build(),
            by_file: HashMap::new(),
            vdso: maps.find(|map| map.pathname == MMapPath::Vdso).map(|map| map.address.0),
            stripped: BTreeSet::new(),
        }
    }

    /// Returns the stripped files in which an address was looked up and no function name was found.
    pub(super) fn stripped(&self) -> &BTreeSet<PathBuf> {
        &self.stripped
    }

    /// Returns the function that contains a byte of a file.
    pub(super) fn find(&mut self, id: FileId, file: MappedFile<'_>, offset: u64) -> Option<String> {
        if file.path == Path::new(VDSO) {
            return self.find_in_vdso(offset);
        }
        let program = self.by_file.entry(id).or_insert_with(|| open(file));
        let program = program.as_ref()?;
        let address = program.elf.file_offset_to_virt_offset(offset).ok()??;
        for source in &program.sources {
            let input = Input::VirtOffset(address);
            match self.symbolizer.symbolize_single(source, input) {
                Ok(Symbolized::Sym(symbol)) => return Some(symbol.name.into_owned()),
                Ok(Symbolized::Unknown(Reason::MissingSyms)) => {
                    self.stripped.insert(file.path.to_path_buf());
                }
                _ => {}
            }
        }
        None
    }

    fn find_in_vdso(&self, offset: u64) -> Option<String> {
        let mut source = ProcessSource::new(Pid::Slf);
        (source.debug_syms, source.perf_map, source.map_files) = (false, false, false);
        let input = Input::AbsAddr(self.vdso? + offset);
        let found = self.symbolizer.symbolize_single(&source.into(), input);
        Some(found.ok()?.into_sym()?.name.into_owned())
    }
}

fn open(file: MappedFile<'_>) -> Option<Program> {
    let held = unchanging(open_mapped(file).ok()?).ok()?;
    let path = place_of(&held);
    let debug_file = find_debug_file(&path).and_then(|it| read::open(&it).ok());
    let held: Vec<File> = debug_file.into_iter().chain([held]).collect();
    let sources = held.iter().map(|file| {
        let mut elf = Elf::new(place_of(file));
        elf.debug_syms = false;
        Source::from(elf)
    });
    Some(Program { sources: sources.collect(), elf: ElfResolver::open(path).ok()?, _held: held })
}

/// Opens a mapped file by the path and with the rights of the process that has mapped it. If the process has ended,
/// opens the same file by its path in looptax's own root folder. Only this second case compares inodes: in a container,
/// a file system may report different inodes for the mapping and for the file.
fn open_mapped(file: MappedFile<'_>) -> io::Result<File> {
    let seen = viewer(file.pid).map(|it| View::of_process(file.pid, it)?.open(file.path));
    if let Some(Ok(found)) = seen {
        return Ok(found);
    }
    let found = read::open(file.path)?;
    if found.metadata()?.ino() == file.inode { Ok(found) } else { Err(rustix::io::Errno::NOENT.into()) }
}

/// Returns the file itself if only root can change it, otherwise a copy. Symbols are read through a memory map: if
/// another user truncated the mapped file, looptax would end with SIGBUS.
fn unchanging(file: File) -> io::Result<File> {
    let found = file.metadata()?;
    if found.uid() == 0 && found.mode() & 0o022 == 0 {
        return Ok(file);
    }
    let mut copy = File::from(memfd_create("program", MemfdFlags::CLOEXEC)?);
    let n_bytes = io::copy(&mut file.take(MOST_COPIED), &mut copy)?;
    if n_bytes == MOST_COPIED {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(copy)
}

fn viewer(pid: u32) -> Option<Viewer> {
    let status = Process::new(pid.try_into().ok()?).ok()?.status().ok()?;
    Some(Viewer { uid: status.euid, gid: status.egid, groups: status.groups })
}

/// Returns a path that leads to this open file as long as it is open.
fn place_of(file: &File) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

fn find_debug_file(path: &Path) -> Option<PathBuf> {
    let build_id = read_elf_build_id(path).ok()??;
    let hex = build_id.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("a string takes everything");
        hex
    });
    let (first, rest) = hex.split_at_checked(2)?;
    Some(Path::new(DEBUG_FILES).join(first).join(format!("{rest}.debug")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_has_names_and_the_kernels_own_code_too() {
        let mut programs = Programs::new();
        let maps = Process::myself().unwrap().maps().unwrap();
        let here = this_program_has_names_and_the_kernels_own_code_too as *const () as u64;
        let map = maps.iter().find(|map| (map.address.0..map.address.1).contains(&here)).unwrap();
        let MMapPath::Path(path) = &map.pathname else {
            panic!("{map:?}");
        };
        let mut places = crate::why::places::Places::default();
        let id = places.add_file(path, map.inode, std::process::id());
        let offset = here - map.address.0 + map.offset;
        let name = programs.find(id, places.file(id), offset).unwrap();
        assert!(name.contains("this_program_has_names"), "{name}");
        let vdso = places.add_file(Path::new(VDSO), 0, 1);
        let page = 0..0x4000;
        let mut names = page.filter_map(|at| programs.find(vdso, places.file(vdso), at));
        assert!(names.any(|name| name.contains("clock_gettime")));
        assert!(programs.stripped().is_empty());
    }

    #[test]
    fn a_file_that_is_gone_has_no_names() {
        let mut places = crate::why::places::Places::default();
        let id = places.add_file(Path::new("/no/such (deleted)"), 1, std::process::id());
        assert_eq!(Programs::new().find(id, places.file(id), 0x10), None);
    }
}
