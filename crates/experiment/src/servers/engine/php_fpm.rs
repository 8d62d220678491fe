//! PHP-FPM: one master process, and a pool of processes for each address, because a pool listens on only one address.
//!
//! The processes of all pools are forked from the master, and differ only in the address on which they listen. Each
//! process serves one connection at a time, from its first request to its end. The processes run four scripts of
//! looptax, and share the compiled form of these scripts. Tested live with PHP 8.2.

use std::fmt::Write as _;
use std::net::SocketAddr;

use looptax_wire::site;

use super::recipe::{Engine, Launch, Site, owned};
use crate::servers::ServerError;
use crate::servers::spawn::Program;

const CONFIG_FILE: &str = "fpm.conf";

/// The scripts of the site, by their names without `.php`.
const SCRIPTS: [(&str, &str); 4] = [
    (site::WHO, include_str!("site/who.php")),
    (site::HELLO, include_str!("site/hello.php")),
    (site::SIZED, include_str!("site/page.php")),
    (site::UPLOAD, include_str!("site/upload.php")),
];

pub(super) const ENGINE: Engine = Engine {
    prepare,
    place: |scratch| Some(scratch.path(SITE_FOLDER).display().to_string()),
    ..Engine::bare(|site, _, ports| launch(site, ports.plain))
};

/// Writes the scripts; no program has to be run before the server.
fn prepare(site: &Site<'_>) -> Result<Vec<Program>, ServerError> {
    site.scratch.create_folder(SITE_FOLDER)?;
    for (name, text) in SCRIPTS {
        site.scratch.write(&site::script(SITE_FOLDER, name), text)?;
    }
    Ok(Vec::new())
}

/// The folder of the scripts inside the scratch folder.
const SITE_FOLDER: &str = "site";

/// Launches the master with all its pools.
fn launch(site: &Site<'_>, tcp: SocketAddr) -> Result<Launch, ServerError> {
    let socket = site.scratch.socket_path("s.sock")?;
    let mut listens = vec![socket.display().to_string(), tcp.to_string()];
    for address in &site.listening.addresses {
        listens.push(SocketAddr::new(*address, tcp.port()).to_string());
    }
    let settings = settings(site);
    let log = site.path_text("fpm.log");
    let config = configuration(&log, &listens, &settings);
    // A second launch writes a file of the same name, with another port.
    if site.scratch.has(CONFIG_FILE) {
        site.scratch.remove_file(CONFIG_FILE)?;
    }
    let config = site.scratch.write(CONFIG_FILE, &config)?;
    let words = [
        "--nodaemonize",
        // PHP-FPM logs to stderr, which is the scratch folder's log, in addition to the log file that it opens by
        // itself.
        "--force-stderr",
        "--define",
        "opcache.enable=1",
        "--fpm-config",
    ];
    let words = words.map(str::to_owned);
    Ok(Launch {
        program: Program::new(site.binary.clone(), words.into_iter().chain([config.display().to_string()]).collect()),
        socket: Some(socket),
        tcp: Some(tcp),
        tls: None,
        abstract_name: None,
        settings,
    })
}

/// # Source
/// PHP manual, "php-fpm.conf directives".
fn configuration(log: &str, listens: &[String], settings: &[(String, String)]) -> String {
    let mut text = format!("[global]\nerror_log = {log}\nlog_level = warning\n");
    for (idx, listen) in listens.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(text, "[pool{idx}]\nlisten = {listen}\n");
        for (name, value) in settings {
            let _ = writeln!(text, "{name} = {value}");
        }
    }
    text
}

fn settings(place: &Site<'_>) -> Vec<(String, String)> {
    // Each arm has half of the connections; during the slices of one arm the processes of the other arm are idle.
    let n_children = place.n_connections.div_ceil(2).max(4).to_string();
    owned(&[
        ("listen.mode", "0600"),
        ("listen.backlog", "4096"),
        ("pm", "static"),
        ("pm.max_children", &n_children),
        ("pm.max_requests", "0"),
        ("pm.status_path", site::STATUS),
        ("catch_workers_output", "yes"),
        ("php_admin_flag[log_errors]", "on"),
        ("php_admin_flag[display_errors]", "off"),
        ("php_admin_flag[expose_php]", "off"),
        ("php_admin_flag[enable_post_data_reading]", "off"),
        ("php_admin_value[auto_prepend_file]", "none"),
        ("php_admin_value[auto_append_file]", "none"),
        ("php_admin_value[memory_limit]", "256M"),
    ])
}
