//! JDBC drivers whose connections must stay on TCP under `looptax run`, with the reason that `run` must report.
//!
//! Each driver sends one query without `--map`, so `run` itself finds the server and the socket, and decides. The query
//! must be answered over TCP, according to the server, and `--verbose` must print the reason why the connection stayed
//! on TCP. The table also shows the result with `--map`, with which `run` does not check these reasons.

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result};
use looptax_experiment::servers::find_binary;
use looptax_model::dsn::Kind;

use super::secured::{PASSWORD, PLAIN, Secured};
use crate::workspace;

/// A connection that has to stay on TCP.
struct Case {
    /// Name of the driver in `clients.toml` and `moved.toml`.
    client: &'static str,
    what: &'static str,
    /// Scheme of the driver's URL.
    scheme: &'static str,
    user: &'static str,
    /// Whether the user is in the URL; otherwise only the program knows the user.
    is_spelled: bool,
    /// Option in the URL that requires TLS.
    option: &'static str,
    /// The text that `--verbose` has to print.
    words: &'static str,
}

const DEMANDED: &str = "left on TCP: the program's arguments or environment ask for TLS";

const CASES: [Case; 8] = [
    Case {
        client: "mariadb-jdbc",
        what: "an account at 127.0.0.1 alone",
        scheme: "mariadb",
        user: "narrow",
        is_spelled: true,
        option: "",
        words: "stays on TCP: `narrow`: `narrow@127.0.0.1` logs in over TCP, but over the socket",
    },
    Case {
        client: "mysql-jdbc",
        what: "an account at 127.0.0.1 alone",
        scheme: "mysql",
        user: "narrow",
        is_spelled: true,
        option: "",
        words: "stays on TCP: `narrow`: `narrow@127.0.0.1` logs in over TCP, but over the socket",
    },
    Case {
        client: "mariadb-jdbc",
        what: "a URL that demands TLS",
        scheme: "mariadb",
        user: PLAIN,
        is_spelled: true,
        option: "sslMode=trust",
        words: "stays on TCP: a connection sets `sslMode=trust`",
    },
    Case {
        client: "mysql-jdbc",
        what: "a URL that demands TLS",
        scheme: "mysql",
        user: PLAIN,
        is_spelled: true,
        option: "sslMode=REQUIRED",
        words: "stays on TCP: a connection sets `sslMode=REQUIRED`",
    },
    Case {
        client: "mysql-jdbc",
        what: "a URL that demands TLS, its user elsewhere",
        scheme: "mysql",
        user: PLAIN,
        is_spelled: false,
        option: "sslMode=REQUIRED",
        words: DEMANDED,
    },
    Case {
        client: "mysql-jdbc",
        what: "an account that demands TLS",
        scheme: "mysql",
        user: "secure",
        is_spelled: true,
        option: "",
        words: "over TCP the server accepts this login only with TLS",
    },
    Case {
        client: "pgjdbc",
        what: "a URL that demands TLS",
        scheme: "postgresql",
        user: PLAIN,
        is_spelled: true,
        option: "sslmode=require",
        words: "stays on TCP: a connection sets `sslmode=require`",
    },
    Case {
        client: "pgjdbc",
        what: "a URL that demands TLS, its user elsewhere",
        scheme: "postgresql",
        user: PLAIN,
        is_spelled: false,
        option: "sslmode=require",
        words: DEMANDED,
    },
];

/// Query for the account, the peer and the cipher of the connection on which it is sent.
const MYSQL_QUERY: &str = "SELECT CONCAT_WS(' ', CURRENT_USER(), \
    (SELECT HOST FROM information_schema.processlist WHERE ID = CONNECTION_ID()), \
    (SELECT VARIABLE_VALUE FROM information_schema.session_status WHERE VARIABLE_NAME = 'Ssl_cipher'))";
const POSTGRES_QUERY: &str = "SELECT concat_ws(' ', usename, \
    coalesce(host(client_addr) || ':' || client_port, 'localhost'), cipher) \
    FROM pg_stat_activity JOIN pg_stat_ssl USING (pid) WHERE pid = pg_backend_pid()";

/// Returns all cases of the named clients as a Markdown table, and the number of failed cases.
pub(super) fn table(names: &[String], looptax: &Path) -> Result<(String, usize)> {
    let is_wanted = |case: &&Case| names.is_empty() || names.iter().any(|it| it == case.client);
    let cases: Vec<&Case> = CASES.iter().filter(is_wanted).collect();
    let mut text = String::new();
    let mut n_wrong = 0;
    for is_postgres in [false, true] {
        let cases = cases.iter().filter(|it| (it.client == "pgjdbc") == is_postgres);
        let cases: Vec<&Case> = cases.copied().collect();
        if cases.is_empty() {
            continue;
        }
        let kind = if is_postgres { Kind::Postgres } else { Kind::Mariadb };
        if find_binary(kind).is_none() {
            let _ = writeln!(text, "| | {kind} | not installed | | | - |");
            continue;
        }
        let server = Secured::start(kind)?;
        for case in cases {
            n_wrong += usize::from(!row(case, &server, looptax, &mut text)?);
        }
    }
    if !text.is_empty() {
        let head = "\n| client | what speaks against moving | seen under run | as it says | with --map | right |\n\
                    |---|---|---|---|---|---|\n";
        text.insert_str(0, head);
    }
    Ok((text, n_wrong))
}

/// Adds a row; returns whether the result is right.
fn row(case: &Case, server: &Secured, looptax: &Path, text: &mut String) -> Result<bool> {
    let port = server.tcp.port().to_string();
    let left = asked(case, server, looptax, &["--port", &port, "--verbose"])?;
    let map = format!("{}={}", server.tcp, server.socket.display());
    let moved = asked(case, server, looptax, &["--quiet", "--map", &map])?;
    let said = String::from_utf8_lossy(&left.stderr);
    let line = said.lines().find(|line| line.contains(case.words));
    let is_right = seen(&left) == "TCP" && line.is_some();
    let _ = writeln!(
        text,
        "| {} | {} | {} | {} | {} | {} |",
        case.client,
        case.what,
        seen(&left),
        line.unwrap_or("nothing of that"),
        seen(&moved),
        if is_right { "yes" } else { "NO" }
    );
    Ok(is_right)
}

/// Returns the transport that the server reports, if the query was answered.
fn seen(output: &Output) -> &'static str {
    let answer = String::from_utf8_lossy(&output.stdout);
    let peer = answer.split_ascii_whitespace().nth(1).unwrap_or_default();
    match (output.status.success(), peer.contains(':')) {
        (false, _) => "the program fails",
        (true, true) => "TCP",
        (true, false) => "socket",
    }
}

/// Runs the driver under `run` with these options.
fn asked(case: &Case, server: &Secured, looptax: &Path, options: &[&str]) -> Result<Output> {
    let (database, query) = match case.scheme {
        "postgresql" => ("postgres", POSTGRES_QUERY),
        _ => ("", MYSQL_QUERY),
    };
    let login = format!("user={}&password={PASSWORD}", case.user);
    let mut words = vec![case.option];
    if case.is_spelled {
        words.insert(0, &login);
    }
    words.retain(|it| !it.is_empty());
    let url = format!("jdbc:{}://{}/{database}?{}", case.scheme, server.tcp, words.join("&"));
    let mut command = Command::new(looptax);
    command.arg("run").args(options).arg("--");
    command.arg(workspace::root()?.join("clients/run"));
    command.args(["jdbc", &url, query]);
    if !case.is_spelled {
        command.env("ASK_USER", case.user).env("ASK_PASSWORD", PASSWORD);
    }
    command.output().context("cannot start looptax")
}
