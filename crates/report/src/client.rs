//! Who waits for answers like which client model, for each kind of server.
//!
//! Seen in system-call traces: libmariadb (sysbench), mysqlnd (PHP 8.2 mysqli), libpq (pgbench),
//! redis-benchmark. The others follow from how their run-times do input and output, and were not
//! traced as of 2026-11: libraries change, and options (timeouts, TLS) change the pattern too.

use looptax_record::Client;

/// Programs that wait in the same way.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Alike {
    /// The library to name in a sentence.
    pub(crate) library: &'static str,
    /// What people use that sits on it; may be empty.
    pub(crate) users: &'static str,
}

/// Who waits like `client` when talking to a server of this kind; `None` where nobody is known.
pub(crate) fn who_waits_alike(kind: &str, client: Client) -> Option<Alike> {
    let (library, users) = match (kind, client) {
        ("mariadb" | "mysql", Client::Poll) => ("libmariadb", "mysqlclient, sysbench, Ruby mysql2"),
        ("mariadb" | "mysql", Client::PollFirst) => ("mysqlnd", "PHP"),
        ("mariadb" | "mysql", Client::Block) => ("Connector/J", "Java on plain sockets"),
        ("postgres", Client::Poll) => ("libpq", "pgbench, psycopg, PHP, Ruby"),
        ("redis" | "valkey", Client::Block) => ("hiredis", ""),
        ("redis" | "valkey", Client::PollFirst) => ("phpredis", "PHP, redis-py with a timeout"),
        ("redis" | "valkey", Client::Event) => ("redis-benchmark", "Node.js, Go"),
        ("mariadb" | "mysql" | "postgres", Client::Event) => ("a Node.js or Go driver", ""),
        _ => return None,
    };
    Some(Alike { library, users })
}

/// The pattern itself, in words.
pub(crate) fn pattern(client: Client) -> &'static str {
    match client {
        Client::Poll => "tries to receive, polls, receives",
        Client::PollFirst => "polls, receives",
        Client::Block => "blocks in receive",
        Client::Event => "few threads with epoll",
        Client::Command => "a program of its own",
    }
}

/// The heading of the rows with this client model.
pub(crate) fn heading(kind: &str, client: Client) -> String {
    match who_waits_alike(kind, client) {
        None => format!("client {client} ({})", pattern(client)),
        Some(Alike { library, users: "" }) => format!("client {client} (waits as {library})"),
        Some(Alike { library, users }) => {
            format!("client {client} (waits as {library}: {users})")
        }
    }
}

/// The part of a sentence that says how the client waited.
pub(crate) fn clause(kind: &str, client: Client) -> String {
    match who_waits_alike(kind, client) {
        None => format!("client {client} ({})", pattern(client)),
        Some(Alike { library, .. }) => format!("client waits as {library} does"),
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
        check(
            "postgres",
            Client::Poll,
            "client poll (waits as libpq: pgbench, psycopg, PHP, Ruby)",
        );
        check("redis", Client::Block, "client block (waits as hiredis)");
        check("echo", Client::Block, "client block (blocks in receive)");
        check(
            "redis",
            Client::Poll,
            "client poll (tries to receive, polls, receives)",
        );
    }
}
