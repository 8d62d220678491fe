//! `Pgpool-II` in front of a private PostgreSQL.
//!
//! One instance reaches its servers over the same transport for all clients, so there are two instances: the first
//! connects to PostgreSQL's socket, the second to PostgreSQL's port. Each instance has a process per client. After the
//! client has left, the process keeps its connection to PostgreSQL for the next client; this is session pooling. All
//! other features are off. Tested live with 4.3.

use std::fmt::Write as _;

use super::recipe::{Engine, Launch, Pooling, Ports, Site};
use crate::servers::ServerError;
use crate::servers::pooler::PoolMode;
use crate::servers::process::StopSignal;
use crate::servers::spawn::Program;

/// The file with the password: `Pgpool-II` computes SCRAM's proof for PostgreSQL itself, and needs the password for
/// this. Only the account of `Pgpool-II` can enter the file's folder.
const PASSWORD_FILE: &str = "pool_passwd";
/// The file with the users who may log in, and their login method, which is the same over each transport.
const LOGINS_FILE: &str = "pool_hba.conf";
const LOGINS: &str = "local all all scram-sha-256\nhost all all all scram-sha-256\n";
/// The file with the accounts for administrative commands; it is empty.
const COMMANDS_FILE: &str = "pcp.conf";

/// The settings for the record, without the addresses and without the server behind the pooler.
const SETTINGS: [(&str, &str); 18] = [
    // There is only one server, and its replies are passed on unchanged.
    ("backend_clustering_mode", "raw"),
    ("load_balance_mode", "off"),
    ("connection_cache", "on"),
    ("max_pool", "1"),
    // No process may end during a measurement.
    ("child_life_time", "0"),
    ("child_max_connections", "0"),
    ("connection_life_time", "0"),
    ("client_idle_limit", "0"),
    ("enable_pool_hba", "on"),
    // The next settings turn off the queries that `Pgpool-II` itself sends to PostgreSQL.
    ("health_check_period", "0"),
    ("sr_check_period", "0"),
    ("check_temp_table", "none"),
    ("check_unlogged_table", "off"),
    ("use_watchdog", "off"),
    ("failover_on_backend_error", "off"),
    // The query cache takes shared memory even if it is off.
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
    // After SIGTERM, `Pgpool-II` would wait until its clients have left.
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
        // `Pgpool-II` runs in the foreground, and ignores the server states that an earlier run has saved.
        ["-n", "-D"].map(str::to_owned),
    ];
    let named = |(name, value): &(&str, &str)| (format!("pgpool {name}"), (*value).to_owned());
    Ok(Launch {
        program: Program::new(site.binary.clone(), args.concat()),
        socket: Some(site.postgres_socket(ports.plain.port())?),
        tcp: Some(ports.plain),
        tls: None,
        abstract_name: None,
        settings: SETTINGS.iter().map(named).collect(),
    })
}

/// # Source
/// pgpool.net, "Server Configuration". Before 4.4, `unix_socket_directories` has the name `socket_dir`; an unknown name
/// is ignored. The password file is given by its path, or by its name in the configuration's folder.
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
