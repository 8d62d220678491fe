//! What the server writes into its log while an application tries to come in: the cause, in its own words.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use looptax_discover::Process;

/// So much of what was added is read.
const MOST_BYTES: u64 = 256 << 10;
/// Lines that are told.
const MOST_LINES: usize = 3;
/// Words of lines that tell of a refused client, in lower case.
const TELLING: [&str; 5] = [
    "access denied",
    "fatal",
    "authentication failed",
    "no pg_hba.conf entry",
    "too many connections",
];

/// The logs that a server has open, and how long each was.
#[derive(Debug, Default)]
pub(super) struct Logs(Vec<(PathBuf, u64)>);

impl Logs {
    /// Finds them among the files that the process has open; none where it may not be looked into.
    pub(super) fn find(server: &Process) -> Self {
        let entries = fs::read_dir(server.file("fd")).into_iter().flatten();
        let mut found: Vec<(PathBuf, u64)> = Vec::new();
        for entry in entries.flatten() {
            let Ok(path) = fs::read_link(entry.path()) else {
                continue;
            };
            let is_output = matches!(entry.file_name().to_str(), Some("1" | "2"));
            let is_named = { path.extension() }.is_some_and(|it| it == "log" || it == "err");
            let Ok(metadata) = fs::metadata(&path) else {
                continue;
            };
            let is_new = found.iter().all(|(known, _)| *known != path);
            if metadata.is_file() && (is_output || is_named) && is_new {
                found.push((path, metadata.size()));
            }
        }
        Self(found)
    }

    /// The last lines since then that tell of somebody who was refused.
    pub(super) fn telling_lines(&self) -> Vec<String> {
        let added = self.0.iter().filter_map(|(path, from)| {
            let mut file = File::open(path).ok()?;
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
        { lines[first..].iter() }
            .map(|it| it.trim().chars().take(300).collect())
            .collect()
    }
}
