//! How real clients connect while a server accepts no connections, as traced (`crates/advise/data/connects.toml`).
//!
//! An experiment with a storm of connections connects in the same way as one of these clients.

use std::sync::LazyLock;
use std::time::Duration;

use serde::Deserialize;

use crate::packed::{packed, unpack};
use crate::real_clients;

const TABLE: &[u8] = packed!("connects");

/// How a client library connects.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Connects {
    /// The name of the client in the table of real clients; empty if the client is not in that table.
    #[serde(default)]
    client: String,
    #[serde(default)]
    name: String,
    #[serde(default)]
    library: String,
    /// Other words that mean this client.
    #[serde(default)]
    like: Vec<String>,
    #[serde(default)]
    servers: Vec<String>,
    /// Whether connect(2) waits for space in the queue of a Unix socket.
    #[serde(default)]
    pub blocks: bool,
    #[serde(default)]
    pauses_ms: Vec<f64>,
    /// Whether the client stops trying as soon as the clock shows a different second than at the first attempt.
    #[serde(default)]
    pub ends_with_second: bool,
    #[serde(default)]
    limit_s: Option<u32>,
    /// The traced library and its language, with the traced versions.
    pub seen: String,
}

#[derive(Deserialize)]
struct Table {
    connect: Vec<Connects>,
}

/// Lists the clients whose way of connecting was traced.
pub fn connects() -> &'static [Connects] {
    static TABLE_ONCE: LazyLock<Vec<Connects>> = LazyLock::new(|| {
        let table: Table = unpack(TABLE);
        table.connect
    });
    &TABLE_ONCE
}

/// The traced clients for a kind of server: the clients that `word` names, or all clients if `word` is not the name of
/// a client.
pub fn connects_to(kind: &str, word: Option<&str>) -> Vec<&'static Connects> {
    let meant = connects().iter().filter(|it| word.is_some_and(|word| it.is_meant(word, kind)));
    let meant: Vec<_> = meant.collect();
    if meant.is_empty() { connects().iter().filter(|it| it.talks_to(kind)).collect() } else { meant }
}

/// Describes how clients react to a full socket: `fails immediately: PHP's mysqlnd, go-sql-driver; tries again for at
/// most 1.05 s: libmariadb`.
pub(crate) fn on_full_socket(clients: &[&Connects]) -> String {
    let mut kinds: Vec<(String, Vec<&str>)> = Vec::new();
    for client in clients {
        let words = client.on_full_socket();
        match kinds.iter_mut().find(|it| it.0 == words) {
            Some((_, names)) => names.push(client.library()),
            None => kinds.push((words, vec![client.library()])),
        }
    }
    kinds.sort_by_key(|(words, _)| !words.starts_with("fails"));
    let words = kinds.into_iter().map(|(words, names)| format!("{words}: {}", names.join(", ")));
    words.collect::<Vec<_>>().join("; ")
}

impl Connects {
    /// The client's name as one word: `mysqlnd`.
    pub fn name(&self) -> &str {
        if self.client.is_empty() { &self.name } else { &self.client }
    }

    /// The client's name as used in a sentence.
    pub fn library(&self) -> &str {
        self.real().map_or(&self.library, |it| &it.library)
    }

    /// Whether `word` is a name of this client, for servers of this kind.
    pub fn is_meant(&self, word: &str, kind: &str) -> bool {
        match self.real() {
            Some(real) => real.is_called(word) && real.talks_to(kind),
            None => (self.name == word || self.like.iter().any(|it| it == word)) && self.talks_to(kind),
        }
    }

    pub fn talks_to(&self, kind: &str) -> bool {
        self.real().map_or_else(|| self.servers.iter().any(|it| it == kind), |it| it.talks_to(kind))
    }

    /// The pauses between the client's attempts if the queue of a Unix socket is full.
    pub fn pauses(&self) -> impl Iterator<Item = Duration> {
        self.pauses_ms.iter().map(|ms| Duration::from_secs_f64(ms / 1e3))
    }

    /// How long the client waits for a connection over TCP; `None` if only the kernel limits this time.
    pub fn limit(&self) -> Option<Duration> {
        self.limit_s.map(|seconds| Duration::from_secs(seconds.into()))
    }

    /// Describes in a few words how the client reacts to a full socket.
    fn on_full_socket(&self) -> String {
        let waits: Duration = self.pauses().sum();
        if self.blocks {
            "waits".to_owned()
        } else if waits.is_zero() {
            "fails immediately".to_owned()
        } else {
            format!("tries again for at most {} s", (waits.as_secs_f64() * 100.0).round() / 100.0)
        }
    }

    fn real(&self) -> Option<&'static real_clients::RealClient> {
        real_clients::real_clients().iter().find(|it| it.name == self.client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_is_a_client_that_is_known_or_says_what_it_talks_to() {
        for row in connects() {
            assert_eq!(row.real().is_some(), !row.client.is_empty(), "{}", row.name());
            assert!(!row.library().is_empty() && !row.seen.is_empty(), "{}", row.name());
            let kinds = ["mariadb", "postgres", "redis", "php-fpm"];
            assert!(kinds.iter().any(|kind| row.is_meant(row.name(), kind)), "{}", row.name());
        }
        let of_node = connects_to("redis", Some("node"));
        let names: Vec<&str> = of_node.iter().map(|it| it.name()).collect();
        assert_eq!(names, ["node-redis", "ioredis"]);
        assert!(connects().iter().any(|it| it.is_meant("php", "mariadb") && it.limit().is_some()));
    }
}
