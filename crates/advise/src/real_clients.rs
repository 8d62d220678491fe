//! Real clients and how each waits for answers, as traced (`crates/advise/data/clients.toml`).
//!
//! The report shows the names of these clients in its headings. An experiment waits in the same way as one of these
//! clients.

use std::sync::LazyLock;

use looptax_model::record::Client;
use serde::Deserialize;

use crate::packed::{packed, unpack};

const TABLE: &[u8] = packed!("clients");

/// A client library that people use.
#[derive(Debug, PartialEq, Eq, Deserialize)]
pub struct RealClient {
    /// The client's name as one word: `pgjdbc`.
    pub name: String,
    /// The client's name as used in a sentence.
    pub library: String,
    /// Programs that use this client, and therefore wait in the same way; may be empty.
    #[serde(default)]
    pub users: String,
    /// Other words that mean this client, for its kinds of server: `java`.
    #[serde(default)]
    pub like: Vec<String>,
    /// Kinds of server to which the client connects.
    pub servers: Vec<String>,
    pub model: ClosestModel,
    /// Behaviour of the client that the model lacks; may be empty.
    #[serde(default)]
    pub differs: String,
}

/// The client model that comes closest to a real client, for each transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct ClosestModel {
    pub unix: Client,
    pub tcp: Client,
}

#[derive(Deserialize)]
struct Table {
    client: Vec<RealClient>,
}

pub fn real_clients() -> &'static [RealClient] {
    static CLIENTS: LazyLock<Vec<RealClient>> = LazyLock::new(|| {
        let table: Table = unpack(TABLE);
        table.client
    });
    &CLIENTS
}

impl RealClient {
    pub fn is_called(&self, word: &str) -> bool {
        self.name == word || self.like.iter().any(|other| other == word)
    }

    /// Whether the client connects to servers of this kind.
    pub fn talks_to(&self, kind: &str) -> bool {
        self.servers.iter().any(|server| server == kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_means_one_client_for_each_kind_of_server() {
        let words = real_clients().iter().flat_map(|client| client.like.iter().chain(std::iter::once(&client.name)));
        for word in words {
            for kind in ["mariadb", "mysql", "postgres", "redis", "valkey"] {
                let meant = real_clients().iter().filter(|client| client.is_called(word) && client.talks_to(kind));
                assert!(meant.count() <= 1, "{word} for {kind}");
            }
        }
    }
}
