//! What the typed arguments mean: checked, defaults filled in, nothing opened yet.

mod echo;
pub(crate) mod exec;
pub(crate) mod load;
pub(crate) mod target;
pub(crate) mod tool;
pub(crate) mod waits;

use std::path::PathBuf;
use std::time::Duration;

use looptax_bench::{ClientModel, Distribution, Placement};
use looptax_path::Arm;
use looptax_servers::{Kind, find_binary};
use looptax_wire::Sent;

use crate::args::{CompareArgs, ProtocolWord};
use crate::failure::Failure;
pub(crate) use echo::EchoAsked;
use exec::Exec;
use load::Load;
use target::TargetSpec;
use waits::Waits;

/// The echo server's workload of long requests.
const STREAM: &str = "stream";
/// The workload of connections.
const CONNECT: &str = "connect";
/// The workload of whole tables.
const DUMP: &str = "dump";
/// Up to so many connections a thread for each is the default.
const MOST_THREADS: u32 = 64;
/// More connections than this are a slip of the finger.
const MOST_CONNECTIONS: u32 = 16_384;

/// When to stop measuring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Looks after 10 to 120 epochs.
    Full,
    /// Looks after 10, 20 and 40 epochs.
    Quick,
    /// Full, until the interval is narrow.
    Precise,
    /// One look after so many epochs.
    Epochs(usize),
    /// One look after so much time.
    Time(Duration),
}

/// What is asked of the server, and how.
#[derive(Debug, Clone)]
pub(crate) struct Requests {
    /// A word of `--list`; `None` for the server's default.
    pub(crate) workload: Option<String>,
    pub(crate) sent: Sent,
    pub(crate) pipeline: u32,
    pub(crate) value_bytes: Option<usize>,
    /// A script's variables, `name=value`.
    pub(crate) defined: Vec<String>,
    pub(crate) distribution: Distribution,
    pub(crate) echo: EchoAsked,
    /// Requests of one connection, where it is then opened anew.
    pub(crate) reconnect_every: Option<u32>,
}

impl Requests {
    fn new(args: &CompareArgs) -> Result<Self, Failure> {
        Ok(Self {
            workload: args.workload.clone(),
            sent: match args.protocol {
                ProtocolWord::Prepared => Sent::Prepared,
                ProtocolWord::Text => Sent::Text,
            },
            pipeline: args.pipeline,
            value_bytes: args.value_size.map(|bytes| bytes as usize),
            defined: args.define.clone(),
            distribution: distribution(&args.distribution)?,
            echo: EchoAsked::new(&args.echo)?,
            reconnect_every: args.reconnect_every,
        })
    }

    /// Whether requests bring their own connections.
    pub(crate) fn are_connects(&self) -> bool {
        self.workload.as_deref() == Some(CONNECT) || self.reconnect_every.is_some()
    }

    /// Whether a request is a whole table, which may take minutes.
    pub(crate) fn are_dumps(&self) -> bool {
        self.workload.as_deref() == Some(DUMP)
    }

    /// The way to wait where nothing is said, for workloads that spend their time otherwise.
    fn usual_client(&self) -> Option<ClientModel> {
        match self.workload.as_deref() {
            _ if self.are_connects() => Some(ClientModel::Block),
            Some(STREAM) => Some(ClientModel::Block),
            _ => None,
        }
    }
}

impl Default for Requests {
    /// The server's own workload, prepared, one by one.
    fn default() -> Self {
        Self {
            workload: None,
            sent: Sent::Prepared,
            pipeline: 1,
            value_bytes: None,
            defined: Vec::new(),
            distribution: Distribution::Uniform,
            echo: EchoAsked::default(),
            reconnect_every: None,
        }
    }
}

/// `uniform` or `zipf:S`.
fn distribution(typed: &str) -> Result<Distribution, Failure> {
    let exponent = typed
        .strip_prefix("zipf:")
        .and_then(|text| text.parse::<f64>().ok())
        .filter(|exponent| (0.01..=10.0).contains(exponent));
    match (typed, exponent) {
        ("uniform", _) => Ok(Distribution::Uniform),
        (_, Some(exponent)) => Ok(Distribution::Zipf(exponent)),
        _ => Err(Failure::usage(
            format!("`--distribution {typed}` is neither uniform nor zipf:S"),
            "for example zipf:0.99; S from 0.01 to 10",
        )),
    }
}

/// How the client was asked to wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Clients {
    /// As these models do.
    Models(Vec<ClientModel>),
    /// As clients called so do; which ones depends on the server.
    Like(Vec<String>),
}

/// Everything `compare` was asked for.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an option that is typed or not"
)]
pub(crate) struct Compare {
    pub(crate) targets: Vec<TargetSpec>,
    /// The baseline first.
    pub(crate) arms: Vec<Arm>,
    pub(crate) connections: Option<Vec<u32>>,
    pub(crate) requests: Requests,
    pub(crate) load: Load,
    /// Cap of the latencies kept in memory and beside the record.
    pub(crate) sample_bytes: usize,
    /// Whether the connections are a sweep, of one client model throughout.
    pub(crate) is_sweep: bool,
    /// `None`: same is judged, the others looked at.
    pub(crate) placements: Option<Vec<Placement>>,
    pub(crate) clients: Option<Clients>,
    pub(crate) socket: Option<PathBuf>,
    pub(crate) rows: u32,
    pub(crate) effort: Effort,
    pub(crate) slice: Option<Duration>,
    pub(crate) warm_up: Option<Duration>,
    pub(crate) seed: u64,
    pub(crate) may_write: bool,
    pub(crate) is_own_server: bool,
    pub(crate) is_agreed: bool,
    /// Whole commands instead of requests.
    pub(crate) exec: Option<Exec>,
}

impl Compare {
    /// Checks the arguments and fills in what was left open.
    pub(crate) fn new(args: &CompareArgs) -> Result<Self, Failure> {
        let exec = Exec::new(&args.exec)?;
        let targets = if args.targets.is_empty() && exec.is_none() {
            installed(&args.client_like)?
        } else {
            args.targets
                .iter()
                .map(|word| target::parse(word))
                .collect::<Result<_, _>>()?
        };
        let effort = effort(args)?;
        let load = Load::new(args)?;
        let sweep = args.sweep.as_deref().map(sweep).transpose()?;
        let asked = connections(&args.connections)?;
        let requests = Requests::new(args)?;
        check_flat_out(&requests, &load)?;
        check_connects(&requests, args)?;
        if requests.are_dumps() {
            check_dumps(args, effort)?;
        }
        Ok(Self {
            targets,
            arms: arms(args)?,
            connections: sweep.clone().or(asked),
            requests,
            sample_bytes: (args.max_samples as usize) << 20,
            load,
            is_sweep: sweep.is_some(),
            placements: words(&args.placement, "--placement")?,
            clients: clients(args)?,
            socket: args.socket.clone(),
            rows: args.rows,
            effort,
            warm_up: args.warm_up.as_deref().map(warm_up).transpose()?,
            slice: args.slice_ms.map(|ms| Duration::from_millis(u64::from(ms))),
            seed: seed(args.seed.as_deref())?,
            may_write: args.write,
            is_own_server: args.own_server,
            is_agreed: args.yes,
            exec,
        })
    }

    /// How the client waits for a server of this kind at a number of connections.
    ///
    /// # Errors
    /// A usage failure when a client that was asked for does not talk to it, or does not go with the load.
    pub(crate) fn clients_for(&self, kind: &str, connections: u32) -> Result<Vec<Waits>, Failure> {
        let clients: Vec<Waits> = match &self.clients {
            Some(Clients::Like(words)) => words
                .iter()
                .map(|word| waits::like(word, kind))
                .collect::<Result<_, _>>()?,
            Some(Clients::Models(models)) => models.iter().copied().map(Waits::As).collect(),
            None => self.default_clients(connections),
        };
        let on_arms = |client: &Waits| self.arms.iter().map(|arm| client.on(*arm)).collect();
        let models: Vec<Vec<ClientModel>> = clients.iter().map(on_arms).collect();
        check_clients(&self.load, &models.concat())?;
        Ok(clients)
    }

    fn default_clients(&self, connections: u32) -> Vec<Waits> {
        let is_event = match self.load {
            Load::Open { .. } => true,
            Load::Closed { think } => {
                think.is_zero() && (connections > MOST_THREADS || self.is_sweep)
            }
        };
        let default = match self.requests.usual_client() {
            Some(usual) if !is_event || self.requests.are_connects() => usual,
            _ if is_event => ClientModel::Event,
            _ => ClientModel::Poll,
        };
        let both = self.is_sweep
            && connections == MOST_THREADS
            && self.load.is_flat_out()
            && self.requests.usual_client().is_none();
        if both {
            // Where the default changes from one model to the other.
            vec![Waits::As(default), Waits::As(ClientModel::Poll)]
        } else {
            vec![Waits::As(default)]
        }
    }
}

/// A private server of every kind that is installed; echo always is. With `--client-like` those that
/// such clients talk to.
fn installed(client_like: &[String]) -> Result<Vec<TargetSpec>, Failure> {
    // memcached is measured when it is named: a bare run keeps to five minutes.
    let is_wanted = |kind: &Kind| *kind != Kind::Memcached;
    let is_installed = |kind: &Kind| is_wanted(kind) && find_binary(*kind).is_some();
    let kinds = Kind::ALL.into_iter().filter(is_installed);
    let mut specs = Vec::new();
    let mut objection = None;
    for kind in kinds {
        let mut words = client_like.iter();
        match words.try_for_each(|word| waits::like(word, kind.name()).map(drop)) {
            Ok(()) => specs.push(TargetSpec::Private(kind)),
            Err(failure) => objection = objection.or(Some(failure)),
        }
    }
    match objection {
        Some(failure) if specs.is_empty() => Err(failure),
        _ => Ok(specs),
    }
}

/// `--seed`, or a new one.
pub(crate) fn seed(typed: Option<&str>) -> Result<u64, Failure> {
    if let Some(hex) = typed {
        u64::from_str_radix(hex.trim_start_matches("0x"), 16).map_err(|_| {
            Failure::usage(
                format!("`--seed {hex}` is not a hexadecimal number"),
                "take it from a record",
            )
        })
    } else {
        let mut bytes = [0; 8];
        rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
        Ok(u64::from_ne_bytes(bytes))
    }
}

fn arms(args: &CompareArgs) -> Result<Vec<Arm>, Failure> {
    let known = "known arms are unix and tcp";
    let mut arms: Vec<Arm> = words(&args.arms, "--arms")?.unwrap_or_default();
    if let Some(word) = &args.baseline {
        let baseline: Arm = word.parse().map_err(|error| Failure::usage(error, known))?;
        let Some(idx) = arms.iter().position(|arm| *arm == baseline) else {
            return Err(Failure::usage(
                format!("the baseline `{word}` is not among --arms"),
                known,
            ));
        };
        arms.swap(0, idx);
    }
    if arms.len() < 2 {
        return Err(Failure::usage(
            "a comparison needs two arms",
            "for example --arms unix,tcp; unix,unix is an A/A run",
        ));
    }
    Ok(arms)
}

fn connections(typed: &[u32]) -> Result<Option<Vec<u32>>, Failure> {
    match typed.iter().find(|n| **n == 0 || **n > MOST_CONNECTIONS) {
        Some(n) => Err(Failure::usage(
            format!("`-c {n}` is not a number of connections"),
            format!("from 1 to {MOST_CONNECTIONS}, for example -c 1,16"),
        )),
        None => Ok((!typed.is_empty()).then(|| typed.to_vec())),
    }
}

/// What takes as long as a stream has no rate to be kept.
fn check_flat_out(requests: &Requests, load: &Load) -> Result<(), Failure> {
    match requests.workload.as_deref() {
        Some(word @ (STREAM | CONNECT | DUMP)) if !load.is_flat_out() => Err(Failure::usage(
            format!("--rate and --think do not apply to `{word}`"),
            "it runs as fast as it can",
        )),
        _ if requests.reconnect_every.is_some() && !load.is_flat_out() => Err(Failure::usage(
            "--reconnect-every goes with a closed loop without pauses",
            "leave --rate and --think out",
        )),
        _ => Ok(()),
    }
}

/// Client threads that wait for one answer cannot keep to a schedule, and one that serves many
/// connections cannot pause for one of them.
fn check_clients(load: &Load, clients: &[ClientModel]) -> Result<(), Failure> {
    let is_event = |model: &ClientModel| *model == ClientModel::Event;
    match load {
        Load::Open { .. } if !clients.iter().all(is_event) => Err(Failure::usage(
            "a thread that waits for its answer cannot send at a rate",
            "--rate goes with --client event, its default",
        )),
        Load::Closed { think } if !think.is_zero() && clients.iter().any(is_event) => {
            Err(Failure::usage(
                "--think needs a thread for each connection",
                "--client poll, poll-first or block",
            ))
        }
        _ => Ok(()),
    }
}

/// `1..1024`: the ends, and the powers of two between them.
fn sweep(typed: &str) -> Result<Vec<u32>, Failure> {
    let ends = typed
        .split_once("..")
        .and_then(|(from, to)| Some((from.parse::<u32>().ok()?, to.parse::<u32>().ok()?)));
    match ends {
        Some((from @ 1.., to @ ..=MOST_CONNECTIONS)) if from < to => {
            let powers = (0..32).map(|power| 1_u32 << power);
            let between = powers.filter(|n| (from + 1..to).contains(n));
            Ok([from].into_iter().chain(between).chain([to]).collect())
        }
        _ => Err(Failure::usage(
            format!("`--sweep {typed}` is no range of connections"),
            format!("for example --sweep 1..1024; {MOST_CONNECTIONS} at most"),
        )),
    }
}

fn clients(args: &CompareArgs) -> Result<Option<Clients>, Failure> {
    if !args.client_like.is_empty() {
        return Ok(Some(Clients::Like(args.client_like.clone())));
    }
    if args.client.iter().any(|word| word == "all") {
        return Ok(Some(Clients::Models(ClientModel::ALL.to_vec())));
    }
    Ok(words(&args.client, "--client")?.map(Clients::Models))
}

/// A dump is as long as it is, and has the server to itself.
fn check_dumps(args: &CompareArgs, effort: Effort) -> Result<(), Failure> {
    if matches!(effort, Effort::Time(_)) {
        return Err(Failure::usage(
            "how long a dump takes is not known beforehand",
            "give a number of epochs, of four dumps each: --fixed 6",
        ));
    }
    if args.slice_ms.is_some() {
        return Err(Failure::usage(
            "--slice-ms does not apply to `dump`: whole dumps are compared",
            "--rows chooses how long they are",
        ));
    }
    if args.connections.iter().any(|n| *n != 1) || args.sweep.is_some() {
        return Err(Failure::usage(
            "`dump` runs one dump at a time",
            "leave -c and --sweep out",
        ));
    }
    Ok(())
}

/// A login is a conversation of its own, in which nobody polls.
fn check_connects(requests: &Requests, args: &CompareArgs) -> Result<(), Failure> {
    if !requests.are_connects() {
        return Ok(());
    }
    let models = args.client.iter().filter(|word| *word != "block");
    let models = models.map(|word| format!("--client {word}"));
    let likes = args.client_like.iter();
    let likes = likes.map(|word| format!("--client-like {word}"));
    match models.chain(likes).next() {
        Some(typed) => Err(Failure::usage(
            format!(
                "{typed} does not apply to `connect` or --reconnect-every: their client blocks in every step"
            ),
            "leave it out",
        )),
        None => Ok(()),
    }
}

fn words<T: std::str::FromStr<Err = String>>(
    typed: &[String],
    option: &str,
) -> Result<Option<Vec<T>>, Failure> {
    let parsed: Result<Vec<T>, String> = typed.iter().map(|word| word.parse()).collect();
    let parsed = parsed.map_err(|error| {
        Failure::usage(
            format!("{option}: {error}"),
            "looptax compare --help lists them",
        )
    })?;
    Ok((!parsed.is_empty()).then_some(parsed))
}

fn effort(args: &CompareArgs) -> Result<Effort, Failure> {
    if let Some(fixed) = &args.fixed {
        return fixed_effort(fixed);
    }
    Ok(
        match (args.quick || args.targets.is_empty(), args.precise) {
            (_, true) => Effort::Precise,
            (true, _) => Effort::Quick,
            _ => Effort::Full,
        },
    )
}

/// `10s`, `2m` or a number of epochs.
fn fixed_effort(typed: &str) -> Result<Effort, Failure> {
    let unit = typed.trim_start_matches(|c: char| c.is_ascii_digit());
    let number: Option<u64> = typed[..typed.len() - unit.len()].parse().ok();
    match (number, unit) {
        (Some(epochs @ 6..=10_000), "") => Ok(Effort::Epochs(epochs as usize)),
        (Some(seconds @ 1..=86_400), "s") => Ok(Effort::Time(Duration::from_secs(seconds))),
        (Some(minutes @ 1..=1_440), "m") => Ok(Effort::Time(Duration::from_secs(60 * minutes))),
        _ => Err(Failure::usage(
            format!("`--fixed {typed}` is neither a time nor a number of epochs"),
            "for example --fixed 10s, or --fixed 20 (at least 6 epochs)",
        )),
    }
}

/// `0s`, `5s`, `2m`.
fn warm_up(typed: &str) -> Result<Duration, Failure> {
    let unit = typed.trim_start_matches(|c: char| c.is_ascii_digit());
    let number: Option<u64> = typed[..typed.len() - unit.len()].parse().ok();
    match (number, unit) {
        (Some(seconds @ ..=3_600), "s") => Ok(Duration::from_secs(seconds)),
        (Some(minutes @ ..=60), "m") => Ok(Duration::from_secs(60 * minutes)),
        _ => Err(Failure::usage(
            format!("`--warm-up {typed}` is not a time"),
            "for example --warm-up 5s; an hour at most",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(typed: &str, expected: Option<Effort>) {
        assert_eq!(fixed_effort(typed).ok(), expected, "{typed}");
    }

    #[test]
    fn fixed_is_a_time_or_a_number_of_epochs() {
        check("10s", Some(Effort::Time(Duration::from_secs(10))));
        check("2m", Some(Effort::Time(Duration::from_mins(2))));
        check("20", Some(Effort::Epochs(20)));
        check("5", None); // six is the least that gives an interval
        check("0s", None);
        check("x", None);
        check("", None);
    }

    #[test]
    fn a_sweep_has_both_ends_and_the_powers_of_two_between() {
        assert_eq!(sweep("1..16").unwrap(), [1, 2, 4, 8, 16]);
        assert_eq!(sweep("3..20").unwrap(), [3, 4, 8, 16, 20]);
        for wrong in ["1", "16..1", "0..4", "a..b", "1..99999", ""] {
            assert!(sweep(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn zero_connections_are_refused() {
        assert!(connections(&[1, 0]).is_err());
        assert_eq!(connections(&[]).unwrap(), None);
    }
}
