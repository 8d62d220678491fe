//! When a comparison may begin. At the wrong time of day, on a machine that is not quiet, or while a stop file exists,
//! looptax refuses to begin or waits.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use jiff::Zoned;
use jiff::civil::Time;
use looptax_experiment::Claim;
use looptax_host::own;
use looptax_model::failure::Failure;

use crate::args::BeginArgs;
use crate::signals::has_paused;
use crate::sys;
use crate::terminal::{Terminal, claim};

/// Pause between two checks of the clock, the load and the stop file. The one-minute load does not change faster.
const BETWEEN_LOOKS: Duration = Duration::from_secs(10);

/// Waits until a run may begin and returns its claim to measure, or `None` if a signal ended the wait.
///
/// # Errors
/// If the run may not begin now and `--wait` was not given; also if the machine's load is not known.
pub(crate) fn wait(
    args: &BeginArgs,
    waits: bool,
    terminal: Terminal,
    stop: &AtomicBool,
) -> Result<Option<Claim>, Failure> {
    let mut has_told = false;
    loop {
        let why = match turn(args, waits, terminal, stop)? {
            Ok(alone) => return Ok(Some(alone)),
            Err(why) => why,
        };
        if !waits {
            return Err(Failure::usage(
                why,
                "pass --wait to wait until the run may start; leave out --between, --max-load and --stop-file to start \
                 the run immediately",
            ));
        }
        if !has_told {
            terminal.words(&format!("{why}: waiting\n"));
            has_told = true;
        }
        if !has_paused(BETWEEN_LOOKS, stop) {
            return Ok(None);
        }
    }
}

/// Returns the run's claim to measure, or the reason not to begin now. While a run waits because of such a reason, it
/// does not hold the claim.
fn turn(
    args: &BeginArgs,
    waits: bool,
    terminal: Terminal,
    stop: &AtomicBool,
) -> Result<Result<Claim, String>, Failure> {
    if let Some(why) = objection_now(args)? {
        return Ok(Err(why));
    }
    let alone = claim(terminal, waits, stop);
    // The wait for another run may have taken hours, so the conditions are checked once more.
    Ok(match objection_now(args)? {
        Some(why) => Err(why),
        None => Ok(alone),
    })
}

/// Whether the stop file exists.
///
/// # Errors
/// If looptax cannot find out whether the file exists, or if another user made the file.
pub(crate) fn is_stopped_by(file: &Path) -> Result<bool, Failure> {
    own::has_file(file).map_err(|error| {
        Failure::usage(
            format!("cannot check the stop file `{}`: {error}", file.display()),
            "choose a stop file in a folder that only this user and root can write to",
        )
    })
}

fn objection_now(args: &BeginArgs) -> Result<Option<String>, Failure> {
    if let Some(file) = args.stop_file()
        && is_stopped_by(file)?
    {
        let file = file.display();
        return Ok(Some(format!("looptax does not measure while `{file}` exists")));
    }
    let load = match args.max_load {
        Some(_) => sys::load_per_processor()?,
        None => 0.0,
    };
    Ok(objection(args, Zoned::now().time(), load))
}

/// Returns the reason not to begin at this time of day or with this load; `None` if there is no reason.
fn objection(args: &BeginArgs, now: Time, load: f64) -> Option<String> {
    if let Some(part) = args.between.filter(|it| !it.has(now)) {
        let now = now.strftime("%H:%M");
        return Some(format!("it is {now}, and the run may begin only within {part}"));
    }
    let most = args.max_load.filter(|most| load > *most)?;
    Some(format!(
        "the load of the last minute is {load:.2} per processor, and the run may begin only at {most} or less"
    ))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Typed {
        #[command(flatten)]
        begin: BeginArgs,
    }

    fn typed(words: &str) -> BeginArgs {
        let words = std::iter::once("looptax").chain(words.split_whitespace());
        Typed::parse_from(words).begin
    }

    #[track_caller]
    fn check(words: &str, hour: i8, load: f64, expected: Option<&str>) {
        let found = objection(&typed(words), Time::new(hour, 30, 0, 0).unwrap(), load);
        assert_eq!(found.as_deref(), expected);
    }

    #[test]
    fn a_run_begins_in_its_hours_on_a_machine_that_is_quiet() {
        let both = "--between 02:00-04:00 --max-load 0.2";
        check("", 14, 9.0, None);
        check(both, 3, 0.2, None);
        let late = "it is 14:30, and the run may begin only within 02:00-04:00";
        check(both, 14, 0.1, Some(late));
        let busy = "the load of the last minute is 0.25 per processor, and the run may begin only at 0.2 or less";
        check(both, 3, 0.25, Some(busy));
    }

    #[test]
    fn who_waits_for_hours_or_quiet_looks_for_the_machines_own_stop_file() {
        for (words, expected) in [
            ("", None),
            ("--between 02:00-04:00", Some("/etc/looptax/stop")),
            ("--max-load 0.2", Some("/etc/looptax/stop")),
            ("--max-load 0.2 --stop-file /x", Some("/x")),
            ("--stop-file /x", Some("/x")),
        ] {
            assert_eq!(typed(words).stop_file(), expected.map(Path::new), "{words}");
        }
    }
}
