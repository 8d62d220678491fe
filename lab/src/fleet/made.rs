//! The simulated fleet: hosts, pairs of clients and servers, the true cost of TCP for each pair, and the lines of the
//! hosts' reports.

use std::collections::HashSet;

use looptax_fleet::{Batch, Column, Kind, Row, SCHEMA_VERSION, TABLES, Table, Value, to_lines};
use rand_core::SeedableRng;
use rand_distr::{Distribution, StandardNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

/// The servers: name, time that TCP adds to a request (mean, and spread between machines, in µs), and client program.
const SERVERS: [(&str, f64, f64, &str); 4] = [
    ("mariadb", 3.6, 0.7, "php-fpm"),
    ("postgres", 2.8, 0.4, "gunicorn"),
    ("redis", 2.5, 0.5, "php-fpm"),
    ("memcached", 2.4, 0.4, "php-fpm"),
];
/// The kernels, and the time that each adds to the mean of every server, in µs.
const KERNELS: [(&str, f64); 3] = [("5.10.0-28", 0.5), ("6.1.0-18", 0.0), ("6.12.3", -0.2)];
const CPUS: [&str; 4] = ["EPYC 7502P", "EPYC 9354P", "Xeon Gold 6230", "Xeon E5-2680 v4"];
/// Mean and standard deviation of the logarithm of the requests per second.
const RATES: (f64, f64) = (5.0, 1.7);
/// Standard error of a measurement in µs. A measurement has twelve epochs, so t(11) is 2.201 at 5 %.
const ERROR_US: f64 = 0.2;
const EPOCHS: u64 = 12;
const T: f64 = 2.201;
/// Percentage of the pairs that use the socket from the beginning.
const ON_SOCKET: u32 = 40;
/// Pairs per thousand that move to the socket before the last report, and pairs per thousand that return to TCP.
const MOVE: u32 = 20;
const FALL: u32 = 1;
/// Number of clients at the top of the ranking that are compared.
pub(super) const N_TOP: usize = 20;
const DAY_MS: i64 = 86_400_000;
/// Time of the last report: 2026-11-20, noon, UTC.
const LAST_MS: i64 = 1_795_176_000_000;

/// The size of the fleet, and the seed from which it is made.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub(super) n_hosts: u32,
    pub(super) n_looks: u32,
    pub(super) one_measured_in: u32,
    pub(super) seed: u64,
}

pub(super) struct Made {
    shape: Shape,
    hosts: Vec<Host>,
}

struct Host {
    kernel: &'static str,
    cpu: &'static str,
    is_measured: bool,
    pairs: Vec<Pair>,
}

struct Pair {
    server: &'static str,
    client: &'static str,
    requests_per_s: f64,
    /// The time that TCP really adds, in µs; `measured_us` is the measurement of this time.
    truth_us: f64,
    measured_us: f64,
    way: Way,
}

#[derive(Clone, Copy, PartialEq)]
enum Way {
    Socket,
    Tcp,
    /// The pair moves to the socket before the last report.
    Moves,
    /// The pair uses the socket until the last report, in which it uses TCP again.
    Falls,
}

pub(super) struct Truth {
    pub(super) n_hosts: u64,
    pub(super) n_over_tcp: u64,
    pub(super) n_fallen: u64,
    pub(super) n_moved: u64,
    pub(super) requests_per_s: f64,
    pub(super) cores: f64,
    top: HashSet<(String, &'static str, &'static str)>,
}

impl Truth {
    pub(super) fn is_top(&self, (host, client, server): (&str, &str, &str)) -> bool {
        let mut top = self.top.iter();
        top.any(|it| it.0 == host && it.1 == client && it.2 == server)
    }
}

pub(super) struct Lines {
    pub(super) text: String,
    pub(super) n_findings: u32,
}

impl Made {
    pub(super) fn new(shape: Shape) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(shape.seed);
        let hosts = (0..shape.n_hosts).map(|idx| host(idx, &mut rng));
        let mut hosts: Vec<Host> = hosts.collect();
        let mut busiest: Vec<&mut Host> = hosts.iter_mut().collect();
        busiest.sort_by(|one, other| other.requests_per_s().total_cmp(&one.requests_per_s()));
        // Half of the measured hosts are the busiest; the others are chosen at random.
        let n_measured = shape.n_hosts / shape.one_measured_in;
        for (rank, host) in busiest.into_iter().enumerate() {
            let lot = mixed(rank as u32, 10) % (2 * shape.one_measured_in);
            host.is_measured = rank as u32 <= n_measured / 2 || lot == 0;
        }
        Self { shape, hosts }
    }

    pub(super) fn report(&mut self, host_idx: u32, look: u32) -> Lines {
        let host = &self.hosts[host_idx as usize];
        let is_last = look + 1 == self.shape.n_looks;
        let looks_left = i64::from(self.shape.n_looks - 1 - look);
        let at = Value::Time(LAST_MS - looks_left * 365 * DAY_MS / i64::from(self.shape.n_looks));
        let report_id = text(&format!("{:08x}{host_idx:08x}{look:016x}", self.shape.seed));
        let common = [("report_id", report_id.clone()), ("host_id", text(&format!("{host_idx:032x}"))), ("at", at)];
        let [findings, verdicts, reports] = TABLES;
        let pairs = host.pairs.iter().enumerate();
        let findings: Vec<Row> =
            pairs.clone().map(|(n, pair)| row(findings, &common, &finding(n, pair, is_last))).collect();
        let verdicts: Vec<Row> = pairs
            .filter(|_| host.is_measured && look == 0)
            .map(|(n, pair)| row(verdicts, &common, &verdict(n, pair, host)))
            .collect();
        let n_findings = findings.len() as u32;
        let extent = [
            ("host", text(&name(host_idx))),
            ("looptax", text("0.1.0")),
            ("kernel", text(host.kernel)),
            ("cpu_model", text(host.cpu)),
            ("cpus", Value::Count(16)),
            ("sees_all", Value::Flag(true)),
            ("servers", Value::Count(host.pairs.len() as u64)),
            ("findings", Value::Count(u64::from(n_findings))),
            ("verdicts", Value::Count(verdicts.len() as u64)),
        ];
        let report = row(reports, &common, &extent);
        let Value::Text(report_id) = report_id else {
            unreachable!("it was made of a text");
        };
        let batch = Batch { report_id, rows: [findings, verdicts, vec![report]] };
        Lines { text: to_lines(&batch), n_findings }
    }

    pub(super) fn truth(&self) -> Truth {
        let hosts = self.hosts.iter().enumerate();
        let paying = hosts.flat_map(|(idx, host)| host.pairs.iter().map(move |pair| (idx, pair)));
        let paying: Vec<(usize, &Pair)> = paying.filter(|(_, pair)| pair.way.pays_now()).collect();
        let cost = |pair: &Pair| pair.requests_per_s * pair.truth_us / 1e6;
        let mut by_cost: Vec<&(usize, &Pair)> = paying.iter().collect();
        by_cost.sort_by(|one, other| cost(other.1).total_cmp(&cost(one.1)));
        let top = by_cost.iter().take(N_TOP);
        let top = top.map(|(idx, pair)| (name(*idx as u32), pair.client, pair.server));
        let over_tcp: HashSet<usize> = paying.iter().map(|it| it.0).collect();
        let count = |way| {
            let pairs = self.hosts.iter().flat_map(|it| &it.pairs);
            pairs.filter(|it| it.way == way).count() as u64
        };
        Truth {
            n_hosts: self.hosts.len() as u64,
            n_over_tcp: over_tcp.len() as u64,
            n_fallen: count(Way::Falls),
            n_moved: count(Way::Falls) + count(Way::Moves),
            requests_per_s: paying.iter().map(|it| it.1.requests_per_s).sum(),
            cores: paying.iter().map(|it| cost(it.1)).sum(),
            top: top.collect(),
        }
    }
}

impl Host {
    fn requests_per_s(&self) -> f64 {
        let paying = self.pairs.iter().filter(|it| it.way.pays_now());
        paying.map(|it| it.requests_per_s).sum()
    }
}

impl Way {
    fn pays_now(self) -> bool {
        matches!(self, Self::Tcp | Self::Falls)
    }

    fn is_tcp(self, is_last: bool) -> bool {
        match self {
            Self::Socket => false,
            Self::Tcp => true,
            Self::Moves => !is_last,
            Self::Falls => is_last,
        }
    }
}

fn host(idx: u32, rng: &mut Xoshiro256PlusPlus) -> Host {
    let mut normal = || -> f64 { StandardNormal.sample(rng) };
    let (kernel, of_kernel) = KERNELS[mixed(idx, 1) as usize % KERNELS.len()];
    let n_pairs = 1 + mixed(idx, 2) as usize % SERVERS.len();
    let pairs = SERVERS.iter().take(n_pairs).enumerate();
    let pairs = pairs.map(|(n, (server, mean, spread, client))| {
        let truth_us = mean + of_kernel + spread * normal();
        Pair {
            server,
            client,
            requests_per_s: (RATES.0 + RATES.1 * normal()).exp(),
            truth_us,
            measured_us: truth_us + ERROR_US * normal(),
            way: way(mixed(idx, 3 + n as u32)),
        }
    });
    Host { kernel, cpu: CPUS[mixed(idx, 9) as usize % CPUS.len()], pairs: pairs.collect(), is_measured: false }
}

fn way(lot: u32) -> Way {
    if lot % 100 < ON_SOCKET {
        return Way::Socket;
    }
    match (lot / 100) % 1000 {
        it if it < MOVE => Way::Moves,
        it if it < MOVE + FALL => Way::Falls,
        _ => Way::Tcp,
    }
}

/// Returns a number that looks random, but is always the same for the same host and question.
fn mixed(host: u32, question: u32) -> u32 {
    let mut word = u64::from(host) << 32 | u64::from(question);
    word = (word ^ (word >> 31)).wrapping_mul(0x7fb5_d329_728e_a185);
    word = (word ^ (word >> 27)).wrapping_mul(0x81da_def4_bc2d_d44d);
    (word >> 33) as u32
}

fn name(host_idx: u32) -> String {
    format!("host{host_idx:06}")
}

fn finding(n: usize, pair: &Pair, is_last: bool) -> Vec<(&'static str, Value)> {
    let is_tcp = pair.way.is_tcp(is_last);
    vec![
        ("n", Value::Count(n as u64)),
        ("server", text(pair.server)),
        ("has_socket", Value::Flag(true)),
        ("client", text(pair.client)),
        ("client_user", text("www-data")),
        ("way", text(if is_tcp { "loopback" } else { "unix" })),
        ("is_tcp", Value::Flag(is_tcp)),
        ("connections", Value::Count(8)),
        ("requests_per_s", Value::Number(Some(pair.requests_per_s))),
        ("fell_back", Value::Flag(is_last && pair.way == Way::Falls)),
    ]
}

fn verdict(n: usize, pair: &Pair, host: &Host) -> Vec<(&'static str, Value)> {
    let us = pair.measured_us;
    vec![
        ("run_id", text("20251125-000000-1")),
        ("n", Value::Count(n as u64)),
        ("server", text(pair.server)),
        ("server_version", text("1.0")),
        ("workload", text("point-select")),
        ("connections", Value::Count(1)),
        ("placement", text("same")),
        ("client_model", text("poll")),
        ("kernel", text(host.kernel)),
        ("cpu_model", text(host.cpu)),
        ("baseline", text("unix")),
        ("arm", text("tcp")),
        ("verdict", text("difference")),
        ("alpha", Value::Number(Some(0.05))),
        ("epochs", Value::Count(EPOCHS)),
        ("cpu_us", Value::Number(Some(us))),
        ("cpu_us_lo", Value::Number(Some(us - T * ERROR_US))),
        ("cpu_us_hi", Value::Number(Some(us + T * ERROR_US))),
        ("method_version", Value::Count(u64::from(SCHEMA_VERSION))),
    ]
}

fn text(words: &str) -> Value {
    Value::Text(words.to_owned())
}

/// Makes a row with these values; the other columns are empty.
fn row(table: &Table, common: &[(&str, Value)], values: &[(&str, Value)]) -> Row {
    let value = |column: &Column| {
        let mut given = common.iter().chain(values);
        let given = given.find(|it| it.0 == column.name);
        given.map_or_else(|| nothing(column.kind), |it| it.1.clone())
    };
    table.columns.iter().map(value).collect()
}

fn nothing(kind: Kind) -> Value {
    match kind {
        Kind::Word | Kind::Text => Value::Text(String::new()),
        Kind::Count => Value::Count(0),
        Kind::Number => Value::Number(None),
        Kind::Flag => Value::Flag(false),
        Kind::Time => Value::Time(0),
    }
}
