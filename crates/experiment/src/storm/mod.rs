//! Storms: many simultaneous connections to a private server, over the socket and over TCP in turns. Optionally, the
//! server is stopped during a storm.
//!
//! `ground` runs the server, and `stopped` stops it. Prints nothing.

mod ground;
mod stopped;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use looptax_advise::{Connects, connects};
use looptax_bench::path::Fate;
use looptax_host::{kernel, waiting};
use looptax_model::dsn::{Arm, Kind};
use looptax_model::failure::Failure;
use looptax_model::record::{Hex64, Storm, StormArm, StormFailure, StormSize, Storms};
use looptax_model::stats::share_of_groups;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::SplitMix64;

use crate::{Host, Machine, Observer, ask_nobody};
pub use ground::Ground;

/// The kinds of server whose first reply looptax can check.
pub const KINDS: [Kind; 8] = [
    Kind::Mariadb,
    Kind::Mysql,
    Kind::Postgres,
    Kind::Pgbouncer,
    Kind::Redis,
    Kind::Valkey,
    Kind::Memcached,
    Kind::PhpFpm,
];
/// Number of storms with each queue length in the search for the shortest sufficient queue.
const TRIES_OF_QUEUE: u32 = 3;
/// A reply counts as late if it comes more than this time after the stopped server has continued: TCP repeats a SYN
/// after a second.
const LATE: Duration = Duration::from_millis(500);
/// Time limit for a reply after the stall: TCP's first four attempts are over after 7 s.
pub(crate) const PATIENCE: Duration = Duration::from_secs(15);
/// Pause between two storms, in which the server notices that the previous connections have ended.
const PAUSE: Duration = Duration::from_millis(200);

/// The storms to make.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    pub kind: Kind,
    /// The client whose behaviour at connecting is imitated.
    pub client: &'static Connects,
    /// Numbers of connections per storm, measured one after the other.
    pub connections: Vec<u32>,
    /// Number of storms for each arm and each number of connections.
    pub n_storms: u32,
    /// How long the server is stopped, from the first connect on; zero if it is not stopped.
    pub stall: Duration,
    /// Number of connects per second; `None` if all connections are opened at once.
    pub rate_per_s: Option<f64>,
    /// The queue length of both listening sockets; `None` for the default of the kind of server.
    pub queue: Option<u32>,
    pub seed: u64,
}

impl Spec {
    fn gap(&self) -> Duration {
        self.rate_per_s.map_or(Duration::ZERO, |rate| Duration::from_secs_f64(1.0 / rate))
    }
}

/// Returns the client with this name, for storms on a server of this kind.
///
/// # Errors
/// A usage failure if looptax does not know how such a client connects.
pub fn client(word: Option<&str>, kind: Kind) -> Result<&'static Connects, Failure> {
    let mut all = connects().iter();
    let name = kind.name();
    let found = match word {
        Some(word) => all.find(|it| it.is_meant(word, name)),
        None => all.find(|it| it.talks_to(name) && !it.blocks && it.pauses().next().is_none()),
    };
    found.ok_or_else(|| {
        let known: Vec<&str> = connects().iter().filter(|it| it.talks_to(name)).map(Connects::name).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        let asked = word.map_or_else(|| "a client".to_owned(), |word| format!("`{word}`"));
        Failure::usage(
            format!("looptax does not know how {asked} behaves while {name} accepts no connections"),
            format!("clients that looptax knows for {name}: {known}"),
        )
    })
}

/// Makes the storms; `None` if interrupted.
pub fn run(spec: &Spec, observer: &mut dyn Observer, stop: &AtomicBool) -> Result<Option<Storms>, Failure> {
    let host = Host::new(Machine::plain(), ask_nobody)?;
    let most = spec.connections.iter().copied().max().unwrap_or(1);
    observer.say(&format!("starting private:{}", spec.kind));
    let mut ground = Ground::start(spec.kind, most, (&host.self_exe, &host.scratch_root, &host.reaper))?;
    let queue = ground.set_queue(spec.queue.or(spec.kind.facts().usual_backlog))?;
    let mut coins = SplitMix64::seed_from_u64(spec.seed);
    let mut sizes = Vec::new();
    for n in &spec.connections {
        let size = size(&mut ground, spec, (*n, queue), &mut coins, observer);
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        sizes.push(size?);
    }
    let version = ground.version().to_owned();
    ground.end()?;
    Ok(Some(Storms {
        target: format!("private:{}", spec.kind),
        version,
        seed: Hex64(spec.seed),
        client: spec.client.name().to_owned(),
        library: spec.client.library().to_owned(),
        seen: spec.client.seen.clone(),
        stall_ms: spec.stall.as_secs_f64() * 1e3,
        rate_per_s: spec.rate_per_s,
        queue,
        somaxconn: somaxconn(),
        setting: spec.kind.facts().how_to_raise_the_backlog.to_owned(),
        sizes,
    }))
}

/// Makes all storms with one number of connections, in an order that coin flips decide.
fn size(
    ground: &mut Ground,
    spec: &Spec,
    (n, queue): (u32, u32),
    coins: &mut SplitMix64,
    observer: &mut dyn Observer,
) -> Result<StormSize, Failure> {
    const ARMS: [Arm; 2] = [Arm::Unix, Arm::Tcp];
    let mut storms = [Vec::new(), Vec::new()];
    for idx in 0..spec.n_storms {
        observer.say(&format!("{n} connections, storm {} of {}", idx + 1, spec.n_storms));
        let first = usize::from(coins.next_u32() & 1 == 1);
        for arm in [first, 1 - first] {
            storms[arm].push(storm(ground, spec, ARMS[arm], n)?);
        }
    }
    let smallest_queue = smallest_queue(ground, spec, n, observer)?;
    ground.set_queue(Some(queue))?;
    let arms = ARMS.iter().zip(storms).map(|(arm, storms)| {
        let groups: Vec<_> = storms.iter().map(|it: &Storm| (it.n_failed(), u64::from(n))).collect();
        let share = share_of_groups(&groups).map(|it| it.map_monotone(|share| (share * 100.0).clamp(0.0, 100.0)));
        StormArm {
            arm: arm.name().to_owned(),
            failed_pct: share.map_or([0.0, 0.0, 100.0], |it| [it.value, it.lo, it.hi]),
            storms,
        }
    });
    Ok(StormSize { connections: n, arms: arms.collect(), smallest_queue, tries_of_queue: TRIES_OF_QUEUE })
}

/// Finds by bisection the shortest queue of the socket at which no connection fails. Starts with a queue that has space
/// for all connections; `None` if connections fail even then.
fn smallest_queue(
    ground: &mut Ground,
    spec: &Spec,
    n: u32,
    observer: &mut dyn Observer,
) -> Result<Option<u32>, Failure> {
    observer.say(&format!("{n} connections, search for the smallest queue at which no connection fails"));
    let mut is_enough = |queue: u32| -> Result<bool, Failure> {
        // The kernel may shorten the queue.
        let queue = ground.set_queue(Some(queue))?;
        for _ in 0..TRIES_OF_QUEUE {
            if storm(ground, spec, Arm::Unix, n)?.n_failed() > 0 {
                return Ok(false);
            }
        }
        Ok(queue < n)
    };
    // The number of connections that the kernel lets wait is the length of the queue plus 1.
    let (mut lo, mut hi) = (0, n.saturating_sub(1));
    if !is_enough(hi)? {
        return Ok(None);
    }
    while lo < hi {
        let middle = u32::midpoint(lo, hi);
        if is_enough(middle)? {
            hi = middle;
        } else {
            lo = middle + 1;
        }
    }
    Ok(Some(lo))
}

/// Makes one storm over one arm, and waits for the pause after it.
pub fn storm(ground: &Ground, spec: &Spec, arm: Arm, n: u32) -> Result<Storm, Failure> {
    let fates = ground.storm(spec, arm, n)?;
    if !waiting::pause(PAUSE) {
        return Err(Failure::new(waiting::stopped()));
    }
    Ok(counted(&fates, spec.stall))
}

fn counted(fates: &[Fate], stall: Duration) -> Storm {
    let served = || fates.iter().filter(|it| it.error.is_none());
    let mut failed: BTreeMap<&str, u64> = BTreeMap::new();
    for error in fates.iter().filter_map(|it| it.error.as_deref()) {
        *failed.entry(error).or_default() += 1;
    }
    let is_late = |it: &&Fate| it.at > stall.max(it.due) + LATE;
    Storm {
        served: served().count() as u64,
        late: served().filter(is_late).count() as u64,
        failed: failed
            .into_iter()
            .map(|(error, connections)| StormFailure { error: error.to_owned(), connections })
            .collect(),
        last_ms: served().map(|it| it.at.as_secs_f64() * 1e3).fold(0.0, f64::max),
    }
}

fn somaxconn() -> Option<u32> {
    kernel::text(kernel::SOMAXCONN).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storm_is_counted_by_errors_and_by_what_came_late() {
        let fate = |at_ms, error: Option<&str>| Fate {
            due: Duration::ZERO,
            at: Duration::from_millis(at_ms),
            error: error.map(str::to_owned),
        };
        let fates = [fate(310, None), fate(1010, None), fate(0, Some("EAGAIN")), fate(1, Some("EAGAIN"))];
        let found = counted(&fates, Duration::from_millis(300));
        assert_eq!((found.served, found.late, found.n_failed()), (2, 1, 2));
        assert_eq!(found.failed, [StormFailure { error: "EAGAIN".to_owned(), connections: 2 }]);
        assert!((found.last_ms - 1010.0).abs() < 1e-9);
    }

    #[test]
    fn a_client_is_known_by_its_words_and_one_that_was_not_traced_is_refused() {
        assert_eq!(client(Some("php"), Kind::Mariadb).unwrap().name(), "mysqlnd");
        assert_eq!(client(None, Kind::PhpFpm).unwrap().name(), "nginx");
        assert!(client(Some("php"), Kind::Memcached).is_err());
    }
}
