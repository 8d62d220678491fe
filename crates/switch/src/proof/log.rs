//! Reads the lines that the server logs while an application tries to connect; they contain the server's own reason.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use looptax_host::discover::Process;
use looptax_host::{FileId, kernel};
use rustix::fs::{FileType, fstat};

/// The maximum number of bytes of the added text that are read.
const MOST_BYTES: u64 = 256 << 10;
const MOST_LINES: usize = 3;
/// Words in log lines about a refused client, in lower case.
const TELLING: [&str; 5] =
    ["access denied", "fatal", "authentication failed", "no pg_hba.conf entry", "too many connections"];

/// The log files that a server has open. looptax holds them open too, each with the file's length at the start.
#[derive(Debug, Default)]
pub(super) struct Logs(Vec<(File, u64)>);

impl Logs {
    /// Finds the log files among those files that the process has open and that the process's user may read; empty if
    /// looptax may not inspect the process.
    pub(super) fn find(server: &Process) -> Self {
        let names = kernel::names(server.file("fd")).into_iter().flatten();
        let mut known: Vec<FileId> = Vec::new();
        let mut found = Vec::new();
        for name in names {
            let open = server.file("fd").join(&name);
            let Ok(path) = kernel::link(&open) else {
                continue;
            };
            let is_output = name == "1" || name == "2";
            let is_named = { path.extension() }.is_some_and(|it| it == "log" || it == "err");
            let is_file = kernel::metadata(&open).is_ok_and(|it| it.is_file());
            if !is_file || !(is_output || is_named) {
                continue;
            }
            let Ok(file) = kernel::open(&open) else {
                continue;
            };
            let Ok(stat) = fstat(&file) else { continue };
            let is_ordinary = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
            let id = FileId::from(&stat);
            // A process may have opened a file that the process's user may not read.
            if is_ordinary && !known.contains(&id) && server.viewer().may_read(&stat) {
                known.push(id);
                found.push((file, u64::try_from(stat.st_size).unwrap_or(0)));
            }
        }
        Self(found)
    }

    /// Returns the last lines about a refused client that were added since the start.
    pub(super) fn telling_lines(&self) -> Vec<String> {
        let added = self.0.iter().filter_map(|(file, from)| {
            let mut file: &File = file;
            file.seek(SeekFrom::Start(*from)).ok()?;
            let mut bytes = Vec::new();
            file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        });
        let text: String = added.collect();
        let tells = |line: &&str| {
            let line = line.to_lowercase();
            TELLING.iter().any(|word| line.contains(word))
        };
        let lines: Vec<&str> = text.lines().filter(tells).collect();
        let first = lines.len().saturating_sub(MOST_LINES);
        { lines[first..].iter() }.map(|it| it.trim().chars().take(300).collect()).collect()
    }
}
