//! `cargo lab versions`: the commands of looptax with servers in the versions that people use.
//!
//! Each server is downloaded by the clients of the registries, as they are configured on this machine, and runs in its
//! own mount and network namespace. looptax's output is compared with the server's own version and its own list of
//! connections, and files are compared byte for byte. Prints a table; `--write` puts the table into
//! docs/src/results/versions.md. A wrong cell is a failure. Needs root.

mod columns;
mod fetch;
mod rig;
mod tried;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use looptax_model::dsn::Kind;
use serde::{Deserialize, Serialize};

use crate::workspace::{debug_looptax, root, today};
use columns::{COLUMNS, Column, NOT_HAD, Source};
use rig::Rig;
use tried::{COMMANDS, Cell, Trial};

/// The page that contains the table.
const PAGE: &str = "docs/src/results/versions.md";
const MARK: &str = "\n## The table\n";
/// Time limit in seconds for a column with all its commands, also on a slow machine.
const LIMIT_S: &str = "1800";
/// The commands of `--short`, which take only seconds; it uses the machine's own servers.
const SHORT: [&str; 6] = ["find", "check", "watch", "switch", "run", "dsn"];

/// The options of the table.
#[derive(Debug, Clone, Args)]
pub(crate) struct Options {
    /// Test only columns whose names contain one of these words
    #[arg(value_name = "WORD")]
    words: Vec<String>,
    /// Commands to test; all if none is given
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Test only servers of the machine itself, and only commands that measure nothing
    #[arg(long)]
    short: bool,
    /// Number of columns that run at the same time
    #[arg(long, default_value_t = 1)]
    at_once: usize,
    /// Write the table into the book
    #[arg(long)]
    write: bool,
    /// Test this build of looptax instead of building one
    #[arg(long)]
    looptax: Option<PathBuf>,
}

/// The hidden command that runs within the namespaces.
#[derive(Debug, Clone, Args)]
pub(crate) struct Part {
    column: usize,
    looptax: PathBuf,
    #[arg(long)]
    bin: Option<PathBuf>,
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
}

/// A part's report about a command; each report is one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    command: String,
    /// `right`, `wrong`, `untried`.
    outcome: String,
    words: String,
}

#[derive(Debug)]
struct Row {
    name: String,
    version: String,
    lines: Vec<Line>,
}

/// Client programs with which the servers are queried.
const CLIENTS: [&str; 4] = ["psql", "mysql", "mariadb", "redis-cli"];

/// Tests all columns.
pub(crate) fn run(options: &Options) -> Result<()> {
    if !rustix::process::geteuid().is_root() {
        println!("versions: skipped, because namespaces and other users' processes need root");
        return Ok(());
    }
    if Command::new("php").arg("-v").output().is_err() {
        println!("versions: skipped, because the application is a program in PHP, which is not installed");
        return Ok(());
    }
    let looptax = match &options.looptax {
        Some(path) => path.clone(),
        None => debug_looptax()?,
    };
    let looptax = fs::canonicalize(looptax).context("no looptax at that path")?;
    if ["/tmp", "/run"].iter().any(|hidden| looptax.starts_with(hidden)) {
        println!(
            "versions: skipped, because the namespaces have their own /tmp and /run, and looptax is in one of these"
        );
        return Ok(());
    }
    let folder = std::env::var_os("LOOPTAX_VERSIONS")
        .map_or_else(|| Ok(root()?.join("target/versions")), |it| Ok::<_, anyhow::Error>(PathBuf::from(it)))?;
    fs::create_dir_all(&folder)?;
    let is_wanted = |column: &Column| {
        let name = name_of(column);
        let is_here = matches!(column.source, Source::Here);
        (!options.short || is_here && ["postgres", "mariadb", "redis", "php-fpm"].iter().any(|it| name.starts_with(it)))
            && (options.words.is_empty() || options.words.iter().any(|word| name.contains(word.as_str())))
    };
    let short: Vec<String> = SHORT.map(str::to_owned).to_vec();
    let only = if options.short { &short } else { &options.only };
    let wanted: Vec<(usize, &Column)> = COLUMNS.iter().enumerate().filter(|(_, column)| is_wanted(column)).collect();
    let next = AtomicUsize::new(0);
    let try_each = || {
        let mut rows = Vec::new();
        while let Some((idx, column)) = wanted.get(next.fetch_add(1, Ordering::Relaxed)) {
            rows.push((*idx, tell(row(*idx, column, (&looptax, &folder), only))));
        }
        rows
    };
    let mut rows: Vec<(usize, Row)> = thread::scope(|scope| {
        let workers: Vec<_> = (0..options.at_once.max(1)).map(|_| scope.spawn(try_each)).collect();
        workers.into_iter().filter_map(|it| it.join().ok()).flatten().collect()
    });
    ensure!(rows.len() == wanted.len(), "a column was not tested to its end");
    rows.sort_by_key(|(idx, _)| *idx);
    let rows: Vec<Row> = rows.into_iter().map(|(_, row)| row).collect();
    let table = table(&rows);
    println!("{table}");
    if options.write {
        let path = root()?.join(PAGE);
        let page = fs::read_to_string(&path)?;
        let (head, _) = page.split_once(MARK).with_context(|| format!("no {MARK:?} in {PAGE}"))?;
        fs::write(path, format!("{head}{MARK}\n{table}"))?;
    }
    let n_wrong = count(&rows, "wrong");
    ensure!(n_wrong == 0, "{n_wrong} cells are wrong");
    ensure!(!rows.is_empty(), "no column has such a name");
    Ok(())
}

/// Prints the wrong cells of a column.
fn tell(row: Row) -> Row {
    println!("{} {}: {} cells", row.name, row.version, row.lines.len());
    for line in row.lines.iter().filter(|it| it.outcome == "wrong") {
        println!("  wrong: {}: {}", line.command, line.words);
    }
    row
}

fn name_of(column: &Column) -> String {
    format!("{} {}", column.kind.name(), column.version)
}

fn row(idx: usize, column: &Column, (looptax, folder): (&Path, &Path), only: &[String]) -> Row {
    let name = name_of(column);
    match fetch::fetch(column.source, folder) {
        Err(error) => {
            Row { name, version: String::new(), lines: vec![whole("untried", format!("not fetched: {error:#}"))] }
        }
        Ok(bin) => match in_namespaces(idx, looptax, bin.as_deref(), only) {
            Ok((version, lines)) => Row { name, version, lines },
            Err(error) => Row { name, version: String::new(), lines: vec![whole("wrong", format!("{error:#}"))] },
        },
    }
}

fn whole(outcome: &str, words: String) -> Line {
    Line { command: String::new(), outcome: outcome.to_owned(), words }
}

fn in_namespaces(idx: usize, looptax: &Path, bin: Option<&Path>, only: &[String]) -> Result<(String, Vec<Line>)> {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", LIMIT_S, "unshare", "--mount", "--net"]).arg(std::env::current_exe()?);
    command.args(["versions-part", &idx.to_string()]).arg(looptax);
    if let Some(bin) = bin {
        command.arg("--bin").arg(bin);
    }
    if !only.is_empty() {
        command.args(["--only", &only.join(",")]);
    }
    let output = command.stdin(Stdio::null()).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let mut lines = said.lines();
    let version = lines.next().unwrap_or_default().to_owned();
    let lines: Vec<Line> = lines.filter_map(|line| serde_json::from_str(line).ok()).collect();
    if !output.status.success() || lines.is_empty() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("{}: {}", output.status, errors.trim());
    }
    Ok((version, lines))
}

impl Part {
    /// Runs within the namespaces, where the machine's folders for sockets and temporary files are neither seen nor
    /// changed.
    pub(crate) fn run(&self) -> Result<()> {
        said("ip", "link set lo up")?;
        for folder in ["/run", "/tmp"] {
            said("mount", &format!("-t tmpfs -o mode=1777 none {folder}"))?;
        }
        let column = &COLUMNS[self.column];
        hide_others(column.kind, self.bin.as_deref())?;
        let rig = Rig::start(column.kind, self.bin.as_deref())?;
        println!("{}", rig.version);
        let trial = Trial { rig: &rig, looptax: &self.looptax, bin: self.bin.as_deref() };
        for command in COMMANDS {
            if !self.only.is_empty() && !self.only.iter().any(|it| it == command) {
                continue;
            }
            let (outcome, words) = match trial.cell(command) {
                Ok(Cell::Right(words)) => ("right", words),
                Ok(Cell::Untried(why)) => ("untried", why.to_owned()),
                Err(error) => ("wrong", format!("{error:#}")),
            };
            let line = Line { command: command.to_owned(), outcome: outcome.to_owned(), words };
            println!("{}", serde_json::to_string(&line)?);
        }
        Ok(())
    }
}

/// Hides the machine's own servers with the same names as the column's, so that none of them is measured instead.
fn hide_others(kind: Kind, bin: Option<&Path>) -> Result<()> {
    // The PostgreSQL behind a pooler is not hidden.
    let stays: &[&str] =
        if kind == Kind::Postgres { &CLIENTS } else { &[&CLIENTS[..], &["postgres", "initdb"]].concat() };
    let names = bin.into_iter().flat_map(fs::read_dir).flatten().flatten().map(|it| it.file_name());
    for name in names {
        for folder in ["/usr/sbin", "/usr/bin", "/usr/local/bin"] {
            let path = Path::new(folder).join(&name);
            if path.is_file() && !stays.iter().any(|it| *it == name) {
                said("mount", &format!("--bind /dev/null {}", path.display()))?;
            }
        }
    }
    Ok(())
}

fn said(program: &str, words: &str) -> Result<String> {
    let mut command = Command::new(program);
    command.args(words.split(' '));
    rig::said(command)
}

fn count(rows: &[Row], outcome: &str) -> usize {
    rows.iter().flat_map(|row| &row.lines).filter(|it| it.outcome == outcome).count()
}

/// Returns the table, with the reasons below it.
fn table(rows: &[Row]) -> String {
    let mut text = String::from("`cargo lab versions`, ");
    let _ = write!(text, "{}: {} cells right, ", today().unwrap_or_default(), count(rows, "right"));
    let _ = writeln!(text, "{} wrong, {} not tried.\n", count(rows, "wrong"), count(rows, "untried"));
    let _ = writeln!(
        text,
        "| server | its own version | {} |\n|---|---|{}",
        COMMANDS.join(" | "),
        "---|".repeat(COMMANDS.len())
    );
    let mut reasons: Vec<&str> = Vec::new();
    for row in rows {
        let mut cells = Vec::new();
        for command in COMMANDS {
            let line = row.lines.iter().find(|it| it.command == command || it.command.is_empty());
            cells.push(match line {
                None => String::new(),
                Some(line) if line.outcome == "right" => line.words.clone(),
                Some(line) => {
                    let at = reasons.iter().position(|it| *it == line.words).unwrap_or_else(|| {
                        reasons.push(&line.words);
                        reasons.len() - 1
                    });
                    let mark = if line.outcome == "wrong" { "**wrong**" } else { "-" };
                    format!("{mark} ({})", at + 1)
                }
            });
        }
        let _ = writeln!(text, "| {} | {} | {} |", row.name, row.version, cells.join(" | "));
    }
    text.push('\n');
    for (idx, reason) in reasons.iter().enumerate() {
        let _ = writeln!(text, "{}. {}", idx + 1, reason.replace('\n', " "));
    }
    text.push_str("\nThese versions of servers were not available on the machine, so they have no row:\n\n");
    for (what, why) in NOT_HAD {
        let _ = writeln!(text, "- {what}: {why}.");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_without_a_right_answer_has_its_reason_below() {
        let line = |command: &str, outcome: &str, words: &str| Line {
            command: command.to_owned(),
            outcome: outcome.to_owned(),
            words: words.to_owned(),
        };
        let lines =
            vec![line("find", "right", "seen"), line("run", "untried", "no list"), line("trial", "untried", "no list")];
        let rows = [Row { name: "a 1".to_owned(), version: "1.2".to_owned(), lines }];
        let text = table(&rows);
        assert!(text.contains("| a 1 | 1.2 |  |  | seen |  |  |  | - (1) | - (1) |  |  |\n"), "{text}");
        assert!(text.contains("1 cells right, 0 wrong, 2 not tried") && text.contains("\n1. no list\n"), "{text}");
    }
}
