//! A private PostgreSQL that shows which logins its rules accept.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::chown;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use looptax_bench::path::{Conversation, Endpoint, Limits};
use looptax_experiment::servers::find_binary;
use looptax_model::dsn::{Kind, Protocol, Secret};
use looptax_testkit::hba::{Answer, File, Login, NAMES, Transport, Wrap};
use looptax_wire::Login as Credentials;
use tempfile::TempDir;

use crate::servers::{Ours, wait_until};
use crate::workspace::run_to_success;

/// Number of logins per file for which the server's first answer is compared with the evaluator's, over each transport.
const ASKED: usize = 16;
/// Number of logins per file that are completed.
const TRIED: usize = 8;
/// Roles whose password is stored as an md5 hash.
const OLD: [&str; 2] = ["alice", "shop"];

/// The server, and a connection that was opened before any rules were set.
pub(super) struct Live {
    // The order of these fields is the order in which they are dropped.
    admin: Conversation,
    _server: Ours,
    folder: TempDir,
    tcp: SocketAddr,
    pub(super) n_asked: usize,
    pub(super) n_tried: usize,
}

impl Live {
    /// Starts a server that has a role and a database for each name, with the password `right`. It also has TLS and
    /// allows replication connections, which looptax's own private servers do not.
    pub(super) fn start() -> Result<Self> {
        let postgres = find_binary(Kind::Postgres).context("PostgreSQL is not installed")?;
        let folder = TempDir::new()?;
        let owner = owner()?;
        chown(folder.path(), owner.map(|it| it.0), owner.map(|it| it.1))?;
        let run = |program: &Path, words: &[&str]| {
            let mut command = Command::new(program);
            command.args(words).current_dir(folder.path()).stdout(Stdio::null());
            if let Some((uid, gid)) = owner {
                command.uid(uid).gid(gid);
            }
            command
        };
        let initdb = postgres.with_file_name("initdb");
        run_to_success(&mut run(&initdb, &["-D", "data", "-U", "admin", "-A", "trust", "--no-sync"]))?;
        let certificate = "req -new -x509 -days 3 -nodes -subj /CN=x -out data/server.crt -keyout data/server.key";
        let certificate: Vec<&str> = certificate.split(' ').collect();
        run_to_success(run(Path::new("openssl"), &certificate).stderr(Stdio::null()))?;
        let tcp = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let (port, sockets) = (tcp.port().to_string(), folder.path().display().to_string());
        let sockets = format!("unix_socket_directories={sockets}");
        let words = ["-D", "data", "-p", &port, "-c", &sockets, "-c", "ssl=on", "-c", "fsync=off"];
        let server = Ours::start(run(&postgres, &words).stderr(Stdio::null()))?;
        let socket = Endpoint::unix(&folder.path().join(format!(".s.PGSQL.{port}")))?;
        let login = Credentials {
            user: "admin".to_owned(),
            password: Secret::new(String::new()),
            database: Some("postgres".to_owned()),
            ..Credentials::default()
        };
        let mut admin = None;
        wait_until("PostgreSQL does not answer", || {
            admin = Conversation::open(Protocol::Postgres, &socket, &login, Limits::default()).ok();
            Ok(admin.is_some())
        })?;
        let mut live =
            Self { admin: admin.context("no connection")?, _server: server, folder, tcp, n_asked: 0, n_tried: 0 };
        for name in NAMES {
            let kept = if OLD.contains(&name) { "md5" } else { "scram-sha-256" };
            live.execute(&format!("SET password_encryption = '{kept}'"))?;
            live.execute(&format!("CREATE ROLE \"{name}\" LOGIN REPLICATION PASSWORD 'right'"))?;
            live.execute(&format!("CREATE DATABASE \"{name}\""))?;
        }
        // For a user that does not exist, the server asks for the password in this form.
        live.execute("ALTER SYSTEM SET password_encryption = 'md5'")?;
        Ok(live)
    }

    /// Returns kind and version, as in `postgres 15.18`.
    pub(super) fn name(&self) -> String {
        format!("postgres {}", self.admin.server_version())
    }

    pub(super) fn port(&self) -> u16 {
        self.tcp.port()
    }

    /// Returns the folder of the socket.
    pub(super) fn folder(&self) -> String {
        self.folder.path().to_string_lossy().into_owned()
    }

    /// Writes the maps of system users; [`Self::rule`] makes the server load them.
    pub(super) fn map(&self, lines: &str) -> Result<()> {
        Ok(fs::write(self.folder.path().join("data/pg_ident.conf"), lines)?)
    }

    fn execute(&mut self, sql: &str) -> Result<()> {
        self.admin.execute(sql).with_context(|| sql.to_owned())?;
        Ok(())
    }

    fn ask(&mut self, sql: &str) -> Result<String> {
        let rows = self.admin.query(sql)?;
        let first = rows.into_iter().next().and_then(|row| row.into_iter().next()?);
        first.with_context(|| format!("`{sql}` returned nothing"))
    }

    pub(super) fn rule(&mut self, rules: &str) -> Result<()> {
        fs::write(self.folder.path().join("data/pg_hba.conf"), rules)?;
        let loaded = "SELECT pg_conf_load_time()::text";
        let before = self.ask(loaded)?;
        self.ask("SELECT pg_reload_conf()::text")?;
        wait_until("the rules were not loaded", || Ok(self.ask(loaded)? != before))
    }

    /// Checks that the server's first request is the one that the evaluator expects.
    pub(super) fn hold_against(&mut self, file: &File, logins: &[Login<'_>]) -> Result<()> {
        let plain = Transport::Tcp { is_v6: false, wrap: Wrap::Plain };
        for login in logins.iter().take(ASKED) {
            for transport in [Transport::Socket, plain] {
                let said = file.answer(*login, transport, 0);
                let seen = self.first_answer(*login, transport)?;
                ensure!(
                    is_so(&said, &seen, login.user),
                    "{login:?} over {transport:?}: {said:?}, but the server reports {seen}"
                );
                self.n_asked += 1;
            }
        }
        Ok(())
    }

    /// Sends the first message of a login, and returns the answer: the number of the authentication request, or the
    /// text of an error.
    ///
    /// # Source
    /// postgresql.org/docs/current/protocol-message-formats.html: `StartupMessage`, `AuthenticationOk` and those
    /// after it, `ErrorResponse`.
    fn first_answer(&self, login: Login<'_>, transport: Transport) -> Result<String> {
        let database = login.database.unwrap_or(login.user);
        let replication = if login.database.is_none() { "true" } else { "false" };
        let mut body = 196_608_u32.to_be_bytes().to_vec();
        let pairs = [("user", login.user), ("database", database), ("replication", replication)];
        for (name, value) in pairs {
            body.extend(format!("{name}\0{value}\0").bytes());
        }
        body.push(0);
        let mut message = (body.len() as u32 + 4).to_be_bytes().to_vec();
        message.extend(body);
        match transport {
            Transport::Socket => first_message(
                UnixStream::connect(self.folder.path().join(format!(".s.PGSQL.{}", self.tcp.port())))?,
                &message,
            ),
            Transport::Tcp { .. } => first_message(TcpStream::connect(self.tcp)?, &message),
        }
    }

    /// Checks that completed logins have the same result over the socket, TCP and TLS.
    pub(super) fn compare(&mut self, logins: &[Login<'_>]) -> Result<()> {
        for login in logins.iter().take(TRIED) {
            for password in ["right", "wrong"] {
                let folder = self.folder.path().to_string_lossy().into_owned();
                let socket = self.end(*login, password, &folder, "disable")?;
                for wrap in ["disable", "require"] {
                    let tcp = self.end(*login, password, "127.0.0.1", wrap)?;
                    ensure!(
                        tcp == socket,
                        "{login:?} with a {password} password: `{tcp}` over TCP (sslmode={wrap}), `{socket}` over the socket"
                    );
                }
                self.n_tried += 3;
            }
        }
        Ok(())
    }

    /// Returns the result of a login with psql: the role, or the error without the words that name the transport.
    fn end(&self, login: Login<'_>, password: &str, host: &str, sslmode: &str) -> Result<String> {
        let quoted = |text: &str| format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"));
        let what = match login.database {
            Some(database) => format!("dbname={}", quoted(database)),
            None => "replication=true".to_owned(),
        };
        let target = format!(
            "host={} port={} user={} sslmode={sslmode} gssencmode=disable {what}",
            quoted(host),
            self.tcp.port(),
            quoted(login.user)
        );
        let mut command = Command::new("psql");
        command
            .args(["-wAtX", "-c", if login.database.is_some() { "SELECT current_user" } else { "SHOW port" }])
            .arg(target)
            .env("PGPASSWORD", password)
            .env("PGPASSFILE", "/dev/null");
        let output = command.output().context("cannot start psql")?;
        if output.status.success() {
            return Ok(String::from_utf8(output.stdout)?);
        }
        let words = String::from_utf8_lossy(&output.stderr);
        let Some((_, why)) = words.split_once("FATAL:  ") else {
            bail!("psql prints {words}");
        };
        let is_of_rules = why.contains("pg_hba.conf");
        Ok(if is_of_rules { "the rules refuse it".to_owned() } else { why.to_owned() })
    }
}

/// Returns the user that runs PostgreSQL if this process is root, because PostgreSQL refuses to run as root.
fn owner() -> Result<Option<(u32, u32)>> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd")?;
    let line = users.lines().find(|line| line.starts_with("postgres:"));
    let mut numbers = line.context("no user postgres")?.split(':').skip(2).map(str::parse);
    match (numbers.next(), numbers.next()) {
        (Some(uid), Some(gid)) => Ok(Some((uid?, gid?))),
        _ => bail!("the user postgres has no numbers"),
    }
}

fn first_message(mut stream: impl Read + Write, message: &[u8]) -> Result<String> {
    stream.write_all(message)?;
    let mut head = [0; 5];
    stream.read_exact(&mut head)?;
    let [kind, length @ ..] = head;
    let mut body = vec![0; (u32::from_be_bytes(length) as usize).saturating_sub(4)];
    stream.read_exact(&mut body)?;
    match (kind, body.first_chunk()) {
        (b'R', Some(number)) => Ok(u32::from_be_bytes(*number).to_string()),
        (b'E', _) => Ok(String::from_utf8_lossy(&body).replace('\0', " ")),
        _ => bail!("the server sent a message `{}`", char::from(kind)),
    }
}

/// Checks whether the server's first answer `seen` matches the evaluator's decision.
fn is_so(said: &Answer, seen: &str, user: &str) -> bool {
    match said {
        Answer::Refused => seen.contains("pg_hba.conf"),
        Answer::Asked("trust", _) => seen == "0",
        Answer::Asked("password", _) => seen == "3",
        // If the role's password is stored for SCRAM, the server asks for SCRAM instead of md5.
        Answer::Asked("md5", _) if NAMES.contains(&user) && !OLD.contains(&user) => seen == "10",
        Answer::Asked("md5", _) => seen == "5",
        Answer::Asked("scram-sha-256", _) => seen == "10",
        Answer::Asked("peer", _) => seen.contains("Peer authentication failed"),
        Answer::Asked(..) => false,
    }
}
