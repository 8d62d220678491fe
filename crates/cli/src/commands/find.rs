//! `find`: lists the servers on this machine, their sockets, and the clients that pay for TCP.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use looptax_experiment::comparison::echo_in_ten_seconds;
use looptax_host::discover::{Glimpses, SealedConnections, SealedFlow, Survey, survey, survey_after};
use looptax_host::eyes::{Eyes, Loaded, Look, Reach, bytes};
use looptax_model::failure::Failure;
use looptax_model::record::{CostSource, Found, Note, NoteCode, StreamEvent, StreamLine};
use looptax_report::found_openmetrics;
use looptax_report::terminal as report;
use looptax_store::save_for_all;
use looptax_switch::diagnose::find::{cost, listing::listing};
use looptax_switch::{Fallen, Kept, Switch, fallen_back};

use crate::args::FindArgs;
use crate::earlier_runs::{data_folder, latest_records};
use crate::failure::Exit;
use crate::outputs::{self, Outputs};
use crate::rights::keep_what_looking_needs;
use crate::signals::{has_paused, stop_flag};
use crate::sys;
use crate::terminal::screen::Screen;
use crate::terminal::stage::Stage;
use crate::terminal::{self, Terminal, claim};

/// Time between the two snapshots from which rates are computed.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);
/// Time between the snapshots of `--watch`.
const BETWEEN_SCREENS: Duration = Duration::from_secs(2);

pub(crate) fn run(args: &FindArgs, terminal: Terminal) -> Result<Exit, Failure> {
    Outputs::default().writes("--json", args.json.path())?.writes("--openmetrics", args.openmetrics.as_deref())?;
    sys::require_proc(sys::FOUND)?;
    if args.watch && args.json.path().is_some() && !args.json.is_printed() {
        return Err(Failure::usage(
            "--watch has no end, so --json cannot write a file",
            "`--watch --json` prints one object per line",
        ));
    }
    let eyes = if args.once { None } else { eyes() };
    let headers = if args.once || args.watch { None } else { bytes::Loaded::without_connections().ok() };
    if !args.measure {
        keep_what_looking_needs()?;
    }
    let stop = stop_flag()?;
    let costs = costs(args, terminal, &stop)?;
    let switches = switches();
    let list = |earlier: Option<&Survey>, now: &Survey, counted: Option<&Look>, sealed: &[SealedFlow]| {
        let mut found = listing(earlier, now, counted, sealed, &costs.sources);
        found.notes.extend(fallen(&switches, now));
        found.notes.extend(costs.note.clone());
        found
    };
    let mut eyes = eyes.and_then(|it| it.attach().ok());
    let first = survey(None);
    if args.once {
        show(args, &list(None, &first, None, &[]), terminal)?;
        return Ok(Exit::Done);
    }
    if args.watch {
        return watch(args, first, eyes, list, &stop, terminal);
    }
    let sealed = headers.and_then(|it| SealedConnections::watch(it, &first.servers).ok());
    let Some((second, counted)) = second_look(&first, eyes.as_mut(), BETWEEN_LOOKS, &stop) else {
        return Ok(Exit::Interrupted);
    };
    let sealed = sealed.map(|it| it.finish(&second)).unwrap_or_default();
    show(args, &list(Some(&first), &second, counted.as_ref(), &sealed), terminal)?;
    Ok(Exit::Done)
}

/// The results of `find` for a report to a collector.
pub(super) struct Looked {
    pub(super) found: Found,
    /// Processes that an earlier switch moved to the socket and that use TCP again.
    pub(super) fallen: Vec<Fallen>,
}

/// Loads the kernel programs that count requests between two snapshots; `None` if looptax may not load them. Call this
/// before looptax gives up its capabilities.
pub(super) fn eyes() -> Option<Loaded> {
    Loaded::new(Reach::Here).ok()
}

/// Takes two snapshots, as `find` does without options; `None` if a signal stops it.
pub(super) fn look(eyes: Option<Loaded>, stop: &AtomicBool) -> Result<Option<Looked>, Failure> {
    sys::require_proc(sys::FOUND)?;
    let sources = cost::from_newest(&latest_records(cost::MOST_RECORDS));
    let mut eyes = eyes.and_then(|it| it.attach().ok());
    let first = survey(None);
    let Some((second, counted)) = second_look(&first, eyes.as_mut(), BETWEEN_LOOKS, stop) else {
        return Ok(None);
    };
    Ok(Some(Looked {
        found: listing(Some(&first), &second, counted.as_ref(), &[], &sources),
        fallen: fallen_back(&switches(), &second),
    }))
}

/// Takes the second snapshot, from which rates are computed. This snapshot also contains the connections that were
/// opened and closed after the first snapshot, and the kernel's counts. Returns `None` if the user stops it.
pub(super) fn second_look(
    first: &Survey,
    mut eyes: Option<&mut Eyes>,
    pause: Duration,
    stop: &AtomicBool,
) -> Option<(Survey, Option<Look>)> {
    let counted = |eyes: &mut Option<&mut Eyes>| eyes.as_mut().and_then(|it| it.look().ok());
    counted(&mut eyes);
    let mut glimpses = Glimpses::since(&first.servers, first.at_ns);
    while let Some(pause) = glimpses.pause(pause) {
        if !has_paused(pause, stop) {
            return None;
        }
        glimpses.look();
    }
    let counted = counted(&mut eyes);
    Some((survey_after(first, &glimpses, counted.as_ref()), counted))
}

/// Takes one snapshot after the other, until the user stops it.
fn watch(
    args: &FindArgs,
    first: Survey,
    mut eyes: Option<Eyes>,
    list: impl Fn(Option<&Survey>, &Survey, Option<&Look>, &[SealedFlow]) -> Found,
    stop: &AtomicBool,
    terminal: Terminal,
) -> Result<Exit, Failure> {
    let mut screen = (!args.json.is_printed()).then(Screen::open).transpose()?;
    let mut earlier = first;
    let mut pause = BETWEEN_LOOKS;
    let mut count = || eyes.as_mut().and_then(|it| it.look().ok());
    count();
    while has_paused(pause, stop) {
        let counted = count();
        let later = survey(Some(&earlier));
        let found = list(Some(&earlier), &later, counted.as_ref(), &[]);
        let is_read = match &mut screen {
            Some(screen) => screen.show(&report::found(&found, args.verbose, terminal.style()))?,
            None => terminal::json_line(&StreamLine::from(StreamEvent::Found(Box::new(found))))?,
        };
        if !is_read {
            break;
        }
        earlier = later;
        pause = BETWEEN_SCREENS;
    }
    Ok(Exit::Done)
}

/// Returns the switches that this user made.
fn switches() -> Vec<Switch> {
    let kept = data_folder().map(|it| Kept::in_data_folder(&it));
    let listed = kept.and_then(|it| looptax_switch::list(&it).ok());
    listed.map(|(switches, _)| switches).unwrap_or_default()
}

/// Returns notes about clients that a switch moved to the socket and that use TCP again.
fn fallen(switches: &[Switch], survey: &Survey) -> impl Iterator<Item = Note> {
    let fallen = fallen_back(switches, survey).into_iter();
    fallen.map(|it| Note {
        code: NoteCode::FellBack,
        what: format!("{} uses TCP again, although looptax moved it to the socket: {} ({})", it.who, it.id, it.title),
        next: Some(format!(
            "the program reads another file, or was not restarted after the switch: `looptax check {}` shows which \
             file sets the program's connections",
            it.who.rsplit(' ').next().unwrap_or_default()
        )),
    })
}

/// The costs of requests. There is a note if a measurement gave no usable figure.
#[derive(Default)]
struct Costs {
    sources: Vec<CostSource>,
    note: Option<Note>,
}

/// Returns the costs of requests: from a measurement now, from the record that the user named, or from the records in
/// the history.
fn costs(args: &FindArgs, terminal: Terminal, stop: &AtomicBool) -> Result<Costs, Failure> {
    if args.measure {
        let _alone = claim(terminal, args.wait, stop);
        let record = echo_in_ten_seconds(&mut Stage::line(terminal), stop)?;
        let sources = cost::cost_sources(&record, "measured with the built-in echo server");
        let note = sources.is_empty().then(|| Note {
            code: NoteCode::CostNotMeasured,
            what: format!(
                "looptax measured the cost of a request over TCP, but got no figure: {}",
                cost::why_none(&record)
            ),
            next: Some("try again when the machine is quieter, or use a record with --record".to_owned()),
        });
        return Ok(Costs { sources, note });
    }
    let sources = match &args.record {
        Some(path) => cost::of_record(path)?,
        None => cost::from_newest(&latest_records(cost::MOST_RECORDS)),
    };
    Ok(Costs { sources, note: None })
}

fn show(args: &FindArgs, found: &Found, terminal: Terminal) -> Result<(), Failure> {
    let metrics = args.openmetrics.as_deref();
    let is_printed = metrics.is_some_and(|it| it.as_os_str() == "-");
    if let Some(path) = metrics.filter(|_| !is_printed) {
        save_for_all(found_openmetrics(found).as_bytes(), path)?;
    }
    outputs::show(found, &args.json, || {
        if is_printed {
            return found_openmetrics(found);
        }
        report::found(found, args.verbose, terminal.style())
    })
}
