//! Redis and Valkey: one configuration file, a random password, no saving to disk.
//!
//! Tested live with Redis 7.0 and Valkey 9.1, which accepts the same configuration.

use std::fmt::Write as _;

use super::recipe::{Engine, Launch, Ports, Site, owned};
use crate::servers::spawn::Program;
use crate::servers::{ServerError, certificate};

/// The configuration, which holds the password; the file is removed once the server is ready.
const CONFIG_FILE: &str = "redis.conf";

pub(super) const ENGINE: Engine = Engine {
    prepare,
    spent_files: &[CONFIG_FILE],
    has_password: true,
    ..Engine::bare(|site, _, ports| launch(site, ports))
};

/// Writes the configuration; no program has to be run before the server.
fn prepare(site: &Site<'_>) -> Result<Vec<Program>, ServerError> {
    let mut text = String::new();
    for (name, value) in settings(site) {
        writeln!(text, "{name} {value}").expect("writing to a String cannot fail");
    }
    writeln!(text, "requirepass {}", site.login.password.reveal()).expect("writing to a String cannot fail");
    site.scratch.write(CONFIG_FILE, &text)?;
    Ok(Vec::new())
}

/// Launches the server. The port is an argument and not in the configuration, because it changes with each launch.
fn launch(site: &Site<'_>, ports: Ports) -> Result<Launch, ServerError> {
    let mut args = vec![site.path_text(CONFIG_FILE), "--port".to_owned(), ports.plain.port().to_string()];
    let tls = site.listening.has_tls.then_some(ports.tls);
    if let Some(tls) = tls {
        args.extend(["--tls-port".to_owned(), tls.port().to_string()]);
    }
    let program = Program::new(site.binary.clone(), args);
    Ok(Launch {
        program,
        socket: Some(site.scratch.socket_path("s.sock")?),
        tcp: Some(ports.plain),
        tls,
        abstract_name: None,
        settings: settings(site),
    })
}

fn settings(site: &Site<'_>) -> Vec<(String, String)> {
    let mut settings = owned(&[
        ("bind", &site.addresses(" ")),
        ("protected-mode", "yes"),
        ("unixsocket", &site.path_text("s.sock")),
        ("unixsocketperm", "700"),
        ("dir", &site.path_text("")),
        ("daemonize", "no"),
        ("maxclients", &site.n_connections.to_string()),
        // The kernel lowers the backlog to net.core.somaxconn.
        ("tcp-backlog", &site.n_connections.clamp(511, 65_535).to_string()),
        // Nothing is saved, so the server does not fork in the middle of a slice, and no disk access is in the measured
        // path.
        ("save", "\"\""),
        ("appendonly", "no"),
    ]);
    if site.listening.has_tls {
        settings.extend(owned(&[
            ("tls-ca-cert-file", &site.path_text(certificate::AUTHORITY)),
            ("tls-cert-file", &site.path_text(certificate::CERTIFICATE)),
            ("tls-key-file", &site.path_text(certificate::KEY)),
            // Clients log in with the password, as without TLS; they need no certificate.
            ("tls-auth-clients", "no"),
        ]));
    }
    settings
}
