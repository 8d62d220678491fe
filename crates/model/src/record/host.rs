//! The machine on which a run was measured.
//!
//! Facts that change the result, as looptax read them; a fact that the machine does not report is `null`.

use std::collections::BTreeMap;

use crate::stats::range::SmallCount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The machine, and its settings that affect loopback and sockets.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// Kernel release and version.
    pub kernel: String,
    /// Machine architecture, as `uname -m`.
    pub arch: Option<String>,
    /// CPU model.
    pub cpu_model: Option<String>,
    /// CPUs that looptax may use.
    #[serde(deserialize_with = "SmallCount::read")]
    #[schemars(with = "SmallCount")]
    pub cpus: u32,
    /// The kernel's current clock source.
    pub clocksource: Option<String>,
    /// CPU frequency governor.
    pub governor: Option<String>,
    /// Whether the machine is virtual.
    pub hypervisor: Option<bool>,
    /// Whether a core runs more than one hardware thread.
    pub smt: Option<bool>,
    /// The control group's `cpu.max`, as the kernel prints it; quota and period of cgroup version 1 are converted to
    /// this form.
    pub cgroup_cpu_max: Option<String>,
    /// The CPUs that looptax may use, as the kernel prints the list.
    pub cpuset: Option<String>,
    /// The preemption model that is active, or with which the kernel was built: `none`, `voluntary`, `full`, `lazy`,
    /// `rt`.
    #[serde(default)]
    pub preemption: Option<String>,
    /// The scheduler's features, as the kernel prints them; only root can read them, and only if debugfs is mounted.
    #[serde(default)]
    pub sched_features: Option<String>,
    /// Other limits of the control group and its parents, the strictest of each: `memory.max`, `memory.high`,
    /// `pids.max`.
    #[serde(default)]
    pub cgroup_limits: BTreeMap<String, String>,
    /// Mitigations of CPU vulnerabilities: the name of each, and its state.
    #[serde(default)]
    pub mitigations: BTreeMap<String, String>,
    /// The sysctls that affect loopback TCP: the name of each, and its value.
    #[serde(default)]
    pub sysctls: BTreeMap<String, String>,
    /// MTU of the loopback interface, in bytes.
    #[serde(default, deserialize_with = "SmallCount::read")]
    #[schemars(with = "Option<SmallCount>")]
    pub lo_mtu: Option<u32>,
    /// The active setting of transparent huge pages.
    pub thp: Option<String>,
    /// Whether the kernel accounts interrupt time separately from the tasks' time.
    pub irq_time_accounting: Option<bool>,
}
