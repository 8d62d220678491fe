//! Commands that query a collector about a fleet: `report`, `hosts`, `host`, `programs`, `changes`.

use looptax_fleet::{Answers, Collector, Limits};
use looptax_model::failure::Failure;
use looptax_model::record::{Fleet, FleetMovers};
use looptax_report::{html, terminal as words};
use looptax_store::{Existing, save_text};
use serde::Serialize;

use super::place;
use crate::args::{AskArgs, FleetListArgs, FleetReportArgs};
use crate::failure::Exit;
use crate::outputs::{self, Outputs};
use crate::terminal::Terminal;

pub(super) fn report(args: &FleetReportArgs, terminal: Terminal) -> Result<Exit, Failure> {
    Outputs::default().writes("--json", args.ask.json.path())?.writes("--html", args.html.as_deref())?;
    let is_kept = args.html.is_some() || args.ask.json.is_printed() || args.ask.json.path().is_some();
    let limits = if is_kept { Limits::PAGE } else { Limits::TERMINAL };
    let fleet = overview(&args.ask, limits, terminal)?;
    if let Some(path) = &args.html {
        save_text(&html::fleet_page(&fleet), path, Existing::Replace)?;
        terminal.words(&format!("page: {}\n", path.display()));
    }
    outputs::show(&fleet, &args.ask.json, || words::fleet(&fleet, terminal.style()))?;
    Ok(Exit::Done)
}

pub(super) fn programs(args: &FleetListArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let fleet = list(args, terminal)?;
    show(&fleet.pairs, &args.ask, || words::fleet_pairs(&fleet, terminal.style()))
}

pub(super) fn changes(args: &FleetListArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let fleet = list(args, terminal)?;
    let both = FleetMovers { movers: fleet.movers.clone(), fell_back: fleet.fell_back.clone() };
    show(&both, &args.ask, || words::fleet_movers(&fleet, terminal.style()))
}

pub(super) fn hosts(args: &FleetListArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let answers = answers(&args.ask, terminal)?;
    let hosts = looptax_fleet::hosts(&answers, args.limit as usize);
    show(&hosts, &args.ask, || words::fleet_hosts(&hosts, terminal.style()))
}

pub(super) fn host(name: &str, args: &AskArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let machines = looptax_fleet::machines(&mut opened(args, terminal)?, name)?;
    if machines.is_empty() {
        let shown = words::cleaned(name, terminal.style());
        let shown = shown.trim_end();
        return Err(Failure::new(format!("the collector has no report of a machine `{shown}`")).with_hint(
            "pass a machine's name or number; `looptax fleet hosts` lists the machines with clients over TCP",
        ));
    }
    show(&machines, args, || words::fleet_machines(&machines, terminal.style()))
}

fn list(args: &FleetListArgs, terminal: Terminal) -> Result<Fleet, Failure> {
    let rows = args.limit as usize;
    overview(&args.ask, Limits { first: rows, rows }, terminal)
}

fn overview(args: &AskArgs, limits: Limits, terminal: Terminal) -> Result<Fleet, Failure> {
    let answers = answers(args, terminal)?;
    let at = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ");
    let version = env!("CARGO_PKG_VERSION");
    Ok(looptax_fleet::overview(answers, at.to_string(), version, limits))
}

fn answers(args: &AskArgs, terminal: Terminal) -> Result<Answers, Failure> {
    let (destination, access) = place::collector(&args.collector)?;
    place::caution(&destination, terminal);
    Ok(Answers::of(|| Collector::open(&destination, &access))?)
}

fn opened(args: &AskArgs, terminal: Terminal) -> Result<Collector, Failure> {
    let (destination, access) = place::collector(&args.collector)?;
    place::caution(&destination, terminal);
    Ok(Collector::open(&destination, &access)?)
}

fn show<T: Serialize>(result: &T, args: &AskArgs, text: impl FnOnce() -> String) -> Result<Exit, Failure> {
    Outputs::default().writes("--json", args.json.path())?;
    outputs::show(result, &args.json, text)?;
    Ok(Exit::Done)
}
