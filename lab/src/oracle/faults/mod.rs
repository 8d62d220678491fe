//! Faults at every system call. The engine of a switch, the spool of reports and the processes of `run` run under a
//! tracer that makes their calls fail one by one, kills the processes between two calls, or simulates a loss of power.
//!
//! `trace` stops the calls of a process, `calls` lists the errors that each call can return, and `disk` computes the
//! possible states of a disk after a loss of power. `switch` and `spool` are trials: the work, and the conditions that
//! must hold after any fault. `hand_over` is a trial with several processes.

mod calls;
mod disk;
mod hand_over;
mod spool;
mod switch;
#[cfg(test)]
mod tests;
mod trace;
mod trial;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use looptax_testkit::dice::Dice;
use tempfile::TempDir;

use self::disk::Disk;
use self::spool::Spooling;
use self::switch::Switching;
use self::trace::{Call, Fate};
use self::trial::{Ended, Trial};

/// Number of seeds of `--short`, and of the steps of each seed.
const SHORT: (u64, u64) = (10, 20_000);
/// Maximum number of drawn choices: more than two losses of power need.
const MOST_DRAWN: usize = 64;

/// Maximum number of calls in a trial: more than any trial makes.
const MOST_CALLS: usize = 20_000;

/// The options of this oracle.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Options {
    /// The seed of the faults
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Lowest number of system calls that succeed or fail
    #[arg(long, default_value_t = 100_000)]
    steps: u64,
    /// Use ten seeds, with few steps each
    #[arg(long, conflicts_with_all = ["steps", "every"])]
    short: bool,
    /// Every fault of every call and every state after a loss of power, one at a time; and any two faults of a switch
    /// of two files, if a call that changes something fails or is the last one
    #[arg(long)]
    every: bool,
    /// Repeat one case, as it was printed, with the errors
    #[arg(long, conflicts_with_all = ["short", "every"])]
    case: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Meets(Fate),
    /// From this call to the end of the process, every call that changes something fails with this error, if it can
    /// return it.
    Stays(i32),
    Power,
}

/// An event at one call; calls are counted over all phases.
#[derive(Debug, Clone, Copy)]
struct Fault {
    at: usize,
    what: What,
}

struct Played {
    calls: Vec<Call>,
    wrong: Vec<String>,
}

/// Numbers, each below a limit. They are drawn at random, or run through all combinations, one after the other.
#[derive(Debug, Default)]
struct Odometer {
    digits: Vec<(usize, usize)>,
    at: usize,
}

impl Odometer {
    fn choose(&mut self, n: usize) -> usize {
        if self.at == self.digits.len() {
            self.digits.push((0, n));
        }
        let digit = &mut self.digits[self.at];
        *digit = (digit.0 % n, n);
        self.at += 1;
        digit.0
    }

    /// Sets the next combination; returns false after the last one.
    fn turn(&mut self) -> bool {
        self.at = 0;
        while let Some((digit, n)) = self.digits.pop() {
            if digit + 1 < n {
                self.digits.push((digit + 1, n));
                return true;
            }
        }
        false
    }
}

/// The folder of the trials, and the number of calls and cases so far.
struct Ground {
    folder: TempDir,
    n_steps: u64,
    n_cases: u64,
    wrong: Vec<String>,
}

impl Ground {
    fn new() -> Result<Self> {
        // In memory, a sync costs nothing.
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() { TempDir::new_in(memory)? } else { TempDir::new()? };
        Ok(Self { folder, n_steps: 0, n_cases: 0, wrong: Vec::new() })
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    /// Runs a trial with faults, and judges the result.
    fn play(&mut self, trial: &dyn Trial, faults: &[Fault], choose: &mut dyn FnMut(usize) -> usize) -> Result<Played> {
        let root = self.root();
        if root.exists() {
            fs::remove_dir_all(&root)?;
        }
        fs::create_dir(&root)?;
        trial.lay_down(&root)?;
        let loses = faults.iter().any(|it| it.what == What::Power);
        let mut disk = if loses { Some(Disk::synced(&root)?) } else { None };
        let (mut calls, mut wrong, mut all) = (Vec::new(), Vec::new(), Vec::new());
        for phase in 0..trial.n_phases() {
            let (mut stays, mut is_killed, mut has_power, mut n_said) = (None, false, true, 0);
            let end = trace::run(calls::traced(), || trial.work(&root, phase), &mut |call| {
                if !call.counts() {
                    n_said += usize::from(call.is_said());
                    return Ok(Fate::Passes);
                }
                let idx = calls.len();
                calls.push(call);
                ensure!(idx < MOST_CALLS, "{}: it goes on for ever", trial.words());
                if let Some(disk) = disk.as_mut().filter(|_| call.changes()) {
                    disk.see()?;
                }
                let fault = faults.iter().find(|it| it.at == idx).map(|it| it.what);
                let fate = match fault {
                    Some(What::Meets(fate)) => fate,
                    Some(What::Stays(errno)) => {
                        stays = Some(errno);
                        Fate::Fails(errno)
                    }
                    Some(What::Power) => {
                        has_power = false;
                        Fate::Kills
                    }
                    None => match stays.map(Fate::Fails) {
                        Some(fails) if call.changes() && call.fates().contains(&fails) => fails,
                        _ => Fate::Passes,
                    },
                };
                is_killed |= fate == Fate::Kills;
                if let Some(disk) = disk.as_mut().filter(|_| fate == Fate::Passes && call.is_sync()) {
                    disk.sync(call.pid, call.args[0])?;
                }
                Ok(fate)
            })?;
            if let Some(disk) = disk.as_mut().filter(|_| !has_power) {
                disk.see()?;
                disk.lose(choose)?;
                *disk = Disk::synced(&root)?;
            }
            let ended = Ended { end, is_killed, n_said, n_faults: faults.len() };
            wrong.extend(trial.judge(&root, phase, &ended)?);
            all.push(ended);
        }
        if wrong.is_empty() {
            wrong = trial.settle(&root, &all)?;
        }
        self.n_steps += calls.len() as u64;
        self.n_cases += 1;
        Ok(Played { calls, wrong })
    }

    /// Runs and judges a trial like `play`, and records the case if something is wrong.
    fn hold(
        &mut self,
        (idx, trial): (usize, &dyn Trial),
        faults: &[Fault],
        odometer: &mut Odometer,
    ) -> Result<Vec<Call>> {
        odometer.at = 0;
        let played = self.play(trial, faults, &mut |n| odometer.choose(n))?;
        if !played.wrong.is_empty() {
            let case = written(idx, faults, odometer);
            let words = faults.iter().map(|it| told(*it, &played.calls)).collect::<Vec<_>>().join("; ");
            println!("WRONG: {}: {words} (--case {case})", trial.words());
            played.wrong.iter().for_each(|it| println!("   {it}"));
            self.wrong.push(case);
        }
        Ok(played.calls)
    }
}

impl Ground {
    fn hand_over(&mut self, processes: &hand_over::Ground, faults: &[hand_over::Fault]) -> Result<()> {
        let played = processes.play(faults)?;
        self.n_steps += played.n_steps;
        self.n_cases += 1;
        if let Some(wrong) = &played.wrong {
            let words = faults.iter().map(|it| played.words(*it)).collect::<Vec<_>>().join("; ");
            println!("WRONG: processes of run: {words}\n   {wrong}");
            self.wrong.push(words);
        }
        Ok(())
    }
}

fn told(fault: Fault, calls: &[Call]) -> String {
    let name = calls.get(fault.at).map_or("the end", Call::name);
    let what = match fault.what {
        What::Meets(Fate::Fails(errno)) => format!("fails with {}", std::io::Error::from_raw_os_error(errno)),
        What::Meets(Fate::IsShort) => "is short".to_owned(),
        What::Meets(_) => "is not reached by a process that is killed".to_owned(),
        What::Stays(errno) => format!("and all after it fail with {}", std::io::Error::from_raw_os_error(errno)),
        What::Power => "is not reached before a loss of power".to_owned(),
    };
    format!("call {} ({name}) {what}", fault.at)
}

/// Returns a case as a short text: trial, faults, and choices.
fn written(idx: usize, faults: &[Fault], odometer: &Odometer) -> String {
    let fault = |it: &Fault| match it.what {
        What::Meets(Fate::Fails(errno)) => format!("{}e{errno}", it.at),
        What::Meets(Fate::IsShort) => format!("{}s", it.at),
        What::Meets(_) => format!("{}k", it.at),
        What::Stays(errno) => format!("{}a{errno}", it.at),
        What::Power => format!("{}p", it.at),
    };
    let faults = faults.iter().map(fault).collect::<Vec<_>>().join(",");
    let digits =
        odometer.digits[..odometer.at].iter().map(|(digit, _)| digit.to_string()).collect::<Vec<_>>().join(",");
    format!("{idx}:{faults}:{digits}")
}

fn read(case: &str) -> Option<(usize, Vec<Fault>, Odometer)> {
    let mut parts = case.split(':');
    let idx = parts.next()?.parse().ok()?;
    let fault = |word: &str| {
        let (at, rest) = word.split_at(word.find(|c: char| c.is_ascii_alphabetic())?);
        let (kind, errno) = rest.split_at(1);
        let errno = || errno.parse().ok();
        let what = match kind {
            "e" => What::Meets(Fate::Fails(errno()?)),
            "s" => What::Meets(Fate::IsShort),
            "k" => What::Meets(Fate::Kills),
            "a" => What::Stays(errno()?),
            _ => What::Power,
        };
        Some(Fault { at: at.parse().ok()?, what })
    };
    let faults = parts.next()?.split(',').filter(|it| !it.is_empty()).map(fault).collect::<Option<_>>()?;
    let digits = parts.next()?.split(',').filter_map(|it| it.parse().ok()).map(|it| (it, usize::MAX)).collect();
    Some((idx, faults, Odometer { digits, at: 0 }))
}

fn trials(is_told: bool) -> Vec<Box<dyn Trial>> {
    let mut all: Vec<Box<dyn Trial>> = Vec::new();
    for it in Switching::all() {
        all.push(Box::new(Switching { is_told, ..it }));
    }
    all.push(Box::new(Spooling { is_told }));
    all
}

/// Fails if a fault leaves a file in an intermediate state, loses data, makes a process hang, or leaves files behind.
pub(super) fn run(options: &Options) -> Result<()> {
    // The tracer and the child run alternately; on one core, neither has to wake the other on another core.
    let mut one = rustix::thread::CpuSet::new();
    one.set(rustix::thread::sched_getcpu());
    rustix::thread::sched_setaffinity(None, &one)?;
    let trials = trials(options.case.is_some());
    let mut ground = Ground::new()?;
    if let Some(case) = &options.case {
        let Some((idx, faults, mut odometer)) = read(case).filter(|it| it.0 < trials.len()) else {
            anyhow::bail!("`{case}` is not a case");
        };
        let calls = ground.hold((idx, &*trials[idx]), &faults, &mut odometer)?;
        for (idx, call) in calls.iter().enumerate() {
            println!("{idx} {} {:?}", call.name(), faults.iter().find(|it| it.at == idx).map(|it| it.what));
        }
    } else {
        let folder = TempDir::new()?;
        let processes = hand_over::Ground::start(folder.path())?;
        if options.every {
            for fault in processes.every() {
                ground.hand_over(&processes, &[fault])?;
            }
            println!("processes of run: {} cases of one fault", ground.n_cases);
            every(&mut ground, &trials)?;
        } else {
            let (n_seeds, n_steps) = if options.short { SHORT } else { (1, options.steps) };
            for seed in options.seed..options.seed + n_seeds {
                drawn(&mut ground, &trials, &processes, &mut Dice::new(seed), n_steps)?;
            }
        }
    }
    let Ground { n_steps, n_cases, wrong, .. } = ground;
    println!("{n_cases} cases, {n_steps} steps: {} wrong", wrong.len());
    ensure!(wrong.is_empty(), "{} cases in which a fault did harm", wrong.len());
    Ok(())
}

/// Tests one or two random faults at calls of a trial, until the required number of steps is reached.
fn drawn(
    ground: &mut Ground,
    trials: &[Box<dyn Trial>],
    processes: &hand_over::Ground,
    dice: &mut Dice,
    n_steps: u64,
) -> Result<()> {
    let until = ground.n_steps + n_steps;
    let mut n_calls = Vec::new();
    for (idx, trial) in trials.iter().enumerate() {
        n_calls.push(ground.hold((idx, &**trial), &[], &mut Odometer::default())?);
    }
    while ground.n_steps < until {
        let idx = dice.below(trials.len() + 1);
        if idx == trials.len() {
            ground.hand_over(processes, &processes.draw(dice))?;
            continue;
        }
        let calls = &n_calls[idx];
        let mut faults: Vec<Fault> = (0..=dice.below(2)).map(|_| draw(dice, calls)).collect();
        faults.sort_by_key(|it| it.at);
        let digits = (0..MOST_DRAWN).map(|_| (dice.below(1 << 20), usize::MAX)).collect();
        let mut odometer = Odometer { digits, at: 0 };
        ground.hold((idx, &*trials[idx]), &faults, &mut odometer)?;
    }
    Ok(())
}

fn draw(dice: &mut Dice, calls: &[Call]) -> Fault {
    let at = dice.below(calls.len());
    let fates = calls[at].fates();
    let what = match (dice.below(8), fates.is_empty()) {
        (0 | 1, _) | (_, true) => What::Meets(Fate::Kills),
        (2 | 3, _) => What::Power,
        (4, _) => {
            let fate = dice.one(&fates);
            staying(&calls[at], fate).unwrap_or(What::Meets(fate))
        }
        _ => What::Meets(dice.one(&fates)),
    };
    Fault { at, what }
}

/// Returns the error as a lasting error, if it can last: a full disk can, a signal cannot.
fn staying(call: &Call, fate: Fate) -> Option<What> {
    match fate {
        Fate::Fails(errno) if call.changes() && errno != libc::EINTR => Some(What::Stays(errno)),
        _ => None,
    }
}

/// Tests every fault of every call, one at a time; then any two faults.
fn every(ground: &mut Ground, trials: &[Box<dyn Trial>]) -> Result<()> {
    for (idx, trial) in trials.iter().enumerate() {
        let trial = (idx, &**trial);
        let calls = ground.hold(trial, &[], &mut Odometer::default())?;
        let before = ground.n_cases;
        for (at, call) in calls.iter().enumerate() {
            let fates = call.fates();
            let stays = fates.iter().filter_map(|it| staying(call, *it));
            let once = fates.iter().map(|it| What::Meets(*it)).chain(stays);
            for what in once.chain(call.changes().then_some(What::Meets(Fate::Kills))) {
                ground.hold(trial, &[Fault { at, what }], &mut Odometer::default())?;
            }
            let mut odometer = Odometer::default();
            while call.changes() {
                ground.hold(trial, &[Fault { at, what: What::Power }], &mut odometer)?;
                if !odometer.turn() {
                    break;
                }
            }
        }
        println!("{}: {} calls, {} cases of one fault", trial.1.words(), calls.len(), ground.n_cases - before);
    }
    for (idx, trial) in trials.iter().enumerate().take(Switching::N_OF_TWO_FILES) {
        let before = ground.n_cases;
        let calls = ground.hold((idx, &**trial), &[], &mut Odometer::default())?;
        for first in (0..calls.len()).flat_map(|at| plain(at, &calls[at])) {
            let calls = ground.hold((idx, &**trial), &[first], &mut Odometer::default())?;
            for second in (first.at + 1..calls.len()).flat_map(|at| plain(at, &calls[at])) {
                ground.hold((idx, &**trial), &[first, second], &mut Odometer::default())?;
            }
        }
        println!("{}: {} cases of two faults", trial.words(), ground.n_cases - before);
    }
    Ok(())
}

/// Returns the faults at a call: it returns its most likely error, or the process is killed before it.
fn plain(at: usize, call: &Call) -> impl Iterator<Item = Fault> {
    let fates = call.fates().into_iter().take(1).chain([Fate::Kills]);
    fates.filter(|_| call.changes()).map(move |it| Fault { at, what: What::Meets(it) })
}
