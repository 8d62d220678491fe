//! Functions that have no name: the files that contain them, the CPU time that they take, and a note about them for the
//! user.

use std::collections::{BTreeMap, HashMap};

use procfs::process::Process;

use crate::why::symbols::Function;

/// For each program file, the name of the process that runs it, if the two names differ.
pub(crate) type RunAs = HashMap<String, String>;

/// Maximum length of a process name that the kernel keeps, in bytes.
const COMM_BYTES: usize = 15;

/// The observations about one file.
#[derive(Debug, Default)]
struct InFile {
    /// CPU time of functions without a name, in nanoseconds. The time of the functions that they call is not included.
    nameless_ns: u64,
    has_names: bool,
}

/// The observations about all files that contain functions without a name.
#[derive(Debug, Default)]
pub(crate) struct Nameless {
    files: BTreeMap<String, InFile>,
    total_ns: u64,
}

impl Nameless {
    /// Adds a call chain, whose leaf is first, with its CPU time.
    pub(crate) fn add(&mut self, functions: &[&Function], ns: u64) {
        self.total_ns += ns;
        for (depth, function) in functions.iter().enumerate() {
            if function.is_kernel {
                continue;
            }
            let file = self.files.entry(function.module.clone()).or_default();
            match function.name {
                Some(_) => file.has_names = true,
                None if depth == 0 => file.nameless_ns += ns,
                None => {}
            }
        }
    }

    /// Returns the note about these files; the file that took the most time comes first.
    pub(crate) fn note(&self, stripped: &[String], run_as: &RunAs) -> Option<String> {
        let mut files: Vec<(&String, &InFile)> =
            { self.files.iter() }.filter(|(name, _)| stripped.contains(name)).collect();
        files.sort_by_key(|(_, it)| std::cmp::Reverse(it.nameless_ns));
        let parts = files.iter().map(|(name, file)| {
            let all = if file.has_names { "some" } else { "all" };
            let alias = run_as.get(*name);
            let alias = alias.map_or_else(String::new, |it| format!(", which runs as {it},"));
            let share = 100.0 * file.nameless_ns as f64 / (self.total_ns as f64).max(1.0);
            format!("{all} of {name}{alias} with {share:.1} % of the CPU time")
        });
        let parts: Vec<String> = parts.collect();
        (!parts.is_empty()).then(|| {
            format!(
                "looptax counts all functions without names in a file as one function: {}; to get the names, \
                 install a package of debug symbols (-dbgsym, -dbg, -debuginfo)",
                parts.join("; ")
            )
        })
    }
}

/// Returns the names of those processes whose name differs from the name of their file. For example, Debian's
/// `redis-server` is a link to a file with another name.
pub(crate) fn run_as(pids: impl Iterator<Item = u32>) -> RunAs {
    let of_process = |pid: u32| {
        let process = Process::new(pid.cast_signed()).ok()?;
        let file = process.exe().ok()?.file_name()?.to_string_lossy().into_owned();
        let name = process.stat().ok()?.comm;
        let is_cut = name.len() >= COMM_BYTES && file.starts_with(&name);
        (name != file && !is_cut).then_some((file, name))
    };
    pids.filter_map(of_process).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(module: &str, name: Option<&str>) -> Function {
        Function { name: name.map(str::to_owned), module: module.to_owned(), is_kernel: module == "kernel" }
    }

    #[test]
    fn files_are_named_as_they_run_with_the_share_that_has_no_names() {
        let mut nameless = Nameless::default();
        let redis = |name| function("redis-check-rdb", name);
        let (dict, none) = (redis(Some("dictFind")), redis(None));
        let (jemalloc, kernel) = (function("libjemalloc.so.2", None), function("kernel", None));
        nameless.add(&[&dict, &none], 700);
        nameless.add(&[&none], 100);
        nameless.add(&[&jemalloc, &dict], 150);
        nameless.add(&[&kernel, &none], 50);
        let stripped = ["redis-check-rdb", "libjemalloc.so.2"].map(str::to_owned);
        let run_as = RunAs::from([("redis-check-rdb".to_owned(), "redis-server".to_owned())]);
        let note = nameless.note(&stripped, &run_as).unwrap();
        let words = "as one function: all of libjemalloc.so.2 with 15.0 % of the CPU time; some of redis-check-rdb, \
                     which runs as redis-server, with 10.0 % of the CPU time; to get the names, install a package";
        assert!(note.contains(words), "{note}");
        assert_eq!(nameless.note(&[], &run_as), None);
        assert_eq!(Nameless::default().note(&stripped, &run_as), None);
    }

    #[test]
    fn a_program_under_its_own_name_runs_as_nothing_else() {
        let own = run_as(std::iter::once(std::process::id()));
        assert!(own.is_empty(), "{own:?}");
    }
}
