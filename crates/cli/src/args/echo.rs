//! Options of the echo server's workloads.

use clap::{Args, ValueEnum};

/// Options of the echo server's workloads.
#[derive(Debug, Clone, Args)]
pub(crate) struct EchoArgs {
    /// Workload ping: bytes per request, 8 to 1M (default: 64).
    ///
    /// K, M and G are 2^10, 2^20 and 2^30.
    #[arg(hide_short_help = true, long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) request_size: Option<u64>,
    /// Workload ping: bytes per reply, 8 to 1M (default: 64).
    #[arg(hide_short_help = true, long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) reply_size: Option<u64>,
    /// Workload stream: bytes per request, 8 to 4G (default: 4M).
    #[arg(hide_short_help = true, long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) stream_bytes: Option<u64>,
    /// Workload stream: bytes per write, 8 to 1M (default: 128K).
    #[arg(hide_short_help = true, long, value_name = "BYTES", value_parser = bytes)]
    pub(crate) write_size: Option<u64>,
    /// Echo server: `TCP_NODELAY` on (default) or off.
    #[arg(hide_short_help = true, hide_possible_values = true, long, value_enum, value_name = "SWITCH")]
    pub(crate) nodelay: Option<Switch>,
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    /// Small packets leave at once.
    On,
    /// Small packets wait for others (Nagle's algorithm).
    Off,
}

/// Parses a size: `65536`, `64K`, `64KiB`, `4M` or `1G`.
pub(super) fn bytes(typed: &str) -> Result<u64, String> {
    let unit = typed.trim_start_matches(|c: char| c.is_ascii_digit());
    let shift = match unit {
        "" => 0,
        "K" | "k" | "KiB" => 10,
        "M" | "MiB" => 20,
        "G" | "GiB" => 30,
        _ => return Err("give a number of bytes, for example 65536, 64K, 4M or 1G".to_owned()),
    };
    typed[..typed.len() - unit.len()]
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(1 << shift))
        .ok_or_else(|| "not a number of bytes, or too large".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(typed: &str, wanted: Option<u64>) {
        assert_eq!(bytes(typed).ok(), wanted, "{typed}");
    }

    #[test]
    fn sizes_have_binary_units() {
        check("8", Some(8));
        check("128K", Some(131_072));
        check("4MiB", Some(4 << 20));
        check("1G", Some(1 << 30));
        check("", None);
        check("K", None);
        check("-1", None);
        check("1T", None);
        check("99999999999G", None);
    }
}
