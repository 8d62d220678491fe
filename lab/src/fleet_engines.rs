//! `cargo lab fleet-engines`: tests a current ClickHouse as a collector, in the form of the Python package chdb.
//!
//! chdb is too large to be installed by the ordinary tests. The tests in `crates/cli/tests/it/fleet` use Debian's
//! ClickHouse of 2018 and PostgreSQL. This chore does the same with a current engine: it makes the tables twice, loads
//! rows three times, reads every view, and also tests the times to live and the rules that an old version does not
//! have.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use looptax_fleet::{Access, Batch, Collector, Destination, InitOptions, Kind, Question, TABLES, VIEWS, Value};

use crate::servers::Ours;
use crate::{process, workspace};

/// Options of `fleet-engines`.
#[derive(Args)]
pub(crate) struct Options {
    /// Number of machines
    #[arg(long, default_value_t = 10_000)]
    hosts: u32,
    /// Number of findings in each report
    #[arg(long, default_value_t = 5)]
    findings: u32,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let python = python_with_chdb()?;
    let folder = tempfile::tempdir().context("cannot make a folder")?;
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let _served = serve(&python, port, folder.path())?;
    let destination = Destination::parse(&format!("clickhouse://default@127.0.0.1:{port}/looptax"))?;
    let mut collector = Collector::open(&destination, &Access::default())?;
    let keep = |days| InitOptions { cluster: None, keep_days: days };
    let made = collector.init(&keep(None))?;
    println!("{}: {}", made.engine, made.done.join(", "));
    ensure!(made.lacks.is_empty(), "it lacks {:?}", made.lacks);
    ensure!(collector.init(&keep(None))?.done.is_empty(), "the second init changed something");
    ensure!(collector.init(&keep(Some(400)))?.done.len() == 3, "init did not set how long rows are kept");
    ensure!(collector.init(&keep(Some(400)))?.done.is_empty(), "the second init set again how long rows are kept");
    let batches: Vec<Batch> = (0..options.hosts)
        .flat_map(|host| [report(host, 1, options.findings), report(host, 400, options.findings)])
        .collect();
    for _ in 0..3 {
        let start = Instant::now();
        collector.send(&batches)?;
        let n_findings = f64::from(options.hosts) * f64::from(options.findings) * 2.0;
        println!("{:.0} findings per second", n_findings / start.elapsed().as_secs_f64());
    }
    for view in VIEWS {
        let start = Instant::now();
        let n_rows = count(&mut collector, view.name)?;
        println!("{}: {n_rows} rows, {:.2} s", view.name, start.elapsed().as_secs_f64());
    }
    let (hosts, findings) = (options.hosts as usize, options.findings as usize);
    for (view, wanted) in [
        ("latest_reports", hosts),
        ("latest_findings", hosts * findings),
        // Half of the machines moved their programs.
        ("movers", hosts.div_ceil(2) * findings),
        ("conditions", 1),
    ] {
        let found = count(&mut collector, view)?;
        ensure!(found == wanted, "{view} has {found} rows in place of {wanted}");
    }
    refuses_long_texts(&mut collector)
}

/// Checks that the collector refuses a long text, which an old version accepts.
fn refuses_long_texts(collector: &mut Collector) -> Result<()> {
    let mut long = report(0, 500, 1);
    long.rows[0][0][8] = Value::Text("x".repeat(10_000));
    ensure!(collector.send(&[long]).is_err(), "a text of 10,000 characters is accepted");
    println!("a text of 10,000 characters is rejected");
    Ok(())
}

fn count(collector: &mut Collector, view: &str) -> Result<usize> {
    let question = Question { view, ..Question::default() };
    Ok(collector.ask(&question)?.rows.len())
}

/// Makes the `n`th report of a machine, an hour after the previous one. In later reports, every second machine uses
/// sockets.
fn report(host: u32, n: u32, n_findings: u32) -> Batch {
    let report_id = format!("{host:08x}{n:08x}");
    let is_tcp = n < 400 || host % 2 == 1;
    let row = |table_idx: usize, finding: u32| {
        let columns = TABLES[table_idx].columns.iter();
        let values = columns.map(|column| match (column.name, column.kind) {
            ("report_id", _) => Value::Text(report_id.clone()),
            ("host_id", _) => Value::Text(format!("{host:032x}")),
            ("n", _) => Value::Count(finding.into()),
            ("client", _) => Value::Text(format!("program {finding}")),
            ("is_tcp", _) => Value::Flag(is_tcp),
            ("findings", _) => Value::Count(n_findings.into()),
            (_, Kind::Word | Kind::Text) => Value::Text("x\t\\N'".to_owned()),
            (_, Kind::Count) => Value::Count(1),
            (_, Kind::Number) => Value::Number(None),
            (_, Kind::Flag) => Value::Flag(true),
            (_, Kind::Time) => Value::Time(1_790_000_000_000 + i64::from(n) * 3_600_000),
        });
        values.collect()
    };
    Batch { rows: [(0..n_findings).map(|finding| row(0, finding)).collect(), Vec::new(), vec![row(2, 0)]], report_id }
}

fn serve(python: &Path, port: u16, folder: &Path) -> Result<Ours> {
    let script = workspace::root()?.join("clients/chdb/serve.py");
    let mut command = Command::new(python);
    command.arg(script).arg(port.to_string()).arg(folder);
    let mut served = Ours::start(command.stdout(Stdio::piped()))?;
    let output = served.0.stdout.take().context("it has no output")?;
    let mut line = String::new();
    BufReader::new(output.take(1_000)).read_line(&mut line)?;
    if line.trim() != "ready" {
        bail!("chdb does not serve: {line:?}");
    }
    Ok(served)
}

/// Returns the path of a Python with chdb in its own environment; makes the environment if it is missing.
fn python_with_chdb() -> Result<PathBuf> {
    let folder = workspace::root()?.join("target/chdb");
    let python = folder.join("bin/python");
    let has_it = || {
        let mut command = Command::new(&python);
        command.args(["-c", "import chdb"]);
        command.output().is_ok_and(|it| it.status.success())
    };
    if !has_it() {
        std::io::stderr().write_all(b"installing chdb in target/chdb: some 900 MB\n")?;
        let mut command = Command::new("python3");
        command.args(["-m", "venv"]).arg(&folder);
        process::run(command)?;
        let mut command = Command::new(&python);
        command.args(["-m", "pip", "install", "--quiet", "chdb"]);
        process::run(command)?;
    }
    ensure!(has_it(), "chdb cannot be imported");
    Ok(python)
}
