//! `fleet init`: creates the tables and views of a collector.

use std::time::Duration;

use looptax_fleet::{Collector, InitOptions, script};
use looptax_model::failure::Failure;
use looptax_report::terminal as report;

use super::place;
use crate::args::InitArgs;
use crate::failure::Exit;
use crate::outputs::{self, Outputs};
use crate::terminal::{self, Terminal};

/// Time limit for a statement.
const LIMIT: Duration = Duration::from_secs(3600);

pub(super) fn run(args: &InitArgs, terminal: Terminal) -> Result<Exit, Failure> {
    Outputs::default().writes("--json", args.json.path())?;
    let (destination, mut access) = place::collector(&args.collector)?;
    // A statement may have to move the rows of a whole month.
    access.answer_limit = LIMIT;
    let options = InitOptions { cluster: args.cluster.clone(), keep_days: args.keep };
    if args.print {
        terminal::words_as_data(&script(&destination, &options)?)?;
        return Ok(Exit::Done);
    }
    place::caution(&destination, terminal);
    let tables = Collector::open(&destination, &access)?.init(&options)?;
    outputs::show(&tables, &args.json, || report::collector_tables(&tables, terminal.style()))?;
    Ok(Exit::Done)
}
