//! Accounts in common situations: what `check` and `compare` report about each of them, with real servers.

mod redis;
mod situations;
mod socket;
mod tls;

use std::fs;
use std::path::PathBuf;

use looptax_experiment::servers::Listening;
use looptax_model::dsn::Kind;
use looptax_testkit::runner::Looptax;
use looptax_testkit::scratch::Scratch;

use crate::fixture::{SHORT, Server, compare};

/// Starts a server that offers TLS.
fn with_tls(kind: Kind) -> Option<Server> {
    let listening = Listening { has_tls: true, ..Listening::default() };
    Server::start_listening(kind, 20, listening)
}

/// Runs these statements as the administrator.
fn execute(server: &Server, statements: &[&str]) {
    let mut talk = server.talk();
    for sql in statements {
        talk.execute(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
}

/// Writes rules into `pg_hba.conf`, after a line for the administrator's own account, and makes PostgreSQL apply them.
fn rule(server: &Server, rules: &str) {
    let file = PathBuf::from(server.column("SHOW hba_file").remove(0));
    let admin = &server.it.login.user;
    fs::write(file, format!("local all {admin} scram-sha-256\n{rules}\n")).unwrap();
    // PostgreSQL checks a new connection against the rules that it has read last, so wait until it has read these
    // rules.
    let before = server.column("SELECT pg_conf_load_time()::text");
    server.column("SELECT pg_reload_conf()::text");
    looptax_testkit::patience::wait_for("the reload", std::time::Duration::from_secs(10), || {
        (server.column("SELECT pg_conf_load_time()::text") != before).then_some(())
    });
}

/// Returns a short comparison of the server with this URL, with these options.
fn short<'a>(scratch: &'a Scratch, url: &str, options: &[&str]) -> Looptax<'a> {
    compare(scratch).args([url, "--yes"]).args(SHORT).args(options.iter().copied())
}
