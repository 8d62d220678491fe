//! A private server with an account for each case, and its socket under awkward names.
//!
//! The awkward paths are links to the server's own socket; a client connects through them as through any path.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use looptax_experiment::servers::Instance;
use looptax_model::dsn::{Kind, Protocol};

use super::case::{CASES, Case, PLAIN};
use crate::servers::Private;

/// The key in memcached. Its value is the transport over which it was requested.
const KEY: &str = "looptax";
/// Highest number of connections: many clients connect one after the other, and some close late.
const CONNECTIONS: u32 = 64;

/// A private server with the accounts of all cases. It runs until it is dropped.
pub(crate) struct Server {
    pub(crate) kind: Kind,
    main: Private,
    /// A second server of the same kind without a password, for Redis cases without a password.
    open: Option<Private>,
    folder: tempfile::TempDir,
}

impl Server {
    pub(crate) fn start(looptax: &Path, kind: Kind) -> Result<Self> {
        let private = || Private::start(looptax, kind, CONNECTIONS, 1);
        let is_open = matches!(kind, Kind::Redis | Kind::Valkey);
        let server = Self {
            kind,
            main: private()?,
            open: is_open.then(private).transpose()?,
            // The name of the folder has no capital letters, which are a separate case.
            folder: tempfile::Builder::new()
                .prefix(&format!("looptax-dialects-{}", std::process::id()))
                .rand_bytes(0)
                .tempdir()?,
        };
        server.fill().context("cannot make the accounts")?;
        Ok(server)
    }

    /// Returns kind and version, as in `redis 7.0.15`.
    pub(crate) fn name(&self) -> String {
        let version = self.main.version.split('-').next().unwrap_or_default();
        format!("{} {version}", self.main.kind.name())
    }

    pub(crate) fn port(&self) -> u16 {
        self.main.tcp.port()
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.main.socket
    }

    pub(crate) fn scratch(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the addresses at which an administrator can log in, each with its password, one per line.
    pub(crate) fn administrators(&self) -> String {
        let servers = self.open.iter().chain([&self.main]);
        let line = |it: &Private| format!("{} {}\n", it.socket.display(), it.login.password.reveal());
        servers.map(line).collect::<Vec<_>>().concat()
    }

    /// Returns the socket's path in this case; makes the path if it does not exist.
    pub(crate) fn path_for(&self, case: &Case) -> Result<PathBuf> {
        let folder = self.folder.path().join(case.folder);
        fs::create_dir_all(&folder)?;
        let (server, name) = match (&self.open, self.kind) {
            (Some(open), _) if case.password.is_none() => (open, "open.sock".to_owned()),
            (_, Kind::Postgres) => {
                let port = case.port.unwrap_or(5432);
                (&self.main, format!(".s.PGSQL.{port}"))
            }
            _ => (&self.main, "db.sock".to_owned()),
        };
        let path = folder.join(name);
        if !path.is_symlink() {
            symlink(&server.socket, &path).with_context(|| format!("cannot link {}", path.display()))?;
        }
        Ok(path)
    }

    pub(crate) fn stop(self) -> Result<()> {
        if let Some(open) = self.open {
            open.stop()?;
        }
        self.main.stop()
    }

    fn fill(&self) -> Result<()> {
        match self.kind.protocol() {
            Some(Protocol::Mysql) => fill_mysql(&self.main),
            Some(Protocol::Postgres) => fill_postgres(&self.main),
            Some(Protocol::Redis) => {
                let open = self.open.as_ref().context("started with the other")?;
                fill_redis(&self.main)?;
                send(open, &[&["CONFIG", "SET", "requirepass", ""]])
            }
            Some(Protocol::Memcached) => self.main.instances.iter().try_for_each(fill_memcached),
            Some(Protocol::Mongodb) => fill_mongodb(&self.main),
            Some(Protocol::Fastcgi | Protocol::Http | Protocol::Echo) | None => {
                bail!("no driver of a database supports it")
            }
        }
    }
}

fn accounts() -> impl Iterator<Item = &'static Case> {
    CASES.iter().chain(std::iter::once(&PLAIN))
}

/// Returns the names of the databases, each once.
fn databases() -> Vec<&'static str> {
    let mut names: Vec<&str> = accounts().filter_map(|it| it.database).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn fill_mysql(server: &Private) -> Result<()> {
    let mut root = server.talk()?;
    let text = |value: &str| format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"));
    for name in databases() {
        root.execute(&format!("CREATE DATABASE `{name}`"))?;
    }
    for case in accounts() {
        let user = text(case.user);
        let password = text(case.password.unwrap_or_default());
        root.execute(&format!("CREATE USER {user}@'%' IDENTIFIED BY {password}"))?;
        root.execute(&format!("GRANT ALL ON *.* TO {user}@'%'"))?;
    }
    Ok(())
}

/// Makes the accounts. PostgreSQL's rules for local connections ask for a password, as its other rules do; an account
/// without a password needs its own rule.
fn fill_postgres(server: &Private) -> Result<()> {
    let mut root = server.talk()?;
    let text = |value: &str| format!("'{}'", value.replace('\'', "''"));
    for name in databases() {
        root.execute(&format!("CREATE DATABASE \"{name}\""))?;
    }
    for case in accounts() {
        let user = case.user;
        let password = case.password.map(|it| format!("PASSWORD {}", text(it)));
        let password = password.unwrap_or_default();
        root.execute(&format!("CREATE ROLE \"{user}\" LOGIN {password}"))?;
        if case.database.is_none() {
            root.execute(&format!("CREATE DATABASE \"{user}\""))?;
        }
    }
    let found = root.query("SHOW hba_file")?.into_iter().flatten().next();
    let hba = found.flatten().context("PostgreSQL does not report where pg_hba.conf is")?;
    let lines = fs::read_to_string(&hba)?;
    let open = accounts().filter(|it| it.password.is_none());
    let open: Vec<String> = open.map(|it| format!("local all {} trust\n", it.user)).collect();
    fs::write(&hba, open.concat() + &lines)?;
    root.query("SELECT pg_reload_conf()")?;
    Ok(())
}

/// Makes the accounts. The user without a name has all passwords at the same time.
fn fill_redis(server: &Private) -> Result<()> {
    for case in accounts() {
        let Some(password) = case.password.map(|it| format!(">{it}")) else {
            continue;
        };
        send(server, &[&["ACL", "SETUSER", "default", &password]])?;
        let rights = ["ACL", "SETUSER", case.user, "on", &password, "~*", "&*", "+@all"];
        send(server, &[&rights])?;
    }
    Ok(())
}

/// Makes the accounts. Each account is in the database of its URL.
fn fill_mongodb(server: &Private) -> Result<()> {
    let mut root = server.talk()?;
    for case in accounts() {
        let account = (case.user(server.kind), case.password(server.kind));
        if let ((Some(user), Some(password)), Some(database)) = (account, case.database(server.kind)) {
            root.mongodb()?.create_user(database, user, password)?;
        }
    }
    Ok(())
}

fn send(server: &Private, commands: &[&[&str]]) -> Result<()> {
    let words = |command: &&[&str]| command.iter().map(|it| it.as_bytes().to_vec()).collect();
    let commands: Vec<Vec<Vec<u8>>> = commands.iter().map(words).collect();
    server.talk()?.pipeline(&commands)?;
    Ok(())
}

/// Stores the key. Each memcached process listens on one transport only, and its value says which.
fn fill_memcached(instance: &Instance) -> Result<()> {
    if let Some(socket) = &instance.socket {
        return set(UnixStream::connect(socket)?, "socket");
    }
    match instance.tcp {
        Some(address) => set(TcpStream::connect(address)?, "tcp"),
        None => Ok(()),
    }
}

fn set(mut stream: impl Write + std::io::Read, value: &str) -> Result<()> {
    write!(stream, "set {KEY} 0 0 {}\r\n{value}\r\n", value.len())?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    match answer.trim_end() {
        "STORED" => Ok(()),
        other => bail!("memcached answers `{other}`"),
    }
}
