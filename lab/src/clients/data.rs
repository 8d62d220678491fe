//! The two data files in `clients/`: the descriptions of the clients, and the recorded traces.
//!
//! `clients.toml` is written by hand and is also read by the product; `traces.toml` is written by `cargo lab clients
//! trace --write`.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::workspace;

const KNOWN: &str = "crates/advise/data/clients.toml";
const TRACES: &str = "clients/traces.toml";
const TRACES_HEAD: &str = "# Written by `cargo lab clients trace --write`; not by hand.\n";

/// The description of a client, written by hand.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Client {
    /// Name of the client in `clients/run` and `--client-like`.
    pub(crate) name: String,
    /// Name of the library in a sentence.
    pub(crate) library: String,
    /// Other programs and libraries that wait in the same way because they use this library.
    #[serde(default)]
    #[allow(dead_code, reason = "read by the product; here only held to be there and right")]
    pub(crate) users: String,
    /// Other names of the client for `--client-like`.
    #[serde(default)]
    #[allow(dead_code, reason = "read by the product; here only held to be there and right")]
    pub(crate) like: Vec<String>,
    /// Kinds of server to which the client connects; the trace uses the first one.
    pub(crate) servers: Vec<String>,
    /// The client model that is most similar, by arm.
    pub(crate) model: Models,
    /// The differences between the client and its model.
    #[serde(default)]
    pub(crate) differs: String,
}

/// A client model for each arm.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Models {
    pub(crate) unix: String,
    pub(crate) tcp: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    client: Vec<Client>,
}

/// The recorded trace of a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Trace {
    /// Date of the trace, as in `2026-11-21`.
    pub(crate) date: String,
    pub(crate) command: String,
    /// Versions of the library and of the language, as the loop reports them.
    pub(crate) versions: String,
    pub(crate) server: String,
    /// The system calls by arm: `unix` and `tcp`.
    pub(crate) arm: BTreeMap<String, Reduced>,
}

/// The system calls of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reduced {
    /// Number of requests that were traced.
    pub(crate) requests: usize,
    /// The most frequent sequence of calls of a request, beginning with the send.
    pub(crate) sequence: Vec<String>,
    /// Share of the requests with exactly this sequence, in percent.
    pub(crate) share_pct: f64,
    /// Number of each call per request, averaged over all requests.
    pub(crate) calls: BTreeMap<String, f64>,
}

/// Returns all clients, or the named clients; fails if a name is unknown.
pub(crate) fn clients(names: &[String]) -> Result<Vec<Client>> {
    let path = workspace::root()?.join(KNOWN);
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {KNOWN}"))?;
    let known: Known = toml::from_str(&text).with_context(|| format!("{KNOWN} is invalid"))?;
    if let Some(name) = names.iter().find(|name| !known.client.iter().any(|client| client.name == **name)) {
        let all: Vec<_> = known.client.iter().map(|it| it.name.as_str()).collect();
        bail!("no client `{name}`; known are {}", all.join(", "));
    }
    let is_wanted = |client: &Client| names.is_empty() || names.contains(&client.name);
    Ok(known.client.into_iter().filter(is_wanted).collect())
}

/// Returns all recorded traces, by client.
pub(crate) fn traces() -> Result<BTreeMap<String, Trace>> {
    let path = workspace::root()?.join(TRACES);
    match fs::read_to_string(path) {
        Ok(text) => toml::from_str(&text).with_context(|| format!("{TRACES} is invalid")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(error) => Err(error).with_context(|| format!("cannot read {TRACES}")),
    }
}

/// Adds new traces to the file; they replace older traces of the same clients.
pub(crate) fn keep(new: BTreeMap<String, Trace>) -> Result<()> {
    let mut all = traces()?;
    all.extend(new);
    workspace::write_tables(TRACES, TRACES_HEAD, &all)
}
