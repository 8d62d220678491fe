//! Runs a list of steps: prints a line with the time of each, and stops at the first step that fails.
//!
//! Steps that mostly wait for servers and clocks can run at the same time. Called by `check`. This module does not know
//! what a step does.

use std::collections::VecDeque;
use std::process::Command;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::workspace::{built, root, run_cargo, run_to_success};

#[derive(Clone, Copy)]
pub(crate) struct Step {
    /// The name of the step on the terminal.
    pub(crate) name: &'static str,
    /// The command that does only this step.
    pub(crate) repeat: &'static str,
    pub(crate) work: Work,
}

/// Number of steps that run at the same time.
const AT_ONCE: usize = 2;

#[derive(Clone, Copy)]
pub(crate) enum Work {
    /// Runs the command in `repeat`, which begins with `cargo`.
    Cargo,
    /// Runs the command in `repeat`, which begins with `cargo lab`, with the binaries that the tests were built with.
    Lab {
        /// Whether the path of looptax is passed with `--looptax`; otherwise the lab finds it itself.
        takes_looptax: bool,
    },
    Own(fn() -> Result<()>),
}

impl Step {
    fn run(&self) -> Result<()> {
        match self.work {
            Work::Cargo => run_cargo(&self.repeat.split(' ').skip(1).collect::<Vec<_>>()),
            Work::Lab { takes_looptax } => {
                let mut command = Command::new(built("lab")?);
                command.args(self.repeat.split(' ').skip(2));
                if takes_looptax {
                    command.arg("--looptax").arg(built("looptax")?);
                }
                run_to_success(command.env("CARGO_MANIFEST_DIR", root()?.join("lab")))
            }
            Work::Own(work) => work(),
        }
    }
}

/// Runs the steps in order. Stops at the first failure, and prints the command that repeats it.
pub(crate) fn run(steps: &[Step]) -> Result<()> {
    steps.iter().try_for_each(run_one)
}

/// Runs steps at the same time. After a failure no other step begins, but those that have begun run to their end.
pub(crate) fn run_together(steps: &[Step]) -> Result<()> {
    let queue: Mutex<VecDeque<&Step>> = Mutex::new(steps.iter().collect());
    let lane = || -> Result<()> {
        let next = || queue.lock().expect("nobody panics").pop_front();
        while let Some(step) = next() {
            run_one(step).inspect_err(|_| queue.lock().expect("nobody panics").clear())?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let lanes: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(lane)).collect();
        let ends: Vec<Result<()>> = lanes.into_iter().map(|it| it.join().expect("nobody panics")).collect();
        ends.into_iter().collect()
    })
}

fn run_one(step: &Step) -> Result<()> {
    println!("== {}", step.name);
    let start = Instant::now();
    step.run().with_context(|| format!("step {} failed (repeat it with: {})", step.name, step.repeat))?;
    println!("== {}: fine, {:.1} s", step.name, start.elapsed().as_secs_f64());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    const FINE: Step = Step { name: "one", repeat: "cargo one", work: Work::Own(|| Ok(())) };
    const BROKEN: Step = Step { name: "two", repeat: "cargo two", work: Work::Own(|| anyhow::bail!("no luck")) };
    const NEVER: Step = Step { name: "three", repeat: "", work: Work::Own(|| panic!("must not run")) };

    #[test]
    fn stops_at_the_first_failure_and_says_how_to_repeat_it() {
        let error = run(&[FINE, BROKEN, NEVER]).expect_err("the second step fails");
        let text = format!("{error:#}");
        assert_eq!(text, "step two failed (repeat it with: cargo two): no luck");
    }

    #[test]
    fn is_done_when_every_step_is() {
        run(&[FINE, FINE]).expect("both steps succeed");
    }

    #[test]
    fn steps_run_at_the_same_time_and_none_begins_after_a_failure() {
        static N_BEGUN: Barrier = Barrier::new(AT_ONCE);
        let meet = || {
            N_BEGUN.wait();
            Ok(())
        };
        let meets = Step { work: Work::Own(meet), ..FINE };
        run_together(&[meets; AT_ONCE]).expect("they wait for each other");
        let error = run_together(&[BROKEN, BROKEN, NEVER]).expect_err("the first step fails");
        assert!(format!("{error:#}").starts_with("step two failed"), "{error:#}");
    }
}
