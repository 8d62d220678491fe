//! One machine's part of a pool of results: the figures, and the facts about the machine that change them. Nothing in
//! it identifies the machine.
//!
//! `looptax show --publish` writes it as one line of JSON; `looptax-fleet` makes and checks it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Client, Figure, Placement, Verdict};
use crate::stats::range::{Real, SmallCount, Version};

/// The version of [`Contribution`]. Raised when a field changes its meaning or is removed.
pub const CONTRIBUTION_SCHEMA_VERSION: u32 = 1;

/// Results of one machine, without its name and without any path, label or user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Contribution {
    /// The version of this form: [`CONTRIBUTION_SCHEMA_VERSION`].
    #[schemars(extend("const" = CONTRIBUTION_SCHEMA_VERSION))]
    #[serde(deserialize_with = "Version::read")]
    #[schemars(with = "Version")]
    pub schema_version: u32,
    /// The version of looptax that measured.
    pub looptax_version: String,
    /// The month in which it was measured: `2026-11`.
    pub month: String,
    /// The machine.
    pub machine: ContributedMachine,
    /// Its results, in the order in which they were measured.
    pub results: Vec<ContributedResult>,
    /// SHA-256, in hexadecimal, of this object as one line of JSON in which this field is empty.
    pub sha256: String,
}

/// The facts about a machine that change results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContributedMachine {
    /// The kernel's version, without the suffixes that a distribution or a builder adds: `6.1.0`.
    pub kernel: String,
    /// The preemption model.
    pub preemption: Option<String>,
    /// Machine architecture, as `uname -m`.
    pub arch: Option<String>,
    /// CPU model.
    pub cpu_model: Option<String>,
    /// CPUs that looptax may use.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub cpus: u32,
    /// Whether this is a virtual machine.
    pub hypervisor: Option<bool>,
    /// Whether a core runs more than one hardware thread.
    pub smt: Option<bool>,
    /// The kernel's clock source.
    pub clocksource: Option<String>,
    /// CPU frequency governor.
    pub governor: Option<String>,
    /// The control group's `cpu.max`.
    pub cgroup_cpu_max: Option<String>,
    /// Mitigations of CPU faults: name to state.
    pub mitigations: BTreeMap<String, String>,
}

/// The tax of one arm in one comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContributedResult {
    /// The server's kind.
    pub kind: String,
    /// Its version.
    pub version: String,
    /// Whether looptax started it.
    pub private: bool,
    /// A built-in workload.
    pub workload: String,
    /// How statements were sent.
    pub protocol: Option<String>,
    /// Requests that are sent together.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub pipeline: u32,
    /// Connections per arm.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub connections: u32,
    /// Which cores the two ends ran on.
    pub placement: Placement,
    /// How the client waited.
    pub client: Client,
    /// The rate as a percentage of what the slower arm can serve; `null` if there was no limit on the rate.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub share_pct: Option<f64>,
    /// Requests after which a connection was closed and opened again; `null` for never.
    pub reconnect_every: Option<u32>,
    /// The arm that other arms are compared with.
    pub baseline: String,
    /// The arm that is compared with it.
    pub arm: String,
    /// Throughput lost, percent, with its interval; missing if its size is uncertain.
    pub tax_pct: Figure,
    /// The range that holds the tax, percent, if its size is uncertain.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<[Real; 2]>")]
    pub range_pct: Option<[f64; 2]>,
    /// CPU time that other processes took, percent of the machine; `null` if not known.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub foreign_pct: Option<f64>,
    /// CPU time that the hypervisor took, percent of the machine; `null` if not known.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub steal_pct: Option<f64>,
    /// Added median latency, µs.
    pub added_us: Figure,
    /// The baseline's throughput, per second.
    pub baseline_per_s: Figure,
    /// The verdict.
    pub verdict: Verdict,
}
