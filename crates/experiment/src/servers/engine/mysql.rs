//! MariaDB and MySQL: a new data folder, one account with a random password, and settings that keep disk accesses and
//! background work out of the measured path.
//!
//! Tested live with MariaDB 10.11 and MySQL 9.7; for other versions see `cargo lab versions`.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use looptax_host::read;
use looptax_model::dsn::Kind;

use super::recipe::{Engine, Launch, Site, owned};
use crate::servers::spawn::Program;
use crate::servers::{ServerError, certificate};

/// A file of statements that creates the account at the server's start; it is removed once the server is ready.
const INIT_FILE: &str = "init.sql";
const CONFIG_FILE: &str = "my.cnf";

/// Memory per row in bytes. A row of `sbtest1` with its two index entries takes about 250 bytes. After inserts in the
/// order of the ids, pages are half to nine-tenths full.
const BYTES_PER_ROW: u64 = 512;

pub(super) const ENGINE: Engine =
    Engine { prepare, spent_files: &[INIT_FILE], ..Engine::database(|site, _, ports| launch(site, ports.plain)) };

/// Writes the configuration and the init file; for MariaDB, a script of MariaDB makes the data folder.
fn prepare(site: &Site<'_>) -> Result<Vec<Program>, ServerError> {
    site.scratch.create_folder("tmp")?;
    site.scratch.write(INIT_FILE, &init_sql(site))?;
    let mut text = String::from("[mysqld]\n");
    for (name, value) in settings(site) {
        let equals = if value.is_empty() { "" } else { "=" };
        writeln!(text, "{name}{equals}{value}").expect("writing to a String cannot fail");
    }
    site.scratch.write(CONFIG_FILE, &text)?;
    site.scratch.create_folder("data")?;
    Ok(vec![if site.kind == Kind::Mariadb { install_mariadb(site) } else { install_mysql(site) }])
}

/// Launches the server. The port is an argument and not in the configuration, because it changes with each launch.
fn launch(site: &Site<'_>, tcp: SocketAddr) -> Result<Launch, ServerError> {
    let program = Program::new(
        site.binary.clone(),
        vec![format!("--defaults-file={}", site.path_text(CONFIG_FILE)), format!("--port={}", tcp.port())],
    );
    Ok(Launch {
        program,
        socket: Some(site.scratch.socket_path("s.sock")?),
        tcp: Some(tcp),
        tls: site.listening.has_tls.then_some(tcp),
        abstract_name: None,
        settings: settings(site),
    })
}

/// Returns the statements that create one account for all transports: `%` also matches the socket, because there is no
/// anonymous account that would take precedence. With one account, MySQL's cache of verified passwords also has one
/// entry instead of two.
///
/// The server executes these statements before it greets a client. Each statement has its own line.
fn init_sql(site: &Site<'_>) -> String {
    let password = site.login.password.reveal();
    let lock_others = match site.kind {
        Kind::Mariadb => "DELETE FROM mysql.global_priv WHERE User NOT IN ('looptax', 'mariadb.sys');",
        _ => "ALTER USER 'root'@'localhost' ACCOUNT LOCK;",
    };
    format!(
        "CREATE DATABASE IF NOT EXISTS looptax;\n\
         CREATE USER IF NOT EXISTS 'looptax'@'%' IDENTIFIED BY '{password}';\n\
         GRANT ALL PRIVILEGES ON *.* TO 'looptax'@'%' WITH GRANT OPTION;\n\
         {lock_others}\n\
         FLUSH PRIVILEGES;\n"
    )
}

/// Returns all settings of the server, for its configuration and for the record.
fn settings(site: &Site<'_>) -> Vec<(String, String)> {
    let text = |number: u32| number.to_string();
    let n = site.n_connections;
    let mut settings = owned(&[
        ("datadir", &site.path_text("data")),
        ("tmpdir", &site.path_text("tmp")),
        ("socket", &site.path_text("s.sock")),
        ("pid-file", &site.path_text("pid")),
        ("init-file", &site.path_text(INIT_FILE)),
        ("bind-address", &site.addresses(",")),
        // The server never looks up host names, and never blocks a host after failed connections.
        ("skip-name-resolve", ""),
        ("max_connections", &text(n)),
        ("max_connect_errors", "1000000"),
        ("max_prepared_stmt_count", "1048576"),
        ("back_log", &text(n.clamp(512, 65_535))),
        // The server keeps a thread for each possible connection, so that a new connection does not have to create a
        // thread.
        ("thread_cache_size", &text(n.min(16_384))),
        ("table_open_cache", &text((2 * n).clamp(2000, 65_535))),
        ("innodb_buffer_pool_size", &format!("{}M", site.cache_mib(BYTES_PER_ROW))),
        // Durability is off, so that no commit waits for the disk.
        ("innodb_flush_log_at_trx_commit", "0"),
        ("innodb_doublewrite", "0"),
        ("sync_binlog", "0"),
        ("skip-log-bin", ""),
        // These two settings work on every file system, including tmpfs; reads are served from the buffer pool anyway.
        ("innodb_flush_method", "fsync"),
        ("innodb_use_native_aio", "0"),
        // The data are not needed after the run, so nothing is written out or kept for the next start.
        ("innodb_fast_shutdown", "2"),
        ("innodb_buffer_pool_dump_at_shutdown", "OFF"),
        ("innodb_buffer_pool_load_at_startup", "OFF"),
    ]);
    if site.listening.has_tls {
        settings.extend(owned(&[
            ("ssl-ca", &site.path_text(certificate::AUTHORITY)),
            ("ssl-cert", &site.path_text(certificate::CERTIFICATE)),
            ("ssl-key", &site.path_text(certificate::KEY)),
        ]));
    }
    settings.extend(match site.kind {
        Kind::Mariadb => owned(&[
            // Threads can be pinned only if each connection has its own thread.
            ("thread_handling", "one-thread-per-connection"),
            ("query_cache_type", "0"),
            ("query_cache_size", "0"),
            ("performance_schema", "OFF"),
        ]),
        // MySQL shows the thread of a connection only in its Performance Schema.
        _ => owned(&[("performance_schema", "ON"), ("mysqlx", "0"), ("secure-file-priv", "NULL")]),
    });
    settings
}

/// Returns the program `mariadb-install-db`, which runs the server once with MariaDB's scripts. The program need not be
/// in the server's folder, and may have an older name.
fn install_mariadb(site: &Site<'_>) -> Program {
    let folders = ["/usr/bin", "/usr/local/bin", "/usr/local/mysql/scripts"].map(PathBuf::from);
    let beside =
        site.binary.parent().map(|folder| [folder.to_owned(), folder.join("../bin"), folder.join("../scripts")]);
    let path = beside
        .into_iter()
        .flatten()
        .chain(folders)
        .flat_map(|folder| ["mariadb-install-db", "mysql_install_db"].map(|name| folder.join(name)))
        .find(|path| read::is_file(path))
        .unwrap_or_else(|| PathBuf::from("mariadb-install-db"));
    let args = [
        "--no-defaults".to_owned(),
        format!("--basedir={}", base_of(&site.binary)),
        format!("--datadir={}", site.path_text("data")),
        format!("--tmpdir={}", site.path_text("tmp")),
        "--auth-root-authentication-method=normal".to_owned(),
        "--skip-test-db".to_owned(),
        "--skip-name-resolve".to_owned(),
        "--innodb-flush-method=fsync".to_owned(),
        "--innodb-use-native-aio=0".to_owned(),
    ];
    Program::new(path, args.to_vec())
}

/// Returns the folder whose `bin` or `sbin` contains the server. By default the script uses the system's folder, and if
/// two servers are installed, the script would run the wrong server.
fn base_of(binary: &Path) -> String {
    let real = read::real_path(binary).unwrap_or_else(|_| binary.to_owned());
    let base = real.parent().and_then(Path::parent).unwrap_or(Path::new("/usr"));
    base.display().to_string()
}

/// Returns MySQL's server itself, which fills its own data folder; root has no password until the init file locks the
/// account.
fn install_mysql(site: &Site<'_>) -> Program {
    let args = [
        "--no-defaults".to_owned(),
        "--initialize-insecure".to_owned(),
        format!("--datadir={}", site.path_text("data")),
        format!("--tmpdir={}", site.path_text("tmp")),
        "--innodb-flush-method=fsync".to_owned(),
        "--innodb-use-native-aio=0".to_owned(),
        "--secure-file-priv=NULL".to_owned(),
    ];
    Program::new(site.binary.clone(), args.to_vec())
}
