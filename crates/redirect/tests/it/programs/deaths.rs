//! One of our processes is killed while the program runs or during a start: no process of the tree remains.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::process::{Child, Command};
use std::time::Duration;

use libtest_mimic::Trial;
use looptax_redirect::{Exit, Programs};
use looptax_testkit::dice::Dice;
use looptax_testkit::patience;

use super::{Case, begin_shell, begin_shell_into, command};
use crate::trial;

pub(super) const CASES: &[Case] = &[
    ("hold", || hold(TREE, N_OF_TREE)),
    ("hold-background", || hold(BACKGROUND, N_OF_BACKGROUND)),
    ("churn", churn),
    ("chain", chain),
];

/// No correct operation takes this long.
const PATIENCE: Duration = Duration::from_secs(60);
/// The variable by which all processes of a tree are found, whatever has become of them.
const MARK: &str = "LOOPTAX_TREE";
/// Names of our own processes; the measuring process does not have any of these names.
const HELPERS: [&str; 4] = ["looptax-launch", "looptax-watch", "looptax-run", "looptax-guard"];

/// A program with child processes, in the background and not, that ignore the request to end. The first shell stops
/// itself if its `sleep` is killed before it, because it must not end by itself.
const TREE: &str = "trap '' TERM HUP; (setsid sh -c 'sleep 1000; :' > /dev/null 2>&1 &); \
                    (sleep 1000; :) & sleep 1000; kill -STOP $$";
/// Number of its processes: three shells, and the programs that they wait for.
const N_OF_TREE: usize = 6;

/// A program whose first process ends immediately.
const BACKGROUND: &str = "trap '' TERM HUP; (setsid sh -c 'sleep 1000; :' > /dev/null 2>&1 &)";
const N_OF_BACKGROUND: usize = 2;

/// Each process starts the next one and ends, faster than a list of processes is read. The last one prints that it has
/// stayed.
const CHAIN: &str = "exec perl -e '$SIG{TERM} = $SIG{HUP} = q(IGNORE); $| = 1; print qq(runs\\n); \
                     for (1 .. 30_000) { fork and exit } print q(stayed)'";

pub(super) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    let victims = HELPERS.map(Some).into_iter().chain([None]);
    for victim in victims {
        let name = victim.unwrap_or("measuring-process").replace('-', "_");
        trials.push(trial(&format!("nothing_stays_of_a_program_whose_{name}_is_killed"), move || {
            held("hold", &[victim]);
        }));
        trials.push(trial(&format!("nothing_stays_in_the_background_when_{name}_is_killed"), move || {
            held("hold-background", &[victim]);
        }));
        trials.push(trial(&format!("nothing_stays_when_{name}_is_killed_at_any_moment"), move || churned(victim)));
    }
    for victim in [Some(HELPERS[0]), Some(HELPERS[1]), None] {
        let name = victim.unwrap_or("measuring-process").replace('-', "_");
        trials.push(trial(&format!("nothing_stays_of_a_chain_of_processes_when_{name}_is_killed"), move || {
            chained(victim);
        }));
    }
    trials.push(trial("nothing_stays_when_one_after_the_other_is_killed", || {
        let firsts = HELPERS.iter();
        for (first, last) in firsts.zip(HELPERS.iter().cycle().skip(1)) {
            held("hold", &[Some(first), Some(last)]);
        }
    }));
    trials
}

/// Starts a tree, then checks what the test's orders demand.
fn hold(script: &str, n_processes: usize) {
    let mut programs = begin_shell(script);
    programs.start().unwrap();
    await_tree(&programs, n_processes);
    println!("ready");
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        match &*line {
            "runs" => assert_eq!(programs.pids_of_program().len(), n_processes),
            "ended" => {
                let exit = patience::wait_for("its end", PATIENCE, || programs.has_ended());
                let is_killed = exit == Exit::Signal(libc::SIGKILL);
                assert_eq!(is_killed, script == TREE, "{exit:?}");
                assert!(programs.pids_of_program().is_empty());
            }
            "starts" => {
                programs.start().unwrap();
                await_tree(&programs, n_processes);
            }
            "lost" => {
                assert!(programs.start().is_err());
                assert!(programs.end(Duration::ZERO).is_err());
            }
            _ => panic!("{line}"),
        }
        println!("did {line}");
    }
}

/// Waits until each shell that stays has its `sleep`, and the other processes are gone.
fn await_tree(programs: &Programs, n_processes: usize) {
    patience::wait_for("the whole tree", PATIENCE, || {
        let pids = programs.pids_of_program();
        let names = pids.iter().map(|pid| fs::read_to_string(format!("/proc/{pid}/comm")));
        let n_sleeping = names.filter(|name| name.as_ref().is_ok_and(|it| it == "sleep\n"));
        (n_sleeping.count() * 2 == n_processes && pids.len() == n_processes).then_some(())
    });
}

/// Starts and ends a program as fast as possible, whether there are errors or not.
fn churn() {
    let mut programs = begin_shell(TREE);
    for _ in 0..12 {
        let started = programs.start();
        println!("{}", if started.is_ok() { "started" } else { "not started" });
        let _ = programs.end(Duration::ZERO);
        println!("ended");
    }
}

fn chain() {
    let output = std::io::stdout().as_fd().try_clone_to_owned().unwrap();
    let mut programs = begin_shell_into(CHAIN, Some(output));
    programs.start().unwrap();
    let _ = std::io::stdin().lines().next();
}

/// A measuring process, and all processes that descend from it.
struct Tree {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    mark: String,
}

impl Tree {
    fn start(case: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mark = folder.path().display().to_string();
        let mut command: Command = command(case);
        let mut child = command.env(MARK, &mark).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output, mark }
    }

    /// Returns the tree's running processes and their names.
    fn processes(&self) -> HashMap<i32, String> {
        let wanted = format!("{MARK}={}", self.mark).into_bytes();
        let pids = fs::read_dir("/proc").unwrap().flatten();
        let pids = pids.filter_map(|it| it.file_name().to_str()?.parse().ok());
        let named = pids.filter_map(|pid: i32| {
            let words = fs::read(format!("/proc/{pid}/environ")).ok()?;
            let is_its = words.split(|byte| *byte == 0).any(|word| word == wanted);
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
            is_its.then(|| (pid, name.trim().to_owned()))
        });
        named.collect()
    }

    /// Returns the process of this name; without a name, the measuring process.
    fn find(&self, name: Option<&str>) -> Option<i32> {
        let Some(name) = name else {
            return Some(self.child.id().cast_signed());
        };
        let processes = self.processes();
        let found = processes.iter().find(|(_, its)| *its == name);
        found.map(|(pid, _)| *pid)
    }

    /// Waits until no process of the tree runs, except for processes of these names and, if it lives, the measuring
    /// process.
    #[track_caller]
    fn expect_alone(&mut self, names: &[&str]) {
        let own = self.child.id().cast_signed();
        let mut seen = HashMap::new();
        let is_alone = patience::wait(PATIENCE, || {
            let has_ended = self.child.try_wait().unwrap().is_some();
            seen = self.processes();
            seen.retain(|pid, name| !names.contains(&&**name) && (has_ended || *pid != own));
            seen.is_empty().then_some(())
        });
        assert!(is_alone.is_some(), "{seen:?}");
    }

    fn say(&mut self, word: &str) {
        writeln!(self.child.stdin.as_mut().unwrap(), "{word}").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert_eq!(line, format!("did {word}\n"));
    }
}

/// Kills these processes one after the other while the program runs.
fn held(case: &str, victims: &[Option<&str>]) {
    let mut tree = Tree::start(case);
    let mut line = String::new();
    tree.output.read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    let is_background = case == "hold-background";
    let n_of_program = if is_background { N_OF_BACKGROUND } else { N_OF_TREE };
    // A process that is just executing a program shows no environment.
    patience::wait_for("all its processes", PATIENCE, || {
        (tree.processes().len() == 1 + HELPERS.len() + n_of_program).then_some(())
    });
    let mut killed = Vec::new();
    for victim in victims {
        // The process may have ended together with another one, before it is found or after that.
        let Some(pid) = tree.find(*victim) else {
            continue;
        };
        if unsafe { libc::kill(pid, libc::SIGKILL) } == 0 {
            killed.push(victim.unwrap_or_default());
        } else {
            let error = std::io::Error::last_os_error();
            assert_eq!(error.raw_os_error(), Some(libc::ESRCH));
        }
    }
    if killed.contains(&"") {
        tree.expect_alone(&[]);
    } else if killed.contains(&HELPERS[0]) {
        tree.expect_alone(&[]);
        tree.say("ended");
        tree.say("lost");
    } else if killed.contains(&HELPERS[1]) {
        tree.expect_alone(&[HELPERS[0]]);
        tree.say("ended");
        tree.say("starts");
        tree.say("runs");
    } else {
        // The other processes do the victim's work.
        tree.say("runs");
    }
    let is_killed = killed.contains(&"");
    drop(tree.child.stdin.take());
    assert_eq!(tree.child.wait().unwrap().success(), !is_killed);
    tree.expect_alone(&[]);
}

/// Kills `victim` while processes of the program start and end.
fn chained(victim: Option<&str>) {
    let mut tree = Tree::start("chain");
    let mut line = String::new();
    tree.output.read_line(&mut line).unwrap();
    assert_eq!(line, "runs\n");
    let pid = tree.find(victim).unwrap();
    assert_eq!(unsafe { libc::kill(pid, libc::SIGKILL) }, 0);
    drop(tree.child.stdin.take());
    tree.child.wait().unwrap();
    // The output ends with the last process that holds it.
    let mut output = String::new();
    tree.output.read_to_string(&mut output).unwrap();
    assert_eq!(output, "");
}

/// Kills `victim` at a random moment, several times.
fn churned(victim: Option<&str>) {
    let mut dice = Dice::new(victim.map_or(0, str::len) as u64);
    let mut n_hit = 0;
    for _ in 0..8 {
        let mut tree = Tree::start("churn");
        let n_lines = dice.below(12);
        let mut lines = tree.output.by_ref().lines();
        for _ in 0..n_lines {
            lines.next().unwrap().unwrap();
        }
        for _ in 0..dice.below(2_000) {
            std::hint::black_box(fs::read("/proc/self/stat").unwrap());
        }
        let found = patience::wait(PATIENCE, || {
            let is_over = tree.child.try_wait().unwrap().is_some();
            let found = tree.find(victim);
            (found.is_some() || is_over).then_some(found)
        });
        if let Some(pid) = found.unwrap() {
            n_hit += u32::from(unsafe { libc::kill(pid, libc::SIGKILL) } == 0);
        }
        patience::wait_for("its end", PATIENCE, || tree.child.try_wait().unwrap());
        tree.expect_alone(&[]);
    }
    assert!(n_hit > 0);
}
