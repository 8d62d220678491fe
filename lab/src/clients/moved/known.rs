//! The clients that run under `looptax run`, and their servers. The clients of `clients.toml` also have a known way to
//! wait for answers; the clients of `moved.toml` are used only for this table.

use std::fs;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::clients::data;
use crate::workspace;

const FURTHER: &str = "clients/moved.toml";

/// A client as this table runs it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Client {
    /// Name of the client in `clients/run`.
    pub(super) name: String,
    /// Kinds of server to which the client connects.
    pub(super) servers: Vec<String>,
    /// The user that owns the client's connections, if it is not the user of this process.
    pub(super) user: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Further {
    client: Vec<Client>,
}

/// Returns all clients, or the named clients; fails if a name is unknown.
pub(super) fn clients(names: &[String]) -> Result<Vec<Client>> {
    let path = workspace::root()?.join(FURTHER);
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {FURTHER}"))?;
    let further: Further = toml::from_str(&text).with_context(|| format!("{FURTHER} is invalid"))?;
    let traced =
        data::clients(&[])?.into_iter().map(|client| Client { name: client.name, servers: client.servers, user: None });
    let mut all: Vec<Client> = traced.chain(further.client).collect();
    let is_known = |name: &&String| all.iter().any(|client| client.name == **name);
    if let Some(name) = names.iter().find(|name| !is_known(name)) {
        let known: Vec<_> = all.iter().map(|it| it.name.as_str()).collect();
        bail!("no client `{name}`; known are {}", known.join(", "));
    }
    all.retain(|client| names.is_empty() || names.contains(&client.name));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_is_named_once_and_talks_to_a_server() {
        let all = clients(&[]).unwrap();
        for client in &all {
            let same = all.iter().filter(|it| it.name == client.name);
            assert_eq!(same.count(), 1, "{}", client.name);
            for kind in &client.servers {
                looptax_experiment::servers::startable(kind).unwrap();
            }
            assert!(!client.servers.is_empty(), "{}", client.name);
        }
        assert!(clients(&["nobody".to_owned()]).is_err());
    }
}
