//! The driver's view of a peer: how to run it on a work, and how to read its output.
//!
//! One of these per program, in `tools`.

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
    /// Name and version in its own words.
    pub(crate) version: fn() -> Result<String>,
    /// The command that does as asked.
    pub(crate) command: fn(&Ask<'_>) -> Result<Command>,
    pub(crate) read: fn(&str, &Ask<'_>) -> Result<Report>,
    pub(crate) length: Length,
    /// Ways to the server that it knows.
    pub(crate) arms: &'static [Arm],
    /// Whether `Effort::Requests` works, so that its start can be separated from its work.
    pub(crate) can_count: bool,
    /// Its own server on this port, where it speaks to no other.
    pub(crate) server: Option<fn(u16) -> Command>,
}

/// How a tool takes the length of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Length {
    Seconds,
    /// As a number of requests, which the driver works out from an earlier rate.
    Requests,
}

/// The server's address, and our login there.
pub(crate) struct Address {
    pub(crate) socket: PathBuf,
    pub(crate) port: u16,
    pub(crate) user: String,
    pub(crate) password: String,
    pub(crate) database: String,
}

impl Address {
    /// Of a server that asks for no login.
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
    /// Whether each request has a separate connection.
    pub(crate) reconnects: bool,
    /// Cores that the client may use.
    pub(crate) n_cores: usize,
    pub(crate) effort: Effort,
    pub(crate) seed: u32,
    /// A folder for what a tool writes about single requests; `None` if their times are not wanted.
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
    /// Of each second, where it tells.
    pub(crate) rates_1s: Vec<f64>,
    /// Median latency, µs, where it tells.
    pub(crate) p50_us: Option<f64>,
    pub(crate) p99_us: Option<f64>,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A run of 1,000 requests over the socket, for readers of reports.
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
