//! `cargo lab oracle libpq`: random parameters of libpq. Checks whether `looptax check` predicts what libpq 13 to 18
//! do.
//!
//! The libraries come from the wheels of psycopg.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use looptax_model::dsn::{OverSocket, PARAMETERS};
use looptax_testkit::dice::Dice;

use super::live::Live;
use crate::coin::Coin;
use crate::workspace::{debug_looptax, root, run_to_success};

/// Options of `libpq`.
#[derive(Debug, Clone, Args)]
pub(crate) struct Options {
    /// Number of connections; each is made with every library over both transports
    #[arg(long, default_value_t = 200)]
    connections: usize,
    /// The seed of the random numbers; random if not given
    #[arg(long)]
    seed: Option<u64>,
}

/// Wheels, and the version of libpq in each.
const WHEELS: [(&str, u32); 6] = [
    ("psycopg2-binary==2.9.1", 13),
    ("psycopg2-binary==2.9.3", 14),
    ("psycopg2-binary==2.9.5", 15),
    ("psycopg2-binary==2.9.10", 16),
    ("psycopg2-binary==2.9.11", 17),
    ("psycopg-binary==3.3.1", 18),
];
/// A Python version for which all wheels are available; the libraries themselves do not need Python.
const PYTHON: &str = "3.10";

/// Parameters with values that users may write.
const WORDS: [&str; 22] = [
    "channel_binding=require",
    "channel_binding=prefer",
    "channel_binding=disable",
    "gssencmode=require",
    "gssencmode=prefer",
    "gssencmode=disable",
    "sslmode=require",
    "sslmode=disable",
    "sslmode=prefer",
    "sslcertmode=require",
    "sslcertmode=allow",
    "sslcertmode=disable",
    "require_auth=scram-sha-256",
    "require_auth=!none",
    "require_auth=!password",
    "require_auth=none,scram-sha-256",
    "require_auth=md5,scram-sha-256",
    "requirepeer=root",
    "requirepeer=postgres",
    "keepalives=0",
    "tcp_user_timeout=1000",
    "target_session_attrs=read-write",
];
/// The authentication methods that the server requests over the socket.
const METHODS: [&str; 5] = ["trust", "scram-sha-256", "md5", "password", "peer map=m"];
/// A role whose password is stored for SCRAM.
const ROLE: &str = "bob";

/// A version of libpq, running in its own process.
struct Library {
    major: u32,
    /// `name=VARIABLE` for each parameter.
    parameters: Vec<String>,
    process: Child,
    lines: BufReader<ChildStdout>,
    input: ChildStdin,
}

impl Library {
    fn start(file: &Path) -> Result<Self> {
        let folder = file.parent().context("no folder")?;
        let script = root()?.join("lab/src/oracle/libpq/connect.py");
        let mut command = Command::new("python3");
        command.arg(script).arg(file).env("LD_LIBRARY_PATH", folder).env("PGPASSFILE", "/dev/null");
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("python3")?;
        let (Some(input), Some(output)) = (process.stdin.take(), process.stdout.take()) else { bail!("no pipes") };
        let mut library = Self { major: 0, parameters: Vec::new(), process, lines: BufReader::new(output), input };
        let head = library.line()?;
        let mut words = head.split(' ').map(str::to_owned);
        library.major = words.next().context("no version")?.parse::<u32>()? / 10_000;
        library.parameters = words.collect();
        Ok(library)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.lines.read_line(&mut line)?;
        ensure!(!line.is_empty(), "libpq's process ended");
        Ok(line.trim().to_owned())
    }

    fn connect(&mut self, words: &str) -> Result<bool> {
        writeln!(self.input, "{words}")?;
        Ok(self.line()? == "ok")
    }

    fn knows(&self, words: &[&str]) -> bool {
        let is_known = |word: &&str| {
            let name = word.split('=').next().unwrap_or_default();
            self.parameters.iter().any(|it| it.split('=').next() == Some(name))
        };
        words.iter().all(is_known)
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs the comparison; fails at the first answer of looptax that a library contradicts.
pub(crate) fn run(options: &Options) -> Result<()> {
    let coin = Coin::new(options.seed)?;
    println!("seed {}", coin.seed);
    let mut dice = Dice::new(coin.seed);
    let mut libraries = WHEELS.iter().map(|(wheel, major)| library(wheel, *major)).collect::<Result<Vec<_>>>()?;
    for library in &libraries {
        hold_names(library)?;
    }
    let mut live = Live::start()?;
    live.map("m root bob\n")?;
    let (mut n_answers, mut n_refused) = (0, 0);
    for _ in 0..options.connections {
        let method = dice.one(&METHODS);
        let admin = "local all admin trust";
        live.rule(&format!("{admin}\nlocal all all {method}\nhost all all 127.0.0.1/32 scram-sha-256\n"))?;
        let mut words: Vec<&str> = (0..=dice.below(3)).map(|_| dice.one(&WORDS)).collect();
        words.sort_unstable();
        words.dedup_by_key(|it| it.split('=').next());
        let Some(is_said) = said(&live, &words)? else {
            bail!("not known: {words:?} with {method}");
        };
        n_refused += usize::from(!is_said);
        for library in libraries.iter_mut().filter(|it| it.knows(&words)) {
            let fixed = format!("port={} user={ROLE} password=right dbname={ROLE} {}", live.port(), words.join(" "));
            let over_tcp = library.connect(&format!("host=127.0.0.1 {fixed}"))?;
            let over_unix = library.connect(&format!("host={} {fixed}", live.folder()))?;
            let major = library.major;
            ensure!(
                over_unix == is_said,
                "libpq {major}, {words:?} with {method}: over TCP {over_tcp}, over the socket {over_unix}, said {is_said}"
            );
            n_answers += 1;
        }
    }
    println!(
        "{}: {} connections, {n_refused} would not work; {n_answers} answers of libpq 13 to 18, 0 differ",
        live.name(),
        options.connections
    );
    Ok(())
}

/// Returns the answer of `looptax check`; `None` if it does not know the answer.
fn said(live: &Live, words: &[&str]) -> Result<Option<bool>> {
    let url = format!("postgres://{ROLE}:right@127.0.0.1:{}/{ROLE}?{}", live.port(), words.join("&"));
    let mut command = Command::new(debug_looptax()?);
    command.args(["check", &url, "-c", "1"]).stdout(Stdio::null()).stderr(Stdio::null());
    Ok(match command.status()?.code() {
        Some(0) => Some(true),
        Some(1) => Some(false),
        _ => None,
    })
}

/// Checks that every parameter of the library is in looptax's table, with its environment variable.
fn hold_names(library: &Library) -> Result<()> {
    for pair in &library.parameters {
        let (name, variable) = pair.split_once('=').unwrap_or((pair, ""));
        let known = PARAMETERS.iter().find(|it| it.name == name);
        let known = known.with_context(|| format!("`{name}` of libpq {} is not in the table", library.major))?;
        ensure!(
            known.variable == variable,
            "`{name}`: {variable} in libpq {}, {} in the table",
            library.major,
            known.variable
        );
        let is_tried = WORDS.iter().any(|it| it.split('=').next() == Some(name));
        let asks = !matches!(known.over_socket, OverSocket::Same | OverSocket::Place | OverSocket::Ignored);
        ensure!(is_tried || !asks, "`{name}` is not tried");
    }
    Ok(())
}

/// Downloads the wheel if it is missing, and starts its library.
fn library(wheel: &str, major: u32) -> Result<Library> {
    let folder = root()?.join("target/libpq").join(major.to_string());
    if !folder.is_dir() {
        let unfinished = folder.with_extension("part");
        let _ = fs::remove_dir_all(&unfinished);
        let words = "-m pip install --quiet --root-user-action=ignore --disable-pip-version-check --no-deps --only-binary=:all:";
        let mut command = Command::new("python3");
        command.args(words.split(' ')).args(["--python-version", PYTHON, "--target"]).arg(&unfinished).arg(wheel);
        run_to_success(&mut command)?;
        fs::rename(&unfinished, &folder)?;
    }
    let found = Library::start(&file(&folder)?)?;
    ensure!(found.major == major, "{wheel} has libpq {}", found.major);
    Ok(found)
}

fn file(folder: &Path) -> Result<PathBuf> {
    for libraries in fs::read_dir(folder)?.flatten().filter(|it| it.path().extension().is_some_and(|it| it == "libs")) {
        let files = fs::read_dir(libraries.path())?.flatten();
        let mut named = files.filter(|it| it.file_name().to_string_lossy().starts_with("libpq"));
        if let Some(file) = named.next() {
            return Ok(file.path());
        }
    }
    bail!("no libpq in {}", folder.display())
}
