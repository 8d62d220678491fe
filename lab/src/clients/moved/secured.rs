//! A MariaDB and a PostgreSQL with TLS, for connections that must not be moved. looptax's private servers do not have
//! TLS.

use std::fmt::Write;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use looptax_experiment::servers::find_binary;
use looptax_model::dsn::Kind;
use tempfile::TempDir;

use crate::servers::{Ours, wait_until};

/// The user that runs PostgreSQL if this process is root, because PostgreSQL refuses to run as root: `nobody`, on every
/// Linux.
const NOBODY: u32 = 65_534;

pub(in crate::clients) const PASSWORD: &str = "secret";
/// The account whose connections may be moved without objection.
pub(in crate::clients) const PLAIN: &str = "plain";

/// MariaDB's accounts: name, host, and requirement.
const ACCOUNTS: [(&str, &str, &str); 3] =
    [("narrow", "127.0.0.1", ""), ("secure", "%", "REQUIRE SSL"), (PLAIN, "%", "")];

/// A server with TLS. It ends when this value is dropped.
pub(in crate::clients) struct Secured {
    _server: Ours,
    // Removed after the server has ended.
    _folder: TempDir,
    pub(in crate::clients) socket: PathBuf,
    pub(in crate::clients) tcp: SocketAddr,
}

impl Secured {
    /// Starts one of the two servers. Needs `openssl`, and the program of MariaDB or PostgreSQL that makes the data
    /// folder.
    pub(super) fn start(kind: Kind) -> Result<Self> {
        let folder = tempfile::tempdir().context("cannot make a folder")?;
        let tcp = free_address()?;
        certificate(folder.path())?;
        let (command, socket) = match kind {
            Kind::Postgres => postgres(folder.path(), tcp)?,
            _ => mariadb(folder.path(), tcp)?,
        };
        Self::started(kind, command, folder, socket, tcp)
    }

    /// Starts a MariaDB that lists its sessions to [`PLAIN`]. With `root`, starts the MariaDB of another Debian that is
    /// in this folder; the temporary folder must be in it, too.
    pub(in crate::clients) fn mariadb_that_lists(root: Option<&Path>) -> Result<Self> {
        let folder = tempfile::tempdir().context("cannot make a folder")?;
        let tcp = free_address()?;
        certificate(folder.path())?;
        let (mut command, socket) = mariadb_of(root, folder.path(), tcp)?;
        command.arg("--performance-schema=ON");
        Self::started(Kind::Mariadb, command, folder, socket, tcp)
    }

    fn started(kind: Kind, mut command: Command, folder: TempDir, socket: PathBuf, tcp: SocketAddr) -> Result<Self> {
        let quiet = command.stdout(Stdio::null()).stderr(Stdio::null());
        let server = Self { _server: Ours::start(quiet)?, _folder: folder, socket, tcp };
        let what = format!("{kind} with TLS does not start");
        wait_until(&what, || Ok(server.socket.exists()))?;
        Ok(server)
    }
}

fn mariadb(folder: &Path, tcp: SocketAddr) -> Result<(Command, PathBuf)> {
    mariadb_of(None, folder, tcp)
}

fn mariadb_of(root: Option<&Path>, folder: &Path, tcp: SocketAddr) -> Result<(Command, PathBuf)> {
    let at = |name: &str| within(root, &folder.join(name)).display().to_string();
    run(program_of(root, "mariadb-install-db")
        .args(["--no-defaults", "--skip-test-db"])
        .args(may_be_root())
        .arg("--auth-root-authentication-method=normal")
        .arg(format!("--datadir={}", at("data"))))?;
    fs::write(folder.join("init.sql"), accounts()).context("cannot write a file")?;
    let mut command = match root {
        Some(_) => program_of(root, "mariadbd"),
        None => Command::new(binary(Kind::Mariadb)?),
    };
    command
        .args(["--no-defaults", "--skip-name-resolve", "--bind-address=127.0.0.1"])
        .args(may_be_root())
        .arg(format!("--port={}", tcp.port()))
        .arg(format!("--datadir={}", at("data")))
        .arg(format!("--socket={}", at("s.sock")))
        .arg(format!("--init-file={}", at("init.sql")))
        .arg(format!("--ssl-cert={}", at("cert.pem")))
        .arg(format!("--ssl-key={}", at("key.pem")));
    Ok((command, folder.join("s.sock")))
}

/// Returns a command for a program that runs with another Debian's folder as its root.
pub(in crate::clients) fn program_of(root: Option<&Path>, name: &str) -> Command {
    let Some(root) = root else {
        return Command::new(name);
    };
    let mut command = Command::new("chroot");
    // The path in TMPDIR does not exist inside that root.
    command.arg(root).arg(name).env_remove("TMPDIR");
    command
}

/// Returns the path as such a program sees it.
pub(in crate::clients) fn within(root: Option<&Path>, path: &Path) -> PathBuf {
    let inside = root.and_then(|it| path.strip_prefix(it).ok());
    inside.map_or_else(|| path.to_owned(), |it| Path::new("/").join(it))
}

fn postgres(folder: &Path, tcp: SocketAddr) -> Result<(Command, PathBuf)> {
    let at = |name: &str| folder.join(name).display().to_string();
    fs::write(at("password"), PASSWORD).context("cannot write a file")?;
    for name in ["", "password", "cert.pem", "key.pem"] {
        give_away(&folder.join(name))?;
    }
    let server = binary(Kind::Postgres)?;
    run(as_nobody(&mut Command::new(server.with_file_name("initdb")))
        .args(["--username", PLAIN, "--auth=scram-sha-256", "--no-sync"])
        .arg(format!("--pwfile={}", at("password")))
        .arg(format!("--pgdata={}", at("data"))))?;
    let mut command = Command::new(server);
    as_nobody(&mut command).arg("-D").arg(at("data"));
    for setting in [
        "listen_addresses=127.0.0.1".to_owned(),
        format!("port={}", tcp.port()),
        format!("unix_socket_directories={}", folder.display()),
        "ssl=on".to_owned(),
        format!("ssl_cert_file={}", at("cert.pem")),
        format!("ssl_key_file={}", at("key.pem")),
    ] {
        command.arg("-c").arg(setting);
    }
    let socket = folder.join(format!(".s.PGSQL.{}", tcp.port()));
    Ok((command, socket))
}

fn binary(kind: Kind) -> Result<PathBuf> {
    find_binary(kind).with_context(|| format!("{kind} is not installed"))
}

fn as_nobody(command: &mut Command) -> &mut Command {
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

fn give_away(path: &Path) -> Result<()> {
    if rustix::process::geteuid().is_root() {
        let failed = || format!("cannot give {} away", path.display());
        chown(path, Some(NOBODY), Some(NOBODY)).with_context(failed)?;
    }
    Ok(())
}

/// Makes `cert.pem` and `key.pem` for a name that no client checks.
fn certificate(folder: &Path) -> Result<()> {
    run(Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes"])
        .args(["-days", "30", "-subj", "/CN=localhost", "-keyout"])
        .arg(folder.join("key.pem"))
        .arg("-out")
        .arg(folder.join("cert.pem")))
}

fn accounts() -> String {
    let mut sql = String::new();
    for (user, host, demand) in ACCOUNTS {
        let _ = writeln!(sql, "CREATE USER '{user}'@'{host}' IDENTIFIED BY '{PASSWORD}' {demand};");
    }
    let _ = writeln!(sql, "GRANT PROCESS ON *.* TO '{PLAIN}'@'%';");
    let _ = writeln!(sql, "GRANT SELECT ON performance_schema.* TO '{PLAIN}'@'%';");
    sql
}

fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().display().to_string();
    let output = command.output().with_context(|| format!("cannot start `{program}`"))?;
    if !output.status.success() {
        bail!("`{program}`: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

/// Returns an option that MariaDB needs to run as root.
fn may_be_root() -> Option<&'static str> {
    rustix::process::geteuid().is_root().then_some("--user=root")
}

/// Returns an address that was free a moment ago.
fn free_address() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").context("cannot listen on TCP")?;
    listener.local_addr().context("no address")
}
