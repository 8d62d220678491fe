//! What `watch -w` takes: which connections, where their bytes go, and how many.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use looptax_host::eyes::bytes::ServerPlace;

/// Options of `watch -w`.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Bytes of chosen connections")]
pub(crate) struct CaptureArgs {
    /// Write what the chosen connections send and receive into this new file, which Wireshark and tshark read. Asks first.
    /// Choose with --pid, --server or --socket.
    #[arg(short = 'w', long = "write", value_name = "FILE.pcapng", conflicts_with_all = ["once", "save", "all", "elsewhere", "json", "openmetrics"])]
    pub(crate) file: Option<PathBuf>,
    /// All connections of this process and its children; may be repeated.
    #[arg(long, value_name = "PID", requires = "file")]
    pub(crate) pid: Vec<u32>,
    /// The connections of a server of this machine that listens here: 3306, 127.0.0.1:5432, `[::1]:6379`; may be
    /// repeated.
    #[arg(long, value_name = "ADDRESS", requires = "file", value_parser = place)]
    pub(crate) server: Vec<ServerPlace>,
    /// The connections of the server that listens on this socket; may be repeated.
    #[arg(long, value_name = "PATH", requires = "file")]
    pub(crate) socket: Vec<PathBuf>,
    /// Most bytes of each send and each receive: 256, 64K, 1M.
    #[arg(long, value_name = "BYTES", default_value = "1M", requires = "file", value_parser = super::echo::bytes)]
    pub(crate) snaplen: u64,
    /// Stop when the file has this size: 100M, 4G.
    #[arg(long, value_name = "BYTES", default_value = "1G", requires = "file", value_parser = super::echo::bytes)]
    pub(crate) max: u64,
    /// Write the secrets of logins, too, and connections whose logins looptax cannot follow.
    #[arg(long, requires = "file")]
    pub(crate) with_logins: bool,
    /// Do not ask.
    #[arg(long, requires = "file")]
    pub(crate) yes: bool,
}

/// `3306`, `127.0.0.1:3306`, `[::1]:5432`.
fn place(typed: &str) -> Result<ServerPlace, String> {
    let port = typed.parse().ok().filter(|it| *it != 0).map(ServerPlace::Port);
    let address = || typed.parse::<SocketAddr>().ok().filter(|it| it.port() != 0).map(ServerPlace::Address);
    port.or_else(address).ok_or_else(|| "a port or an address with one, for example 3306 or 127.0.0.1:3306".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

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
