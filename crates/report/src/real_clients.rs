//! Real clients and how each waits for answers, as traced.
//!
//! The table is made from `clients/clients.toml` when this is built. Used for headings here, and by the
//! command line for `--client-like`.

use looptax_record::Client;

/// A client library that people use.
#[derive(Debug, PartialEq, Eq)]
pub struct RealClient {
    /// One word: `pgjdbc`.
    pub name: &'static str,
    /// As it stands in a sentence.
    pub library: &'static str,
    /// Who sits on it and so waits like it; may be empty.
    pub users: &'static str,
    /// More words that mean it where it fits the server: `java`.
    pub like: &'static [&'static str],
    /// Kinds of server that it talks to.
    pub servers: &'static [&'static str],
    /// The client model that comes closest over a Unix socket.
    pub unix: Client,
    /// The same over everything else.
    pub other: Client,
    /// What it does that the model does not; may be empty.
    pub differs: &'static str,
}

/// All that were traced.
pub const ALL: &[RealClient] = include!(concat!(env!("OUT_DIR"), "/real_clients.rs"));

impl RealClient {
    /// Whether the word means it.
    pub fn is_called(&self, word: &str) -> bool {
        self.name == word || self.like.contains(&word)
    }

    /// Whether it talks to servers of this kind.
    pub fn talks_to(&self, kind: &str) -> bool {
        self.servers.contains(&kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_means_one_client_for_each_kind_of_server() {
        let words = ALL
            .iter()
            .flat_map(|it| it.like.iter().chain(std::iter::once(&it.name)));
        for word in words {
            for kind in ["mariadb", "mysql", "postgres", "redis", "valkey"] {
                let meant = ALL
                    .iter()
                    .filter(|it| it.is_called(word) && it.talks_to(kind));
                assert!(meant.count() <= 1, "{word} for {kind}");
            }
        }
    }
}
