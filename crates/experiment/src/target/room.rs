//! Checks that there is enough space for a private server's data: disk for tables, and memory for the tables' cache and
//! for keys. Also checks that this process may open enough files for its connections.
//!
//! The checks are made before anything is started, so that nothing has to be cleaned up.

use std::path::Path;

use looptax_bench::path::Workload;
use looptax_host::kernel;
use looptax_model::failure::Failure;
use rustix::process::{Resource, getrlimit};

use super::connections;
use super::workloads::VALUE_BYTES;
use crate::spec::{Experiment, Requests};

/// Disk space per row in bytes. A row of sysbench's table with its indexes takes some 270 bytes in `InnoDB` and
/// PostgreSQL, and as much again in a log before the row is written to the table.
const BYTES_PER_ROW: u64 = 512;
/// Memory of a key in Redis in addition to its value, in bytes.
const BYTES_PER_KEY: u64 = 128;
/// The space that must stay free in addition to the data, in bytes: for an empty server's own files, and for other
/// programs.
const SPARE_BYTES: u64 = 512 << 20;

/// Number of files that looptax needs besides its connections; 10 were observed.
const SPARE_FILES: u64 = 16;

/// Returns an error if the connections would need more files than this process may open. A server that looptax starts
/// has the same limit, and would leave some of the connections unserved.
///
/// # Errors
/// A usage failure with the figures.
pub(super) fn check_files(settings: &Experiment, is_private: bool) -> Result<(), Failure> {
    let most = connections(settings, is_private).into_iter().max();
    let most = u64::from(most.unwrap_or(1));
    let needed = 2 * most + SPARE_FILES;
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    if settings.exec.is_some() || needed <= limit {
        return Ok(());
    }
    Err(Failure::usage(
        format!("{most} connections per arm need {needed} open files, but this process may open only {limit}"),
        format!(
            "use fewer connections (-c), or raise the hard limit: `ulimit -Hn {needed}` as root, limits.conf, or a \
             unit's LimitNOFILE"
        ),
    ))
}

/// How much space the data need, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Needs {
    disk_bytes: u64,
    memory_bytes: u64,
}

/// Returns an error if there are more rows than fit into the available space.
///
/// # Errors
/// A usage failure with the figures.
pub(super) fn check(workload: &Workload, requests: &Requests, rows: u32, folder: &Path) -> Result<(), Failure> {
    let needs = needs(workload, requests, u64::from(rows));
    let free_disk = rustix::fs::statvfs(folder).ok().map(|found| found.f_bavail * found.f_frsize);
    let disk = format!("free disk space in {}", folder.display());
    refuse_more(rows, needs.disk_bytes, free_disk, &disk)?;
    let memory = kernel::text("/proc/meminfo").ok().and_then(|text| available(&text));
    refuse_more(rows, needs.memory_bytes, memory, "free memory")
}

fn needs(workload: &Workload, requests: &Requests, rows: u64) -> Needs {
    let keys = |n_keys: u64, value_bytes: usize| Needs {
        disk_bytes: 0,
        memory_bytes: n_keys * (BYTES_PER_KEY + value_bytes as u64),
    };
    match workload {
        Workload::PointSelect { .. }
        | Workload::Oltp { .. }
        | Workload::Tpcb { .. }
        | Workload::SelectOnly { .. }
        | Workload::Dump { .. } => Needs { disk_bytes: rows * BYTES_PER_ROW, memory_bytes: rows * BYTES_PER_ROW },
        Workload::Get { .. } | Workload::Mixed { .. } | Workload::Set { .. } => {
            keys(rows, requests.value_bytes.unwrap_or(VALUE_BYTES))
        }
        Workload::DumpValues { n_keys, value_bytes, .. } => keys(*n_keys, *value_bytes),
        _ => keys(0, 0),
    }
}

fn refuse_more(rows: u32, needed: u64, free: Option<u64>, place: &str) -> Result<(), Failure> {
    match free {
        Some(free) if needed > 0 && needed + SPARE_BYTES > free => Err(Failure::usage(
            format!(
                "--rows {rows} needs about {} of {place}, but only {} are available",
                gigabytes(needed + SPARE_BYTES),
                gigabytes(free)
            ),
            "use fewer rows, or set another folder for scratch files with TMPDIR",
        )),
        _ => Ok(()),
    }
}

fn gigabytes(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}

/// Returns the available memory, from the line `MemAvailable:   12345 kB`.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_refused_with_figures() {
        let refused = refuse_more(7, 3_000_000_000, Some(2_500_000_000), "free memory");
        let words = refused.unwrap_err().to_string();
        assert_eq!(words, "--rows 7 needs about 3.5 GB of free memory, but only 2.5 GB are available");
        assert!(refuse_more(7, 1, Some(SPARE_BYTES + 1), "free memory").is_ok());
        assert!(refuse_more(7, 1, None, "free memory").is_ok());
        assert!(refuse_more(7, 0, Some(0), "free memory").is_ok());
    }

    #[test]
    fn available_memory_stands_in_its_line() {
        let text = "MemTotal:       24000000 kB\nMemAvailable:   22000000 kB\n";
        assert_eq!(available(text), Some(22_000_000 << 10));
        assert_eq!(available("MemTotal: 1 kB"), None);
    }
}
