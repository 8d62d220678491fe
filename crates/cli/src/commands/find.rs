//! `find`: which servers run here, on which sockets, and who pays for TCP.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use looptax_diagnose::find::{cost, listing::listing};
use looptax_discover::{Survey, survey};
use looptax_experiment::comparison::echo_in_ten_seconds;
use looptax_failure::Failure;
use looptax_record::{CostSource, Found};
use looptax_report::terminal::{self as report, First};
use looptax_store::save_value;

use crate::args::FindArgs;
use crate::earlier_runs::latest_records;
use crate::failure::Exit;
use crate::signals::{has_paused, stop_flag};
use crate::sys;
use crate::terminal::screen::Screen;
use crate::terminal::stage::Stage;
use crate::terminal::{self, Terminal, claim};

/// Between the two looks that rates are made of.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
/// Between the looks of `--watch`.
const BETWEEN_SCREENS: Duration = Duration::from_secs(2);

/// Runs `find`.
pub(crate) fn run(args: &FindArgs, terminal: Terminal) -> Result<Exit, Failure> {
    sys::require_proc(sys::FOUND)?;
    let sources = sources(args, terminal)?;
    let stop = stop_flag()?;
    let first = survey(None);
    if args.once {
        show(args, &listing(None, &first, &sources), terminal)?;
        return Ok(Exit::Done);
    }
    if args.watch {
        return watch(first, &sources, &stop, terminal);
    }
    if !has_paused(BETWEEN_LOOKS, &stop) {
        return Ok(Exit::Interrupted);
    }
    let second = survey(Some(&first));
    show(args, &listing(Some(&first), &second, &sources), terminal)?;
    Ok(Exit::Done)
}

/// Look after look, until somebody ends it.
fn watch(
    first: Survey,
    sources: &[CostSource],
    stop: &AtomicBool,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    let mut screen = Screen::open()?;
    let mut earlier = first;
    let mut pause = BETWEEN_LOOKS;
    while has_paused(pause, stop) {
        let later = survey(Some(&earlier));
        let found = listing(Some(&earlier), &later, sources);
        let text = report::found(&found, First::Clients, terminal.style());
        if !screen.show(&text)? {
            break;
        }
        earlier = later;
        pause = BETWEEN_SCREENS;
    }
    Ok(Exit::Done)
}

/// What a request costs, from where the user said, or else from records that lie about.
fn sources(args: &FindArgs, terminal: Terminal) -> Result<Vec<CostSource>, Failure> {
    if args.measure {
        let stop = stop_flag()?;
        let _alone = claim(terminal, false, &stop);
        let record = echo_in_ten_seconds(&mut Stage::line(terminal), &stop)?;
        return Ok(cost::cost_sources(
            &record,
            "measured with the built-in echo server",
        ));
    }
    match &args.record {
        Some(path) => cost::of_record(path),
        None => Ok(cost::from_newest(&latest_records(cost::MOST_RECORDS))),
    }
}

fn show(args: &FindArgs, found: &Found, terminal: Terminal) -> Result<(), Failure> {
    match &args.json {
        Some(path) if path.as_os_str() == "-" => {
            terminal::json(found)?;
        }
        Some(path) => save_value(found, path)?,
        None => terminal::data(&report::found(found, First::Servers, terminal.style()))?,
    }
    Ok(())
}
