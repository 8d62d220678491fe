//! The peers, one file each. Each file has the same members in the same order: version, command, reading.

pub(crate) mod iperf3;
pub(crate) mod oha;
mod output;
pub(crate) mod own;
pub(crate) mod pgbench;
pub(crate) mod redis_benchmark;
pub(crate) mod slap;
pub(crate) mod sockperf;
pub(crate) mod sysbench;
pub(crate) mod wrk;

use serde::{Deserialize, Deserializer};

use super::tool::Tool;

pub(crate) const TOOLS: [&Tool; 9] = [
    &sysbench::SYSBENCH,
    &pgbench::PGBENCH,
    &redis_benchmark::REDIS_BENCHMARK,
    &sockperf::SOCKPERF,
    &iperf3::IPERF3,
    &wrk::WRK,
    &oha::OHA,
    &own::OWN,
    &slap::SLAP,
];

/// Parses the name in a case, and returns its peer.
pub(super) fn named<'de, D: Deserializer<'de>>(from: D) -> Result<&'static Tool, D::Error> {
    let name = String::deserialize(from)?;
    let tool = TOOLS.into_iter().find(|tool| tool.name == name);
    tool.ok_or_else(|| serde::de::Error::custom(format!("there is no peer `{name}`")))
}
