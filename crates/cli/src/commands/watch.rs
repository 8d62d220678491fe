//! `watch`: shows which clients send requests to which servers over TCP and over the socket, how often the clients send
//! requests, and how long the requests take. Adds no load.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use looptax_host::discover::survey;
use looptax_host::eyes::{Eyes, Reach, Refused};
use looptax_host::own::make_folder;
use looptax_model::failure::Failure;
use looptax_model::record::{StreamEvent, StreamLine, Watched};
use looptax_model::stats::LEAST_LOOKS;
use looptax_report::{WatchedTotals, terminal as report, watched_openmetrics};
use looptax_store::{save_for_all, save_value};
use looptax_switch::diagnose::find::watched::Beside;

use crate::args::WatchArgs;
use crate::commands::capture;
use crate::earlier_runs::saved_watch;
use crate::failure::Exit;
use crate::outputs::{self, Outputs};
use crate::rights::keep_what_looking_needs;
use crate::signals::{has_paused, stop_flag};
use crate::sys;
use crate::terminal::screen::Screen;
use crate::terminal::{self, Terminal};
use crate::watching::Watch;

/// How long `--once` counts by default.
const ONE_LOOK: Duration = Duration::from_secs(10);
/// How long `--save` counts by default.
const SAVED: Duration = Duration::from_secs(60);
/// Minimum time for a saved count: a shorter time has too few snapshots for an interval.
const LEAST_SAVED: Duration = Duration::from_secs(LEAST_LOOKS as u64);

pub(crate) fn run(args: &WatchArgs, terminal: Terminal) -> Result<Exit, Failure> {
    if let Some(file) = &args.capture.file {
        return capture::run(file, &args.capture, args.time, terminal);
    }
    let is_one = args.once || args.save.is_some();
    let outputs = Outputs::default().writes("--json", args.json.path())?;
    let outputs = outputs.writes("--openmetrics", args.openmetrics.as_deref())?;
    if args.save.is_some() && args.time.is_some_and(|it| it < LEAST_SAVED) {
        let what = format!("--for is too short: --save needs a count of at least {} s", LEAST_SAVED.as_secs());
        return Err(Failure::usage(
            what,
            "for example --for 1m; from a shorter count looptax cannot compute the 95 % intervals",
        ));
    }
    let place = args.save.as_deref().map(|it| place(it, outputs)).transpose()?;
    if !is_one && args.json.path().is_some() && !args.json.is_printed() {
        return Err(Failure::usage(
            "--json=FILE needs --once: otherwise watch has no end",
            "`looptax watch --json` prints one object per line",
        ));
    }
    let is_metrics_printed = args.openmetrics.as_deref().is_some_and(|it| it.as_os_str() == "-");
    if !is_one && (is_metrics_printed || args.openmetrics.is_some() && args.json.is_printed()) {
        return Err(Failure::usage(
            "without --once, looptax writes counters to a file at each snapshot and cannot print them",
            "pass a file: --openmetrics /var/lib/node_exporter/looptax.prom",
        ));
    }
    sys::require_proc(sys::FOUND)?;
    let reach = if args.elsewhere { Reach::Elsewhere } else { Reach::Here };
    let eyes = Eyes::open(reach).map_err(refused)?;
    keep_what_looking_needs()?;
    let stop = stop_flag()?;
    let mut watch = Watch::new(eyes, survey(None), Beside { everything: args.all, elsewhere: args.elsewhere });
    if let Some(place) = place {
        let time = args.time.unwrap_or(SAVED);
        terminal.words(&format!("counting for {} s; Ctrl-C ends the count earlier\n", time.as_secs()));
        let Some(watched) = watch.look_for(time, &stop)? else {
            terminal
                .words(&format!("ended before {LEAST_LOOKS} snapshots: looptax saved nothing, and replaced no file\n"));
            return Ok(Exit::Interrupted);
        };
        place.save(&watched)?;
        show(args, &watched, terminal)?;
        terminal.words(&format!("kept: {}\n", place.words));
        return Ok(if stop.load(Ordering::Relaxed) { Exit::Interrupted } else { Exit::Done });
    }
    watch.begin()?;
    if !is_one {
        return renew(&mut watch, args, &stop, terminal);
    }
    // If a signal ends the count early, the counts until then are shown.
    let (watched, is_whole) = watch.count_for(args.time.unwrap_or(ONE_LOOK), &stop)?;
    show(args, &watched, terminal)?;
    Ok(if is_whole { Exit::Done } else { Exit::Interrupted })
}

/// The place of a saved count.
struct Place {
    path: PathBuf,
    /// The folder for the file, if the user gave only a name.
    folder: Option<PathBuf>,
    words: String,
}

impl Place {
    fn save(&self, watched: &Watched) -> Result<(), Failure> {
        if let Some(folder) = &self.folder {
            make_folder(folder)
                .map_err(|error| Failure::from(error).context(format!("cannot make {}", folder.display())))?;
        }
        Ok(save_value(watched, &self.path)?)
    }
}

/// Returns the file that the word names, if the word looks like the name of a file. Otherwise returns the place for a
/// count with this name.
fn place(word: &str, outputs: Outputs) -> Result<Place, Failure> {
    if word.contains('/') || Path::new(word).extension().is_some_and(|it| it == "json") {
        outputs.writes("--save", Some(Path::new(word)))?;
        return Ok(Place { path: PathBuf::from(word), folder: None, words: word.to_owned() });
    }
    let is_fit = |it: char| it.is_alphanumeric() || matches!(it, '-' | '_' | '.');
    if word.is_empty() || word.starts_with(['.', '-']) || !word.chars().all(is_fit) {
        return Err(Failure::usage(
            format!("`{word}` is not a name that --save can use"),
            "use letters, digits, `-`, `_` and `.`; or pass a path that contains `/`",
        ));
    }
    let path = saved_watch(word).ok_or_else(|| {
        Failure::usage(
            "looptax has no folder in which it can save the count: neither XDG_DATA_HOME nor HOME is set",
            "pass a file: --save ./before.json",
        )
    })?;
    let folder = path.parent().map(Path::to_owned);
    let words = format!("{word}, for `looptax diff {word} OTHER`");
    Ok(Place { path, folder, words })
}

/// Takes one snapshot after the other, until the user stops the command or the time is over.
fn renew(watch: &mut Watch, args: &WatchArgs, stop: &AtomicBool, terminal: Terminal) -> Result<Exit, Failure> {
    let metrics = args.openmetrics.as_deref();
    let mut screen = (!args.json.is_printed() && metrics.is_none()).then(Screen::open).transpose()?;
    let mut totals = WatchedTotals::default();
    loop {
        let rest = args.time.map_or(args.every, |it| it.saturating_sub(watch.counted()));
        if rest.is_zero() || !has_paused(args.every.min(rest), stop) {
            break;
        }
        if let Some(path) = metrics {
            totals.add(&watch.look_with_times()?);
            save_for_all(totals.openmetrics().as_bytes(), path)?;
            continue;
        }
        let watched = watch.look()?;
        let is_read = match &mut screen {
            Some(screen) => screen.show(&report::watched(&watched, terminal.style()))?,
            None => terminal::json_line(&StreamLine::from(StreamEvent::Watched(Box::new(watched))))?,
        };
        if !is_read {
            break;
        }
    }
    Ok(Exit::Done)
}

/// Returns a failure that says which right is missing, and names the command that works without the kernel's counts.
fn refused(error: Refused) -> Failure {
    const WITHOUT: &str = "`looptax find` shows servers and clients without this right";
    let hint = match error {
        Refused::Rights => format!("run looptax as root; {WITHOUT}"),
        _ => WITHOUT.to_owned(),
    };
    Failure::new(error).with_hint(hint)
}

fn show(args: &WatchArgs, watched: &Watched, terminal: Terminal) -> Result<(), Failure> {
    let metrics = args.openmetrics.as_deref();
    let is_printed = metrics.is_some_and(|it| it.as_os_str() == "-");
    if let Some(path) = metrics.filter(|_| !is_printed) {
        save_for_all(watched_openmetrics(watched).as_bytes(), path)?;
    }
    outputs::show(watched, &args.json, || {
        if is_printed {
            return watched_openmetrics(watched);
        }
        report::watched(watched, terminal.style())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_goes_to_a_file_if_it_has_a_slash_or_ends_as_json() {
        for typed in ["../before", "./before", "/tmp/before", "/tmp/before.json", "before.json"] {
            let place = place(typed, Outputs::default()).unwrap();
            assert_eq!((&*place.path, place.folder.as_deref()), (Path::new(typed), None), "{typed}");
        }
        for typed in ["", ".", "..", "-x", "a b", "a:b"] {
            assert!(place(typed, Outputs::default()).is_err(), "{typed}");
        }
    }
}
