//! One machine's part of a pool of results: the figures, and the facts about the machine that change them. Nothing that
//! names it.
//!
//! `looptax show --publish` writes it, one line of JSON; `looptax-fleet` makes and checks it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Client, Figure, Placement, Verdict};
use crate::stats::range::{Real, SmallCount, Version};

/// The version of [`Contribution`]. Raised when a field changes its meaning or goes away.
pub const CONTRIBUTION_SCHEMA_VERSION: u32 = 1;

/// Results of one machine, without a name of it, a path, a label or a user.
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
    /// SHA-256 of this object as one line of JSON with this field empty, hexadecimal.
    pub sha256: String,
}

/// The facts about a machine that change results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContributedMachine {
    /// The kernel's version, without what a distribution or a builder adds: `6.1.0`.
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

/// One tax.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContributedResult {
    /// The server's kind.
    pub kind: String,
    /// Its version.
    pub version: String,
    /// Whether looptax started it.
    pub private: bool,
    /// One of looptax's own workloads.
    pub workload: String,
    /// How statements went out.
    pub protocol: Option<String>,
    /// Requests in a send.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub pipeline: u32,
    /// Connections of each arm.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub connections: u32,
    /// Where both ends ran.
    pub placement: Placement,
    /// How the client waited.
    pub client: Client,
    /// Share of what the slower arm serves, percent; `null` for as much as it serves.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub share_pct: Option<f64>,
    /// Requests after which a connection was opened again; `null` for never.
    pub reconnect_every: Option<u32>,
    /// The arm that others are compared with.
    pub baseline: String,
    /// The arm.
    pub arm: String,
    /// Throughput lost, percent, with its interval; not known where its size is uncertain.
    pub tax_pct: Figure,
    /// From where to where it may be, percent, where its size is uncertain.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<[Real; 2]>")]
    pub range_pct: Option<[f64; 2]>,
    /// CPU time that other processes took, percent of the machine; `null` where that is not known.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub foreign_pct: Option<f64>,
    /// The same of the hypervisor.
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
