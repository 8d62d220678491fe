//! One machine's contribution to a pool of results: its figures, and the facts about the machine that influence the
//! figures. No field identifies the machine.
//!
//! `looptax show --publish` writes a contribution as one line of JSON; `looptax-fleet` makes and checks contributions.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Client, Figure, Placement, Verdict};
use crate::stats::range::{Real, SmallCount, Version};

/// The version of [`Contribution`]. It is raised if a field changes its meaning or is removed.
pub const CONTRIBUTION_SCHEMA_VERSION: u32 = 1;

/// Results of one machine, without the machine's name and without any path, label or user.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Contribution {
    /// The version of this form: [`CONTRIBUTION_SCHEMA_VERSION`].
    #[schemars(extend("const" = CONTRIBUTION_SCHEMA_VERSION))]
    #[serde(deserialize_with = "Version::read")]
    #[schemars(with = "Version")]
    pub schema_version: u32,
    /// The version of looptax that made the measurements.
    pub looptax_version: String,
    /// The month of the measurements: `2026-11`.
    pub month: String,
    /// The machine.
    pub machine: ContributedMachine,
    /// The machine's results, in the order in which they were measured.
    pub results: Vec<ContributedResult>,
    /// SHA-256, in hexadecimal, of this object, written as one line of JSON with this field empty.
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
    /// Whether the machine is virtual.
    pub hypervisor: Option<bool>,
    /// Whether a core runs more than one hardware thread.
    pub smt: Option<bool>,
    /// The kernel's clock source.
    pub clocksource: Option<String>,
    /// CPU frequency governor.
    pub governor: Option<String>,
    /// The control group's `cpu.max`.
    pub cgroup_cpu_max: Option<String>,
    /// Mitigations of CPU vulnerabilities: the name of each, and its state.
    pub mitigations: BTreeMap<String, String>,
}

/// The tax of one arm in one comparison.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ContributedResult {
    /// The server's kind.
    pub kind: String,
    /// The server's version.
    pub version: String,
    /// Whether looptax started the server.
    pub private: bool,
    /// The name of a built-in workload.
    pub workload: String,
    /// How statements were sent.
    pub protocol: Option<String>,
    /// Number of requests that are sent together.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub pipeline: u32,
    /// Connections per arm.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub connections: u32,
    /// The cores on which the two ends ran.
    pub placement: Placement,
    /// How the client waited for answers.
    pub client: Client,
    /// The rate as a percentage of the slower arm's capacity; `null` if the rate was not limited.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub share_pct: Option<f64>,
    /// Number of requests after which a connection was closed and a new one opened; `null` if connections stay open.
    pub reconnect_every: Option<u32>,
    /// The arm with which `arm` is compared.
    pub baseline: String,
    /// The arm that is compared with the baseline.
    pub arm: String,
    /// Throughput lost, percent, with its interval; missing if the size of the loss is uncertain.
    pub tax_pct: Figure,
    /// The range that contains the tax, percent, if the tax's size is uncertain.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<[Real; 2]>")]
    pub range_pct: Option<[f64; 2]>,
    /// CPU time that other processes used, percent of the machine; `null` if it is not known.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub foreign_pct: Option<f64>,
    /// CPU time that the hypervisor took, percent of the machine; `null` if it is not known.
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
