//! PostgreSQL: initdb, one superuser with a random password that is required on both transports, and settings that keep
//! disk accesses and background work out of the measured path.

use std::net::SocketAddr;

use super::recipe::{Engine, Launch, Site, owned};
use crate::servers::process::StopSignal;
use crate::servers::spawn::{Input, Program};
use crate::servers::{ServerError, certificate};

/// The file from which initdb reads the password; it is removed once the server is ready.
const PASSWORD_FILE: &str = "password";

/// The file with the users who may log in, and their login method. The file is used if the server listens on more
/// addresses than initdb's own file allows.
const LOGINS_FILE: &str = "pg_hba.conf";
/// The login method is the same on every transport, as in initdb's file.
const LOGINS: &str = "local all all scram-sha-256\nhost all all all scram-sha-256\n";

/// Memory per row in bytes. A row of `sbtest1` with its two index entries takes about 270 bytes.
const BYTES_PER_ROW: u64 = 512;

pub(super) const ENGINE: Engine = Engine {
    prepare,
    spent_files: &[PASSWORD_FILE],
    stop_signal: StopSignal::Quit,
    ..Engine::database(|site, _, ports| launch(site, ports.plain))
};

/// Runs initdb, then the server in single-user mode to create the database.
fn prepare(site: &Site<'_>) -> Result<Vec<Program>, ServerError> {
    site.scratch.write(PASSWORD_FILE, &format!("{}\n", site.login.password.reveal()))?;
    if is_reached_from_afar(site) {
        site.scratch.write(LOGINS_FILE, LOGINS)?;
    }
    let data = site.path_text("data");
    let initdb_args = [
        format!("--pgdata={data}"),
        format!("--username={}", site.login.user),
        format!("--pwfile={}", site.path_text(PASSWORD_FILE)),
        // `local` and `host` get the same method, so that the login costs the same on both transports.
        "--auth=scram-sha-256".to_owned(),
        "--encoding=UTF8".to_owned(),
        "--no-locale".to_owned(),
        "--no-sync".to_owned(),
    ];
    let single_args = ["--single", "-F", "-D", &data, "postgres"].map(str::to_owned);
    Ok(vec![
        Program::new(site.binary.with_file_name("initdb"), initdb_args.to_vec()),
        Program {
            input: Input::Text("CREATE DATABASE looptax;\n"),
            ..Program::new(site.binary.clone(), single_args.to_vec())
        },
    ])
}

/// Launches the server. All settings are passed as arguments, which every user can read.
fn launch(site: &Site<'_>, tcp: SocketAddr) -> Result<Launch, ServerError> {
    let settings = settings(site);
    let mut args = vec!["-D".to_owned(), site.path_text("data"), "-p".to_owned(), tcp.port().to_string()];
    for (name, value) in &settings {
        args.extend(["-c".to_owned(), format!("{name}={value}")]);
    }
    Ok(Launch {
        program: Program::new(site.binary.clone(), args),
        socket: Some(site.postgres_socket(tcp.port())?),
        tcp: Some(tcp),
        tls: site.listening.has_tls.then_some(tcp),
        abstract_name: site.abstract_name().map(|name| format!("{name}/.s.PGSQL.{}", tcp.port()).into_bytes()),
        settings,
    })
}

/// Whether the server listens on more than loopback; initdb's own file has lines only for loopback.
fn is_reached_from_afar(site: &Site<'_>) -> bool {
    let mut addresses = site.listening.addresses.iter();
    addresses.any(|address| !address.is_loopback())
}

fn settings(site: &Site<'_>) -> Vec<(String, String)> {
    let mut folders = site.path_text("");
    if let Some(name) = site.abstract_name() {
        folders.push_str(", @");
        folders.push_str(&name);
    }
    let mut settings = owned(&[
        ("listen_addresses", &site.addresses(",")),
        ("unix_socket_directories", &folders),
        ("unix_socket_permissions", "0700"),
        // PostgreSQL reserves three of the connections for superusers, and looptax's account is a superuser.
        ("max_connections", &site.n_connections.to_string()),
        ("shared_buffers", &format!("{}MB", site.cache_mib(BYTES_PER_ROW))),
        // Durability is off, so that no commit waits for the disk.
        ("fsync", "off"),
        ("synchronous_commit", "off"),
        ("full_page_writes", "off"),
        ("wal_level", "minimal"),
        ("max_wal_senders", "0"),
        ("max_wal_size", "4GB"),
        // Autovacuum's workers would run in the middle of slices, on the measured cores. Instead, looptax vacuums once
        // after it has filled the table.
        ("autovacuum", "off"),
        ("jit", "off"),
        // Parallel workers would not be pinned to the core of the connection's own process.
        ("max_parallel_workers_per_gather", "0"),
        ("huge_pages", "off"),
        // Shared memory is kept in files of the data folder, so that it is removed with the folder even after a kill.
        ("dynamic_shared_memory_type", "mmap"),
        ("logging_collector", "off"),
        ("log_destination", "stderr"),
        ("log_checkpoints", "off"),
    ]);
    if is_reached_from_afar(site) {
        settings.extend(owned(&[("hba_file", &site.path_text(LOGINS_FILE))]));
    }
    settings.extend(if site.listening.has_tls {
        owned(&[
            ("ssl", "on"),
            ("ssl_cert_file", &site.path_text(certificate::CERTIFICATE)),
            ("ssl_key_file", &site.path_text(certificate::KEY)),
        ])
    } else {
        owned(&[("ssl", "off")])
    });
    settings
}
