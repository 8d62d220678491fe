//! A server of a column with an account, in separate namespaces, and the server's own report: its version, and the
//! transport of each client.
//!
//! The server is queried by the machine's own clients (psql, mariadb, redis-cli), so that looptax's own protocols are
//! not part of the check.

use std::fs::{self, Permissions};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use looptax_model::dsn::Kind;
use rustix::process::{Pid, Signal, kill_process};

use crate::process;
use crate::servers::wait_until;

pub(super) const FOLDER: &str = "/tmp/versions";

/// A program that is ended with SIGTERM, so that the programs that it started end, too.
pub(super) struct Running(pub(super) Child);

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(pid) = Pid::from_raw(self.0.id().cast_signed()) {
            kill_process(pid, Signal::TERM).ok();
            // Redis and PostgreSQL write their data to the disk before they end.
            for _ in 0..100 {
                if matches!(self.0.try_wait(), Ok(Some(_))) {
                    return;
                }
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// A running server of a column.
pub(super) struct Rig {
    pub(super) kind: Kind,
    pub(super) port: u16,
    pub(super) socket: PathBuf,
    /// The version, as the server reports it.
    pub(super) version: String,
    pub(super) pid: u32,
    /// The programs; the last one ends first.
    _running: Vec<Running>,
}

/// Connections of the application's account, as the server lists them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct View {
    pub(super) unix: u32,
    pub(super) tcp: u32,
}

/// Returns the path of a program: in the column's folder, otherwise on the machine.
pub(super) fn program(bin: Option<&Path>, name: &str) -> Result<PathBuf> {
    let usual = ["/usr/sbin", "/usr/bin", "/usr/lib/postgresql/15/bin"].map(PathBuf::from);
    let versioned = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().map(|it| it.path().join("bin"));
    let folders = bin.map(Path::to_owned).into_iter().chain(usual).chain(versioned);
    let mut paths = folders.map(|folder| folder.join(name)).filter(|path| path.is_file());
    if name == "php-fpm" {
        let here = fs::read_dir("/usr/sbin")?.flatten().map(|it| it.path());
        let named = here.into_iter().find(|it| it.display().to_string().contains("/php-fpm"));
        return paths.next().or(named).context("no php-fpm");
    }
    paths.next().with_context(|| format!("no {name}"))
}

/// Returns user and group of the first of these accounts that exists.
fn account(names: &[&str]) -> Result<(u32, u32)> {
    let users = fs::read_to_string("/etc/passwd")?;
    for name in names {
        let line = users.lines().find(|line| line.split(':').next() == Some(name));
        let mut numbers = line.into_iter().flat_map(|line| line.split(':').skip(2).take(2)).map(str::parse);
        if let (Some(uid), Some(gid)) = (numbers.next(), numbers.next()) {
            return Ok((uid?, gid?));
        }
    }
    bail!("none of the accounts {names:?} exists")
}

/// Makes a folder that this account owns and that every user may enter.
fn folder(path: &Path, owner: (u32, u32)) -> Result<()> {
    fs::create_dir_all(path)?;
    chown(path, Some(owner.0), Some(owner.1))?;
    Ok(fs::set_permissions(path, Permissions::from_mode(0o755))?)
}

/// Returns a command's output; if the command fails, an error with the end of its output.
pub(super) fn said(command: Command) -> Result<String> {
    Ok(process::run(command)?.stdout)
}

/// Returns the path of the application, a PHP script.
pub(super) fn script() -> Result<PathBuf> {
    let path = Path::new(FOLDER).join("client.php");
    if !path.is_file() {
        fs::write(&path, include_str!("client.php"))?;
    }
    Ok(path)
}

fn spawned(mut command: Command) -> Result<Running> {
    let log = fs::File::options().create(true).append(true).open(format!("{FOLDER}/log"))?;
    let child = command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn();
    Ok(Running(child.with_context(|| format!("cannot start {command:?}"))?))
}

fn as_account(path: &Path, owner: (u32, u32)) -> Command {
    let mut command = Command::new(path);
    command.uid(owner.0).gid(owner.1).current_dir(FOLDER);
    command
}

impl Rig {
    /// Starts the server, with an account `app`, its password `pw` and a database `shop`.
    pub(super) fn start(kind: Kind, bin: Option<&Path>) -> Result<Self> {
        fs::create_dir_all(FOLDER)?;
        fs::set_permissions(FOLDER, Permissions::from_mode(0o755))?;
        match kind {
            Kind::Postgres => postgres(bin),
            Kind::Mariadb | Kind::Mysql => mysql(kind, bin),
            Kind::Redis | Kind::Valkey => redis(kind, bin),
            Kind::Memcached => memcached(bin),
            Kind::Pgbouncer => pgbouncer(bin),
            _ => web(kind, bin),
        }
    }

    pub(super) fn url(&self) -> String {
        match self.kind {
            Kind::Postgres | Kind::Pgbouncer => format!("postgres://app@127.0.0.1:{}/shop", self.port),
            Kind::Mariadb | Kind::Mysql => format!("mysql://app@127.0.0.1:{}/shop", self.port),
            Kind::Memcached => format!("memcached://127.0.0.1:{}", self.port),
            Kind::PhpFpm => format!("fastcgi://127.0.0.1:{}", self.port),
            _ => format!("redis://127.0.0.1:{}", self.port),
        }
    }

    /// Returns the first argument of `client.php`.
    pub(super) fn dialect(&self) -> &'static str {
        match self.kind {
            Kind::Postgres | Kind::Pgbouncer => "pgsql",
            Kind::Mariadb | Kind::Mysql => "mysql",
            Kind::Memcached => "memcached",
            _ => "redis",
        }
    }

    /// Returns the application's connections, by the server's own list.
    pub(super) fn view(&self) -> Result<View> {
        let mut view = View::default();
        let list = match self.kind {
            Kind::Postgres => sql(
                self,
                "SELECT CASE WHEN client_addr IS NULL THEN 'unix' ELSE 'tcp' END FROM pg_stat_activity WHERE usename = 'app'",
            )?,
            Kind::Mariadb | Kind::Mysql => sql(
                self,
                "SELECT IF(host = 'localhost', 'unix', 'tcp') FROM information_schema.processlist WHERE user = 'app'",
            )?,
            Kind::Pgbouncer => {
                let list = sql(self, "SHOW CLIENTS")?;
                let of_shop = list.lines().filter(|line| line.split('|').nth(2) == Some("shop"));
                of_shop.map(|line| if line.contains("|unix|") { "unix\n" } else { "tcp\n" }).collect()
            }
            Kind::Redis | Kind::Valkey => {
                let list = sql(self, "CLIENT LIST")?;
                let others = list.lines().filter(|line| line.contains("addr=") && !line.contains("cmd=client"));
                others.map(|line| if line.contains("addr=127.0.0.1:") { "tcp\n" } else { "unix\n" }).collect()
            }
            _ => bail!("it lists no connections"),
        };
        for line in list.lines() {
            match line.trim() {
                "unix" => view.unix += 1,
                "tcp" => view.tcp += 1,
                _ => {}
            }
        }
        Ok(view)
    }
}

/// Runs a statement as administrator, over the socket.
fn sql(rig: &Rig, statement: &str) -> Result<String> {
    let folder = rig.socket.parent().context("no folder")?;
    let mut command;
    match rig.kind {
        Kind::Postgres | Kind::Pgbouncer => {
            let (user, database) =
                if rig.kind == Kind::Postgres { ("admin", "postgres") } else { ("boss", "pgbouncer") };
            command = Command::new("psql");
            command.args(["-qAtXw", "-U", user, "-p", &rig.port.to_string(), "-h"]).arg(folder);
            command.args(["-c", statement, database]).env("PGPASSWORD", "pw");
        }
        Kind::Mariadb | Kind::Mysql => {
            command = Command::new("mariadb");
            command.args(["--no-defaults", "-uroot", "-N", "-e", statement, "-S"]).arg(&rig.socket);
        }
        _ => {
            command = Command::new("redis-cli");
            command.args(["--no-auth-warning", "-a", "pw", "-s"]).arg(&rig.socket).args(statement.split(' '));
        }
    }
    said(command)
}

fn wait_for(rig: &Rig) -> Result<()> {
    wait_until("it does not answer", || {
        Ok(UnixStream::connect(&rig.socket).is_ok() && TcpStream::connect(("127.0.0.1", rig.port)).is_ok())
    })
    .with_context(|| fs::read_to_string(format!("{FOLDER}/log")).unwrap_or_default())
}

/// Returns the first number in a text: `10.11.19` for `mariadbd  Ver 10.11.19-MariaDB`.
pub(super) fn number(text: &str) -> String {
    let words = text.split([' ', '\n', '/', '=', '-', ',']);
    let mut numbers = words.filter(|it| it.contains('.') || it.contains("rc"));
    let found = numbers.find(|it| it.starts_with(|first: char| first.is_ascii_digit()));
    found.unwrap_or_default().to_owned()
}

fn postgres(bin: Option<&Path>) -> Result<Rig> {
    let owner = account(&["postgres", "nobody"])?;
    let data = PathBuf::from(FOLDER).join("data");
    let sockets = Path::new("/run/postgresql");
    folder(&data, owner)?;
    folder(sockets, owner)?;
    let mut command = as_account(&program(bin, "initdb")?, owner);
    command.args(["-A", "trust", "-U", "admin", "--no-sync", "-E", "UTF8", "--locale", "C", "-D"]).arg(&data);
    said(command)?;
    let rules = "local all admin trust\nhost all admin 127.0.0.1/32 trust\nhost all admin ::1/128 trust\n\
                 local all all scram-sha-256\nhost all all 127.0.0.1/32 scram-sha-256\nhost all all ::1/128 scram-sha-256\n";
    fs::write(data.join("pg_hba.conf"), rules)?;
    let mut command = as_account(&program(bin, "postgres")?, owner);
    for setting in [
        "listen_addresses=127.0.0.1",
        "unix_socket_directories=/run/postgresql",
        "password_encryption=scram-sha-256",
        "fsync=off",
    ] {
        command.args(["-c", setting]);
    }
    command.arg("-D").arg(&data);
    let running = spawned(command)?;
    let mut rig = Rig {
        kind: Kind::Postgres,
        port: 5432,
        socket: sockets.join(".s.PGSQL.5432"),
        version: String::new(),
        pid: running.0.id(),
        _running: vec![running],
    };
    wait_for(&rig)?;
    wait_until("no answer", || Ok(sql(&rig, "SELECT 1").is_ok()))?;
    sql(&rig, "CREATE ROLE app LOGIN PASSWORD 'pw'")?;
    sql(&rig, "CREATE DATABASE shop OWNER app")?;
    rig.version = number(&sql(&rig, "SHOW server_version")?);
    Ok(rig)
}

fn mysql(kind: Kind, bin: Option<&Path>) -> Result<Rig> {
    let owner = account(&["mysql", "nobody"])?;
    let data = PathBuf::from(FOLDER).join("data");
    let sockets = Path::new("/run/mysqld");
    folder(&data, owner)?;
    folder(sockets, owner)?;
    let server = fs::canonicalize(program(bin, if kind == Kind::Mysql { "mysqld" } else { "mariadbd" })?)?;
    let base = server.ancestors().nth(2).context("no folder")?.to_owned();
    let mut command;
    if kind == Kind::Mysql {
        command = as_account(&server, owner);
        command.args(["--no-defaults", "--initialize-insecure", "--secure-file-priv=NULL"]);
    } else {
        let script = program(bin, "mariadb-install-db")
            .or_else(|_| program(Some(&base.join("scripts")), "mariadb-install-db"))?;
        let scripts = base.join("scripts/mariadb-install-db");
        command = as_account(if scripts.is_file() { &scripts } else { &script }, owner);
        command.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
        command.arg(format!("--basedir={}", base.display()));
    }
    command.arg(format!("--datadir={}", data.display()));
    said(command)?;
    let socket = sockets.join("mysqld.sock");
    let mut command = as_account(&server, owner);
    command.args(["--no-defaults", "--bind-address=127.0.0.1", "--port=3306"]);
    command.arg(format!("--basedir={}", base.display())).arg(format!("--datadir={}", data.display()));
    command.arg(format!("--socket={}", socket.display())).arg("--pid-file=/tmp/versions/data/pid");
    if kind == Kind::Mysql {
        // The server's default for this option is a folder that only its package makes.
        command.arg("--secure-file-priv=NULL");
    }
    let running = spawned(command)?;
    let mut rig =
        Rig { kind, port: 3306, socket, version: String::new(), pid: running.0.id(), _running: vec![running] };
    wait_for(&rig)?;
    sql(&rig, "CREATE DATABASE shop")?;
    for host in ["localhost", "127.0.0.1"] {
        sql(&rig, &format!("CREATE USER app@'{host}' IDENTIFIED BY 'pw'"))?;
        sql(&rig, &format!("GRANT ALL ON shop.* TO app@'{host}'"))?;
    }
    rig.version = number(&sql(&rig, "SELECT VERSION()")?);
    Ok(rig)
}

fn redis(kind: Kind, bin: Option<&Path>) -> Result<Rig> {
    let owner = account(&["redis", "nobody"])?;
    let sockets = Path::new("/run/redis");
    folder(sockets, owner)?;
    folder(Path::new("/tmp/versions/data"), owner)?;
    let socket = sockets.join("redis.sock");
    let name = if kind == Kind::Valkey { "valkey-server" } else { "redis-server" };
    let mut command = as_account(&program(bin, name)?, owner);
    command.args(
        "--port 6379 --bind 127.0.0.1 --unixsocketperm 777 --requirepass pw --dir /tmp/versions/data --unixsocket"
            .split(' '),
    );
    command.arg(&socket).args(["--save", ""]);
    let running = spawned(command)?;
    let mut rig =
        Rig { kind, port: 6379, socket, version: String::new(), pid: running.0.id(), _running: vec![running] };
    wait_for(&rig)?;
    let told = sql(&rig, "INFO server")?;
    let of = |name: &str| told.lines().find_map(|line| line.trim().strip_prefix(name)).map(str::to_owned);
    let version = of("valkey_version:").or_else(|| of("redis_version:"));
    rig.version = version.context("it has no version")?;
    Ok(rig)
}

/// Starts one process at the port and one at the socket, because a memcached process serves only one of them.
fn memcached(bin: Option<&Path>) -> Result<Rig> {
    let owner = account(&["memcache", "nobody"])?;
    let sockets = Path::new("/run/memcached");
    folder(sockets, owner)?;
    let socket = sockets.join("memcached.sock");
    let path = program(bin, "memcached")?;
    let mut command = as_account(&path, owner);
    command.args(["-l", "127.0.0.1", "-p", "11211", "-U", "0"]);
    let over_tcp = spawned(command)?;
    let mut command = as_account(&path, owner);
    command.args(["-a", "777", "-s"]).arg(&socket);
    let over_unix = spawned(command)?;
    let mut command = Command::new(&path);
    command.arg("-V");
    let version = number(&said(command)?);
    let rig = Rig {
        kind: Kind::Memcached,
        port: 11_211,
        socket,
        version,
        pid: over_tcp.0.id(),
        _running: vec![over_tcp, over_unix],
    };
    wait_for(&rig)?;
    Ok(rig)
}

fn pgbouncer(bin: Option<&Path>) -> Result<Rig> {
    let Rig { _running: mut running, .. } = postgres(None)?;
    let owner = account(&["postgres", "nobody"])?;
    let sockets = Path::new("/run/pgbouncer");
    folder(sockets, owner)?;
    let users = "\"app\" \"pw\"\n\"boss\" \"pw\"\n";
    fs::write("/tmp/versions/users.txt", users)?;
    let config = "[databases]\nshop = host=/run/postgresql user=app password=pw\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = 6432\n\
                  unix_socket_dir = /run/pgbouncer\nauth_type = scram-sha-256\nauth_file = /tmp/versions/users.txt\nadmin_users = boss\n\
                  ignore_startup_parameters = extra_float_digits\n";
    fs::write("/tmp/versions/pgbouncer.ini", config)?;
    let path = program(bin, "pgbouncer")?;
    let mut command = as_account(&path, owner);
    command.arg("/tmp/versions/pgbouncer.ini");
    let pooler = spawned(command)?;
    let mut command = Command::new(&path);
    command.arg("--version");
    let version = number(&said(command)?);
    let pid = pooler.0.id();
    running.insert(0, pooler);
    let rig = Rig {
        kind: Kind::Pgbouncer,
        port: 6432,
        socket: sockets.join(".s.PGSQL.6432"),
        version,
        pid,
        _running: running,
    };
    wait_for(&rig)?;
    let told = sql(&rig, "SHOW VERSION")?;
    ensure!(told.contains(&rig.version), "it reports {told} and {}", rig.version);
    Ok(rig)
}

/// Starts PHP-FPM, with a pool at its port and a pool at its socket, behind nginx. The page reports over which
/// transport it was requested.
fn web(kind: Kind, bin: Option<&Path>) -> Result<Rig> {
    let owner = account(&["www-data", "nobody"])?;
    let (site, sockets) = (Path::new("/tmp/versions/site"), Path::new("/run/php"));
    folder(site, owner)?;
    folder(sockets, owner)?;
    fs::write(site.join("index.php"), include_str!("page.php"))?;
    let pool = "user = www-data\ngroup = www-data\nlisten.owner = www-data\nlisten.group = www-data\nlisten.mode = 0660\npm = static\npm.max_children = 2\n";
    let config = format!(
        "[global]\nerror_log = /tmp/versions/log\n[www]\nlisten = 127.0.0.1:9000\n{pool}[www-socket]\nlisten = /run/php/php-fpm.sock\n{pool}"
    );
    fs::write("/tmp/versions/fpm.conf", config)?;
    let site = "server {\n    listen 127.0.0.1:8080;\n    root /tmp/versions/site;\n    location / {\n        \
                fastcgi_pass 127.0.0.1:9000;\n        fastcgi_param SCRIPT_FILENAME /tmp/versions/site/index.php;\n        \
                fastcgi_param REQUEST_METHOD $request_method;\n        \
                fastcgi_param QUERY_STRING $query_string;\n    }\n}\n";
    folder(Path::new("/tmp/versions/nginx"), owner)?;
    fs::write("/tmp/versions/nginx/shop", site)?;
    let config = "user www-data;\nworker_processes 1;\npid /run/nginx.pid;\nerror_log /tmp/versions/log;\nevents {}\nhttp {\n    \
                  access_log off;\n    client_body_temp_path /tmp/versions/nginx/b;\n    proxy_temp_path /tmp/versions/nginx/p;\n    \
                  fastcgi_temp_path /tmp/versions/nginx/f;\n    uwsgi_temp_path /tmp/versions/nginx/u;\n    \
                  scgi_temp_path /tmp/versions/nginx/s;\n    include /tmp/versions/nginx/shop;\n}\n";
    fs::write("/tmp/versions/nginx.conf", config)?;
    let (fpm, nginx) = (program(bin, "php-fpm")?, program(bin, "nginx")?);
    let mut command = Command::new(&fpm);
    command.args(["-n", "-F", "-y", "/tmp/versions/fpm.conf"]);
    let fpm_runs = spawned(command)?;
    let mut command = Command::new(&nginx);
    command.args(["-c", "/tmp/versions/nginx.conf", "-g", "daemon off;"]);
    let nginx_runs = spawned(command)?;
    let mut command = Command::new(if kind == Kind::PhpFpm { &fpm } else { &nginx });
    command.args(if kind == Kind::PhpFpm { &["-n", "-v"][..] } else { &["-v"] });
    let output = command.output()?;
    let version = number(&String::from_utf8_lossy(&[output.stdout, output.stderr].concat()));
    let pid = if kind == Kind::PhpFpm { fpm_runs.0.id() } else { nginx_runs.0.id() };
    let socket = sockets.join("php-fpm.sock");
    let rig = Rig { kind, port: 9000, socket, version, pid, _running: vec![nginx_runs, fpm_runs] };
    wait_for(&rig)?;
    Ok(rig)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_programs_and_servers_say() {
        for (text, expected) in [
            ("10.11.19-MariaDB-0+deb12u1\n", "10.11.19"),
            ("15.18 (Debian 15.18-0+deb12u1)", "15.18"),
            ("19rc1 (Debian 19~rc1-1)", "19rc1"),
            ("PHP 8.5.7 (fpm-fcgi) (built: Jun  5 2026)", "8.5.7"),
            ("nginx version: nginx/1.30.6", "1.30.6"),
            ("PgBouncer 1.15.0", "1.15.0"),
            ("", ""),
        ] {
            assert_eq!(number(text), expected, "{text}");
        }
    }
}
