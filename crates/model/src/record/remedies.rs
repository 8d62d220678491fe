//! The ranked remedies of `looptax compare --remedies`.

use crate::stats::range::{AtLeastOne, Real};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Figure, Verdict};

/// The gain of each remedy at one number of connections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Remedies {
    /// The server, as it was given.
    pub target: String,
    /// Connections per arm.
    #[serde(deserialize_with = "AtLeastOne::read")]
    #[schemars(with = "AtLeastOne")]
    pub connections: u32,
    /// The arm that programs use today.
    pub today: String,
    /// The remedies: the largest gain comes first, and those without a gain come last.
    pub remedies: Vec<Remedy>,
}

/// A change and its effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Remedy {
    /// The kind of change.
    pub kind: RemedyKind,
    /// Whether it starts from the way that was measured as today's; if not, it is a change for programs that connect in
    /// another way.
    pub is_today: bool,
    /// The arm before the change.
    pub from: String,
    /// The arm after the change.
    pub to: String,
    /// Requests that are sent together, if that is the change.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "AtLeastOne::read")]
    #[schemars(with = "Option<AtLeastOne>")]
    pub pipeline: Option<u32>,
    /// Requests per second gained, percent of those before.
    pub gain_pct: Figure,
    /// The range that holds the gain, if its direction is known but its size is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain_range_pct: Option<GainRange>,
    /// Time saved per request and connection, µs; negative if requests take longer.
    pub saved_us: Figure,
    /// CPU time saved per request, of both ends and of the programs between them, µs.
    pub saved_cpu_us: Figure,
    /// Whether there is a gain, or a loss.
    pub verdict: Verdict,
    /// Whether the arms before and after were measured in turns. If not, they come from two comparisons, one after the
    /// other: the figures include what drifted between them, but the intervals do not.
    pub is_paired: bool,
}

/// The range that holds a gain, percent.
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
    /// The socket instead of host and port.
    Unix,
    /// A socket without a file (in the abstract namespace).
    Abstract,
    /// The socket under a program that still connects to host and port.
    Redirect,
    /// No TLS on loopback.
    TlsOff,
    /// The server on the host's network, instead of behind a bridge or a published port.
    HostNetwork,
    /// A container's own address instead of its published port.
    OwnAddress,
    /// Several requests sent together.
    Pipelining,
    /// One connection for many requests, instead of a connection for each request.
    Persistent,
    /// Both ends of a connection on one core.
    OneCore,
    /// The two ends of a connection on two cores.
    TwoCores,
}
