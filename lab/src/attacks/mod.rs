//! `cargo lab attacks`: an ordinary user attacks root's looptax, in thousands of rounds.
//!
//! The attacker ("she", and `hers` in code) owns folders, files, processes and namespaces; root runs looptax at the
//! same time. After every round a judge checks three things: whether code of the attacker ran with rights that the
//! attacker does not have, whether a file that does not belong to the attacker changed, and whether the attacker can
//! read something that only root may read. Each of these fails the chore. Needs root. All files are in a scratch
//! folder, and the attacker's user id is one that no user has.

mod ground;
mod judge;
mod kinds;
mod made;
pub(crate) mod part;
mod runs;
mod table;

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::coin::Coin;
use crate::workspace;
use ground::Ground;
use judge::Judge;
use kinds::KINDS;
use kinds::kind::{Attack, Kind, Readiness};
use table::{Tally, table};

const ROUNDS: u64 = 10_000;
/// Limits of a short run: the number of rounds, and the time of all rounds together, without the preparation.
const SHORT_ROUNDS: u64 = 600;
const SHORT_TIME: Duration = Duration::from_secs(25);

/// The options of the attacks.
#[derive(Debug, Clone, clap::Args)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of the command line")]
pub(crate) struct Options {
    /// Number of rounds of all kinds together; each kind has at least one
    #[arg(long, value_name = "N", default_value_t = ROUNDS)]
    rounds: u64,
    /// Run only these kinds
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    only: Vec<String>,
    /// Print the kinds and stop
    #[arg(long)]
    list: bool,
    /// Run fewer rounds, within a minute: shows that all kinds run, and finds obvious holes
    #[arg(long, conflicts_with = "rounds")]
    short: bool,
    /// Stop a kind after its first hit
    #[arg(long)]
    first: bool,
    /// Repeat the draws of an earlier run
    #[arg(long, value_name = "HEX", value_parser = |hex: &str| u64::from_str_radix(hex, 16))]
    seed: Option<u64>,
    /// Attack this program instead of building one
    #[arg(long, value_name = "PROGRAM")]
    looptax: Option<PathBuf>,
    /// Print what looptax printed in every round
    #[arg(long)]
    verbose: bool,
}

pub(crate) fn run(options: &Options) -> Result<()> {
    if options.list {
        for kind in KINDS {
            println!("{:<20} {}", kind.name, kind.about);
        }
        return Ok(());
    }
    if options.short && !rustix::process::geteuid().is_root() {
        println!("SKIPPED: attacks on root's looptax need root and did not run");
        return Ok(());
    }
    let kinds = chosen(&options.only)?;
    let mut coin = Coin::new(options.seed)?;
    let looptax = options.looptax.clone();
    let build = if options.short { workspace::debug_looptax } else { workspace::looptax };
    let looptax = looptax.map_or_else(build, Ok)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let ground = Ground::make(&looptax.canonicalize()?, &mut coin)?;
    made::build(&ground)?;
    let mut judge = Judge::new(&ground)?;
    println!("{} as root, she is user {}; seed {:016x}", looptax.display(), ground.uid, coin.seed);
    if std::fs::metadata("/dev/fuse").map_or(0, |it| it.mode()) & 0o6 == 0 {
        println!("SKIPPED fuse: ordinary users cannot open /dev/fuse on this machine");
    } else {
        println!("SKIPPED fuse: a file system of hers is in no kind yet; root is kept out of it without allow_other");
    }
    let plan = Plan::of(options, &kinds);
    let mut tallies = Vec::new();
    for kind in kinds {
        let tally = play(kind, &plan, &ground, &mut judge, &mut coin, &stop);
        tallies.push(tally.with_context(|| format!("the attack {}", kind.name))?);
        ground.end_hers();
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    drop(ground);
    print!("\n{}", table(&tallies));
    if stop.load(Ordering::Relaxed) {
        bail!("stopped before all rounds ran");
    }
    let n_hits: u64 = tallies.iter().map(Tally::n_hits).sum();
    if n_hits > 0 {
        bail!("{n_hits} hits");
    }
    Ok(())
}

fn chosen(only: &[String]) -> Result<Vec<&'static Kind>> {
    if only.is_empty() {
        return Ok(KINDS.iter().collect());
    }
    let find = |name: &String| {
        let found = KINDS.iter().find(|kind| kind.name == *name);
        found.with_context(|| format!("no kind `{name}`: cargo lab attacks --list"))
    };
    only.iter().map(find).collect()
}

struct Plan {
    rounds: u64,
    all_shares: u64,
    time_per_kind: Option<Duration>,
    is_first: bool,
    is_verbose: bool,
}

impl Plan {
    fn of(options: &Options, kinds: &[&Kind]) -> Self {
        let all_shares = kinds.iter().map(|kind| u64::from(kind.share)).sum();
        Self {
            rounds: if options.short { SHORT_ROUNDS } else { options.rounds },
            all_shares,
            time_per_kind: options.short.then(|| SHORT_TIME / u32::try_from(kinds.len()).unwrap_or(1)),
            is_first: options.first,
            is_verbose: options.verbose,
        }
    }
}

fn play(
    kind: &'static Kind,
    plan: &Plan,
    ground: &Ground,
    judge: &mut Judge,
    coin: &mut Coin,
    stop: &AtomicBool,
) -> Result<Tally> {
    let start = Instant::now();
    let mut tally = Tally::of(kind.name);
    let mut attack: Box<dyn Attack + '_> = match (kind.prepare)(ground)? {
        Readiness::Ready(attack) => attack,
        Readiness::Skipped(why) => {
            println!("SKIPPED {}: {why}", kind.name);
            tally.skipped = Some(why);
            return Ok(tally);
        }
    };
    let begun = Instant::now();
    let n_rounds = (plan.rounds * u64::from(kind.share) / plan.all_shares).max(1);
    let before = judge.n_as_herself;
    for round in 1..=n_rounds {
        let is_over = plan.time_per_kind.is_some_and(|it| begun.elapsed() > it);
        // Each kind runs at least one round, however long its preparation took.
        if stop.load(Ordering::Relaxed) || is_over && round > 1 {
            break;
        }
        let ran = attack.round(coin)?;
        let hits = judge.look()?;
        if plan.is_verbose {
            println!("{} {round}: {ran:?} {hits:?}", kind.name);
        }
        if tally.first.is_none()
            && let Some(hit) = hits.first()
        {
            println!("{} {round}: {hit:?}", kind.name);
        }
        tally.add(&ran, &hits);
        if plan.is_first && !hits.is_empty() {
            break;
        }
    }
    tally.n_as_herself = judge.n_as_herself - before;
    tally.seconds = start.elapsed().as_secs_f64();
    println!("{}: {} rounds, {} hits, {:.1} s", kind.name, tally.n_rounds, tally.n_hits(), tally.seconds);
    Ok(tally)
}
