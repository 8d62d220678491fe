//! A line of the history: what is remembered of a record, wherever it lies.

use crate::stats::range::{AtLeastOne, Version};
use serde::{Deserialize, Serialize};

use crate::record::{Client, Comparison, Direction, Estimate, Placement, Record, Verdict};

/// A run, without its raw data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PastRun {
    pub id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Start, RFC 3339.
    pub started_at: String,
    /// Where the record was saved, as an absolute path; `None` where it was printed only.
    pub path: Option<String>,
    pub looptax_version: String,
    #[serde(deserialize_with = "Version::read")]
    pub method_version: u32,
    /// The kernel.
    pub kernel: String,
    pub command: Vec<String>,
    pub interrupted: bool,
    /// Its verdicts, in the record's order.
    pub verdicts: Vec<PastVerdict>,
}

/// What one arm cost over the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PastVerdict {
    pub kind: String,
    pub version: String,
    /// The workload's name; of an application the page that was asked for.
    pub workload: String,
    /// Connections per arm.
    #[serde(deserialize_with = "AtLeastOne::read")]
    pub connections: u32,
    pub placement: Placement,
    pub client: Client,
    pub baseline: String,
    pub arm: String,
    /// Throughput lost, percent; `None` where there is no figure.
    pub throughput_pct: Option<Estimate>,
    /// From where to where it may be, percent, where its size is uncertain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range_pct: Option<[f64; 2]>,
    pub verdict: Verdict,
    pub direction: Option<Direction>,
}

impl PastRun {
    /// What is remembered of `record`, which lies at `path`.
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
                verdict: tax.verdict,
                direction: tax.direction,
            })
        });
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
            verdicts: verdicts.collect(),
        }
    }
}

fn workload_of(comparison: &Comparison) -> String {
    let is_trial = comparison.trial.is_some() && !comparison.target.name.is_empty();
    let named = if is_trial { &comparison.target.name } else { &comparison.workload.name };
    named.clone()
}
