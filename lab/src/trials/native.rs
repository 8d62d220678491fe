//! Compares an application by itself with the same application under a trial's supervisor that leaves every connection
//! on TCP.
//!
//! Two instances listen on two ports. Their pages are requested in turns, whose order a coin decides, and the instances
//! are started again many times. The result is the cost of a trial that moves nothing. Everything runs on one core. On
//! several cores, the placement of two processes and their server makes some starts differ by 4 % and more, and the
//! cost of the supervisor on another core would not be visible.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use looptax_bench::pages::{PageLoad, PageLoadPlan, PageOpener, PageSlice};
use looptax_bench::path::TlsClient;
use looptax_bench::{
    BenchError, Course, FilledSlice, Shape, Silent, SliceOrder, SliceSource, Stopping, WarmUp, run_slices,
};
use looptax_experiment::trial::Opener;
use looptax_experiment::trial::pages::Page;
use looptax_model::failure::Failure;
use looptax_model::record::Slice;
use looptax_model::stats::{InterimAnalyses, hodges_lehmann, median};

use super::site::{Site, free_address};
use crate::servers::{Ours, wait_until};

/// The limit that is tested: the supervisor costs less than this fraction of a page.
const DELTA: f64 = 0.02;
const PATIENCE: Duration = Duration::from_secs(30);

/// The options of this series.
#[derive(Args)]
pub(crate) struct Options {
    /// Number of starts of both instances. A start is the unit of inference, because two processes of one program
    /// differ for their whole lifetime by the position of their memory
    #[arg(long, default_value_t = 16)]
    starts: usize,
    /// Epochs in each start, with sixteen pages of each instance
    #[arg(long, default_value_t = 8)]
    epochs: usize,
    /// Run both instances without the supervisor: shows how much two processes differ
    #[arg(long)]
    alike: bool,
    /// The command of another application instead of the page; {address} is replaced by its address. Its database is at
    /// 127.0.0.1, with the values of the variables `TRIAL_PORT`, `TRIAL_USER`, `TRIAL_PASSWORD` and `TRIAL_DATABASE`
    #[arg(long)]
    command: Option<String>,
    /// The path of its page
    #[arg(long, default_value = "/")]
    path: String,
    /// The address whose connections the supervisor inspects, and its socket, instead of the private server's; put that
    /// server on the last core, too
    #[arg(long)]
    map: Option<String>,
}

pub(super) fn run(options: &Options, site: &Site) -> Result<()> {
    let mut thetas = Vec::new();
    for start in 0..options.starts {
        let theta = one_start(options, site, start)?;
        println!("start {}: {:+.2} %", start + 1, pct(theta));
        thetas.push(theta);
    }
    let theta = hodges_lehmann::estimate(&thetas, 0.05).context("no estimate")?;
    let who =
        if options.alike { "by itself, started second," } else { "under a supervisor that leaves its connections" };
    let (value, lo, hi) = (pct(theta.value), pct(theta.lo), pct(theta.hi));
    println!("{} starts: the page {who} takes {value:.2} % [{lo:.2}, {hi:.2}] more", thetas.len());
    let is_inside = theta.lo > -DELTA && theta.hi < DELTA;
    println!("inside ±{:.0} %: {is_inside}", 100.0 * DELTA);
    Ok(())
}

/// Returns the percentage for θ, which is the logarithm of the page's time under the supervisor divided by the time
/// without it.
fn pct(theta: f64) -> f64 {
    100.0 * theta.exp_m1()
}

/// Measures θ with two new instances; the order in which they are started alternates.
fn one_start(options: &Options, site: &Site, start: usize) -> Result<f64> {
    let (alone_at, held_at) = (free_address()?, free_address()?);
    let alone = || Instance::alone(options, site, alone_at);
    let held = || {
        if options.alike {
            return Instance::alone(options, site, held_at);
        }
        Instance::held(options, site, held_at)
    };
    let _instances = if start.is_multiple_of(2) { [alone()?, held()?] } else { [held()?, alone()?] };
    let load = |at| load(&format!("http://{at}{}", options.path));
    let mut pair = Pair([load(alone_at)?, load(held_at)?]);
    let stop = AtomicBool::new(false);
    let course = course(options.epochs, start as u64);
    let outcome = run_slices(&course, &mut pair, &mut Silent, &stop);
    if let Some(failure) = outcome.failure {
        return Err(failure.into());
    }
    let epochs = outcome.contrasts.iter().flat_map(|it| &it.epochs);
    let mut thetas: Vec<f64> = epochs.filter_map(|it| it.raw.counts().theta()).collect();
    median(&mut thetas).context("no epochs")
}

/// An instance of the application; it ends when this value is dropped.
#[expect(dead_code, reason = "held until it is dropped")]
enum Instance {
    Alone(Ours),
    Held(Held),
}

impl Instance {
    fn alone(options: &Options, site: &Site, at: SocketAddr) -> Result<Self> {
        let words = words(options, site, at);
        let (program, args) = words.split_first().context("no command")?;
        let mut command = Command::new(program);
        command.args(args).envs(site.variables()).stdout(Stdio::null()).stderr(Stdio::null());
        let alone = Ours::start(&mut command)?;
        wait_until("the application does not listen", || Ok(std::net::TcpStream::connect(at).is_ok()))?;
        Ok(Self::Alone(alone))
    }

    fn held(options: &Options, site: &Site, at: SocketAddr) -> Result<Self> {
        let mut command = site.trial(at, options.map.as_deref());
        let command = command.arg("--hold").arg("--").args(words(options, site, at));
        Ok(Self::Held(Held::start(command)?))
    }
}

fn words(options: &Options, site: &Site, at: SocketAddr) -> Vec<String> {
    match &options.command {
        Some(line) => {
            let line = line.replace("{address}", &at.to_string());
            vec!["sh".to_owned(), "-c".to_owned(), format!("exec {line}")]
        }
        None => site.php(at),
    }
}

fn course(epochs: usize, seed: u64) -> Course {
    Course {
        seed,
        names: vec!["alone, left".to_owned()],
        connections: 1,
        shape: Shape { octets: 4, ..Shape::whole() },
        warm_up: WarmUp::steady(4, Duration::from_secs(2), Duration::from_secs(10)),
        stopping: Stopping::at(InterimAnalyses::fixed(epochs), DELTA),
        max_sample_bytes: 0,
    }
}

struct Pair([PageLoad; 2]);

impl SliceSource for Pair {
    fn fill(&mut self, order: SliceOrder) -> Result<Option<FilledSlice>, BenchError> {
        let slice = PageSlice { epoch: order.epoch, rank: order.rank, n_pages: 1, rate_per_s: None, inject: None };
        let loaded = self.0[order.side.idx()].slice(&slice, &AtomicBool::new(false));
        let loaded = loaded.map_err(Failure::from)?;
        if loaded.n_failed() > 0 {
            let what = format!("a page failed: {:?}", loaded.failures);
            return Err(Failure::new(what).into());
        }
        Ok(Some(FilledSlice {
            slice: Slice {
                active_ns: loaded.active_ns,
                completions: 1,
                requests: 1,
                latency_sum_ns: loaded.latencies_ns.iter().sum(),
                ..Slice::default()
            },
            start_ns: loaded.start_ns,
            ..FilledSlice::default()
        }))
    }
}

fn load(url: &str) -> Result<PageLoad> {
    let own = |host: &str| host.parse().ok();
    let page = Page::parse(url, &own).map_err(anyhow::Error::msg)?;
    let mut addresses = Vec::new();
    let pages = vec![page.for_load(&mut addresses)?];
    let opener: Arc<dyn PageOpener> =
        Arc::new(Opener { addresses, tls: TlsClient::trusting_anybody()?, limit: PATIENCE });
    let plan = PageLoadPlan { seed: 23, n_clients: 1, answer_limit: PATIENCE };
    Ok(PageLoad::start(plan, pages, &opener)?)
}

/// An application that a trial keeps running until the trial's input ends.
struct Held(Child);

impl Held {
    fn start(command: &mut Command) -> Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let output = child.stdout.take().context("asked for as a pipe")?;
        let held = Self(child);
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        if line.trim() != "ready" {
            bail!("the trial did not start the application");
        }
        Ok(held)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().ok();
    }
}
