//! `cargo lab storms`: many connects at once with real drivers to a private server that is stopped, over the socket and
//! over TCP. Compared with looptax's storms that connect as the same drivers do.
//!
//! Prints a Markdown table of the failed connects, and fails if the interval of a real driver and that of its model do
//! not overlap. Needs the libraries that `clients/setup.sh` installs. `driver` runs the real driver.

mod driver;

use std::fmt::Write;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use looptax_bench::path::Fate;
use looptax_experiment::servers::{Reaper, leftovers, startable};
use looptax_experiment::storm::{self, Ground, Spec};
use looptax_model::dsn::Arm;
use looptax_model::stats::{Estimate, share_of_groups};

use crate::workspace;
use driver::{Answer, Driver};

/// Each driver with the kind of server with which it is tested.
const ROWS: [(&str, &str); 11] = [
    ("mysqlnd", "mariadb"),
    ("go-sql-driver", "mariadb"),
    ("mysql2", "mariadb"),
    ("libmariadb", "mariadb"),
    ("pdo_pgsql", "postgres"),
    ("psycopg", "postgres"),
    ("pgx", "postgres"),
    ("pg", "postgres"),
    ("phpredis", "redis"),
    ("redis-py", "redis"),
    ("nginx", "php-fpm"),
];
/// Pause between two storms, so that the server notices the end of the previous connections.
const PAUSE: Duration = Duration::from_millis(300);

/// The options of the table.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Names of drivers; all if none is given
    #[arg(value_name = "DRIVER")]
    names: Vec<String>,
    /// Number of storms of each row over the socket
    #[arg(long, default_value_t = 20)]
    storms: u32,
    /// Number of storms of each row over TCP, which take longer: each waits for connections that never get an answer
    #[arg(long, default_value_t = 3)]
    tcp_storms: u32,
    /// Number of connections of a storm
    #[arg(long, default_value_t = 200)]
    connections: u32,
    /// Backlogs of the sockets; each has its own rows
    #[arg(long, value_delimiter = ',', default_value = "80")]
    queues: Vec<u32>,
    /// Times for which the server is stopped, in milliseconds; each has its own rows
    #[arg(long, value_delimiter = ',', default_value = "500")]
    stalls_ms: Vec<u64>,
}

/// Runs all storms, and prints the table.
pub(crate) fn run(options: &Options) -> Result<()> {
    let looptax = workspace::debug_looptax()?;
    let scratch_root = std::env::temp_dir();
    leftovers::sweep(&scratch_root);
    let reaper = Reaper::start(&looptax)?;
    println!(
        "| driver | server | queue | stopped | arm | storms | real: failed of {n} | model | agree | first error |",
        n = options.connections
    );
    println!("|---|---|---:|---:|---|---:|---|---|---|---|");
    let wanted = |it: &&(&str, &str)| options.names.is_empty() || options.names.iter().any(|name| name == it.0);
    let mut n_apart = 0;
    for (name, kind) in ROWS.iter().filter(wanted) {
        let kind = startable(kind)?;
        let mut ground = Ground::start(kind, options.connections, (&looptax, &scratch_root, &reaper))?;
        for (queue, stall_ms) in
            options.queues.iter().flat_map(|it| options.stalls_ms.iter().map(move |stall| (*it, *stall)))
        {
            let in_force = ground.set_queue(Some(queue))?;
            let spec = Spec {
                kind,
                client: storm::client(Some(name), kind)?,
                connections: vec![options.connections],
                n_storms: options.storms,
                stall: Duration::from_millis(stall_ms),
                rate_per_s: None,
                queue: Some(queue),
                seed: 0,
            };
            for (arm, n_storms) in [(Arm::Unix, options.storms), (Arm::Tcp, options.tcp_storms)] {
                if n_storms == 0 {
                    continue;
                }
                let row = row(&ground, &spec, (name, arm), n_storms).with_context(|| format!("{name}, {arm:?}"))?;
                n_apart += usize::from(!row.agrees);
                let place = format!("{kind} {}", ground.version());
                println!(
                    "| {} | {place} | {in_force} | {stall_ms} ms | {} | {n_storms} | {}",
                    row.versions,
                    arm.name(),
                    row.words
                );
            }
        }
        ground.end()?;
    }
    if n_apart > 0 {
        bail!("{n_apart} rows in which the model and the real driver fail differently");
    }
    Ok(())
}

struct Row {
    versions: String,
    /// The text of the cells after the arm.
    words: String,
    agrees: bool,
}

/// Runs storms of the real driver and of the model in turns.
fn row(ground: &Ground, spec: &Spec, (name, arm): (&str, Arm), n_storms: u32) -> Result<Row> {
    let n = spec.connections[0];
    let mut driver = Driver::start(name, ground, arm, spec.stall)?;
    let (mut real, mut model, mut first) = (Vec::new(), Vec::new(), String::new());
    for _ in 0..n_storms {
        driver.prepare(n)?;
        let answer: Answer = ground.stalled(spec, |begun| driver.go(begun))?;
        if answer.served + answer.failed + answer.unanswered != u64::from(n) {
            bail!("{answer:?} are not {n}");
        }
        if first.is_empty() {
            // The text before the last colon names the socket.
            answer.first_error.rsplit(": ").next().unwrap_or_default().clone_into(&mut first);
        }
        real.push((answer.failed + answer.unanswered, u64::from(n)));
        std::thread::sleep(PAUSE);
        let fates = ground.storm(spec, arm, n)?;
        model.push((fates.iter().filter(|it: &&Fate| it.error.is_some()).count() as u64, u64::from(n)));
        std::thread::sleep(PAUSE);
    }
    let versions = driver.versions().to_owned();
    let (real, model) = (share(&real)?, share(&model)?);
    let agrees = real.lo <= model.hi && model.lo <= real.hi;
    let mut words = String::new();
    for it in [&real, &model] {
        let scaled = |share: f64| share * f64::from(n);
        let _ = write!(words, "{:.1} [{:.1}, {:.1}] | ", scaled(it.value), scaled(it.lo), scaled(it.hi));
    }
    let _ = write!(words, "{} | {first} |", if agrees { "yes" } else { "NO" });
    Ok(Row { versions, words, agrees })
}

fn share(groups: &[(u64, u64)]) -> Result<Estimate> {
    share_of_groups(groups).context("no storms")
}
