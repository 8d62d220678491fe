//! The interface of a peer: how to run it for a work, and how to read its output.
//!
//! Each program has its own [`Tool`], in `tools`.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use looptax_model::dsn::Arm;

use super::work::Work;

pub(crate) const BOTH: &[Arm] = &[Arm::Unix, Arm::Tcp];

/// A load generator other than looptax.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) install: &'static str,
    /// Returns name and version, as the program reports them.
    pub(crate) version: fn() -> Result<String>,
    /// Makes the command for a run.
    pub(crate) command: fn(&Ask<'_>) -> Result<Command>,
    pub(crate) read: fn(&str, &Ask<'_>) -> Result<Report>,
    pub(crate) length: Length,
    /// Arms that the program supports.
    pub(crate) arms: &'static [Arm],
    /// Whether `Effort::Requests` works, so that the cost of the program's start can be separated from that of its
    /// work.
    pub(crate) can_count: bool,
    /// The program's own server on this port, if the program supports no other server.
    pub(crate) server: Option<fn(u16) -> Command>,
}

/// The form in which a tool accepts the length of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    Seconds,
    /// As a number of requests, which the driver computes from an earlier rate.
    Requests,
}

/// The server's address, and our login.
pub(crate) struct Address {
    pub(crate) socket: PathBuf,
    pub(crate) port: u16,
    pub(crate) user: String,
    pub(crate) password: String,
    pub(crate) database: String,
}

impl Address {
    /// Returns the address of a server that does not ask for a login.
    pub(crate) fn of_port(port: u16) -> Self {
        let [user, password, database] = [const { String::new() }; 3];
        Self { socket: PathBuf::new(), port, user, password, database }
    }
}

pub(crate) struct Ask<'a> {
    pub(crate) at: &'a Address,
    pub(crate) work: Work,
    pub(crate) arm: Arm,
    pub(crate) connections: u32,
    /// Whether each request has its own connection.
    pub(crate) reconnects: bool,
    /// Number of cores that the client may use.
    pub(crate) n_cores: usize,
    pub(crate) effort: Effort,
    pub(crate) seed: u32,
    /// The folder to which a tool writes its logs about single requests; `None` if no logs are needed.
    pub(crate) log: Option<&'a Path>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    Seconds(u32),
    Requests(u64),
}

/// The results in a tool's report.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Report {
    pub(crate) n_requests: u64,
    pub(crate) rate_per_s: f64,
    /// The rate of each second, if the tool reports it.
    pub(crate) rates_1s: Vec<f64>,
    /// Median latency in µs, if the tool reports it.
    pub(crate) p50_us: Option<f64>,
    pub(crate) p99_us: Option<f64>,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Makes a run of 1,000 requests over the socket, for tests of report parsers.
    pub(crate) fn ask(work: Work) -> Ask<'static> {
        let at = Box::new(Address {
            socket: PathBuf::from("/tmp/s.sock"),
            port: 7,
            user: "looptax".to_owned(),
            password: "secret".to_owned(),
            database: "looptax".to_owned(),
        });
        Ask {
            at: Box::leak(at),
            work,
            arm: Arm::Unix,
            connections: 1,
            reconnects: false,
            n_cores: 1,
            effort: Effort::Requests(1000),
            seed: 1,
            log: None,
        }
    }
}
