//! Runs a list of steps: a line for each with its time, and a stop at the first that fails.
//!
//! Called by `check` and `long`; knows nothing about what a step does.

use std::time::Instant;

use anyhow::{Context, Result};

/// One thing to do.
pub(crate) struct Step {
    /// What the line on the terminal says.
    pub(crate) name: &'static str,
    /// What to type to do this step alone.
    pub(crate) repeat: &'static str,
    /// The work itself.
    pub(crate) work: fn() -> Result<()>,
}

/// Runs the steps in order and stops at the first failure, with the command that repeats it.
pub(crate) fn run(steps: &[Step]) -> Result<()> {
    let begin = Instant::now();
    for step in steps {
        println!("== {}", step.name);
        let start = Instant::now();
        (step.work)().with_context(|| {
            format!(
                "step {} failed (repeat it with: {})",
                step.name, step.repeat
            )
        })?;
        println!(
            "== {}: fine, {:.1} s",
            step.name,
            start.elapsed().as_secs_f64()
        );
    }
    println!(
        "== all {} steps are fine, {:.0} s",
        steps.len(),
        begin.elapsed().as_secs_f64()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINE: Step = Step {
        name: "one",
        repeat: "cargo one",
        work: || Ok(()),
    };
    const BROKEN: Step = Step {
        name: "two",
        repeat: "cargo two",
        work: || anyhow::bail!("no luck"),
    };
    const NEVER: Step = Step {
        name: "three",
        repeat: "",
        work: || panic!("must not run"),
    };

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
