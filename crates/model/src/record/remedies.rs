//! The remedies, ranked: those of `looptax compare --remedies`.

use crate::stats::range::{AtLeastOne, Real};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Figure, Verdict};

/// The gain of each remedy at one number of connections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Remedies {
    /// How the server was named.
    pub target: String,
    /// Connections per arm.
    #[serde(deserialize_with = "AtLeastOne::read")]
    #[schemars(with = "AtLeastOne")]
    pub connections: u32,
    /// The arm that programs use today.
    pub today: String,
    /// The remedies, that with the largest gain first; those without a gain last.
    pub remedies: Vec<Remedy>,
}

/// A change and what it brings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Remedy {
    /// The kind of change.
    pub kind: RemedyKind,
    /// Whether it starts from what was measured as today's way; else it is for those who do otherwise.
    pub is_today: bool,
    /// The arm before it.
    pub from: String,
    /// The arm with it.
    pub to: String,
    /// Requests that are sent at once, if that is the change.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "AtLeastOne::read")]
    #[schemars(with = "Option<AtLeastOne>")]
    pub pipeline: Option<u32>,
    /// Requests gained, percent of those before.
    pub gain_pct: Figure,
    /// From where to where that may be, where its direction is known and its size is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain_range_pct: Option<GainRange>,
    /// Time saved per request and connection, µs; negative where it takes longer.
    pub saved_us: Figure,
    /// CPU time saved per request, of both ends and of the programs between them, µs.
    pub saved_cpu_us: Figure,
    /// Whether there is a gain, or a loss.
    pub verdict: Verdict,
    /// Whether before and after were measured in turns. Else they are two comparisons, one after the other, and
    /// what drifted between them is in the figures and not in their intervals.
    pub is_paired: bool,
}

/// From where to where a gain may be, percent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GainRange {
    /// Its lower end.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub lo: f64,
    /// Its upper end.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub hi: f64,
}

/// The kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RemedyKind {
    /// The socket in place of host and port.
    Unix,
    /// A socket without a file.
    Abstract,
    /// The socket under a program that goes on asking for host and port.
    Redirect,
    /// No TLS on loopback.
    TlsOff,
    /// The server on the host's network, not behind a bridge or a published port.
    HostNetwork,
    /// A container's own address in place of its published port.
    OwnAddress,
    /// Several requests at once.
    Pipelining,
    /// A connection for many requests in place of one each.
    Persistent,
    /// Both ends of a connection on one core.
    OneCore,
    /// The two ends of a connection on two cores.
    TwoCores,
}
