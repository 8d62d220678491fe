//! `watch`: who asks which server how often and how long it takes, over TCP and over the socket, without a load.

use std::collections::HashSet;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use looptax_host::discover::{Survey, survey};
use looptax_host::eyes::{Asked, Eyes, Reach, Refused};
use looptax_model::failure::Failure;
use looptax_model::record::Watched;
use looptax_report::{terminal as report, watched_openmetrics};
use looptax_store::save_for_all;
use looptax_switch::diagnose::find::watched::{Beside, watched};

use crate::args::WatchArgs;
use crate::failure::Exit;
use crate::outputs::{self, Outputs};
use crate::rights::keep_what_looking_needs;
use crate::signals::{has_paused, stop_flag};
use crate::sys;
use crate::terminal::screen::Screen;
use crate::terminal::{self, Terminal};

/// How long one look counts where nobody says.
const ONE_LOOK: Duration = Duration::from_secs(10);
/// Servers are looked for again where an address is asked for the first time, but not more often.
const BETWEEN_SURVEYS: Duration = Duration::from_secs(10);

/// Runs `watch`.
pub(crate) fn run(args: &WatchArgs, terminal: Terminal) -> Result<Exit, Failure> {
    Outputs::default().writes("--json", args.json.path())?.writes("--openmetrics", args.openmetrics.as_deref())?;
    if !args.once && args.json.path().is_some() && !args.json.is_printed() {
        return Err(Failure::usage(
            "--json=FILE needs --once: without it watch has no end",
            "`looptax watch --json` prints one object per line",
        ));
    }
    sys::require_proc(sys::FOUND)?;
    let reach = if args.elsewhere { Reach::Elsewhere } else { Reach::Here };
    let eyes = Eyes::open(reach).map_err(refused)?;
    keep_what_looking_needs()?;
    let stop = stop_flag()?;
    let mut watch = Watch {
        eyes,
        survey: survey(None),
        counted: Duration::ZERO,
        // The first address that is new is looked for at once.
        since_survey: BETWEEN_SURVEYS,
        asked: HashSet::new(),
        beside: Beside { everything: args.all, elsewhere: args.elsewhere },
    };
    if !args.once {
        return renew(&mut watch, args, &stop, terminal);
    }
    watch.eyes.look()?;
    // Who ends it earlier gets what was counted until then.
    let is_whole = has_paused(args.time.unwrap_or(ONE_LOOK), &stop);
    show(args, &watch.look()?, terminal)?;
    Ok(if is_whole { Exit::Done } else { Exit::Interrupted })
}

/// Look after look, until somebody ends it or the time is over.
fn renew(watch: &mut Watch, args: &WatchArgs, stop: &AtomicBool, terminal: Terminal) -> Result<Exit, Failure> {
    watch.eyes.look()?;
    let mut screen = (!args.json.is_printed()).then(Screen::open).transpose()?;
    loop {
        let rest = args.time.map_or(args.every, |it| it.saturating_sub(watch.counted));
        if rest.is_zero() || !has_paused(args.every.min(rest), stop) {
            break;
        }
        let watched = watch.look()?;
        let is_read = match &mut screen {
            Some(screen) => screen.show(&report::watched(&watched, terminal.style()))?,
            None => terminal::json_line(&watched)?,
        };
        if !is_read {
            break;
        }
    }
    Ok(Exit::Done)
}

struct Watch {
    eyes: Eyes,
    survey: Survey,
    counted: Duration,
    since_survey: Duration,
    /// Addresses that were asked before the last survey.
    asked: HashSet<Asked>,
    beside: Beside,
}

impl Watch {
    /// What was counted since the last one.
    fn look(&mut self) -> Result<Watched, Failure> {
        let look = self.eyes.look()?;
        self.counted += look.over;
        self.since_survey += look.over;
        let is_new = look.counted.iter().any(|it| !self.asked.contains(&it.asked));
        if is_new && self.since_survey >= BETWEEN_SURVEYS {
            self.survey = survey(Some(&self.survey));
            self.since_survey = Duration::ZERO;
            self.asked.extend(look.counted.iter().map(|it| it.asked.clone()));
        }
        Ok(watched(&look, &self.survey.servers, self.beside))
    }
}

/// Names the missing right, and the command that works without the kernel's counts.
fn refused(error: Refused) -> Failure {
    const WITHOUT: &str = "`looptax find` shows servers and clients without it";
    let hint = match error {
        Refused::Rights => format!("run it as root; {WITHOUT}"),
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
