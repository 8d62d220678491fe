//! What is asked of the server, and which other options go with it.

use looptax_bench::{ClientModel, Distribution};
use looptax_failure::Failure;
use looptax_wire::Sent;

use super::EchoAsked;
use super::effort::Effort;
use super::load::Load;
use crate::args::{CompareArgs, ProtocolWord};

/// The echo server's workload of long requests.
const STREAM: &str = "stream";
/// The workload of connections.
const CONNECT: &str = "connect";
/// The workload of whole tables.
const DUMP: &str = "dump";

/// What starts the name of a user's own workload.
const SCRIPT: &str = "script:";

/// The workloads that were typed, each by itself; a script's path may hold commas.
pub(super) fn workloads(typed: Option<&str>) -> Vec<Option<String>> {
    match typed {
        Some(words) if !words.starts_with(SCRIPT) => {
            words.split(',').map(|word| Some(word.to_owned())).collect()
        }
        one => vec![one.map(str::to_owned)],
    }
}

/// What is asked of the server, and how.
#[derive(Debug, Clone)]
pub(crate) struct Requests {
    /// A word of `--list`; `None` for the server's default.
    pub(crate) workload: Option<String>,
    pub(crate) sent: Sent,
    pub(crate) pipeline: u32,
    pub(crate) value_bytes: Option<usize>,
    /// A script's variables, `name=value`.
    pub(crate) defined: Vec<String>,
    pub(crate) distribution: Distribution,
    pub(crate) echo: EchoAsked,
    /// Requests of one connection, where it is then opened anew.
    pub(crate) reconnect_every: Option<u32>,
}

impl Requests {
    pub(super) fn new(args: &CompareArgs) -> Result<Self, Failure> {
        Ok(Self {
            workload: args.workload.clone(),
            sent: match args.protocol {
                ProtocolWord::Prepared => Sent::Prepared,
                ProtocolWord::Text => Sent::Text,
            },
            pipeline: args.pipeline,
            value_bytes: args.value_size.map(|bytes| bytes as usize),
            defined: args.define.clone(),
            distribution: distribution(&args.distribution)?,
            echo: EchoAsked::new(&args.echo)?,
            reconnect_every: args.reconnect_every,
        })
    }

    /// Whether requests bring their own connections.
    pub(crate) fn are_connects(&self) -> bool {
        self.workload.as_deref() == Some(CONNECT) || self.reconnect_every.is_some()
    }

    /// Whether a request is a whole table, which may take minutes.
    pub(crate) fn are_dumps(&self) -> bool {
        self.workload.as_deref() == Some(DUMP)
    }

    /// Whether a request is a stream.
    pub(crate) fn are_streams(&self) -> bool {
        self.workload.as_deref() == Some(STREAM)
    }

    /// The way to wait where nothing is said, for workloads that spend their time otherwise.
    pub(super) fn usual_client(&self) -> Option<ClientModel> {
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
fn distribution(typed: &str) -> Result<Distribution, Failure> {
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

/// What takes as long as a stream has no rate to be kept.
pub(super) fn check_flat_out(requests: &Requests, load: &Load) -> Result<(), Failure> {
    match requests.workload.as_deref() {
        Some(word @ (STREAM | CONNECT | DUMP)) if !load.is_flat_out() => Err(Failure::usage(
            format!("--rate and --think do not apply to `{word}`"),
            "it runs as fast as it can",
        )),
        _ if requests.reconnect_every.is_some() && !load.is_flat_out() => Err(Failure::usage(
            "--reconnect-every goes with a closed loop without pauses",
            "leave --rate and --think out",
        )),
        _ => Ok(()),
    }
}

/// A dump is as long as it is, and has the server to itself.
pub(super) fn check_dumps(args: &CompareArgs, effort: Effort) -> Result<(), Failure> {
    if matches!(effort, Effort::Time(_)) {
        return Err(Failure::usage(
            "how long a dump takes is not known beforehand",
            "give a number of epochs, of four dumps each: --fixed 6",
        ));
    }
    if args.slice_ms.is_some() {
        return Err(Failure::usage(
            "--slice-ms does not apply to `dump`: whole dumps are compared",
            "--rows chooses how long they are",
        ));
    }
    if args.connections.iter().any(|n| *n != 1) || args.sweep.is_some() {
        return Err(Failure::usage(
            "`dump` runs one dump at a time",
            "leave -c and --sweep out",
        ));
    }
    Ok(())
}

/// A login is a conversation of its own, in which nobody polls.
pub(super) fn check_connects(requests: &Requests, args: &CompareArgs) -> Result<(), Failure> {
    if !requests.are_connects() {
        return Ok(());
    }
    let models = args.client.iter().filter(|word| *word != "block");
    let models = models.map(|word| format!("--client {word}"));
    let likes = args.client_like.iter();
    let likes = likes.map(|word| format!("--client-like {word}"));
    match models.chain(likes).next() {
        Some(typed) => Err(Failure::usage(
            format!(
                "{typed} does not apply to `connect` or --reconnect-every: their client blocks in every step"
            ),
            "leave it out",
        )),
        None => Ok(()),
    }
}
