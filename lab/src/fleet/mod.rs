//! `cargo lab fleet`: loads a simulated fleet with known truth into a real collector, and compares the report with the
//! truth.
//!
//! The collector must already run, with a database that is used only for this. The figures belong in docs/src/results,
//! with date and machine.

mod made;

use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;
use looptax_model::record::Fleet;

use crate::workspace;
use made::{Made, N_TOP, Shape};

/// Options of `fleet`.
#[derive(Args)]
pub(crate) struct Options {
    /// The collector, an empty database: clickhouse://…, postgres://…
    #[arg(value_name = "DESTINATION")]
    destination: String,
    /// Number of machines
    #[arg(long, default_value_t = 100_000)]
    hosts: u32,
    /// Looks at each of them, evenly over a year
    #[arg(long, default_value_t = 12)]
    looks: u32,
    /// One in this many machines has measured; half of these are the busiest, half are chosen at random
    #[arg(long, default_value_t = 100)]
    one_measured_in: u32,
    /// The seed of all random numbers
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A looptax that is already built
    #[arg(long)]
    looptax: Option<std::path::PathBuf>,
    /// Only query: the same fleet was loaded before
    #[arg(long)]
    loaded: bool,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    let looptax = match &options.looptax {
        Some(path) => path.clone(),
        None => workspace::looptax()?,
    };
    let mut made = Made::new(Shape {
        n_hosts: options.hosts,
        n_looks: options.looks,
        one_measured_in: options.one_measured_in,
        seed: options.seed,
    });
    if !options.loaded {
        load(&looptax, options, &mut made)?;
    }
    let (fleet, seconds) = report(&looptax, &options.destination)?;
    println!("report: {seconds:.2} s");
    compare(&fleet, &made);
    Ok(())
}

fn load(looptax: &Path, options: &Options, made: &mut Made) -> Result<()> {
    finished(Command::new(looptax).args(["fleet", "init", &options.destination]))?;
    let start = Instant::now();
    let mut sender = Command::new(looptax)
        .args(["fleet", "send", &options.destination, "--from", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .context("cannot start looptax")?;
    let input = sender.stdin.take().context("it has no input")?;
    let mut input = BufWriter::with_capacity(1 << 20, input);
    let (mut n_findings, mut n_bytes) = (0, 0);
    for look in 0..options.looks {
        for host in 0..options.hosts {
            let lines = made.report(host, look);
            n_findings += lines.n_findings;
            n_bytes += lines.text.len();
            input.write_all(lines.text.as_bytes())?;
        }
    }
    input.flush()?;
    drop(input);
    let status = sender.wait()?;
    if !status.success() {
        bail!("fleet send ended with {status}");
    }
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "loaded {n_findings} findings of {} reports, {} MB of lines, in {seconds:.1} s: {:.0} findings per second",
        options.hosts * options.looks,
        n_bytes / 1_000_000,
        f64::from(n_findings) / seconds
    );
    Ok(())
}

fn report(looptax: &Path, destination: &str) -> Result<(Fleet, f64)> {
    let page = tempfile::NamedTempFile::new()?;
    let mut command = Command::new(looptax);
    command.args(["fleet", "report", destination, "--json", "--html"]).arg(page.path());
    let start = Instant::now();
    let printed = finished(&mut command)?;
    let seconds = start.elapsed().as_secs_f64();
    println!("page: {} bytes", std::fs::metadata(page.path())?.len());
    Ok((serde_json::from_slice(&printed)?, seconds))
}

fn finished(command: &mut Command) -> Result<Vec<u8>> {
    let ended = command.stderr(Stdio::inherit()).output()?;
    if !ended.status.success() {
        bail!("{command:?} ended with {}", ended.status);
    }
    Ok(ended.stdout)
}

/// Prints the report's figures next to the true figures.
fn compare(fleet: &Fleet, made: &Made) {
    let truth = made.truth();
    let is_equal = |said: u64, is: u64| if said == is { "right" } else { "WRONG" };
    for (what, said, is) in [
        ("machines", fleet.hosts, truth.n_hosts),
        ("with clients over TCP", fleet.hosts_over_tcp, truth.n_over_tcp),
        ("fell back", fleet.fell_back.n, truth.n_fallen),
        ("moved", fleet.movers.n, truth.n_moved),
    ] {
        println!("{what}: reported {said}, true {is}: {}", is_equal(said, is));
    }
    println!(
        "requests over TCP per second: reported {:.0}, true {:.0}",
        fleet.tcp_requests_per_s, truth.requests_per_s
    );
    match &fleet.lost {
        None => println!("cores lost: not reported, true {:.2}", truth.cores),
        Some(lost) => {
            let (lo, hi) = (lost.cores.lo.unwrap_or(0.0), lost.cores.hi.unwrap_or(0.0));
            let is_covered = (lo..=hi).contains(&truth.cores);
            println!(
                "cores lost: reported {:.2} [{lo:.2}, {hi:.2}], true {:.2}: {}",
                lost.cores.value,
                truth.cores,
                if is_covered { "covered" } else { "NOT covered" }
            );
        }
    }
    let named = fleet.first.rows.iter().take(N_TOP);
    let named = named.map(|it| (it.host.as_str(), it.client.as_str(), it.server.as_str()));
    let n_hits = named.filter(|it| truth.is_top(*it)).count();
    println!("of the true first {N_TOP}, {n_hits} are named");
    for it in &fleet.effects {
        let groups = it.groups.iter().map(|it| format!("{} {:.2}", it.label, it.cpu_us.value));
        let groups: Vec<String> = groups.collect();
        println!("by {}: p = {:?}: {}", it.condition, it.p, groups.join(", "));
    }
}
