//! An entry of the history: the summary of a record. The entry does not depend on the folder that the record is in.

use crate::stats::range::{AtLeastOne, Real, Version};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Client, Comparison, Direction, Estimate, Placement, Record, Storms, Verdict};

/// A run without its raw data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PastRun {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Time at which the run started, RFC 3339.
    pub started_at: String,
    /// The absolute path at which the record was saved; `None` if the record was only printed.
    pub path: Option<String>,
    pub looptax_version: String,
    #[serde(deserialize_with = "Version::read")]
    #[schemars(with = "Version")]
    pub method_version: u32,
    /// The kernel's release and version.
    pub kernel: String,
    pub command: Vec<String>,
    pub interrupted: bool,
    /// The run's verdicts, in the order of the record.
    pub verdicts: Vec<PastVerdict>,
}

/// The cost of one arm over the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PastVerdict {
    pub kind: String,
    pub version: String,
    /// The workload's name; for an application, the page that was requested.
    pub workload: String,
    /// Connections per arm.
    #[serde(deserialize_with = "AtLeastOne::read")]
    #[schemars(with = "AtLeastOne")]
    pub connections: u32,
    pub placement: Placement,
    pub client: Client,
    pub baseline: String,
    pub arm: String,
    /// Throughput lost, percent; `None` if there is no figure.
    pub throughput_pct: Option<Estimate>,
    /// The range that contains the loss, percent, if the loss's size is uncertain.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "Real::read")]
    #[schemars(with = "Option<[Real; 2]>")]
    pub range_pct: Option<[f64; 2]>,
    /// For a storm: the share of failed attempts among all connection attempts over the arm, percent, with its
    /// interval.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "Real::read")]
    #[schemars(with = "Option<[Real; 3]>")]
    pub failed_pct: Option<[f64; 3]>,
    pub verdict: Verdict,
    pub direction: Option<Direction>,
}

impl PastRun {
    /// Makes the summary of `record`, which is saved at `path`.
    pub fn from_record(record: &Record, path: Option<String>) -> Self {
        let verdicts = record.comparisons.iter().flat_map(|comparison| {
            comparison.tax.iter().map(|tax| PastVerdict {
                kind: comparison.target.kind.clone(),
                version: comparison.target.version.clone(),
                workload: workload_of(comparison),
                connections: comparison.connections,
                placement: comparison.placement.asked,
                client: comparison.client,
                baseline: tax.baseline.clone(),
                arm: tax.arm.clone(),
                throughput_pct: tax.throughput_pct.known().copied().filter(|_| tax.has_size()),
                range_pct: tax.uncertain_size.as_ref().map(|it| [it.lo_pct, it.hi_pct]),
                failed_pct: None,
                verdict: tax.verdict,
                direction: tax.direction,
            })
        });
        let of_storms = record.storms.iter().flat_map(of_storms);
        Self {
            id: record.id.clone(),
            label: record.label.clone(),
            started_at: record.started_at.clone(),
            path,
            looptax_version: record.looptax_version.clone(),
            method_version: record.method_version,
            kernel: record.host.kernel.clone(),
            command: record.command.clone(),
            interrupted: record.interrupted,
            verdicts: verdicts.chain(of_storms).collect(),
        }
    }
}

/// Returns a verdict for each size and arm. The verdict's placement is `free`, because the ends of a storm's
/// connections are not pinned; the verdict's client model is `event`, because for most clients one thread opens all
/// connections.
fn of_storms(storms: &Storms) -> impl Iterator<Item = PastVerdict> {
    let kind = storms.target.rsplit(':').next().unwrap_or_default();
    storms.sizes.iter().flat_map(move |size| {
        size.arms.iter().map(move |arm| PastVerdict {
            kind: kind.to_owned(),
            version: storms.version.clone(),
            workload: format!("storm as {}", storms.client),
            connections: size.connections,
            placement: Placement::Free,
            client: Client::Event,
            baseline: String::new(),
            arm: arm.arm.clone(),
            throughput_pct: None,
            range_pct: None,
            failed_pct: Some(arm.failed_pct),
            verdict: if arm.n_failed() > 0 { Verdict::Difference } else { Verdict::Equivalent },
            direction: None,
        })
    })
}

fn workload_of(comparison: &Comparison) -> String {
    let is_trial = comparison.trial.is_some() && !comparison.target.name.is_empty();
    let named = if is_trial { &comparison.target.name } else { &comparison.workload.name };
    named.clone()
}
