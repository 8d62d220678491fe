//! The identity of the collector is verified as its URL demands.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use looptax_experiment::servers::Listening;
use looptax_model::dsn::Kind;
use looptax_testkit::patience;
use looptax_testkit::scratch::Scratch;

use super::clickhouse::{Certificate, ClickHouse};
use super::looptax;
use crate::fixture::Server;

fn sealed() -> Option<Server> {
    let listening = Listening {
        addresses: vec![[127, 0, 0, 1].into(), [127, 0, 0, 2].into()],
        has_tls: true,
        ..Listening::default()
    };
    Server::start_listening(Kind::Postgres, 20, listening)
}

/// Writes the authority of the server's certificate as PEM. The certificate is valid for 127.0.0.1 and not for
/// 127.0.0.2.
fn authority(server: &Server, scratch: &Scratch) {
    let pem = pem::encode(&pem::Pem::new("CERTIFICATE", server.it.authority.clone().unwrap()));
    fs::write(scratch.file("ca.pem"), pem).unwrap();
}

#[test]
fn a_postgres_is_believed_as_its_sslmode_says() {
    let Some(server) = sealed() else { return };
    let scratch = Scratch::new();
    authority(&server, &scratch);
    let url = |host: &str, mode: &str| {
        let url = server.url().replace("127.0.0.1", host);
        format!("{url}?sslmode={mode}")
    };
    let init = |url: &str, more: &[&str]| looptax(&scratch, &[&["fleet", "init", url][..], more].concat());
    let trusted = ["--ca-file", "ca.pem"];
    init(&url("127.0.0.1", "verify-full"), &trusted).expect_code(0);
    init(&url("127.0.0.2", "verify-ca"), &trusted).expect_code(0);
    init(&url("127.0.0.2", "verify-full"), &trusted)
        .expect_error(2, &["cannot be reached", "certificate", "not valid for name"]);
    let run = init(&url("127.0.0.1", "require"), &[]);
    run.expect_code(0);
    assert!(run.stderr.contains("does not check the server's certificate"), "{}", run.stderr);
    // A certificate of another authority, and a file that contains no authority.
    let other = sealed().unwrap();
    authority(&other, &scratch);
    for mode in ["verify-full", "verify-ca", "require"] {
        init(&url("127.0.0.1", mode), &trusted).expect_error(2, &["cannot be reached", "certificate"]);
    }
    fs::write(scratch.file("ca.pem"), "nothing").unwrap();
    init(&url("127.0.0.1", "verify-full"), &trusted).expect_error(2, &["the file contains no certificate"]);
}

#[test]
fn a_clickhouse_is_believed_by_its_certificate() {
    let Some(keys) = sealed() else { return };
    let file = |setting: &str| {
        let mut settings = keys.it.settings.iter();
        let (_, path) = settings.find(|(name, _)| name == setting).unwrap();
        PathBuf::from(path)
    };
    let certificate = Certificate { certificate: file("ssl_cert_file"), key: file("ssl_key_file") };
    let Some(server) = ClickHouse::start(Some(&certificate)) else {
        return;
    };
    let scratch = Scratch::new();
    authority(&keys, &scratch);
    let url = format!("{}?secure=true", server.url());
    let init = |url: &str, more: &[&str]| looptax(&scratch, &[&["fleet", "init", url][..], more].concat());
    let trusted = ["--ca-file", "ca.pem"];
    patience::wait_for("a ClickHouse over TLS", Duration::from_secs(60), || {
        init(&url, &trusted).status.success().then_some(())
    });
    init(&url.replace("127.0.0.1", "127.0.0.2"), &trusted).expect_error(2, &["cannot be reached", "certificate"]);
    let other = sealed().unwrap();
    authority(&other, &scratch);
    init(&url, &trusted).expect_error(2, &["cannot be reached", "certificate"]);
    init(&server.url(), &[]).expect_error(2, &["127.0.0.1"]);
}
