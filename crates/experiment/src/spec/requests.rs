//! The requests to the server, and the options about them.

use looptax_bench::{ClientModel, Distribution};
use looptax_model::failure::Failure;
use looptax_wire::Sent;

use super::EchoAsked;

/// The echo server's workload that sends long streams.
pub(super) const STREAM: &str = "stream";
pub(super) const CONNECT: &str = "connect";
pub(super) const DUMP: &str = "dump";

/// The prefix in the name of a user's own workload.
const SCRIPT: &str = "script:";

/// Splits the typed list of workloads; a script's path may contain commas.
pub fn workloads(typed: Option<&str>) -> Vec<Option<String>> {
    match typed {
        Some(words) if !words.starts_with(SCRIPT) => words.split(',').map(|word| Some(word.to_owned())).collect(),
        one => vec![one.map(str::to_owned)],
    }
}

/// The requests to the server, and how they are sent.
#[derive(Debug, Clone)]
pub struct Requests {
    /// The name of a workload, as `--list` shows it; `None` for the server's default.
    pub workload: Option<String>,
    pub sent: Sent,
    pub pipeline: u32,
    /// Size of a value in bytes; `None` for the default.
    pub value_bytes: Option<usize>,
    /// Variables for a script, each as `name=value`.
    pub defined: Vec<String>,
    /// The distribution of requests over the keys.
    pub distribution: Distribution,
    pub echo: EchoAsked,
    /// Number of requests after which a connection is opened again; `None` if it stays open.
    pub reconnect_every: Option<u32>,
}

impl Requests {
    /// Whether each request opens its own connection.
    pub fn are_connects(&self) -> bool {
        self.workload.as_deref() == Some(CONNECT) || self.reconnect_every.is_some()
    }

    /// Sends each statement as text instead of preparing it.
    pub fn send_as_text(&mut self) {
        self.sent = Sent::Text;
    }

    /// Whether a request reads a whole table, which may take minutes.
    pub fn are_dumps(&self) -> bool {
        self.workload.as_deref() == Some(DUMP)
    }

    /// Returns the default client model for logins and streams; `None` for other workloads.
    pub fn usual_client(&self) -> Option<ClientModel> {
        match self.workload.as_deref() {
            _ if self.are_connects() => Some(ClientModel::Block),
            Some(STREAM) => Some(ClientModel::Block),
            _ => None,
        }
    }
}

impl Default for Requests {
    /// The server's default workload, with prepared statements that are sent one by one.
    fn default() -> Self {
        Self {
            workload: None,
            sent: Sent::Prepared,
            pipeline: 1,
            value_bytes: None,
            defined: Vec::new(),
            distribution: Distribution::Uniform,
            echo: EchoAsked::default(),
            reconnect_every: None,
        }
    }
}

/// Parses `uniform` or `zipf:S`.
pub fn distribution(typed: &str) -> Result<Distribution, Failure> {
    let exponent = typed
        .strip_prefix("zipf:")
        .and_then(|text| text.parse::<f64>().ok())
        .filter(|exponent| (0.01..=10.0).contains(exponent));
    match (typed, exponent) {
        ("uniform", _) => Ok(Distribution::Uniform),
        (_, Some(exponent)) => Ok(Distribution::Zipf(exponent)),
        _ => Err(Failure::usage(
            format!("`--distribution {typed}` is neither uniform nor zipf:S"),
            "for example zipf:0.99; S from 0.01 to 10",
        )),
    }
}
