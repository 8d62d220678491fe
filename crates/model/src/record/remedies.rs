//! The ranking of remedies that `looptax compare --remedies` measures.

use crate::stats::range::{AtLeastOne, Real};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::record::{Figure, Verdict};

/// The gain of each remedy, at one number of connections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Remedies {
    /// The server, as the user named it.
    pub target: String,
    /// Connections per arm.
    #[serde(deserialize_with = "AtLeastOne::read")]
    #[schemars(with = "AtLeastOne")]
    pub connections: u32,
    /// The arm that programs use today.
    pub today: String,
    /// The remedies, sorted by gain; the largest gain comes first, and remedies without a gain come last.
    pub remedies: Vec<Remedy>,
}

/// A remedy: a change, and its effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Remedy {
    /// The kind of change.
    pub kind: RemedyKind,
    /// Whether `from` is the transport that programs use today; if not, the change is for programs that connect over
    /// another transport.
    pub is_today: bool,
    /// The arm before the change.
    pub from: String,
    /// The arm after the change.
    pub to: String,
    /// Number of requests that are sent together, if this is the change.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "AtLeastOne::read")]
    #[schemars(with = "Option<AtLeastOne>")]
    pub pipeline: Option<u32>,
    /// Increase of the requests per second, percent of the rate before the change.
    pub gain_pct: Figure,
    /// The range that contains the gain, if the gain's direction is known but its size is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gain_range_pct: Option<GainRange>,
    /// Time saved per request and connection, µs; negative if requests take longer.
    pub saved_us: Figure,
    /// CPU time saved per request, µs: the sum over both ends and the programs between them.
    pub saved_cpu_us: Figure,
    /// Whether there is a gain or a loss.
    pub verdict: Verdict,
    /// Whether the arms before and after the change were measured in turns. If not, they were measured in two
    /// comparisons, one after the other. The figures then include the drift between the two comparisons, but the
    /// intervals do not include this drift.
    pub is_paired: bool,
}

/// The range that contains a gain, percent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GainRange {
    /// The lower end of the range.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub lo: f64,
    /// The upper end of the range.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub hi: f64,
}

/// The kind of change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RemedyKind {
    /// Use the socket instead of host and port.
    Unix,
    /// Use a socket without a file (in the abstract namespace).
    Abstract,
    /// Move a program that still connects to host and port to the socket.
    Redirect,
    /// Do not use TLS on loopback.
    TlsOff,
    /// Run the server in the host's network, not behind a bridge or a published port.
    HostNetwork,
    /// Connect to a container's own address, not to its published port.
    OwnAddress,
    /// Send several requests together.
    Pipelining,
    /// Use one connection for many requests, not a new connection for each request.
    Persistent,
    /// Run both ends of a connection on one core.
    OneCore,
    /// Run the two ends of a connection on two cores.
    TwoCores,
}
