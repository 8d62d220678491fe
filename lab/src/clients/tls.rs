//! `cargo lab clients tls`: which programs encrypt their connections over TCP and over the socket if they are not asked
//! to.
//!
//! Each program queries `Ssl_cipher` in its own session, on a MariaDB with TLS, and on MySQL if it is installed. While
//! an encrypted session is open, `looptax check` has to list it, or the chore fails.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use looptax_experiment::servers::find_binary;
use looptax_model::dsn::Kind;

use super::moved::secured::{PASSWORD, PLAIN, Secured, program_of, within};
use crate::servers::{Ours, Private};
use crate::workspace;

/// The options of the table.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// The folder of another Debian, as debootstrap makes it, with the MariaDB and the programs to test; TMPDIR has to
    /// be in it
    #[arg(long, value_name = "FOLDER")]
    root: Option<PathBuf>,
}

/// The server and the transport of a session.
struct Way<'a> {
    tcp: Option<u16>,
    socket: &'a str,
    user: &'a str,
    password: &'a str,
}

/// A program and the arguments of a session that prints its cipher and stays open until its standard input ends.
struct Program {
    name: &'static str,
    /// The arguments with which the program prints its version.
    version: &'static [&'static str],
    session: fn(&Way<'_>) -> Vec<String>,
}

const PROGRAMS: [Program; 7] = [
    Program { name: "mariadb", version: &["--version"], session: |way| client(way, &[]) },
    Program { name: "mariadb --skip-ssl", version: &["--version"], session: |way| client(way, &["--skip-ssl"]) },
    Program { name: "mysql", version: &["--version"], session: |way| client(way, &[]) },
    Program { name: "php mysqli", version: &["--version"], session: |way| vec!["-r".to_owned(), mysqli(way)] },
    Program { name: "php PDO", version: &["--version"], session: |way| vec!["-r".to_owned(), pdo(way)] },
    Program {
        name: "python3 PyMySQL",
        version: &["-c", "import pymysql; print(pymysql.__version__)"],
        session: |way| python(way, "pymysql"),
    },
    Program {
        name: "python3 mysqlclient, its library",
        version: &["-c", "import MySQLdb as d; print(d.get_client_info())"],
        session: |way| python(way, "MySQLdb"),
    },
];

/// The query, which is sent to all programs; only the command-line clients print its result.
const ASK: &str = "SHOW STATUS LIKE 'Ssl_cipher'";

fn client(way: &Way<'_>, more: &[&str]) -> Vec<String> {
    let mut words = vec!["--no-defaults".to_owned(), "--unbuffered".to_owned()];
    words.extend(match way.tcp {
        Some(port) => vec!["--host=127.0.0.1".to_owned(), format!("--port={port}")],
        None => vec![format!("--socket={}", way.socket)],
    });
    words.extend(more.iter().map(|it| (*it).to_owned()));
    words.extend([format!("--user={}", way.user), format!("--password={}", way.password)]);
    words.extend(["-N", "-B"].map(str::to_owned));
    words
}

fn mysqli(way: &Way<'_>) -> String {
    let to = match way.tcp {
        Some(port) => format!("'127.0.0.1', '{}', '{}', '', {port}", way.user, way.password),
        None => format!("'localhost', '{}', '{}', '', 0, '{}'", way.user, way.password, way.socket),
    };
    format!(
        "$c = new mysqli({to}); echo implode(\"\\t\", $c->query(\"{ASK}\")->fetch_row()), \"\\n\"; stream_get_contents(STDIN);"
    )
}

fn pdo(way: &Way<'_>) -> String {
    let to = match way.tcp {
        Some(port) => format!("mysql:host=127.0.0.1;port={port}"),
        None => format!("mysql:unix_socket={}", way.socket),
    };
    format!(
        "$c = new PDO('{to}', '{}', '{}'); echo implode(\"\\t\", $c->query(\"{ASK}\")->fetch(PDO::FETCH_NUM)), \"\\n\"; stream_get_contents(STDIN);",
        way.user, way.password
    )
}

fn python(way: &Way<'_>, module: &str) -> Vec<String> {
    let to = match way.tcp {
        Some(port) => format!("host='127.0.0.1', port={port}"),
        None => format!("unix_socket='{}'", way.socket),
    };
    let code = format!(
        "import sys, {module} as d\nc = d.connect({to}, user='{}', password='{}').cursor()\nc.execute(\"{ASK}\")\n\
         print(*c.fetchone(), sep='\\t', flush=True)\nsys.stdin.read()",
        way.user, way.password
    );
    vec!["-c".to_owned(), code]
}

/// Runs all programs, and prints a Markdown table.
pub(crate) fn run(options: &Options) -> Result<()> {
    let root = options.root.as_deref();
    if root.is_some_and(|it| !std::env::temp_dir().starts_with(it)) {
        bail!("the folder for temporary files is not in --root: set TMPDIR to its tmp");
    }
    let looptax = workspace::debug_looptax()?;
    println!(
        "| server | program | its version | over TCP | over the socket | named by `check` |\n|---|---|---|---|---|---|"
    );
    let mariadb = Secured::mariadb_that_lists(root)?;
    let mut n_wrong = 0;
    let server = Server {
        name: format!("MariaDB {}", version(program_of(root, "mariadbd"), &["--version"])?),
        root,
        port: mariadb.tcp.port(),
        socket: &mariadb.socket,
        user: PLAIN,
        password: PASSWORD,
        lists_sessions: true,
    };
    n_wrong += server.ask_all(&looptax)?;
    if find_binary(Kind::Mysql).is_some() {
        let mysql = Private::start(&looptax, Kind::Mysql, 20, 0)?;
        let server = Server {
            name: mysql.name(),
            root,
            port: mysql.tcp.port(),
            socket: &mysql.socket,
            user: &mysql.login.user,
            password: mysql.login.password.reveal(),
            lists_sessions: false,
        };
        n_wrong += server.ask_all(&looptax)?;
        mysql.stop()?;
    }
    if n_wrong > 0 {
        bail!("`check` was wrong about {n_wrong} sessions");
    }
    Ok(())
}

struct Server<'a> {
    name: String,
    root: Option<&'a Path>,
    port: u16,
    socket: &'a Path,
    user: &'a str,
    password: &'a str,
    /// Whether the account may see the server's list of sessions.
    lists_sessions: bool,
}

impl Server<'_> {
    /// Prints a row for each installed program; returns the number of sessions about which `check` was wrong.
    fn ask_all(&self, looptax: &Path) -> Result<usize> {
        let mut n_wrong = 0;
        for program in &PROGRAMS {
            // The program `mysql` of MySQL is always the one of this machine.
            let root = self.root.filter(|_| program.name != "mysql");
            let file = program.name.split(' ').next().unwrap_or_default();
            let Ok(version) = version(program_of(root, file), program.version) else {
                continue;
            };
            if program.name == "mysql" && version.contains("MariaDB") {
                continue;
            }
            let socket = within(root, self.socket).display().to_string();
            let mut cells = Vec::new();
            let mut named = "-";
            for tcp in [Some(self.port), None] {
                let way = Way { tcp, socket: &socket, user: self.user, password: self.password };
                let mut command = program_of(root, file);
                command
                    .args((program.session)(&way))
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::null());
                let mut session = Ours::start(&mut command)?;
                let mut stdin = session.0.stdin.take().context("no pipe")?;
                writeln!(stdin, "{ASK};").context("cannot write to it")?;
                let mut line = String::new();
                let stdout = session.0.stdout.take().context("no pipe")?;
                BufReader::new(stdout).read_line(&mut line).context("cannot read what it prints")?;
                let Some((_, cipher)) = line.trim_end_matches('\n').split_once('\t') else {
                    cells.push("cannot log in".to_owned());
                    continue;
                };
                if self.lists_sessions {
                    let code = if tcp.is_some() { "sessions-sealed-over-tcp" } else { "sessions-sealed-on-socket" };
                    let is_named = self.checked(looptax)?.contains(code);
                    n_wrong += usize::from(is_named == cipher.is_empty());
                    named = if is_named == cipher.is_empty() { "WRONG" } else { "as it is" };
                }
                cells.push(if cipher.is_empty() { "none".to_owned() } else { cipher.to_owned() });
            }
            println!("| {} | {} | {version} | {} | {named} |", self.name, program.name, cells.join(" | "));
        }
        Ok(n_wrong)
    }

    /// Returns the output of `check` while a session is open.
    fn checked(&self, looptax: &Path) -> Result<String> {
        let mut command = Command::new(looptax);
        command.args(["check", "--json", "--trust-peer", "--socket"]).arg(self.socket);
        command.arg(format!("mysql://{}@127.0.0.1:{}/", self.user, self.port));
        let output = command.env("LOOPTAX_PASSWORD", self.password).output().context("cannot start looptax")?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// Returns the first word that looks like a version, or the whole first line.
fn version(mut command: Command, args: &[&str]) -> Result<String> {
    let output = command.args(args).output().context("cannot start it")?;
    if !output.status.success() {
        bail!("it prints no version");
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().next().unwrap_or_default();
    let is_version = |it: &&str| it.contains('.') && it.starts_with(|c: char| c.is_ascii_digit());
    let words: Vec<&str> = line.split_whitespace().map(|it| it.trim_end_matches(',')).collect();
    // `mariadb Ver 15.1 Distrib 10.11.19-MariaDB`
    let found = words.iter().copied().filter(is_version).find(|it| *it != "15.1");
    Ok(found.unwrap_or(line).to_owned())
}
