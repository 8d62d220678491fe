//! `find`: which servers run here, on which sockets, and who pays for TCP.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use looptax_discover::survey;
use looptax_record::{CostSource, Found};
use looptax_report::terminal as report;
use looptax_store::save_value;

use super::compare;
use crate::args::FindArgs;
use crate::failure::{Exit, Failure};
use crate::find::{cost, listing::listing};
use crate::signals::stop_flag;
use crate::terminal::{self, Terminal};

/// Between the two looks that rates are made of.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
/// Between the looks of `--watch`.
const BETWEEN_SCREENS: Duration = Duration::from_secs(2);
/// How often a pause looks whether it should end.
const STEP: Duration = Duration::from_millis(50);
/// Clears the screen and goes to its upper left corner.
const CLEAR: &str = "\u{1b}[2J\u{1b}[H";

/// Runs `find`.
pub(crate) fn run(args: &FindArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let sources = sources(args, terminal)?;
    let stop = stop_flag()?;
    let mut earlier = survey(None);
    if args.once {
        show(args, &listing(None, &earlier, &sources), terminal)?;
        return Ok(Exit::Done);
    }
    let mut pause = BETWEEN_LOOKS;
    loop {
        if !has_paused(pause, &stop) {
            return Ok(if args.watch {
                Exit::Done
            } else {
                Exit::Interrupted
            });
        }
        let later = survey(Some(&earlier));
        show(args, &listing(Some(&earlier), &later, &sources), terminal)?;
        if !args.watch {
            return Ok(Exit::Done);
        }
        earlier = later;
        pause = BETWEEN_SCREENS;
    }
}

/// What a request costs, from where the user said, or else from records that lie about.
fn sources(args: &FindArgs, terminal: Terminal) -> Result<Vec<CostSource>, Failure> {
    if args.measure {
        let record = compare::echo_in_ten_seconds(terminal)?;
        return Ok(cost::of(&record, "measured with the built-in echo server"));
    }
    match &args.record {
        Some(path) => cost::of_record(path),
        None => Ok(cost::of_this_folder()),
    }
}

/// Sleeps; false when somebody wants to end.
fn has_paused(pause: Duration, stop: &AtomicBool) -> bool {
    let n_steps = pause.as_millis() / STEP.as_millis();
    for _ in 0..n_steps {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        thread::sleep(STEP);
    }
    !stop.load(Ordering::Relaxed)
}

fn show(args: &FindArgs, found: &Found, terminal: Terminal) -> Result<(), Failure> {
    match &args.json {
        Some(path) if path.as_os_str() == "-" => {
            terminal::data(&format!("{}\n", serde_json::to_string_pretty(found)?))?;
        }
        Some(path) => save_value(&serde_json::to_value(found)?, path)?,
        None => {
            let text = report::found(found, terminal.style());
            let clear = if args.watch { CLEAR } else { "" };
            terminal::data(&format!("{clear}{text}"))?;
        }
    }
    Ok(())
}
