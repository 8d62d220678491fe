//! The requests to the server, and the other options for them.

use looptax_bench::{ClientModel, Distribution};
use looptax_model::failure::Failure;
use looptax_wire::Sent;

use super::EchoAsked;

/// The echo server's workload of long requests.
pub(super) const STREAM: &str = "stream";
pub(super) const CONNECT: &str = "connect";
pub(super) const DUMP: &str = "dump";

/// The start of the name of a user's own workload.
const SCRIPT: &str = "script:";

/// The workloads that were typed, each by itself; a script's path may hold commas.
pub fn workloads(typed: Option<&str>) -> Vec<Option<String>> {
    match typed {
        Some(words) if !words.starts_with(SCRIPT) => words.split(',').map(|word| Some(word.to_owned())).collect(),
        one => vec![one.map(str::to_owned)],
    }
}

/// The requests to the server, and the way that they are sent.
#[derive(Debug, Clone)]
pub struct Requests {
    /// A word of `--list`; `None` for the server's default.
    pub workload: Option<String>,
    pub sent: Sent,
    pub pipeline: u32,
    /// Size of a value; `None` for the usual one.
    pub value_bytes: Option<usize>,
    /// A script's variables, `name=value`.
    pub defined: Vec<String>,
    /// How often each key is asked for.
    pub distribution: Distribution,
    pub echo: EchoAsked,
    /// Requests of one connection, if it is then opened again.
    pub reconnect_every: Option<u32>,
}

impl Requests {
    /// Whether requests bring their own connections.
    pub fn are_connects(&self) -> bool {
        self.workload.as_deref() == Some(CONNECT) || self.reconnect_every.is_some()
    }

    /// Statements go out whole, each time.
    pub fn send_as_text(&mut self) {
        self.sent = Sent::Text;
    }

    /// Whether a request is a whole table, which may take minutes.
    pub fn are_dumps(&self) -> bool {
        self.workload.as_deref() == Some(DUMP)
    }

    /// The usual way to wait, for workloads that spend their time otherwise.
    pub fn usual_client(&self) -> Option<ClientModel> {
        match self.workload.as_deref() {
            _ if self.are_connects() => Some(ClientModel::Block),
            Some(STREAM) => Some(ClientModel::Block),
            _ => None,
        }
    }
}

impl Default for Requests {
    /// The server's own workload, prepared, one by one.
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

/// `uniform` or `zipf:S`.
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
