//! Reads the last lines of a server's log for an error message.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

/// Maximum size of the log's end in an error message, in bytes.
const LOG_TAIL_BYTES: u64 = 8 * 1024;
/// Maximum number of lines of the log's end in an error message.
const LOG_TAIL_LINES: usize = 15;

/// Returns the last lines that are not empty, without control characters.
pub(super) fn read_tail(mut file: File) -> io::Result<String> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LOG_TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.take(LOG_TAIL_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<String> = text
        .lines()
        .map(|line| line.replace(char::is_control, " ").trim_end().to_owned())
        .filter(|line| !line.is_empty())
        .collect();
    Ok(lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n"))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn the_log_tail_keeps_the_last_lines_and_no_escape_sequences() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("log");
        let mut log = File::create(&path).unwrap();
        for line in 0..4000 {
            writeln!(log, "line {line}").unwrap();
        }
        writeln!(log, "\x1b[31mred\x07").unwrap();
        let tail = read_tail(File::open(&path).unwrap()).unwrap();
        assert_eq!(tail.lines().count(), LOG_TAIL_LINES);
        assert_eq!(tail.lines().next(), Some("line 3986"));
        assert_eq!(tail.lines().last(), Some(" [31mred"));
    }
}
