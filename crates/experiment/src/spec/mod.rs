//! The description of an experiment: parsed and checked, with its defaults, but without opening anything.
//!
//! This module parses words in the form in which people type them; `line` prints the same forms.

mod check;
mod clients;
pub mod echo;
pub mod effort;
pub mod exec;
mod line;
pub mod load;
pub mod remedies;
pub mod requests;
pub mod target;
pub mod tool;
pub mod typed;
pub mod waits;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::servers::pooler::PoolMode;
use crate::servers::{find_binary, offers_tls_unasked};
use looptax_bench::{ClientModel, Placement};
use looptax_model::dsn::Arm;
use looptax_model::dsn::Kind;
use looptax_model::failure::Failure;
use looptax_model::record::RemedyKind;

pub use echo::EchoAsked;
pub use effort::{DELTA, Effort};
use exec::Exec;
use load::Load;
pub use requests::Requests;
use target::TargetSpec;

/// Maximum number of connections; a larger number is probably a typing error.
const MOST_CONNECTIONS: u32 = 16_384;
/// Default number of rows or keys of a private server.
pub const ROWS: u32 = 100_000;
/// Maximum memory for the latencies that are kept, in MiB.
pub const MOST_SAMPLES_MIB: u32 = 256;

/// How the user wants the client to wait for replies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Clients {
    /// All client models, compared in one interleaved schedule.
    All,
    Models(Vec<ClientModel>),
    /// Waits in the same way as the clients with these names; which names are possible depends on the server.
    Like(Vec<String>),
}

/// The single description of a comparison: its arms, servers and load.
///
/// An experiment is made from arguments or by code. [`Experiment::command`] returns the command line for the same
/// experiment.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each of these fields is an option of the command line")]
pub struct Experiment {
    /// The servers. Their comparisons are made one after the other.
    pub targets: Vec<TargetSpec>,
    /// The arms, the baseline first.
    pub arms: Vec<Arm>,
    /// Whether the arm `tls` is added on a server that offers TLS.
    pub adds_tls: bool,
    /// Connections per arm, one comparison for each number; `None` for the default numbers.
    pub connections: Option<Vec<u32>>,
    pub requests: Requests,
    pub load: Load,
    /// Maximum number of bytes of latencies that are kept in memory and saved with the record.
    pub sample_bytes: usize,
    /// Whether the numbers of connections are a sweep, with the same client model for all of them.
    pub is_sweep: bool,
    /// The placements. With `None`, `same` gets a verdict, and each of the other placements gets only a glimpse.
    pub placements: Option<Vec<Placement>>,
    /// How the client waits for replies; `None` for the default.
    pub clients: Option<Clients>,
    /// The running server's socket; with `None`, the server is asked for its socket.
    pub socket: Option<PathBuf>,
    /// Number of rows or keys of a private server.
    pub rows: u32,
    pub pool_mode: PoolMode,
    pub effort: Effort,
    /// Length of a slice; `None` for the default.
    pub slice: Option<Duration>,
    /// Length of the warm-up; `None` for the default.
    pub warm_up: Option<Duration>,
    /// The seed for the order of slices.
    pub seed: u64,
    /// Whether looptax may create a scratch schema on a running server.
    pub may_write: bool,
    /// Whether the user has declared that no other client uses the running server, so that there are no load limits.
    pub is_own_server: bool,
    /// Whether Unix sockets are opened from a namespace that shares only the folder of these sockets with the server.
    pub is_from_namespace: bool,
    /// Whether the user has agreed to the plan for a running server.
    pub is_agreed: bool,
    pub exec: Option<Exec>,
    /// Whether `why` samples most epochs; the verdict leaves the sampled epochs out.
    pub is_sampled: bool,
    /// The remedy that is measured, if the comparison is part of a series that shows what would help.
    pub remedy: Option<RemedyKind>,
    /// Length of a busy wait before each request, in nanoseconds, so that the true difference is known. The baseline
    /// has no busy wait.
    pub inject_ns: Option<u64>,
    /// The time after which no further comparison is begun.
    pub deadline: Option<Instant>,
}

impl Experiment {
    /// Makes an experiment with two arms on one server, with the default settings.
    pub fn new(target: TargetSpec, seed: u64) -> Self {
        Self {
            targets: vec![target],
            arms: vec![Arm::Unix, Arm::Tcp],
            adds_tls: false,
            connections: None,
            requests: Requests::default(),
            load: Load::flat_out(),
            sample_bytes: (MOST_SAMPLES_MIB as usize) << 20,
            is_sweep: false,
            placements: None,
            clients: None,
            socket: None,
            rows: ROWS,
            pool_mode: PoolMode::default(),
            effort: Effort::Full,
            slice: None,
            warm_up: None,
            seed,
            may_write: false,
            is_own_server: false,
            is_from_namespace: false,
            is_agreed: false,
            exec: None,
            is_sampled: false,
            remedy: None,
            inject_ns: None,
            deadline: None,
        }
    }

    #[allow(clippy::disallowed_methods, reason = "a time limit, not a measurement")]
    pub fn is_over(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Returns the arms to measure on a server. The second value is the one arm, if any, that the server may lack.
    ///
    /// In MySQL, and in MariaDB from 11.4 on, TLS is on by default. Whether a running server has TLS is known only
    /// after a connection.
    pub fn arms_for(&self, spec: &TargetSpec) -> (Vec<Arm>, Option<Arm>) {
        let may_offer = match spec {
            TargetSpec::Private(kind) => offers_tls_unasked(*kind),
            TargetSpec::Running(running) => {
                running.tls.is_some() || matches!(spec.kind(), Kind::Mysql | Kind::Mariadb | Kind::Postgres)
            }
        };
        let mut arms = self.arms.clone();
        let is_plain = arms.iter().all(|arm| matches!(arm, Arm::Unix | Arm::Tcp));
        if spec.kind().is_pooler() && is_plain {
            // With a pooler, each of the two hops is measured over both transports.
            arms = Arm::POOLED.to_vec();
        }
        if !self.adds_tls || !may_offer {
            return (arms, None);
        }
        arms.push(Arm::Tls);
        (arms, Some(Arm::Tls))
    }
}

/// Returns a private server for every protocol of which a server is installed; echo is always installed. With
/// `--client-like`, returns only servers that the named clients use.
///
/// # Errors
/// A usage failure if the named clients use none of these servers.
pub fn installed(client_like: &[String]) -> Result<Vec<TargetSpec>, Failure> {
    let is_there = |kind: Kind| find_binary(kind).is_some();
    // The other kinds are measured only if the user names them: a run without targets must end within five minutes.
    let is_wanted = |kind: &Kind| match kind {
        Kind::Memcached => false,
        Kind::Mysql => !is_there(Kind::Mariadb),
        Kind::Valkey => !is_there(Kind::Redis),
        kind => kind.is_usual(),
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

/// Draws a new seed.
///
/// # Errors
/// The kernel gives no random bytes.
pub fn new_seed() -> Result<u64, Failure> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).map_err(std::io::Error::from)?;
    Ok(u64::from_ne_bytes(bytes))
}

/// Parses a seed in the form in which a record shows it.
///
/// # Errors
/// A usage failure for a word that is not a hexadecimal number.
pub fn seed(hex: &str) -> Result<u64, Failure> {
    u64::from_str_radix(hex.trim_start_matches("0x"), 16).map_err(|_| {
        Failure::usage(format!("`--seed {hex}` is not a hexadecimal number"), "copy the seed from a record")
    })
}

/// Parses `1..1024` (the two ends, and the powers of two between them) or `1,16,256` (these numbers).
///
/// # Errors
/// A usage failure for any other text.
pub fn sweep(typed: &str) -> Result<Vec<u32>, Failure> {
    let number = |typed: &str| typed.parse::<u32>().ok();
    let found = match typed.split_once("..") {
        Some((from, to)) => {
            { number(from).zip(number(to)) }.filter(|(from, to)| from < to).map(|(from, to)| range(from, to))
        }
        None => typed.split(',').map(number).collect(),
    };
    let is_sweep = |all: &Vec<u32>| {
        all.len() >= 2
            && all.is_sorted_by(|one, next| one < next)
            && all[0] >= 1
            && all[all.len() - 1] <= MOST_CONNECTIONS
    };
    found.filter(is_sweep).ok_or_else(|| {
        Failure::usage(
            format!("`--sweep {typed}` is neither a range nor a list of connections"),
            format!(
                "for example --sweep 1..1024 or --sweep 1,16,256: the smaller number first, {MOST_CONNECTIONS} at most"
            ),
        )
    })
}

/// Formats a sweep: as a range if it has the powers of two between its ends, otherwise as a list.
pub(super) fn sweep_word(connections: &[u32]) -> String {
    match connections {
        [from, .., to] if range(*from, *to) == connections => format!("{from}..{to}"),
        _ => { connections.iter().map(u32::to_string) }.collect::<Vec<_>>().join(","),
    }
}

fn range(from: u32, to: u32) -> Vec<u32> {
    let powers = (0..32).map(|power| 1_u32 << power);
    let between = powers.filter(|n| (from + 1..to).contains(n));
    [from].into_iter().chain(between).chain([to]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_has_both_ends_and_the_powers_of_two_between_or_what_is_listed() {
        for (typed, numbers) in [
            ("1..16", &[1, 2, 4, 8, 16][..]),
            ("3..20", &[3, 4, 8, 16, 20]),
            ("1,16,256", &[1, 16, 256]),
            ("1,3", &[1, 3]),
        ] {
            assert_eq!(sweep(typed).unwrap(), numbers);
            assert_eq!(sweep_word(numbers), typed);
        }
    }

    #[test]
    fn what_does_not_grow_from_one_number_to_the_next_is_no_sweep() {
        let ranges = ["16..1", "1..1", "0..4", "a..b", "1..99999", "1..4,8"];
        let lists = ["", "8", "8,8", "16,1", "0,4", "1,,4", "1,a", "1,99999", "1,4,"];
        for wrong in ranges.into_iter().chain(lists) {
            assert!(sweep(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn zero_connections_are_refused() {
        let with = |connections: Vec<u32>| Experiment {
            connections: Some(connections),
            ..Experiment::new(TargetSpec::Private(Kind::Echo), 1)
        };
        assert!(with(vec![1, 0]).check().is_err());
        assert!(with(vec![1]).check().is_ok());
    }
}
