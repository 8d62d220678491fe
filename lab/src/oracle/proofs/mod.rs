//! Random machines with an application, other programs and looptax. Checks whether `looptax switch` reports "moved, and
//! proved" only if the application is on the socket and works, and whether it does report it then.
//!
//! `draw` chooses the properties of a machine, `actor.py` runs its programs with real drivers, `ground` has the server
//! and starts the programs, and `judge` decides by the application's own log.

mod draw;
mod ground;
mod judge;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use anyhow::{Result, bail, ensure};
use looptax_experiment::servers::startable;

use self::draw::Machine;
use self::ground::Ground;
use self::judge::{Outcome, Verdict};
use crate::workspace::debug_looptax;

/// The options of this oracle.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// Number of machines for each kind of server
    #[arg(long, default_value_t = 500)]
    machines: u64,
    /// The first machine; the others have the seeds that follow
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[arg(long, value_delimiter = ',', default_value = "redis,valkey,mariadb,mysql,postgres,pgbouncer")]
    kinds: Vec<String>,
    /// Number of machines that run at the same time, each with its own server
    #[arg(long, default_value_t = 4)]
    lanes: usize,
    /// Without the kernel's programs, as for users other than root
    #[arg(long)]
    without_eyes: bool,
    /// Test this build of looptax instead of building one
    #[arg(long)]
    looptax: Option<PathBuf>,
    /// Show looptax's output for each machine
    #[arg(long)]
    all: bool,
}

/// Fails if a proof is false, or if too few of the moved applications have a proof.
pub(super) fn run(options: &Options) -> Result<()> {
    ensure!(rustix::process::geteuid().is_root(), "other users' programs need root: run this as root");
    let looptax = options.looptax.clone().map_or_else(debug_looptax, Ok)?;
    let mut n_wrong = 0;
    let mut n_few = 0;
    for kind in &options.kinds {
        let kind = startable(kind)?;
        let (next, played) = (AtomicU64::new(0), Mutex::new(Vec::new()));
        let lane = || -> Result<()> {
            let ground = Ground::start(&looptax, kind, options.without_eyes)?;
            loop {
                let idx = next.fetch_add(1, Ordering::Relaxed);
                if idx >= options.machines {
                    return Ok(());
                }
                let seed = options.seed + idx;
                let machine = Machine::draw(kind, seed);
                let (ended, all) = ground.play(&machine)?;
                let verdict = judge::judge(&machine, &ended, &all);
                if options.all || !verdict.wrong.is_empty() || verdict.is_moved && verdict.outcome != Outcome::Proved {
                    println!("== seed {seed}: {:?}: {}\n{}", verdict.outcome, machine.words(), ended.said);
                    verdict.wrong.iter().for_each(|it| println!("   WRONG: {it}"));
                }
                if let Ok(mut played) = played.lock() {
                    played.push(verdict);
                }
            }
        };
        thread::scope(|scope| -> Result<()> {
            let lanes: Vec<_> = (0..options.lanes).map(|_| scope.spawn(lane)).collect();
            lanes.into_iter().try_for_each(|it| it.join().unwrap_or_else(|_| bail!("a lane panicked")))
        })?;
        let played: Vec<Verdict> = played.into_inner().unwrap_or_default();
        let (wrong, share) = say(kind.name(), &played);
        n_wrong += wrong;
        n_few += usize::from(share.is_some_and(|it| it < 0.95));
    }
    ensure!(n_wrong == 0, "{n_wrong} machines about which looptax reported something untrue");
    ensure!(n_few == 0, "too few of the moved machines were proved");
    Ok(())
}

/// Prints a row: the outcomes, the number of violations, and the share of the moved applications that were proved.
fn say(kind: &str, played: &[Verdict]) -> (usize, Option<f64>) {
    let mut by: BTreeMap<Outcome, usize> = BTreeMap::new();
    for it in played {
        *by.entry(it.outcome).or_default() += 1;
    }
    let n_wrong = played.iter().filter(|it| !it.wrong.is_empty()).count();
    let is_right = |it: &&Verdict| it.outcome == Outcome::Proved && it.wrong.is_empty();
    let n_proved = played.iter().filter(is_right).count();
    let n_missed = played.iter().filter(|it| it.is_moved && it.outcome != Outcome::Proved).count();
    let n_moved = n_proved + n_missed;
    let share = (n_moved > 0).then(|| n_proved as f64 / n_moved as f64);
    println!(
        "{kind}: {} machines: {by:?}; wrong {n_wrong}; moved {n_moved}, proved of those {n_proved}{}",
        played.len(),
        share.map_or_else(String::new, |it| format!(" ({:.1} %)", it * 100.0))
    );
    (n_wrong, share)
}
