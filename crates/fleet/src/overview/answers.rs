//! Converts a collector's replies to the parts of the overview.

use std::thread;

use looptax_model::record::{FleetShared as Shared, FleetSilent as Silent};
use looptax_model::stats::Estimate;
use looptax_model::stats::meta::Effect;

use super::cells::{Cells, Listed, listed};
use crate::FleetError;
use crate::engine::{Collector, Order, Question, Rows};
use crate::lines::{MOST_NUMBER, is_within};

/// Maximum number of rows in a list that a person reads.
const MOST_LISTED: u32 = 10_000;
/// The range of error levels (alpha) that an interval may have.
const ALPHAS: std::ops::RangeInclusive<f64> = 1e-6..=0.5;

#[derive(Debug, Default)]
pub struct Answers {
    /// Clients that use TCP, the busiest first.
    pub payers: Listed<Payer>,
    /// The measurements, one for each server of a machine, the newest first.
    pub measured: Listed<Measured>,
    /// Groups of machines with the same kernel release, CPU and virtualisation. Each group has the number of its
    /// machines, and the requests that these machines send over TCP.
    pub conditions: Listed<Machines>,
    /// Pairs of client and server that use another transport than a week ago.
    pub movers: Listed<Mover>,
    /// Machines from which no report has arrived for some time.
    pub silent: Listed<Silent>,
    /// Machines that report under the same number in turn.
    pub shared: Listed<Shared>,
}

/// A client on a machine that uses TCP.
#[derive(Debug, Clone)]
pub struct Payer {
    pub host_id: String,
    pub host: String,
    pub client: String,
    pub server: String,
    pub connections: u64,
    pub requests_per_s: f64,
    pub has_socket: bool,
    /// Whether a switch had moved the client to the socket before.
    pub fell_back: bool,
    /// When the client was observed, on the machine's own clock, in seconds since 1970.
    pub at_s: i64,
}

/// How much CPU time TCP adds to a request to a machine's server.
#[derive(Debug, Clone)]
pub struct Measured {
    pub host_id: String,
    pub host: String,
    pub server: String,
    pub server_version: String,
    /// Kernel release.
    pub kernel: String,
    pub cpu_model: String,
    /// Whether the machine is virtual: `yes`, `no`, or empty if it is not known.
    pub virtualised: String,
    /// The CPU time that TCP adds, in µs.
    pub cpu_us: Estimate,
    pub effect: Effect,
}

/// A pair of client and server on one machine. The client now uses another transport to the server than a week ago.
#[derive(Debug, Clone)]
pub struct Mover {
    pub host_id: String,
    pub host: String,
    pub client: String,
    pub server: String,
    /// The transport a week ago: `socket`, `tcp`, or `both`.
    pub before: String,
    /// The current transport: `socket`, `tcp`, or `both`.
    pub now: String,
    /// `to socket` or `to tcp`.
    pub direction: String,
    pub requests_per_s: Option<f64>,
}

#[derive(Debug, Clone)]
pub struct Machines {
    /// Kernel release.
    pub kernel: String,
    pub cpu_model: String,
    /// Whether the machine is virtual: `yes`, `no`, or empty if it is not known.
    pub virtualised: String,
    pub hosts: u64,
    pub tcp_requests_per_s: f64,
}

impl Answers {
    /// Sends the queries over two connections in parallel; `open` makes a connection. An engine executes a query on one
    /// core, and the two halves of the queries take about the same time.
    ///
    /// # Errors
    /// The same as those of [`Collector::open`] and [`Collector::ask`].
    pub fn of(open: impl Fn() -> Result<Collector, FleetError> + Sync) -> Result<Self, FleetError> {
        let (now, before) = thread::scope(|threads| {
            let before = threads.spawn(|| movers(&mut open()?));
            let now = open().and_then(|mut collector| now(&mut collector));
            (now, before.join())
        });
        let movers = before.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(Self { movers, ..now? })
    }
}

fn now(collector: &mut Collector) -> Result<Answers, FleetError> {
    let by_rate = [Order::Down("requests_per_s"), Order::Up("host")];
    let by_days = [Order::Down("days"), Order::Up("host")];
    let payers = ask(collector, "payers", &PAYER, &by_rate, 0)?;
    let measured = ask(collector, "measurements", &MEASURED, &[Order::Down("received")], 0)?;
    let conditions = ask(collector, "conditions", &MACHINES, &[Order::Down("hosts")], 0)?;
    let silent = ask(collector, "silent_hosts", &SILENT, &by_days, MOST_LISTED)?;
    let by_id = [Order::Up("host_id"), Order::Up("host")];
    let shared = ask(collector, "shared_ids", &SHARED, &by_id, MOST_LISTED)?;
    Ok(Answers {
        payers: listed(payers, payer),
        measured: listed(measured, self::measured),
        conditions: listed(conditions, machines),
        silent: listed(silent, self::silent),
        shared: listed(shared, self::shared),
        movers: Listed::default(),
    })
}

/// Returns the pairs that use another transport than a week ago.
fn movers(collector: &mut Collector) -> Result<Listed<Mover>, FleetError> {
    let by_rate = [Order::Down("requests_per_s"), Order::Up("host")];
    let rows = ask(collector, "movers", &MOVER, &by_rate, MOST_LISTED)?;
    Ok(listed(rows, mover))
}

fn ask(
    collector: &mut Collector,
    view: &str,
    columns: &[&str],
    order: &[Order<'_>],
    limit: u32,
) -> Result<Rows, FleetError> {
    collector.ask(&Question { view, columns, only: None, order, limit })
}

const PAYER: [&str; 9] =
    ["host_id", "host", "client", "server", "connections", "requests_per_s", "has_socket", "fell_back", "at"];
pub(super) const MEASURED: [&str; 12] = [
    "host_id",
    "host",
    "server",
    "server_version",
    "kernel",
    "cpu_model",
    "virtualised",
    "cpu_us",
    "cpu_us_lo",
    "cpu_us_hi",
    "alpha",
    "epochs",
];
const MACHINES: [&str; 5] = ["kernel", "cpu_model", "virtualised", "hosts", "tcp_requests_per_s"];
const MOVER: [&str; 8] = ["host_id", "host", "client", "server", "before", "now", "direction", "requests_per_s"];
const SILENT: [&str; 2] = ["host", "days"];
const SHARED: [&str; 3] = ["host_id", "host", "reports"];

fn payer(row: &mut Cells) -> Option<Payer> {
    Some(Payer {
        host_id: row.text()?,
        host: row.text()?,
        client: row.text()?,
        server: row.text()?,
        connections: row.count()?,
        requests_per_s: row.number().unwrap_or(0.0).clamp(0.0, MOST_NUMBER),
        has_socket: row.flag()?,
        fell_back: row.flag()?,
        at_s: row.seconds()?,
    })
}

/// Returns a measurement; `None` if it has no variance, because its precision is then unknown.
pub(super) fn measured(row: &mut Cells) -> Option<Measured> {
    let [host_id, host, server, server_version] = [row.text()?, row.text()?, row.text()?, row.text()?];
    let (kernel, cpu_model, virtualised) = (row.text()?, row.text()?, row.text()?);
    let (value, lo, hi) = (row.number()?, row.number()?, row.number()?);
    let alpha = row.number()?;
    let cpu_us = Estimate { value, lo, hi, n: usize::try_from(row.count()?).ok()? };
    let is_one = ALPHAS.contains(&alpha) && lo <= value && value <= hi && [lo, hi].into_iter().all(is_within);
    let effect = Effect::from_interval(&cpu_us, alpha).ok();
    effect.filter(|_| is_one).map(|effect| Measured {
        host_id,
        host,
        server,
        server_version,
        kernel: release(&kernel),
        cpu_model,
        virtualised,
        cpu_us,
        effect,
    })
}

fn machines(row: &mut Cells) -> Option<Machines> {
    Some(Machines {
        kernel: release(&row.text()?),
        cpu_model: row.text()?,
        virtualised: row.text()?,
        hosts: row.count()?,
        tcp_requests_per_s: row.number().unwrap_or(0.0),
    })
}

fn mover(row: &mut Cells) -> Option<Mover> {
    Some(Mover {
        host_id: row.text()?,
        host: row.text()?,
        client: row.text()?,
        server: row.text()?,
        before: row.text()?,
        now: row.text()?,
        direction: row.text()?,
        requests_per_s: row.number(),
    })
}

fn silent(row: &mut Cells) -> Option<Silent> {
    Some(Silent { host: row.text()?, days: row.count()? })
}

fn shared(row: &mut Cells) -> Option<Shared> {
    Some(Shared { host_id: row.text()?, host: row.text()?, reports: row.count()? })
}

/// Returns the release of a kernel without the text that its builder added.
fn release(kernel: &str) -> String {
    kernel.split_whitespace().find(|word| *word != "Linux").unwrap_or_default().to_owned()
}
