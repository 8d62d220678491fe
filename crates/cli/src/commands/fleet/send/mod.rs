//! `fleet send`: sends data about the clients and records of this machine to the collector of many machines, once.
//!
//! A report is kept on disk before it is sent, and removed when the collector has confirmed it. If anything fails in
//! between, the next run sends the report again, and the collector counts it once.

mod delivery;
mod from;
mod this_machine;

use std::time::Duration;

use looptax_fleet::{Place, to_lines};
use looptax_model::failure::Failure;
use looptax_model::record::Reported;
use looptax_report::terminal as report;

use crate::args::SendArgs;
use crate::commands::begin::is_stopped_by;
use crate::commands::find;
use crate::commands::fleet::place;
use crate::failure::Exit;
use crate::outputs::{self, Outputs};
use crate::rights::keep_what_looking_needs;
use crate::signals::{end_at_once, has_paused, stop_flag};
use crate::terminal::{self, Terminal};

pub(crate) fn run(args: &SendArgs, terminal: Terminal) -> Result<Exit, Failure> {
    Outputs::default().writes("--json", args.json.path())?;
    let (destination, access) = place::collector(&args.collector)?;
    place::refuse_word(&destination)?;
    let is_printed = matches!(destination.place, Place::Output);
    if is_printed && args.json.is_printed() {
        return Err(Failure::usage(
            "the reports and --json cannot both go to standard output",
            "write the summary to a file with --json=FILE",
        ));
    }
    let eyes = if args.from.is_none() { find::eyes() } else { None };
    keep_what_looking_needs()?;
    let stop = stop_flag()?;
    let pause = Duration::from_millis(place::random_below(u64::from(args.jitter) * 1_000));
    if !has_paused(pause, &stop) {
        return Ok(Exit::Interrupted);
    }
    let show = |reported: &Reported| {
        let text = report::reported(reported, terminal.style());
        if is_printed {
            terminal.words(&text);
            return Ok(());
        }
        outputs::show(reported, &args.json, || text)
    };
    if is_stopped_by(&args.stop_file)? {
        let stopped = Reported {
            collector: destination.to_string(),
            stopped_by: Some(args.stop_file.display().to_string()),
            ..Reported::default()
        };
        show(&stopped)?;
        return Ok(Exit::Done);
    }
    place::caution(&destination, terminal);
    if let Some(source) = &args.from {
        // The collected reports stay in their folder, so a signal may end looptax immediately.
        end_at_once();
        let (reported, exit) = from::run(args, source, &destination, &access)?;
        if !args.dry_run {
            show(&reported)?;
        }
        return Ok(exit);
    }
    let spool = place::spool(args.spool.as_deref(), &destination)?;
    if !args.dry_run && !is_printed {
        spool.make()?;
    }
    let Some(seen) = this_machine::look(args, eyes, &spool, &stop)? else {
        return Ok(Exit::Interrupted);
    };
    if args.dry_run {
        terminal::data(&to_lines(&seen.batch))?;
        return Ok(Exit::Done);
    }
    let mut reported = if is_printed {
        end_at_once();
        delivery::print(&seen.batch, &destination, &access)?
    } else {
        let before = delivery::keep(&spool, &seen, &destination, &access)?;
        // The report is kept in the spool, so the next run would send it if a signal ends this run.
        end_at_once();
        let now = delivery::waiting(&spool, &destination, &access)?;
        delivery::together(&before, now)
    };
    if !seen.unseen.is_empty() {
        reported.notes.push(format!(
            "clients may be missing in this report, because looptax could not see all {}; `looptax find` shows why",
            seen.unseen.join(" and all ")
        ));
    }
    show(&reported)?;
    Ok(Exit::Done)
}
