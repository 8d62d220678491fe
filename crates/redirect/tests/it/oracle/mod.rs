//! Random programs over sockets, plain over TCP and moved. Each call must have the same result in both runs, or one of
//! the differences that the documentation lists.
//!
//! A program is defined by a seed: `program` makes its calls in an order, with flags, sizes and threads that depend
//! only on the seed, and prints the result of each call; a threaded program prints the outcome of its connections.
//! `known` lists the accepted differences. `oracle --programs N --threaded N --seed S` runs many programs, and
//! `oracle --table` prints the differences in the form of the documentation page; a few programs run as a test.

mod calls;
mod data;
mod known;
mod options;
mod program;
mod queue;
mod threaded;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use libtest_mimic::Trial;
use queue::WAYS;

use crate::server::Server;
use crate::supervise::Run;
use crate::trial;

/// Run-times with their own threads and event loops: `clients/run threads NAME`.
const OTHERS: [&str; 3] = ["selector", "libuv", "go"];

/// Number of programs that one process runs, one after another: what looptax remembers about the process has to stay
/// right.
const IN_A_PROCESS: u64 = 5;
const A_FEW: u64 = 100;
/// Number of processes that run at the same time: they mostly wait.
const AT_ONCE: usize = 20;
/// How many differences are printed in full.
const MAX_TOLD: usize = 20;

pub(crate) use program::main as program;
pub(crate) use threaded::main as threaded;

pub(crate) fn trials() -> Vec<Trial> {
    let check = |compare: fn() -> Found| {
        let found = compare();
        assert!(found.others.is_empty(), "{}", found.others.join("\n"));
        assert!(found.n_moved > A_FEW / 2, "{}", found.n_moved);
    };
    vec![
        trial("r18_random_programs_get_what_they_would_over_tcp", move || check(|| compare(A_FEW, 18, calls))),
        trial("r50_random_threads_get_what_they_would_over_tcp", move || {
            check(|| compare(A_FEW, 50, |seed, n, found| threads(seed, n, &WAYS.map(|it| (it.0, None)), found)));
        }),
    ]
}

/// Runs `oracle --programs N --threaded N --seed S --others COMMAND`: compares, and prints the differences.
pub(crate) fn main(words: &[String]) -> ExitCode {
    let word = |name: &str| words.iter().position(|word| word == name).map(|at| &*words[at + 1]);
    let number = |name: &str, usual: u64| word(name).map_or(usual, |it| it.parse().unwrap());
    if words.iter().any(|word| word == "--table") {
        println!("{}", known::table());
        return ExitCode::SUCCESS;
    }
    let others = word("--others");
    let own = WAYS.iter().map(|it| (it.0, None));
    let ways: Vec<_> = own.chain(others.into_iter().flat_map(|it| OTHERS.map(|name| (name, Some(it))))).collect();
    let seed = number("--seed", 18);
    let mut is_bad = false;
    for (kind, n) in [("of calls", number("--programs", A_FEW)), ("of threads", number("--threaded", A_FEW))] {
        let found = match kind {
            "of calls" => compare(n, seed, calls),
            _ => compare(n, seed, |seed, n, found| threads(seed, n, &ways, found)),
        };
        for other in found.others.iter().take(MAX_TOLD) {
            println!("{other}\n");
        }
        let (n_moved, n_alike, n_others) = (found.n_moved, found.n_alike, found.others.len());
        println!(
            "{n} programs {kind} from seed {seed}: {n_moved} connections moved, {n_alike} programs alike to the last, \
             {n_others} others"
        );
        for (difference, n) in &found.known {
            println!("{n:6} {difference}");
        }
        is_bad |= n_others > 0;
    }
    ExitCode::from(u8::from(is_bad))
}

#[derive(Default)]
struct Found {
    n_moved: u64,
    n_alike: u64,
    /// How often each documented difference occurred.
    known: BTreeMap<&'static str, u64>,
    /// Differences that are not documented, each with the calls of its program up to the difference.
    others: Vec<String>,
}

fn compare(n_programs: u64, seed: u64, process: impl Fn(u64, u64, &Mutex<Found>) + Sync) -> Found {
    let found = Mutex::new(Found::default());
    let next = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let first = next.fetch_add(IN_A_PROCESS, Ordering::SeqCst);
                    if first >= n_programs {
                        return;
                    }
                    let n = IN_A_PROCESS.min(n_programs - first);
                    process(seed.wrapping_add(first << 20), n, &found);
                }
            });
        }
    });
    found.into_inner().unwrap()
}

/// Runs programs of calls in one process.
fn calls(seed: u64, n: u64, found: &Mutex<Found>) {
    let server = Server::start();
    let words = ["program", &server.tcp.to_string(), &seed.to_string(), &n.to_string()];
    both(Run::itself(&words), &server, found);
}

/// Runs programs of threads in one process. Each process waits in one of the ways, and is this program or another one.
fn threads(seed: u64, n: u64, ways: &[(&str, Option<&str>)], found: &Mutex<Found>) {
    let server = Server::start();
    let (way, by) = ways[(seed >> 20) as usize / IN_A_PROCESS as usize % ways.len()];
    let lines: Vec<String> = (0..n).map(|idx| threaded::draw(seed.wrapping_add(idx), way)).collect();
    let file = server.folder.path().join("programs");
    std::fs::write(&file, lines.join("\n")).unwrap();
    let (to, file) = (server.tcp.to_string(), file.display().to_string());
    let run = match by {
        None => Run::itself(&["threaded", &to, &file]),
        Some(by) => Run::command(&[by, "threads", way, &to, &file]),
    };
    both(run, &server, found);
}

/// Runs some programs in one process, once plain and once moved.
fn both(run: Run, server: &Server, found: &Mutex<Found>) {
    let run = run.route(server.tcp, &server.socket);
    let plain = run.clone().plain().run().good();
    let moved = run.run().good();
    let n_moved = moved.stderr.matches("Moved {").count() as u64;
    let programs = |text: &str| -> Vec<Vec<String>> {
        let programs = text.split("program ").skip(1);
        let lines = |it: &str| it.lines().map(str::to_owned).collect();
        programs.map(lines).collect()
    };
    let mut found = found.lock().unwrap();
    found.n_moved += n_moved;
    let [plain, moved] = [&plain, &moved].map(|it| programs(&it.stdout));
    for idx in 0..plain.len().max(moved.len()) {
        let [plain, moved] = [&plain, &moved].map(|it| it.get(idx).map_or(&[][..], |it| it));
        found.take(plain, moved);
    }
}

impl Found {
    /// Compares the results of a program's calls in the plain run and in the moved run.
    fn take(&mut self, plain: &[String], moved: &[String]) {
        // If one run has fewer lines than the other, it ended early at that point.
        let n_told = plain.len().max(moved.len());
        let told = |lines: &[String], at: usize| lines.get(at).map_or("nothing", |it| it).to_owned();
        let differing = (0..n_told).filter(|at| plain.get(*at) != moved.get(*at));
        let mut is_alike = true;
        for at in differing {
            is_alike = false;
            let before = &plain[..at.min(plain.len())];
            let (plain, moved) = (&told(plain, at), &told(moved, at));
            let Some(difference) = known::difference(before, plain, moved) else {
                let before = before.join("\n");
                let other = format!("program {before}\nplain {plain}\nmoved {moved}");
                self.others.push(other);
                return;
            };
            *self.known.entry(difference.words).or_default() += 1;
            if difference.parts_ways {
                return;
            }
        }
        self.n_alike += u64::from(is_alike);
    }
}
