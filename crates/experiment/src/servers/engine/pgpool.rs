//! `Pgpool-II` beside a private PostgreSQL.
//!
//! It reaches its servers in one way for all clients, so that there are two instances: the first reaches PostgreSQL over
//! the socket, the second over the port. Each has a process for each client, which keeps its connection to PostgreSQL for
//! the next one: it pools by session. Everything that it does beside that is off. Tested live with 4.3.

use std::fmt::Write as _;

use super::recipe::{Engine, Launch, Pooling, Ports, Site};
use crate::servers::ServerError;
use crate::servers::pooler::PoolMode;
use crate::servers::process::StopSignal;
use crate::servers::spawn::Program;

/// It makes SCRAM's proof for PostgreSQL itself, and needs the password for that; the folder is its account's.
const PASSWORD_FILE: &str = "pool_passwd";
/// Who may log in how: the same over each transport.
const LOGINS_FILE: &str = "pool_hba.conf";
const LOGINS: &str = "local all all scram-sha-256\nhost all all all scram-sha-256\n";
/// The accounts of its commands: none.
const COMMANDS_FILE: &str = "pcp.conf";

/// Its settings, for the record, beside where it listens and what is behind it.
const SETTINGS: [(&str, &str); 18] = [
    // One server, whose answers are passed on.
    ("backend_clustering_mode", "raw"),
    ("load_balance_mode", "off"),
    ("connection_cache", "on"),
    ("max_pool", "1"),
    // No process ends while it may be measured.
    ("child_life_time", "0"),
    ("child_max_connections", "0"),
    ("connection_life_time", "0"),
    ("client_idle_limit", "0"),
    ("enable_pool_hba", "on"),
    // Its own questions to PostgreSQL.
    ("health_check_period", "0"),
    ("sr_check_period", "0"),
    ("check_temp_table", "none"),
    ("check_unlogged_table", "off"),
    ("use_watchdog", "off"),
    ("failover_on_backend_error", "off"),
    // It is in shared memory also when it is off.
    ("memory_cache_enabled", "off"),
    ("memqcache_total_size", "1MB"),
    ("memqcache_max_num_cache", "100"),
];

pub(super) const ENGINE: Engine = Engine {
    prepare: |site| {
        let password = site.login.password.reveal();
        let users = format!("{}:TEXT{password}\n", site.login.user);
        site.scratch.write(PASSWORD_FILE, &users)?;
        site.scratch.write(LOGINS_FILE, LOGINS)?;
        site.scratch.write(COMMANDS_FILE, "")?;
        Ok(Vec::new())
    },
    n_instances: 2,
    // SIGTERM would wait for clients.
    stop_signal: StopSignal::Quit,
    pooling: Some(Pooling { over_tcp: None, console: None, modes: &[PoolMode::Session], keeps_prepared: |_, _| true }),
    ..Engine::bare(launch)
};

fn launch(site: &Site<'_>, idx: usize, ports: Ports) -> Result<Launch, ServerError> {
    let name = format!("pgpool{idx}.conf");
    let config = site.rewrite(&name, &configuration(site, idx, ports))?;
    let file = |option: &str, path: String| [option.to_owned(), path];
    let args = [
        file("-f", config.display().to_string()),
        file("-F", site.path_text(COMMANDS_FILE)),
        file("-a", site.path_text(LOGINS_FILE)),
        // In the foreground, without what an earlier one knew of its servers.
        ["-n", "-D"].map(str::to_owned),
    ];
    let named = |(name, value): &(&str, &str)| (format!("pgpool {name}"), (*value).to_owned());
    Ok(Launch {
        program: Program { path: site.binary.clone(), args: args.concat(), input: String::new(), secret: None },
        socket: Some(site.postgres_socket(ports.plain.port())?),
        tcp: Some(ports.plain),
        tls: None,
        abstract_name: None,
        settings: SETTINGS.iter().map(named).collect(),
    })
}

/// # Source
/// pgpool.net, "Server Configuration". `unix_socket_directories` is `socket_dir` before 4.4; an unknown name is passed
/// over. The password file is named as it is, or taken from the configuration's folder.
fn configuration(site: &Site<'_>, idx: usize, ports: Ports) -> String {
    let folder = site.path_text("");
    let behind = site.behind().tcp;
    let host = if idx == 0 { folder.clone() } else { behind.ip().to_string() };
    let mut text = format!(
        "listen_addresses = '{}'\n\
         port = {}\n\
         socket_dir = '{folder}'\n\
         unix_socket_directories = '{folder}'\n\
         pcp_listen_addresses = ''\n\
         pcp_port = {}\n\
         pcp_socket_dir = '{folder}'\n\
         backend_hostname0 = '{host}'\n\
         backend_port0 = {}\n\
         backend_flag0 = 'DISALLOW_TO_FAILOVER'\n\
         num_init_children = {}\n\
         pool_passwd = '{}'\n\
         pid_file_name = '{}'\n\
         logdir = '{folder}'\n",
        ports.plain.ip(),
        ports.plain.port(),
        ports.tls.port(),
        behind.port(),
        site.n_connections,
        site.path_text(PASSWORD_FILE),
        site.path_text(&format!("pgpool{idx}.pid")),
    );
    for (name, value) in SETTINGS {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name} = {value}");
    }
    text
}
