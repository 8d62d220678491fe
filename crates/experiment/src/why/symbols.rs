//! Finds the names of the places at which samples were taken: functions of the kernel and of programs, and code made at
//! run time.
//!
//! Each place is looked up once, when the caller needs its name; all places in the same function have the same
//! [`FunctionId`]. The files of a server in a container are read through its processes, so look names up while the
//! server runs. This module only reads files.

mod kernel;
mod perf_map;
mod programs;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use kernel::Kallsyms;
use perf_map::PerfMap;
use programs::Programs;

use crate::why::places::{FileId, Frame, FrameId, Interner, Places};

/// The module of the kernel itself; loaded modules have their names in brackets.
pub(crate) const KERNEL: &str = "kernel";
/// The module of code that belongs to no file.
pub(crate) const ANONYMOUS: &str = "[anonymous]";
/// The module of addresses that no longer belonged to their process.
pub(crate) const UNKNOWN: &str = "[unknown]";

/// A function, as an index into [`Symbols`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FunctionId(u32);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Function {
    /// The name in the linker's form. An address if the kernel hides its names; `None` if the program has no name for
    /// the function.
    pub(crate) name: Option<String>,
    /// [`KERNEL`], `[veth]`, `mariadbd`, `libc.so.6`, `[vdso]`, [`ANONYMOUS`] or [`UNKNOWN`].
    pub(crate) module: String,
    pub(crate) is_kernel: bool,
}

pub(crate) struct Symbols {
    /// `None` until the first place in the kernel is looked up.
    kernel: Option<Kallsyms>,
    programs: Programs,
    perf_maps: HashMap<u32, PerfMap>,
    functions: Interner<Function>,
    known: Vec<Option<FunctionId>>,
}

impl Symbols {
    pub(crate) fn new() -> Self {
        Self {
            kernel: None,
            programs: Programs::new(),
            perf_maps: HashMap::new(),
            functions: Interner::default(),
            known: Vec::new(),
        }
    }

    /// Returns the function that contains a place.
    pub(crate) fn resolve(&mut self, places: &Places, id: FrameId) -> FunctionId {
        if self.known.len() <= id.index() {
            self.known.resize(id.index() + 1, None);
        }
        if let Some(known) = self.known[id.index()] {
            return known;
        }
        let function = match places.frame(id) {
            Frame::Kernel(address) => self.find_in_kernel(address),
            Frame::InFile { file, offset } => self.find_in_file(places, file, offset),
            Frame::Anonymous { pid, address } => self.find_in_perf_map(pid, address),
            Frame::Unknown => new_function(None, UNKNOWN),
        };
        let function = FunctionId(self.functions.intern(function));
        self.known[id.index()] = Some(function);
        function
    }

    pub(crate) fn function(&self, id: FunctionId) -> &Function {
        self.functions.value(id.0)
    }

    /// Returns the stripped files in which looptax looked for the name of a place and did not find it.
    pub(crate) fn stripped(&self) -> &BTreeSet<PathBuf> {
        self.programs.stripped()
    }

    /// Returns a note for the user about missing names.
    pub(crate) fn note(&self) -> Option<&'static str> {
        let is_hidden = self.kernel.as_ref().is_some_and(Kallsyms::is_empty);
        is_hidden.then_some(
            "the kernel hides the names of its functions, so looptax lists them by address: run looptax as root, or \
             set `sysctl kernel.kptr_restrict=0`",
        )
    }

    fn find_in_kernel(&mut self, address: u64) -> Function {
        let kernel = self.kernel.get_or_insert_with(Kallsyms::read);
        let (name, module) = match kernel.find(address) {
            Some((name, module)) => (name.to_owned(), module.unwrap_or(KERNEL)),
            None => (format!("{address:#x}"), KERNEL),
        };
        Function { is_kernel: true, ..new_function(Some(name), module) }
    }

    fn find_in_file(&mut self, places: &Places, id: FileId, offset: u64) -> Function {
        let file = places.file(id);
        let name = self.programs.find(id, file, offset);
        new_function(name, &module_name(file.path))
    }

    fn find_in_perf_map(&mut self, pid: u32, address: u64) -> Function {
        let perf_map = self.perf_maps.entry(pid);
        let perf_map = perf_map.or_insert_with(|| PerfMap::read(pid));
        new_function(perf_map.find(address).map(str::to_owned), ANONYMOUS)
    }
}

fn new_function(name: Option<String>, module: &str) -> Function {
    Function { name, module: module.to_owned(), is_kernel: false }
}

/// Returns the file's name, without the mark that the kernel adds for a replaced file.
pub(crate) fn module_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    let name = name.to_string_lossy();
    name.trim_end_matches(" (deleted)").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_without_a_name_keep_their_module() {
        let (mut symbols, mut places) = (Symbols::new(), Places::default());
        let gone = Path::new("/no/such/mariadbd (deleted)");
        let file = places.add_file(gone, 1, 1 << 24);
        let frames = [
            Frame::InFile { file, offset: 1 },
            Frame::InFile { file, offset: 2 },
            Frame::Anonymous { pid: 1 << 24, address: 8 },
            Frame::Unknown,
        ];
        let ids = frames.map(|frame| places.add_frame(frame));
        let [first, second, anonymous, unknown] = ids.map(|id| symbols.resolve(&places, id));
        assert_eq!(first, second);
        for (id, module) in [(first, "mariadbd"), (anonymous, ANONYMOUS), (unknown, UNKNOWN)] {
            let function = symbols.function(id);
            assert_eq!((function.name.as_deref(), function.module.as_str()), (None, module));
            assert!(!function.is_kernel);
        }
        assert_eq!(symbols.resolve(&places, ids[0]), first);
        assert_eq!(symbols.note(), None);
    }
}
