//! Runs a list of steps: prints a line with the time of each, and stops at the first step that fails.
//!
//! Called by `check`. This module does not know what a step does.

use std::process::Command;
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
    let begin = Instant::now();
    for step in steps {
        println!("== {}", step.name);
        let start = Instant::now();
        step.run().with_context(|| format!("step {} failed (repeat it with: {})", step.name, step.repeat))?;
        println!("== {}: fine, {:.1} s", step.name, start.elapsed().as_secs_f64());
    }
    println!("== all {} steps are fine, {:.0} s", steps.len(), begin.elapsed().as_secs_f64());
    Ok(())
}

#[cfg(test)]
mod tests {
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
}
