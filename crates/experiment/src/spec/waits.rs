//! How the client waits for replies: as a client model prescribes, or as a real client does on each arm.

use std::fmt;

use looptax_advise::{RealClient, real_clients};
use looptax_bench::ClientModel;
use looptax_model::dsn::Arm;
use looptax_model::failure::Failure;
use looptax_model::record::{Client, ClientLike};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waits {
    As(ClientModel),
    /// The client waits in the same way as this real client, which may wait differently on a Unix socket and on TCP.
    Like(&'static RealClient),
}

impl Waits {
    /// Returns the client model for an arm.
    pub fn on(self, arm: Arm) -> ClientModel {
        match self {
            Self::As(model) => model,
            // A real client that has opened a TCP connection waits as for TCP, even if the connection was moved to the
            // socket.
            Self::Like(client) => {
                model_of(if arm.is_unix() && arm != Arm::Redirect { client.model.unix } else { client.model.tcp })
            }
        }
    }

    /// Describes the real client for the record; `None` if none was requested.
    pub fn like(self, arms: &[Arm]) -> Option<ClientLike> {
        let Self::Like(client) = self else {
            return None;
        };
        Some(ClientLike {
            name: client.name.clone(),
            library: client.library.clone(),
            models: arms.iter().map(|arm| self.on(*arm).into()).collect(),
            differs: client.differs.clone(),
        })
    }
}

impl fmt::Display for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::As(model) => write!(f, "{model}"),
            Self::Like(client) if client.model.unix == client.model.tcp => {
                write!(f, "{} (like {})", client.model.unix, client.library)
            }
            Self::Like(client) => {
                write!(f, "{} over unix, {} over tcp (like {})", client.model.unix, client.model.tcp, client.library)
            }
        }
    }
}

/// Returns the client with this name, for this kind of server.
///
/// # Errors
/// A usage failure if no client has this name, or if the client does not use this kind of server.
pub fn like(word: &str, kind: &str) -> Result<Waits, Failure> {
    let called = || real_clients().iter().filter(|it| it.is_called(word));
    if let Some(client) = called().find(|it| it.talks_to(kind)) {
        return Ok(Waits::Like(client));
    }
    let for_kind = real_clients().iter().filter(|it| it.talks_to(kind));
    let names: Vec<_> = for_kind.map(|it| it.name.as_str()).collect();
    let hint = if names.is_empty() {
        format!("looptax does not know any client of {kind}: use --client poll, poll-first, block or event")
    } else {
        format!("for {kind}: {}", names.join(", "))
    };
    Err(match called().next() {
        Some(_) => Failure::usage(format!("looptax knows no client called `{word}` for {kind}"), hint),
        None => Failure::usage(format!("`--client-like {word}` is not a client that looptax knows"), hint),
    })
}

fn model_of(client: Client) -> ClientModel {
    let model = client.name().parse();
    model.expect("the table of real clients holds client models only")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, kind: &str, expected: Option<(&str, ClientModel, ClientModel)>) {
        let found = like(word, kind).ok().map(|waits| {
            let name = waits.like(&Arm::ALL).unwrap().name;
            (name, waits.on(Arm::Unix), waits.on(Arm::Tcp))
        });
        let expected = expected.map(|(name, unix, tcp)| (name.to_owned(), unix, tcp));
        assert_eq!(found, expected, "{word} for {kind}");
    }

    #[test]
    fn a_word_means_the_client_for_the_server_at_hand() {
        use ClientModel::{Block, Poll, PollFirst};
        check("php", "mariadb", Some(("mysqlnd", PollFirst, PollFirst)));
        check("php", "postgres", Some(("pdo_pgsql", PollFirst, PollFirst)));
        check("php", "redis", Some(("phpredis", Poll, Poll)));
        check("jdbc", "postgres", Some(("pgjdbc", Block, Poll)));
        check("libmariadb", "mysql", Some(("libmariadb", Poll, Poll)));
        check("jdbc", "redis", None);
        check("libpq", "mariadb", None);
        check("perl", "mariadb", None);
        check("php", "echo", None);
    }
}
