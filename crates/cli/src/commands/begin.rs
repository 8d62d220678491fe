//! When a comparison may begin: refuses at another time and on a machine that is not quiet, or waits.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use jiff::Zoned;
use jiff::civil::Time;
use looptax_failure::Failure;

use crate::args::BeginArgs;
use crate::signals::has_paused;
use crate::sys;
use crate::terminal::Terminal;

/// Between two looks at clock and load. The load of a minute does not change faster.
const BETWEEN_LOOKS: Duration = Duration::from_secs(10);

/// Comes back when a run may begin; false where somebody ends the waiting.
///
/// # Errors
/// It may not begin now, and nobody wants to wait.
pub(crate) fn wait(
    args: &BeginArgs,
    waits: bool,
    terminal: Terminal,
    stop: &AtomicBool,
) -> Result<bool, Failure> {
    let mut has_told = false;
    loop {
        let load = args.max_load.and_then(|_| sys::load_per_processor());
        let Some(why) = objection(args, Zoned::now().time(), load) else {
            return Ok(true);
        };
        if !waits {
            return Err(Failure::usage(
                why,
                "--wait waits for it; without --between and --max-load it begins at once",
            ));
        }
        if !has_told {
            terminal.words(&format!("{why}: waiting\n"));
            has_told = true;
        }
        if !has_paused(BETWEEN_LOOKS, stop) {
            return Ok(false);
        }
    }
}

/// What speaks against a beginning now; a load that nobody knows does.
fn objection(args: &BeginArgs, now: Time, load: Option<f64>) -> Option<String> {
    if let Some(part) = args.between.filter(|it| !it.has(now)) {
        let now = now.strftime("%H:%M");
        return Some(format!("it is {now}, and the run begins within {part}"));
    }
    let most = args.max_load?;
    match load {
        Some(load) if load <= most => None,
        Some(load) => Some(format!(
            "the load of the last minute is {load:.2} for each processor, and the run begins at {most} at the most"
        )),
        None => Some("the machine's load is not known: /proc/loadavg cannot be read".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        begin: BeginArgs,
    }

    #[track_caller]
    fn check(typed: &str, hour: i8, load: Option<f64>, expected: Option<&str>) {
        let words = std::iter::once("looptax").chain(typed.split_whitespace());
        let args = Typed::parse_from(words).begin;
        let found = objection(&args, Time::new(hour, 30, 0, 0).unwrap(), load);
        assert_eq!(found.as_deref(), expected);
    }

    #[test]
    fn a_run_begins_in_its_hours_on_a_machine_that_is_quiet() {
        let both = "--between 02:00-04:00 --max-load 0.2";
        check("", 14, None, None);
        check(both, 3, Some(0.2), None);
        let late = "it is 14:30, and the run begins within 02:00-04:00";
        check(both, 14, Some(0.1), Some(late));
        let busy = "the load of the last minute is 0.25 for each processor, and the run begins at 0.2 at the most";
        check(both, 3, Some(0.25), Some(busy));
        let unknown = "the machine's load is not known: /proc/loadavg cannot be read";
        check("--max-load 1", 3, None, Some(unknown));
    }
}
