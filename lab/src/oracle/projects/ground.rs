//! The servers of a part: three of each kind (with the usual port and socket, with others, and without a socket), in
//! separate namespaces, and the changes that a project makes to them.
//!
//! Everything in this file runs in a part's own namespaces (see `part`): ports, `/run` and processes are not shared
//! with other programs.

use std::fmt::Write as _;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use looptax_experiment::servers::find_binary;
use looptax_model::dsn::Kind;

use super::draw::{Draw, End, OTHER, Obstacle, SOCKETLESS, USUAL};
use crate::servers::{Ours, wait_until};
use crate::workspace::run_to_success;

const ADMIN_PASSWORD: &str = "admin-of-the-oracle";
/// The user that runs the servers; no application runs as this user.
const SERVERS_UID: u32 = 1;

/// Returns the port of a server, from its kind and index. The first server has the usual port, which is free in these
/// namespaces.
pub(super) fn port(kind: Kind, server: usize) -> u16 {
    let ports: [u16; 3] = match kind {
        Kind::Postgres => [5432, 15_433, 25_434],
        Kind::Redis => [6379, 16_380, 26_381],
        _ => [3306, 13_307, 23_308],
    };
    ports[server]
}

struct Server {
    kind: Kind,
    idx: usize,
    data: PathBuf,
    /// The folder of the server's socket, and the socket.
    socket: Option<(PathBuf, PathBuf)>,
    _running: Ours,
}

/// The servers of all kinds.
pub(super) struct Ground {
    servers: Vec<Server>,
}

impl Ground {
    /// Starts all servers. Every user can enter `scratch`.
    pub(super) fn start(scratch: &Path) -> Result<Self> {
        let mut servers = Vec::new();
        for kind in [Kind::Mariadb, Kind::Postgres, Kind::Redis] {
            let data = scratch.join(kind.name());
            folder_of_servers(&data)?;
            prepare(kind, &data).with_context(|| fs::read_to_string(data.join("log")).unwrap_or_default())?;
            for idx in [USUAL, OTHER, SOCKETLESS] {
                servers.push(launch(kind, idx, &data)?);
            }
        }
        let ground = Self { servers };
        for server in &ground.servers {
            wait_until(&format!("{} {} does not answer", server.kind.name(), server.idx), || {
                Ok(server.ask("postgres", first_question(server.kind)).is_ok())
            })?;
        }
        Ok(ground)
    }

    fn server(&self, end: &End) -> &Server {
        let found = self.servers.iter().find(|it| it.kind == end.kind && it.idx == end.server);
        found.expect("each kind has three servers")
    }

    /// Makes the accounts, the table and the obstacle of a project.
    pub(super) fn set_up(&self, draw: &Draw) -> Result<()> {
        for end in &draw.ends {
            let server = self.server(end);
            server.set_up(end, &draw.mark).with_context(|| format!("cannot set {} up", end.kind.name()))?;
            if let Some((folder, socket)) = &server.socket {
                let (folder_mode, socket_mode) = match end.obstacle {
                    Obstacle::FolderClosed => (0o700, 0o777),
                    Obstacle::SocketClosed => (0o755, 0o700),
                    _ => (0o755, 0o777),
                };
                fs::set_permissions(folder, Permissions::from_mode(folder_mode))?;
                fs::set_permissions(socket, Permissions::from_mode(socket_mode))?;
            }
        }
        Ok(())
    }

    /// Removes everything that [`Self::set_up`] made for a project.
    pub(super) fn take_down(&self, draw: &Draw) -> Result<()> {
        for end in &draw.ends {
            let server = self.server(end);
            if let Some((folder, socket)) = &server.socket {
                fs::set_permissions(folder, Permissions::from_mode(0o755))?;
                fs::set_permissions(socket, Permissions::from_mode(0o777))?;
            }
            server.take_down(end)?;
        }
        Ok(())
    }
}

fn first_question(kind: Kind) -> &'static str {
    if kind == Kind::Redis { "PING" } else { "SELECT 1" }
}

fn folder_of_servers(path: &Path) -> Result<()> {
    fs::create_dir_all(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o755))?;
    chown(path, Some(SERVERS_UID), Some(SERVERS_UID))?;
    Ok(())
}

/// Returns a command that runs as the servers' user and that the kernel ends together with this process. The command's
/// output is written to `log` in the folder of its kind.
fn of_servers(program: &Path, words: &[String], data: &Path) -> Result<Command> {
    let ids = [format!("--reuid={SERVERS_UID}"), format!("--regid={SERVERS_UID}")];
    let log = File::options().create(true).append(true).open(data.join("log"))?;
    let mut command = Command::new("setpriv");
    command.args(ids).args(["--clear-groups", "--pdeathsig=KILL", "--"]).arg(program).args(words);
    // The names of temporary files contain the process id, and processes in different parts can have the same id.
    command.env("TMPDIR", data);
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
    Ok(command)
}

/// Makes the data with which all servers of a kind begin.
fn prepare(kind: Kind, data: &Path) -> Result<()> {
    let first = data.join("first").display().to_string();
    let words = |words: &[&str]| words.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
    match kind {
        Kind::Mariadb => {
            let datadir = format!("--datadir={first}");
            let words =
                words(&["--no-defaults", &datadir, "--skip-test-db", "--auth-root-authentication-method=normal"]);
            run_to_success(&mut of_servers(Path::new("mariadb-install-db"), &words, data)?)
        }
        Kind::Postgres => {
            let password = data.join("password");
            fs::write(&password, ADMIN_PASSWORD)?;
            chown(&password, Some(SERVERS_UID), Some(SERVERS_UID))?;
            let postgres = find_binary(kind).context("PostgreSQL is not installed")?;
            let pwfile = format!("--pwfile={}", password.display());
            let words = words(&["-D", &first, "-U", "postgres", "-A", "scram-sha-256", &pwfile, "--no-sync"]);
            run_to_success(&mut of_servers(&postgres.with_file_name("initdb"), &words, data)?)
        }
        _ => Ok(fs::create_dir_all(&first)?),
    }
}

fn launch(kind: Kind, idx: usize, data: &Path) -> Result<Server> {
    let own = data.join(["usual", "other", "socketless"][idx]);
    run_to_success(Command::new("cp").arg("-a").arg(data.join("first")).arg(&own))?;
    if kind == Kind::Redis {
        folder_of_servers(&own)?;
    }
    let folder = match (kind, idx) {
        (Kind::Mariadb, USUAL) => PathBuf::from("/run/mysqld"),
        (Kind::Postgres, USUAL) => PathBuf::from("/run/postgresql"),
        (_, USUAL) => PathBuf::from("/run/redis"),
        // A long path with a space. PostgreSQL reads a list of paths, so the path must not contain a comma or a quote.
        _ => data.join("Sockets of v2"),
    };
    folder_of_servers(&folder)?;
    let port = port(kind, idx);
    let socket = (idx != SOCKETLESS).then(|| match kind {
        Kind::Mariadb => folder.join("mysqld.sock"),
        Kind::Postgres => folder.join(format!(".s.PGSQL.{port}")),
        _ => folder.join("redis-server.sock"),
    });
    let binary = find_binary(kind).with_context(|| format!("{} is not installed", kind.name()))?;
    let words = words_of(kind, idx, &own, socket.as_deref())?;
    let running = Ours::start(&mut of_servers(&binary, &words, data)?)?;
    Ok(Server { kind, idx, data: own, socket: socket.map(|it| (folder, it)), _running: running })
}

fn words_of(kind: Kind, idx: usize, own: &Path, socket: Option<&Path>) -> Result<Vec<String>> {
    let port = port(kind, idx);
    let socket_text = socket.map_or_else(String::new, |it| it.display().to_string());
    Ok(match kind {
        Kind::Mariadb => {
            let init = own.join("init.sql");
            let account = |host: &str| {
                format!(
                    "CREATE OR REPLACE USER root@'{host}' IDENTIFIED BY '{ADMIN_PASSWORD}';\n\
                     GRANT ALL ON *.* TO root@'{host}' WITH GRANT OPTION;\n"
                )
            };
            fs::write(&init, ["127.0.0.1", "localhost"].map(account).concat())?;
            let mut words = vec![
                "--no-defaults".to_owned(),
                format!("--datadir={}", own.display()),
                format!("--port={port}"),
                format!("--socket={socket_text}"),
                format!("--init-file={}", init.display()),
            ];
            words.extend(
                ["--bind-address=127.0.0.1,::1", "--skip-log-bin", "--innodb-flush-log-at-trx-commit=0"]
                    .map(str::to_owned),
            );
            words.extend(["--innodb-buffer-pool-size=32M", "--innodb-log-file-size=8M"].map(str::to_owned));
            if idx != USUAL {
                words.push("--skip-name-resolve".to_owned());
            }
            words
        }
        Kind::Postgres => {
            let folder = socket.and_then(Path::parent).map_or_else(String::new, |it| format!("\"{}\"", it.display()));
            rule(own, "")?;
            let mut words = vec!["-D".to_owned(), own.display().to_string(), "-p".to_owned(), port.to_string()];
            for setting in [
                "listen_addresses=127.0.0.1,::1".to_owned(),
                format!("unix_socket_directories={folder}"),
                "fsync=off".to_owned(),
                "shared_buffers=16MB".to_owned(),
            ] {
                words.extend(["-c".to_owned(), setting]);
            }
            words
        }
        _ => {
            let config = own.join("redis.conf");
            let socket =
                socket.map_or_else(String::new, |it| format!("unixsocket \"{}\"\nunixsocketperm 777\n", it.display()));
            let text = format!(
                "bind 127.0.0.1 ::1\nport {port}\n{socket}dir \"{}\"\nsave \"\"\nuser admin on >{ADMIN_PASSWORD} ~* &* +@all\n",
                own.display()
            );
            fs::write(&config, text)?;
            vec![config.display().to_string()]
        }
    })
}

/// Writes a `pg_hba.conf` with these lines for the socket.
fn rule(data: &Path, local: &str) -> Result<()> {
    let text = format!(
        "# TYPE  DATABASE  USER  ADDRESS  METHOD\n{local}host all all 127.0.0.1/32 scram-sha-256\nhost all all ::1/128 scram-sha-256\n"
    );
    Ok(fs::write(data.join("pg_hba.conf"), text)?)
}

impl Server {
    /// Runs statements as administrator, over TCP.
    fn ask(&self, database: &str, statements: &str) -> Result<String> {
        let port = port(self.kind, self.idx).to_string();
        let mut command = match self.kind {
            Kind::Mariadb => {
                let mut command = Command::new("mariadb");
                command.args(["--no-defaults", "-h127.0.0.1", "-uroot", "-NB", "-P", &port, "-e", statements]);
                command.env("MYSQL_PWD", ADMIN_PASSWORD);
                command
            }
            Kind::Postgres => {
                let mut command = Command::new("psql");
                command.args(["-wAtqX", "-h127.0.0.1", "-Upostgres", "-p", &port, "-d", database, "-vON_ERROR_STOP=1"]);
                for statement in statements.split(";\n") {
                    command.args(["-c", statement]);
                }
                command.env("PGPASSWORD", ADMIN_PASSWORD);
                command
            }
            _ => {
                let mut command = Command::new("redis-cli");
                command.args(["-e", "-h", "127.0.0.1", "--user", "admin", "-p", &port]).args(statements.split(' '));
                command.env("REDISCLI_AUTH", ADMIN_PASSWORD);
                command
            }
        };
        let output = command.stdin(Stdio::null()).output().context("cannot start a client")?;
        if !output.status.success() {
            bail!("{} says: {}", self.kind.name(), String::from_utf8_lossy(&output.stderr).trim());
        }
        Ok(String::from_utf8(output.stdout)?)
    }

    fn set_up(&self, end: &End, mark: &str) -> Result<()> {
        match self.kind {
            Kind::Mariadb => self.set_up_mysql(end, mark),
            Kind::Postgres => self.set_up_postgres(end, mark),
            _ => self.set_up_redis(end, mark),
        }
    }

    fn set_up_mysql(&self, end: &End, mark: &str) -> Result<()> {
        let End { user, password, database, .. } = end;
        let own = ["127.0.0.1", "::1"];
        let mut statements = format!(
            "CREATE DATABASE `{database}`; CREATE TABLE `{database}`.mark (word TEXT); INSERT INTO `{database}`.mark VALUES ('{mark}');"
        );
        let of_localhost = match end.obstacle {
            Obstacle::OtherPassword => vec![("localhost", "another", "ALL")],
            // The account may use the database, but not read it.
            Obstacle::FewerRights => vec![("localhost", &**password, "INSERT")],
            _ => Vec::new(),
        };
        let all = |hosts: &[&'static str]| hosts.iter().map(|host| (*host, &**password, "ALL")).collect::<Vec<_>>();
        let is_even = mark.bytes().last().is_some_and(|it| it % 2 == 0);
        let accounts = match end.obstacle {
            Obstacle::OnlyTcp | Obstacle::OtherPassword | Obstacle::FewerRights => all(&own),
            // If the server looks up names, accounts for localhost are also used over TCP.
            _ if self.idx == USUAL && is_even => all(&["localhost"]),
            Obstacle::None if self.idx == OTHER && is_even => all(&["127.0.0.1", "::1", "localhost"]),
            _ => all(&["%"]),
        };
        for (host, password, rights) in accounts.into_iter().chain(of_localhost) {
            let _ = write!(
                statements,
                "CREATE USER '{user}'@'{host}' IDENTIFIED BY '{password}'; GRANT {rights} ON `{database}`.* TO '{user}'@'{host}';"
            );
        }
        if end.obstacle == Obstacle::Anonymous {
            statements += "CREATE USER ''@'localhost';";
        }
        self.ask("", &statements)?;
        Ok(())
    }

    fn set_up_postgres(&self, end: &End, mark: &str) -> Result<()> {
        let End { user, password, database, .. } = end;
        self.ask(
            "postgres",
            &format!(
                "CREATE ROLE \"{user}\" LOGIN PASSWORD '{password}';\nCREATE DATABASE \"{database}\" OWNER \"{user}\""
            ),
        )?;
        self.ask(
            database,
            &format!("CREATE TABLE mark (word TEXT);\nINSERT INTO mark VALUES ('{mark}');\nGRANT SELECT ON mark TO \"{user}\""),
        )?;
        let admin = "local all postgres scram-sha-256\n";
        let local = match (end.obstacle, mark.as_bytes().last().map_or(0, |it| it % 4)) {
            (Obstacle::Peer, _) => format!("{admin}local all all peer\n"),
            (Obstacle::NoLine, _) => admin.to_owned(),
            (_, 0) => format!("local {database} \"{user}\" scram-sha-256\nlocal all all peer\n"),
            (_, 1) => format!("{admin}local all all md5\n"),
            _ => "local all all scram-sha-256\n".to_owned(),
        };
        rule(&self.data, &local)?;
        let loaded = || self.ask("postgres", "SELECT pg_conf_load_time()");
        let before = loaded()?;
        self.ask("postgres", "SELECT pg_reload_conf()")?;
        wait_until("the rules were not loaded", || Ok(loaded()? != before))
    }

    fn set_up_redis(&self, end: &End, mark: &str) -> Result<()> {
        let is_own_user = !end.user.is_empty();
        if is_own_user {
            self.ask("", &format!("ACL SETUSER {} on >{} ~* &* +@all", end.user, end.password))?;
        }
        let default = if is_own_user { "" } else { &end.password };
        let mut rule = "ACL SETUSER default on resetpass ~* &* +@all ".to_owned();
        rule += &if default.is_empty() { "nopass".to_owned() } else { [">", default].concat() };
        self.ask("", &rule)?;
        self.ask("", &format!("-n {} SET mark {mark}", end.database))?;
        Ok(())
    }

    fn take_down(&self, end: &End) -> Result<()> {
        match self.kind {
            Kind::Mariadb => {
                let users = ["%", "localhost", "127.0.0.1", "::1"]
                    .map(|host| format!("DROP USER IF EXISTS '{}'@'{host}';", end.user));
                let statements = format!(
                    "DROP DATABASE IF EXISTS `{}`; {} DROP USER IF EXISTS ''@'localhost';",
                    end.database,
                    users.concat()
                );
                self.ask("", &statements)?;
            }
            Kind::Postgres => {
                let statements = format!(
                    "DROP DATABASE IF EXISTS \"{}\" WITH (FORCE);\nDROP ROLE IF EXISTS \"{}\"",
                    end.database, end.user
                );
                self.ask("postgres", &statements)?;
            }
            _ if end.user.is_empty() => {}
            _ => {
                self.ask("", &format!("ACL DELUSER {}", end.user))?;
            }
        }
        Ok(())
    }
}
