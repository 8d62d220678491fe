//! Finds real clients that wait for replies in the same way as a client model, for each kind of server.
//!
//! The list of these clients is in [`looptax_advise::real_clients`]. How a client waits also depends on the versions of
//! its libraries and on options (timeouts, TLS).

use looptax_advise::{RealClient, real_clients};
use looptax_model::record::{Client, ClientLike, Target, Workload};

use crate::format::Text;

/// Returns a real client that waits in the same way as `client` on both arms, for a server of this kind. If possible,
/// this is a client that does not differ from `client` in another way.
pub(crate) fn who_waits_alike(kind: &str, client: Client) -> Option<&'static RealClient> {
    let alike = || {
        let all = real_clients().iter().filter(|it| it.talks_to(kind));
        all.filter(|it| it.model.unix == client && it.model.tcp == client)
    };
    alike().find(|it| it.differs.is_empty()).or(alike().next())
}

/// Returns the kind of server whose clients are compared with the client model. The result is empty if a request is a
/// whole connection, because no client was observed while connecting.
pub(crate) fn peers<'a>(target: &'a Target, workload: &Workload) -> &'a str {
    match workload.name.as_str() {
        "connect" => "",
        _ => &target.kind,
    }
}

pub(crate) fn pattern(client: Client) -> &'static str {
    match client {
        Client::Poll => "tries to receive, polls, receives",
        Client::PollFirst => "polls, receives",
        Client::Block => "blocks in receive",
        Client::Event => "few threads with epoll",
        Client::Command => "a separate program",
    }
}

/// Returns the heading of the rows with this client model; the heading names a real client that waits in the same way.
pub(crate) fn heading(kind: &str, client: Client) -> String {
    let Some(alike) = who_waits_alike(kind, client) else {
        return format!("client {client} ({})", pattern(client));
    };
    let much = if alike.differs.is_empty() { "" } else { "much " };
    let RealClient { library, users, .. } = alike;
    if users.is_empty() {
        format!("client {client} (waits {much}as {library})")
    } else {
        format!("client {client} (waits {much}as {library}: {users})")
    }
}

/// Returns the heading of the rows in which the client model imitates a real client.
pub(crate) fn heading_like(like: &ClientLike, arms: &[&str], text: Text) -> String {
    let much = if like.differs.is_empty() { "" } else { "much " };
    let library = text.clean(&like.library);
    format!("client {} ({much}as {library} waits)", models(like, arms, text))
}

/// Returns `poll`, or `block over unix, poll over tcp`.
fn models(like: &ClientLike, arms: &[&str], text: Text) -> String {
    match like.models.as_slice() {
        [first, rest @ ..] if rest.iter().all(|model| model == first) => first.to_string(),
        models => {
            let pairs = models.iter().zip(arms);
            let parts: Vec<String> = pairs.map(|(model, arm)| format!("{model} over {}", text.clean(arm))).collect();
            parts.join(", ")
        }
    }
}

/// Returns the clause that names the imitated real client.
pub(crate) fn clause_like(like: &ClientLike, text: Text) -> String {
    let much = if like.differs.is_empty() { "" } else { "much " };
    format!("client waits {much}as {} does", text.clean(&like.library))
}

/// Returns the clause that describes how the client waited.
pub(crate) fn clause(kind: &str, client: Client) -> String {
    match who_waits_alike(kind, client) {
        Some(alike) if alike.differs.is_empty() => {
            format!("client waits as {} does", alike.library)
        }
        _ => format!("client {client} ({})", pattern(client)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: &str, client: Client, expected: &str) {
        assert_eq!(heading(kind, client), expected);
    }

    #[test]
    fn names_who_waits_like_that_for_this_server() {
        let mysql = "client poll (waits as libmariadb: mysqlclient, sysbench, Ruby mysql2)";
        check("mariadb", Client::Poll, mysql);
        check("postgres", Client::PollFirst, "client poll-first (waits as libpq: psycopg, PHP, Ruby pg)");
        let go = "client event (waits much as go-sql-driver: Go)";
        check("mysql", Client::Event, go);
        check("redis", Client::Block, "client block (waits as hiredis)");
        check("echo", Client::Block, "client block (blocks in receive)");
        check("redis", Client::Poll, "client poll (waits much as phpredis: PHP)");
        check("postgres", Client::Poll, "client poll (tries to receive, polls, receives)");
    }
}
