//! `cargo lab records`: checks whether a record that someone has changed can do harm.
//!
//! Takes records of each kind, sets one field after another to values at the limits of its meaning and beyond, and
//! passes the records to every command that reads one. A command may succeed or refuse the record; it must not panic,
//! end by a signal, or hang.

mod edges;
mod originals;
mod tried;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::coin::Coin;
use crate::workspace;
use edges::Mutant;
use originals::Original;
use tried::{Fate, Reader};

/// Highest number of failures that are shown in full.
const MOST_SHOWN: usize = 20;

/// Options of `records`.
#[derive(Args)]
pub(crate) struct Options {
    /// Number of mutants
    #[arg(long, default_value_t = 2_000)]
    mutants: usize,
    /// Use only stored records, and fewer mutants: takes about 20 s
    #[arg(long, conflicts_with = "mutants")]
    short: bool,
    /// Test this program instead of building one
    #[arg(long, value_name = "FILE")]
    looptax: Option<PathBuf>,
    /// Repeat the mutants of an earlier run
    #[arg(long)]
    seed: Option<u64>,
    /// Write mutants that cause a failure into this folder
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
}

/// Number of mutants between two progress messages.
const SAID_EVERY: usize = 250;
const SHORT: usize = 60;

pub(crate) fn run(options: &Options) -> Result<()> {
    let looptax = match &options.looptax {
        Some(path) => path.clone(),
        None if options.short => workspace::debug_looptax()?,
        None => workspace::looptax()?,
    };
    let mut coin = Coin::new(options.seed)?;
    let n_wanted = if options.short { SHORT } else { options.mutants };
    let mut originals = originals::kept()?;
    if !options.short {
        originals.extend(originals::made(&looptax)?);
    }
    for original in &originals {
        println!("{}: {} bytes", original.name, original.text.len());
    }
    let reader = Reader::new(looptax)?;
    for original in &originals {
        reader.check_sound(original)?;
    }
    let mutants = edges::mutants(&originals, n_wanted, &mut coin);
    println!("seed {}: {} mutants", coin.seed, mutants.len());
    let begun = Instant::now();
    let all = try_all(&reader, &originals, &mutants)?;
    report(&originals, &mutants, &all, options)?;
    println!("{:.0} s", begun.elapsed().as_secs_f64());
    let n_harmful = all.iter().filter(|it| !it.harm.is_empty()).count();
    if n_harmful > 0 {
        bail!("{n_harmful} of {} mutants did harm", mutants.len());
    }
    Ok(())
}

/// Tries all mutants, on as many threads as there are cores.
fn try_all(reader: &Reader, originals: &[Original], mutants: &[Mutant]) -> Result<Vec<Fate>> {
    let next = AtomicUsize::new(0);
    let all = Mutex::new(BTreeMap::new());
    let work = || -> Result<()> {
        let place = reader.place()?;
        loop {
            let idx = next.fetch_add(1, Ordering::Relaxed);
            let Some(mutant) = mutants.get(idx) else {
                return Ok(());
            };
            let fate = reader.try_mutant(&originals[mutant.original], &mutant.text, &place)?;
            let mut all = all.lock().expect("nobody panics while it is held");
            all.insert(idx, fate);
            if all.len().is_multiple_of(SAID_EVERY) {
                println!("{} of {} tried", all.len(), mutants.len());
            }
        }
    };
    let n_threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let threads: Vec<_> = (0..n_threads).map(|_| scope.spawn(work)).collect();
        threads.into_iter().try_for_each(|thread| {
            let ended = thread.join();
            ended.map_err(|_| anyhow::anyhow!("a thread of the lab panicked"))?
        })
    })?;
    let all = all.into_inner().expect("the threads have ended");
    Ok(all.into_values().collect())
}

fn report(originals: &[Original], mutants: &[Mutant], all: &[Fate], options: &Options) -> Result<()> {
    let mut commands: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for (command, ended) in all.iter().flat_map(|it| &it.ended) {
        *commands.entry((command, ended.word())).or_default() += 1;
    }
    for ((command, word), n) in commands {
        println!("{command}: {n} {word}");
    }
    let n_refused = all.iter().filter(|it| it.is_refused()).count();
    println!("{n_refused} of {} refused by every command", mutants.len());
    let harmful = mutants.iter().zip(all).filter(|(_, it)| !it.harm.is_empty());
    for (n, (mutant, fate)) in harmful.enumerate() {
        let name = &originals[mutant.original].name;
        if n < MOST_SHOWN {
            println!("{name}, {}:", mutant.change);
            for line in &fate.harm {
                println!("  {line}");
            }
        }
        if let Some(folder) = &options.keep {
            std::fs::create_dir_all(folder).context("cannot make the folder for mutants")?;
            std::fs::write(folder.join(format!("{n}.json")), &mutant.text)?;
        }
    }
    Ok(())
}
