//! The two files of data in `clients/`: what is known of each client, and what was traced.
//!
//! `clients.toml` is written by people and read by the product too; `traces.toml` is written by
//! `cargo lab clients trace --write`.

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
    /// As `clients/run` and `--client-like` know it.
    pub(crate) name: String,
    /// As it is in a sentence.
    pub(crate) library: String,
    /// Who else waits like that because it sits on this library.
    #[serde(default)]
    #[allow(dead_code, reason = "read by the product; here only held to be there and right")]
    pub(crate) users: String,
    /// Other words for `--client-like`.
    #[serde(default)]
    #[allow(dead_code, reason = "read by the product; here only held to be there and right")]
    pub(crate) like: Vec<String>,
    /// Kinds of server that it talks to; the first is the one that is traced.
    pub(crate) servers: Vec<String>,
    /// The client model that comes closest, by arm.
    pub(crate) model: Models,
    /// How it differs from the model all the same.
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

/// The observations of a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Trace {
    /// The day, `2026-11-21`.
    pub(crate) date: String,
    pub(crate) command: String,
    /// Library and language with their versions, as the loop says.
    pub(crate) versions: String,
    pub(crate) server: String,
    /// By arm, `unix` and `tcp`.
    pub(crate) arm: BTreeMap<String, Reduced>,
}

/// The system calls of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reduced {
    /// Requests that this was made from.
    pub(crate) requests: usize,
    /// The calls of most requests, from the send on.
    pub(crate) sequence: Vec<String>,
    /// How many of the requests did exactly that, in percent.
    pub(crate) share_pct: f64,
    /// Calls per request, over all of them.
    pub(crate) calls: BTreeMap<String, f64>,
}

/// All clients; or those named, which then have to be known.
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

/// Everything traced so far, by client.
pub(crate) fn traces() -> Result<BTreeMap<String, Trace>> {
    let path = workspace::root()?.join(TRACES);
    match fs::read_to_string(path) {
        Ok(text) => toml::from_str(&text).with_context(|| format!("{TRACES} is invalid")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(BTreeMap::new()),
        Err(error) => Err(error).with_context(|| format!("cannot read {TRACES}")),
    }
}

/// Puts new traces beside the others.
pub(crate) fn keep(new: BTreeMap<String, Trace>) -> Result<()> {
    let mut all = traces()?;
    all.extend(new);
    workspace::write_tables(TRACES, TRACES_HEAD, &all)
}
