//! The result of a capture as text.

use std::fmt::Write as _;
use std::path::Path;

use looptax_host::eyes::bytes::Missing;

use super::flows::Written;
use crate::args::CaptureArgs;

/// Returns the text that is printed at the end of a capture.
pub(super) fn ended(path: &Path, written: &Written, missing: Missing, args: &CaptureArgs) -> String {
    let mut text = format!(
        "{}: {}, {}, {} of data; the size of the file is {}\n",
        path.display(),
        counted(written.n_connections, "connection"),
        counted(written.n_packets, "packet"),
        amount(written.n_bytes),
        amount(written.n_file_bytes),
    );
    let mut line = |is_there: bool, words: String| {
        if is_there {
            let _ = writeln!(text, "  {words}");
        }
    };
    line(written.is_full, format!("looptax stopped at the limit of --max ({})", size(args.max)));
    line(written.n_hidden > 0, format!("{} of logins were replaced by `*`", counted(written.n_hidden, "byte")));
    line(
        written.n_unfollowed > 0,
        format!(
            "left out completely: {}, because looptax cannot separate their logins from other bytes; --with-logins \
             includes these connections",
            counted(written.n_unfollowed, "connection")
        ),
    );
    line(
        written.n_unknown > 0 && !args.with_logins,
        format!(
            "{} were left out because they may belong to a login. These bytes belong to connections whose protocol \
             looptax does not follow, belong to connections that began before the capture (until their second \
             request), or come after missing bytes",
            counted(written.n_unknown, "byte")
        ),
    );
    line(missing.n_snapped > 0, format!("{} were cut off by --snaplen", counted(missing.n_snapped, "byte")));
    line(
        missing.n_dropped > 0,
        format!("{} were lost: they came faster than looptax could write them", counted(missing.n_dropped, "byte")),
    );
    line(
        missing.n_unreadable > 0,
        format!(
            "{} could not be read, because they were sent or received by io_uring, sendfile, splice, sendmmsg or a \
                32-bit program",
            counted(missing.n_unreadable, "byte")
        ),
    );
    line(
        written.n_encrypted > 0,
        format!(
            "encrypted: {}; the file contains the encrypted bytes, and Wireshark needs the keys",
            counted(written.n_encrypted, "connection")
        ),
    );
    let ports = written.decode_as.iter().map(|(port, name)| format!(" -d tcp.port=={port},{name}"));
    line(true, format!("to read the file: tshark -r {}{}", path.display(), ports.collect::<String>()));
    text
}

/// Formats a count with its noun: `1 packet`, `3,456 packets`.
fn counted(n: u64, noun: &str) -> String {
    let digits = n.to_string();
    let mut words = String::new();
    for (idx, digit) in digits.chars().enumerate() {
        if idx > 0 && (digits.len() - idx).is_multiple_of(3) {
            words.push(',');
        }
        words.push(digit);
    }
    format!("{words} {noun}{}", if n == 1 { "" } else { "s" })
}

/// Formats a size that the user chose: `64 KiB`, `1 GiB`.
pub(super) fn size(n: u64) -> String {
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = units.into_iter().find(|(unit, _)| n >= *unit && n.is_multiple_of(*unit));
    unit.map_or_else(|| counted(n, "byte"), |(unit, name)| format!("{} {name}", n / unit))
}

/// Formats a measured number of bytes: `12 bytes`, `3.4 MB`.
fn amount(n: u64) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")];
    let unit = UNITS.iter().find(|(unit, _)| n >= *unit);
    unit.map_or_else(|| counted(n, "byte"), |(unit, name)| format!("{:.1} {name}", n as f64 / *unit as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_people_write_them() {
        assert_eq!(counted(1, "byte"), "1 byte");
        assert_eq!(counted(1_234_567, "byte"), "1,234,567 bytes");
        assert_eq!(counted(123, "packet"), "123 packets");
        assert_eq!((size(1 << 30), size(65_536)), ("1 GiB".to_owned(), "64 KiB".to_owned()));
        assert_eq!(amount(999), "999 bytes");
        assert_eq!(amount(3_449_000), "3.4 MB");
    }
}
