//! `looptax` without a command: shows the programs on this machine that pay for TCP, and what each installed kind of
//! server loses, within half a minute.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use looptax_experiment::RecordWriter;
use looptax_experiment::comparison::empty_record;
use looptax_experiment::minute::{Minute, Step};
use looptax_host::discover::survey;
use looptax_model::failure::Failure;
use looptax_model::record::Found;
use looptax_report::terminal::{self as report, AtRate};
use looptax_store::{Existing, save};
use looptax_switch::diagnose::find::listing::listing;

use crate::args::{BareArgs, ResultArgs};
use crate::commands::find;
use crate::failure::Exit;
use crate::record_place::RecordPlace;
use crate::results;
use crate::signals::stop_flag;
use crate::sys;
use crate::terminal::progress::Lines;
use crate::terminal::stage::Stage;
use crate::terminal::{self, Terminal, claim};

/// Time between the two snapshots from which rates are computed.
const BETWEEN_LOOKS: Duration = Duration::from_millis(300);

#[allow(clippy::disallowed_methods, reason = "the time that the user waits, not a measurement")]
pub(crate) fn run(args: &BareArgs, terminal: Terminal) -> Result<Exit, Failure> {
    let result = args.result();
    let is_text = !results::announce(&result)?.is_printed();
    sys::require_measurable()?;
    let show = |piece: &str| {
        if is_text { terminal::data(piece) } else { Ok(()) }
    };
    let stop = stop_flag()?;
    let alone = claim(terminal, args.turn.wait, &stop);
    // The wait for other runs is not a part of the half minute.
    let began = Instant::now();
    sys::raise_open_files();
    let mut minute = Minute::new(began)?;
    let record = empty_record(&minute.experiment());
    let (mut writer, mut place) = RecordPlace::prepare(&result, record, terminal)?;
    writer.record.problems.extend(alone.problem());

    let pieces = report::Minute::new(terminal.style());
    let found = look(&stop);
    if let Some(found) = &found {
        show(&pieces.found(found))?;
        minute.prefer(&report::kinds_in_use(found));
    }
    show(&pieces.head())?;
    let waiting: Vec<String> = minute.left().map(|kind| format!("  {}", kind.facts().title)).collect();
    let mut lines = Lines::new(terminal, waiting);
    while !stop.load(Ordering::Relaxed) {
        lines.begin_next();
        let row = next(&mut minute, &mut writer, &stop, Stage::among(terminal, lines.clone()), pieces);
        if row.is_empty() {
            break;
        }
        lines.above(|| show(&row))?;
    }
    lines.clear();

    writer.record.interrupted |= stop.load(Ordering::Relaxed);
    let saved = place.save(&mut writer);
    place.remember(&writer.record, terminal);
    let name = place.name(&writer.record);
    let rates = rates(&result, found.as_ref());
    let seconds = began.elapsed().as_secs_f64();
    show(&pieces.end(&writer.record, &rates, seconds, name.as_deref()))?;
    let written = write_copies(&result, &writer);
    let paged = results::write_page(&result, &writer, place.path());
    saved.and(written).and(paged)?;
    writer.check_samples()?;
    Ok(if stop.load(Ordering::Relaxed) { Exit::Interrupted } else { Exit::for_record(&writer.record) })
}

/// Takes two snapshots of the servers that run on this machine, to compute rates; `None` if a signal stops it.
fn look(stop: &AtomicBool) -> Option<Found> {
    let first = survey(None);
    // Without servers there are no clients to count.
    if first.servers.is_empty() {
        return Some(listing(None, &first, None, &[], &[]));
    }
    // The counters are unloaded when this function returns. This is before the measurement, because loaded counters
    // would make each request more expensive.
    let mut eyes = find::eyes().and_then(|it| it.attach().ok());
    let (second, counted) = find::second_look(&first, eyes.as_mut(), BETWEEN_LOOKS, stop)?;
    Some(listing(Some(&first), &second, counted.as_ref(), &[], &[]))
}

/// Measures the next kind of server and returns its row of the table; empty if no kind is left or a signal stopped the
/// measurement.
fn next(
    minute: &mut Minute,
    writer: &mut RecordWriter,
    stop: &AtomicBool,
    mut stage: Stage,
    pieces: report::Minute,
) -> String {
    let n_before = writer.record.comparisons.len();
    let measured = minute.measure_next(writer, &mut stage, stop);
    drop(stage);
    match measured {
        None => String::new(),
        Some((_, Step::Measured)) => {
            writer.record.comparisons.iter().skip(n_before).map(|comparison| pieces.row(comparison)).collect()
        }
        Some((kind, Step::LeftOut)) => {
            let why = format!(
                "the time limit of half a minute was over before looptax could measure this server; to measure this \
                 server: looptax compare private:{kind}"
            );
            pieces.not_measured(kind.name(), &why)
        }
        Some((kind, Step::Failed(failure))) => {
            writer.record.problems.push(format!("{kind}: {failure:#}"));
            pieces.not_measured(kind.name(), &format!("{failure:#}"))
        }
    }
}

/// Returns the rates at which the cost of TCP is shown: the rate that the user passed, otherwise the rates seen on this
/// machine.
fn rates(args: &ResultArgs, found: Option<&Found>) -> Vec<AtRate> {
    match args.detail.at {
        Some(requests_per_s) => vec![AtRate::asked(requests_per_s)],
        None => AtRate::seen(found),
    }
}

/// Prints or writes the JSON of `--json`.
fn write_copies(args: &ResultArgs, writer: &RecordWriter) -> Result<(), Failure> {
    match args.json.path() {
        Some(path) if path.as_os_str() == "-" => terminal::json(&writer.record)?,
        Some(path) => save(&writer.record, path, Existing::Replace)?,
        None => {}
    }
    Ok(())
}
