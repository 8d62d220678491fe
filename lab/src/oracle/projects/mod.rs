//! Random projects with real applications, drivers and servers. `looptax switch --yes` must leave each project either
//! moved and proved, or unchanged.
//!
//! `draw` chooses the properties of a project, `forms` writes its files, `ground` starts the servers, and `application`
//! runs the application. `part` runs the projects one after the other in separate namespaces. `judge` checks the result
//! with the files and with the application's requests.

mod application;
mod draw;
mod forms;
mod ground;
mod judge;
mod kernel;
mod options;
mod part;
mod program;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::ChildStdout;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use self::forms::FORMS;
use self::judge::Ending;
pub(crate) use self::options::Options;
use self::part::{Line, Played};
use crate::coin::Coin;
use crate::servers::Ours;
use crate::workspace::debug_looptax;

/// Runs the projects. A project that is neither moved and proved nor unchanged is a failure, which is printed with its
/// seed.
pub(super) fn run(options: &Options) -> Result<()> {
    if options.list {
        for form in FORMS {
            println!("{}", form.name);
        }
        return Ok(());
    }
    if let (Some(idx), Some(looptax), Some(scratch)) = (options.part, &options.looptax, &options.scratch) {
        return part::run(options, idx, looptax, scratch);
    }
    ensure!(rustix::process::geteuid().is_root(), "namespaces and other users' programs need root: run this as root");
    forms::named(&options.form)?;
    let looptax = options.looptax.clone().map_or_else(debug_looptax, Ok)?;
    // The seed is short enough to be typed.
    let seed = options.seed.map_or_else(|| Coin::new(None).map(|it| it.seed >> 40), Ok)?;
    println!("seed {seed}");
    let start = Instant::now();
    let (tell, told) = channel();
    let mut parts = Vec::new();
    for idx in 0..options.parts {
        let scratch = tempfile::Builder::new().prefix("looptax-projects-").tempdir()?;
        let mut part = Ours::start(&mut part::command(options, seed, idx as usize, &looptax, scratch.path())?)?;
        let lines = part.0.stdout.take().context("a part has an output")?;
        let tell = tell.clone();
        thread::spawn(move || read(lines, &tell));
        parts.push((part, scratch));
    }
    drop(tell);
    let mut all = Vec::new();
    let mut n_failed = 0;
    for line in told {
        match line {
            Line::Missing { form, why } => println!("SKIPPED {form}: {why}"),
            Line::Failed { seed, why } => {
                n_failed += 1;
                println!("could not run seed {seed}: {why}");
            }
            Line::Played(played) => {
                say(&played);
                all.push(*played);
            }
        }
    }
    for (part, _) in &mut parts {
        ensure!(part.0.wait()?.success(), "a part failed");
    }
    if let Some(path) = &options.reports {
        all.sort_by_key(|it| it.seed);
        let reports = all.iter().map(|it| format!("{}\n{}\n", head(it), it.report));
        fs::write(path, reports.collect::<String>()).with_context(|| format!("cannot write {}", path.display()))?;
    }
    end(&all, n_failed, start, options)
}

fn read(lines: ChildStdout, tell: &Sender<Line>) {
    for line in BufReader::new(lines).lines().map_while(Result::ok) {
        match serde_json::from_str(&line) {
            Ok(line) => {
                if tell.send(line).is_err() {
                    return;
                }
            }
            Err(_) => println!("{line}"),
        }
    }
}

fn head(played: &Played) -> String {
    let mut text = format!("== seed {}: {}: {}\n", played.seed, played.ending.title(), played.settings);
    if !played.reason.is_empty() {
        let _ = writeln!(text, "   {}", played.reason);
    }
    for violation in &played.violations {
        let _ = writeln!(text, "   VIOLATION: {violation}");
    }
    text
}

fn say(played: &Played) {
    println!("seed {} {}: {}", played.seed, played.ending.title(), played.settings);
    let is_surprise = played.ending == Ending::PutBack && !played.has_obstacle || played.ending == Ending::Unplayed;
    if !played.violations.is_empty() || is_surprise {
        println!("{}{}", head(played), played.report);
    }
}

/// Prints the table, and the commands that repeat the failed projects.
fn end(all: &[Played], n_failed: usize, start: Instant, options: &Options) -> Result<()> {
    let mut rows: BTreeMap<&str, BTreeMap<Ending, usize>> = BTreeMap::new();
    for played in all {
        *rows.entry(&played.form).or_default().entry(played.ending).or_default() += 1;
        *rows.entry("~ all").or_default().entry(played.ending).or_default() += 1;
    }
    print!("\n{:<22}", "form");
    println!("{}", Ending::ALL.map(|it| format!("{:>10}", it.title())).concat());
    for (form, counts) in &rows {
        print!("{:<22}", form.trim_start_matches("~ "));
        let counts = Ending::ALL.map(|it| format!("{:>10}", counts.get(&it).copied().unwrap_or(0)));
        println!("{}", counts.concat());
    }
    let is_free = |it: &&Played| !it.has_obstacle;
    let n_free = all.iter().filter(is_free).count();
    let n_moved = all.iter().filter(is_free).filter(|it| matches!(it.ending, Ending::Moved | Ending::There)).count();
    println!("\nno obstacle for {n_free}; moved, or on the socket before: {n_moved}");
    for played in all.iter().filter(is_free).filter(|it| it.ending == Ending::PutBack) {
        println!("put back although there was no obstacle: seed {}, {}: {}", played.seed, played.form, played.reason);
    }
    let wrong: Vec<&Played> = all.iter().filter(|it| !it.violations.is_empty()).collect();
    println!("\n{} projects in {} s, {} with violations", all.len(), start.elapsed().as_secs(), wrong.len());
    for played in &wrong {
        println!(
            "{}   again: cargo lab oracle projects --draws 1 --parts 1 --seed {}{}",
            head(played),
            played.seed,
            forms_typed(options)
        );
    }
    if !wrong.is_empty() || n_failed > 0 {
        bail!("{} projects with violations, {n_failed} that could not run", wrong.len());
    }
    Ok(())
}

/// Returns the forms as they were typed, because with other forms a seed gives another project.
fn forms_typed(options: &Options) -> String {
    options.form.iter().flat_map(|it| [" --form ", it]).collect()
}
