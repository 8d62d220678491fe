//! Pages of results that are made from data: which drivers were proved, and how real clients wait.
//!
//! Called by `docs`, which writes the pages. `cargo lab` writes the data; this file only reads it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::machines;

const DRIVERS: &str = "\
# Strings for drivers

`cargo xtask docs` generates this page from `crates/advise/data/proved.toml`, which `cargo lab dialects --write` writes.
The strings of php-fpm, http and uwsgi come from the tests in `crates/advise/tests/web`; these tests try one path for each of the three with the real programs.
The drivers are those that `clients/setup.sh` installs on Debian 12.

`looptax dsn` printed strings for awkward URLs, and each driver got these strings without a change.
The private server then had to show the driver's connection: in `information_schema.processlist`, `pg_stat_activity`, `CLIENT INFO`, `connectionStatus` and `whatsmyuri`, or by a key that only the server with that socket has.
The passwords in the URLs have delimiters of URLs, quotes and backslashes, `$` and backticks, blanks and `+`, Unicode, and separators.
Other URLs have a user name with `@` and Unicode, an IPv6 host and an awkward database name. Some URLs lack password, database and port, or have another port. The socket paths have blanks and quotes, Unicode, percent signs, capitals, punctuation and a comma.
For memcached, and for dialects of which `dsn` prints only the path, URLs with the same path count once.
\"Refused with a warning\" counts URLs that the driver's string cannot express: looptax warned of this, and the driver did not connect with the string.
The server refused a wrong password every time.
The drivers were also tried with `localhost` and with `127.0.0.1`, and without a host if the driver's string can omit the host: each time the driver made the connection that `--explain` predicts.

The following drivers and applications are not in the table and are not proved.
Either no package registry that was tried has them, or a test of them needs more than a driver: .NET (MySqlConnector, Npgsql, StackExchange.Redis, MongoDB.Driver), Ruby's mongo (Debian's does not start with Debian's Ruby), Prisma, Drupal, Joomla, Magento, Nextcloud, Gitea, Grafana, Dovecot, and the Redis plugin of WordPress.
The drivers below were not tried with MySQL's own server, so the login method caching_sha2_password with an empty cache was not tried.

| dialect | driver | language | server | connected | refused with a warning | of | date |
|---|---|---|---|---|---|---|---|
";

const TRACES: &str = "\
# How real clients wait

`cargo xtask docs` generates this page from `clients/traces.toml`, which `cargo lab clients trace --write` writes, and from `crates/advise/data/clients.toml`.
[The method](../method.md#how-the-client-waits) explains the models, and `clients/README.md` explains how the clients are traced.

Each row has the system calls that a client makes for one request on one arm, beginning with the send.
The request is a point select by primary key, or a get.
If requests differ, the row has the most frequent sequence of calls, and the share of the requests with exactly this sequence.
\"(nothing)\" marks a call that found no data, and `out` marks a wait until the socket can be written to.
The rows leave out calls of `futex`; these calls come from run-times that have their own threads.

| client | arm | system calls | share of requests, % | model |
|---|---|---|---|---|
";

#[derive(Deserialize)]
struct Proof {
    driver: String,
    language: String,
    servers: Vec<String>,
    date: String,
    urls: usize,
    connected: usize,
    refused: usize,
}

#[derive(Deserialize)]
struct Trace {
    date: String,
    versions: String,
    server: String,
    arm: BTreeMap<String, Calls>,
}

#[derive(Deserialize)]
struct Calls {
    sequence: Vec<String>,
    share_pct: f64,
}

#[derive(Deserialize)]
struct Clients {
    client: Vec<Client>,
}

#[derive(Deserialize)]
struct Client {
    name: String,
    model: BTreeMap<String, String>,
    #[serde(default)]
    differs: String,
}

/// Makes the pages, each with its path below `docs/`.
pub(crate) fn pages(root: &Path) -> Result<Vec<(PathBuf, Vec<u8>)>> {
    let proofs = read(root, "crates/advise/data/proved.toml")?;
    let traces = read(root, "clients/traces.toml")?;
    let clients: Clients = read(root, "crates/advise/data/clients.toml")?;
    Ok(vec![
        ("src/results/drivers.md".into(), drivers(&proofs).into()),
        ("src/results/traces.md".into(), waits(&traces, &clients.client).into()),
        ("src/results/machines.md".into(), machines::page(root)?.into()),
    ])
}

fn read<T: DeserializeOwned>(root: &Path, path: &str) -> Result<T> {
    let text = fs::read_to_string(root.join(path)).with_context(|| format!("cannot read {path}"))?;
    toml::from_str(&text).with_context(|| format!("{path} is invalid"))
}

fn drivers(proofs: &BTreeMap<String, BTreeMap<String, Proof>>) -> String {
    let mut text = String::from(DRIVERS);
    for (kind, dialects) in proofs {
        for (name, proof) in dialects {
            let servers = proof.servers.join(", ");
            let cells = [&proof.driver, &proof.language, &servers].map(|cell| cell.replace('|', "\\|"));
            let _ = writeln!(
                text,
                "| {kind} {name} | {} | {} | {} | {} | {} |",
                cells.join(" | "),
                proof.connected,
                proof.refused,
                proof.urls,
                proof.date
            );
        }
    }
    text
}

fn waits(traces: &BTreeMap<String, Trace>, clients: &[Client]) -> String {
    let mut text = String::from(TRACES);
    for (name, trace) in traces {
        let client = clients.iter().find(|client| client.name == *name);
        for (arm, calls) in &trace.arm {
            let model = client.and_then(|client| client.model.get(arm));
            let _ = writeln!(
                text,
                "| {name} | {arm} | {} | {:.1} | {} |",
                sequence(calls),
                calls.share_pct,
                model.map_or(String::new(), |model| format!("`{model}`")),
            );
        }
    }
    let notes: BTreeSet<(&str, &str)> = clients
        .iter()
        .filter(|client| !client.differs.is_empty())
        .map(|client| (client.differs.as_str(), client.name.as_str()))
        .collect();
    text.push_str("\nSome clients differ from their model:\n\n");
    for (differs, name) in notes {
        let _ = writeln!(text, "- {name} {differs}.");
    }
    text.push_str("\nTraced clients:\n\n| client | versions | server | date |\n|---|---|---|---|\n");
    for (name, trace) in traces {
        let _ = writeln!(text, "| {name} | {} | {} | {} |", trace.versions, trace.server, trace.date);
    }
    text
}

fn sequence(calls: &Calls) -> String {
    let shown = calls
        .sequence
        .iter()
        .filter(|call| !call.starts_with("futex"))
        .map(|call| call.replace(" nothing", " (nothing)").replace(" EAGAIN", " (nothing)"));
    shown.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_has_a_row() {
        let proofs = toml::from_str(
            "[redis.go-redis]\ndriver = \"go-redis 9\"\nlanguage = \"Go 1\"\nservers = [\"redis 7\", \"valkey 9\"]\n\
             date = \"2026-11-21\"\nurls = 13\nconnected = 12\nrefused = 1\nsample = \"unix:/a\"\n",
        );
        let page = drivers(&proofs.expect("proofs"));
        let row = "| redis go-redis | go-redis 9 | Go 1 | redis 7, valkey 9 | 12 | 1 | 13 | 2026-11-21 |\n";
        assert!(page.ends_with(row), "{page}");
    }

    #[test]
    fn a_trace_has_a_row_for_each_arm_with_its_model() {
        let traces = toml::from_str(
            "[hiredis]\ndate = \"2026-11-21\"\nversions = \"hiredis 0.14.1, C\"\nserver = \"redis 7\"\n\
             [hiredis.arm.tcp]\nsequence = [\"write\", \"futex\", \"read EAGAIN\", \"poll\"]\nshare_pct = 99.04\n",
        );
        let clients: Clients = toml::from_str(
            "[[client]]\nname = \"hiredis\"\nmodel.unix = \"block\"\nmodel.tcp = \"poll\"\ndiffers = \"waits\"\n",
        )
        .expect("clients");
        let page = waits(&traces.expect("traces"), &clients.client);
        for line in [
            "| hiredis | tcp | write, read (nothing), poll | 99.0 | `poll` |",
            "- hiredis waits.",
            "| hiredis | hiredis 0.14.1, C | redis 7 | 2026-11-21 |",
        ] {
            assert!(page.lines().any(|it| it == line), "{page}");
        }
    }
}
