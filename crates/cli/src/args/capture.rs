//! Options of `watch -w`: which connections, which file, and how many bytes.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use looptax_host::eyes::bytes::ServerPlace;

/// Minimum value of `--snaplen`: with fewer bytes of each send or receive, the beginning of a request would be missing
/// in some protocols.
const LEAST_SNAPLEN: u64 = 64;
/// Minimum value of `--max`: a smaller file cannot hold its own headers and a few packets.
const LEAST_MAX: u64 = 4 << 10;

/// Options of `watch -w`.
#[derive(Debug, Clone, Args)]
pub(crate) struct CaptureArgs {
    /// Write the bytes of chosen connections to a file for Wireshark.
    ///
    /// looptax writes what these connections send and receive into a new file, which Wireshark and tshark read. --pid,
    /// --server and --socket each add connections. looptax asks before it starts.
    #[arg(help_heading = "Bytes of chosen connections", short = 'w', long = "write", value_name = "FILE.pcapng", conflicts_with_all = ["once", "save", "all", "elsewhere", "json", "openmetrics"])]
    pub(crate) file: Option<PathBuf>,
    /// With -w: write the connections of this process and its children.
    ///
    /// May be repeated.
    #[arg(help_heading = "Bytes of chosen connections", long, value_name = "PID", requires = "file")]
    pub(crate) pid: Vec<u32>,
    /// With -w: write TCP connections to this port or address of this machine.
    ///
    /// For example 3306, 127.0.0.1:5432 or `[::1]:6379`. May be repeated.
    #[arg(help_heading = "Bytes of chosen connections", long, value_name = "ADDRESS", requires = "file", value_parser = place)]
    pub(crate) server: Vec<ServerPlace>,
    /// With -w: write connections to the Unix socket at this path.
    ///
    /// May be repeated.
    #[arg(help_heading = "Bytes of chosen connections", long, value_name = "PATH", requires = "file")]
    pub(crate) socket: Vec<PathBuf>,
    /// Keep at most this many bytes of each send and each receive: 256, 64K, 1M.
    ///
    /// At least 64.
    #[arg(help_heading = "Bytes of chosen connections", long, value_name = "BYTES", default_value = "1M", requires = "file", value_parser = snaplen)]
    pub(crate) snaplen: u64,
    /// Stop when the file has this size: 100M, 4G.
    ///
    /// At least 4K.
    #[arg(help_heading = "Bytes of chosen connections", long, value_name = "BYTES", default_value = "1G", requires = "file", value_parser = max)]
    pub(crate) max: u64,
    /// Also write the passwords of logins.
    ///
    /// Without this option looptax replaces the secrets of logins by `*`, and leaves out connections whose logins it
    /// cannot follow.
    #[arg(help_heading = "Bytes of chosen connections", long, requires = "file")]
    pub(crate) with_logins: bool,
    /// Do not ask.
    #[arg(help_heading = "Bytes of chosen connections", long, requires = "file")]
    pub(crate) yes: bool,
}

/// Parses `3306`, `127.0.0.1:3306` or `[::1]:5432`.
fn place(typed: &str) -> Result<ServerPlace, String> {
    let port = typed.parse().ok().filter(|it| *it != 0).map(ServerPlace::Port);
    let address = || typed.parse::<SocketAddr>().ok().filter(|it| it.port() != 0).map(ServerPlace::Address);
    port.or_else(address)
        .ok_or_else(|| "give a port, or an address with a port, for example 3306 or 127.0.0.1:3306".to_owned())
}

fn snaplen(typed: &str) -> Result<u64, String> {
    at_least(LEAST_SNAPLEN, "64", typed)
}

fn max(typed: &str) -> Result<u64, String> {
    at_least(LEAST_MAX, "4K", typed)
}

fn at_least(least: u64, in_words: &str, typed: &str) -> Result<u64, String> {
    let bytes = super::echo::bytes(typed)?;
    if bytes < least { Err(format!("give at least {in_words}: fewer bytes are useless")) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_that_leave_nothing_to_read_are_refused_with_the_least_one() {
        let too_small = |words: &str| Err(format!("give at least {words}: fewer bytes are useless"));
        for (parse, typed, wanted) in [
            (snaplen as fn(&str) -> Result<u64, String>, "0", too_small("64")),
            (snaplen, "63", too_small("64")),
            (snaplen, "64", Ok(64)),
            (snaplen, "1M", Ok(1 << 20)),
            (max, "0", too_small("4K")),
            (max, "4095", too_small("4K")),
            (max, "4K", Ok(4 << 10)),
        ] {
            assert_eq!(parse(typed), wanted, "{typed}");
        }
        assert!(snaplen("x").is_err() && max("-1").is_err());
    }

    #[test]
    fn a_server_is_a_port_or_an_address_with_one() {
        let address = |it: &str| Some(ServerPlace::Address(it.parse().unwrap()));
        for (typed, wanted) in [
            ("3306", Some(ServerPlace::Port(3306))),
            ("127.0.0.1:3306", address("127.0.0.1:3306")),
            ("[::1]:5432", address("[::1]:5432")),
            ("0", None),
            ("127.0.0.1", None),
            ("localhost:3306", None),
        ] {
            assert_eq!(place(typed).ok(), wanted, "{typed}");
        }
    }
}
