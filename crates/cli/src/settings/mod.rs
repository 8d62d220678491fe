//! What the typed arguments mean: checked, defaults filled in, nothing opened yet.

mod echo;
mod effort;
pub(crate) mod exec;
pub(crate) mod load;
pub(crate) mod remedies;
mod requests;
pub(crate) mod target;
mod time;
pub(crate) mod tool;
pub(crate) mod waits;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use looptax_bench::{ClientModel, Placement};
use looptax_failure::Failure;
use looptax_path::Arm;
use looptax_servers::{Kind, find_binary};

use crate::args::CompareArgs;
pub(crate) use echo::EchoAsked;
pub(crate) use effort::Effort;
use effort::{effort, warm_up};
use exec::Exec;
use load::Load;
pub(crate) use requests::Requests;
use requests::{check_connects, check_dumps, check_flat_out};
use target::TargetSpec;
use waits::Waits;

/// Up to so many connections a thread for each is the default.
const MOST_THREADS: u32 = 64;
/// More connections than this are a slip of the finger.
const MOST_CONNECTIONS: u32 = 16_384;

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
    /// Whether `tls` joins them on a server that offers it.
    pub(crate) adds_tls: bool,
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
    /// Unix sockets are reached from a namespace that shares their folder alone.
    pub(crate) is_from_namespace: bool,
    pub(crate) is_agreed: bool,
    /// Whole commands instead of requests.
    pub(crate) exec: Option<Exec>,
    /// What has not begun by then is left out.
    pub(crate) deadline: Option<Instant>,
}

impl Compare {
    /// Whether its time is over.
    pub(crate) fn is_over(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// One for each workload that was asked for.
    pub(crate) fn for_each_workload(args: &CompareArgs) -> Result<Vec<Self>, Failure> {
        let seed = format!("{:x}", seed(args.seed.as_deref())?);
        let workloads = requests::workloads(args.workload.as_deref()).into_iter();
        let settings = workloads.map(|workload| {
            Self::new(&CompareArgs {
                workload,
                seed: Some(seed.clone()),
                ..args.clone()
            })
        });
        settings.collect()
    }

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
            adds_tls: adds_tls(args),
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
            is_from_namespace: args.from_namespace,
            is_agreed: args.yes,
            exec,
            deadline: None,
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
            None => self.default_clients(kind, connections),
        };
        let on_arms = |client: &Waits| self.arms.iter().map(|arm| client.on(*arm)).collect();
        let models: Vec<Vec<ClientModel>> = clients.iter().map(on_arms).collect();
        check_clients(&self.load, &models.concat())?;
        Ok(clients)
    }

    /// The arms that are asked of a server, and the one among them that it may turn out not to have.
    ///
    /// TLS is on unless somebody turned it off in MySQL, whatever a running server may say.
    pub(crate) fn arms_for(&self, spec: &TargetSpec) -> (Vec<Arm>, Option<Arm>) {
        let may_offer = match spec {
            TargetSpec::Private(kind) => *kind == Kind::Mysql,
            TargetSpec::Running(_) => matches!(spec.kind(), "mysql" | "postgres"),
        };
        let mut arms = self.arms.clone();
        if !self.adds_tls || !may_offer {
            return (arms, None);
        }
        arms.push(Arm::Tls);
        (arms, Some(Arm::Tls))
    }

    fn default_clients(&self, kind: &str, connections: u32) -> Vec<Waits> {
        let is_event = match self.load {
            Load::Open { .. } => true,
            Load::Closed { think } => {
                think.is_zero() && (connections > MOST_THREADS || self.is_sweep)
            }
        };
        let default = match self.requests.usual_client() {
            Some(usual) if !is_event || self.requests.are_connects() => usual,
            _ if is_event => ClientModel::Event,
            _ => usual_model(kind),
        };
        let both = self.is_sweep
            && connections == MOST_THREADS
            && self.load.is_flat_out()
            && self.requests.usual_client().is_none();
        if both {
            // Where the default changes from one model to the other.
            vec![Waits::As(default), Waits::As(usual_model(kind))]
        } else {
            vec![Waits::As(default)]
        }
    }
}

/// As the C library of most programs waits that talk to this kind of server, as far as it polls:
/// libmariadb tries to receive first, libpq does not.
fn usual_model(kind: &str) -> ClientModel {
    match kind {
        "postgres" => ClientModel::PollFirst,
        _ => ClientModel::Poll,
    }
}

/// A private server for every protocol that is installed; echo always is. With `--client-like` those that
/// such clients talk to.
fn installed(client_like: &[String]) -> Result<Vec<TargetSpec>, Failure> {
    let is_there = |kind: Kind| find_binary(kind).is_some();
    // The others are measured when they are named: a bare run keeps to five minutes.
    let is_wanted = |kind: &Kind| match kind {
        Kind::Memcached => false,
        Kind::Mysql => !is_there(Kind::Mariadb),
        Kind::Valkey => !is_there(Kind::Redis),
        Kind::Mariadb | Kind::Postgres | Kind::Redis | Kind::Echo => true,
    };
    let is_installed = |kind: &Kind| is_wanted(kind) && is_there(*kind);
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
        rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
            .map_err(std::io::Error::from)?;
        Ok(u64::from_ne_bytes(bytes))
    }
}

/// Only in a plain run of a named server: whoever asks for a sweep or a schedule has enough to wait for.
fn adds_tls(args: &CompareArgs) -> bool {
    let exec = &args.exec;
    let has_commands = exec.exec.is_some() || exec.exec_unix.is_some();
    let has_rate = !args.rate.is_empty() || args.rate_sweep;
    let is_plain = !has_commands && !has_rate && args.sweep.is_none();
    args.arms.is_empty() && !args.targets.is_empty() && is_plain
}

fn arms(args: &CompareArgs) -> Result<Vec<Arm>, Failure> {
    let known = "looptax compare --help lists the arms";
    let mut arms: Vec<Arm> =
        words(&args.arms, "--arms")?.unwrap_or_else(|| vec![Arm::Unix, Arm::Tcp]);
    if let Some(word) = &args.baseline {
        let baseline: Arm = word.parse().map_err(|error| Failure::usage(error, known))?;
        let Some(idx) = arms.iter().position(|arm| *arm == baseline) else {
            return Err(Failure::usage(
                format!("the baseline `{word}` is not among --arms"),
                format!("for example --arms {word},unix --baseline {word}"),
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
            format!(
                "for example --sweep 1..1024: the smaller number first, {MOST_CONNECTIONS} at most"
            ),
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

#[cfg(test)]
mod tests {
    use super::*;

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
