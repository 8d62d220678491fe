//! Ctrl-C: the first asks for an orderly end, and ends every wait for a peer and the start of a private server; a later
//! one ends at once.
//!
//! A signal that whoever started us has switched off, as `nohup` does, stays so.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGURG, SIGXFSZ};
use signal_hook::iterator::Signals;
use signal_hook::{flag, low_level};

use crate::failure::{Exit, Failure};
use crate::sys;
use crate::terminal::{live, stopping};

const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];
/// A second signal that comes sooner is the same wish: `timeout` signals the process and its group,
/// terminals signal everybody in it.
const SAME_WISH: Duration = Duration::from_secs(1);
/// How often threads are called out of their waits meanwhile: one may have been about to begin.
const N_NUDGES: u32 = 20;

/// After so many of them it is said that the end takes longer.
const N_QUIET_NUDGES: u32 = 6;

/// How often a pause looks whether it should end.
const STEP: Duration = Duration::from_millis(50);

/// Sleeps; false when somebody wants to end.
pub(crate) fn has_paused(pause: Duration, stop: &AtomicBool) -> bool {
    let n_steps = pause.as_millis() / STEP.as_millis();
    for _ in 0..n_steps {
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        thread::sleep(STEP);
    }
    let steps = STEP * u32::try_from(n_steps).unwrap_or(u32::MAX);
    thread::sleep(pause.saturating_sub(steps));
    !stop.load(Ordering::Relaxed)
}

/// From now on the process ends as soon as somebody wants that, whatever it waits for: nothing is lost by it.
pub(crate) fn end_at_once(stop: &Arc<AtomicBool>) -> Result<(), Failure> {
    let stop = Arc::clone(stop);
    let watch = move || {
        while has_paused(STEP, &stop) {}
        low_level::exit(Exit::Interrupted.code());
    };
    let watching = thread::Builder::new().name("end".to_owned()).spawn(watch);
    watching.map_err(|error| Failure::from(error).context("cannot start a thread"))?;
    Ok(())
}

/// A flag that the first SIGINT, SIGTERM or SIGHUP sets; what was measured until then is kept. One that
/// comes a second later, or after that, ends the process at once: the reaper then stops servers and
/// removes folders.
pub(crate) fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    set_at_end(&stop)?;
    // Without a handler it would interrupt nothing.
    flag::register(SIGURG, Arc::default())?;
    let mut signals = Signals::new(heard())?;
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            if signals.forever().next().is_none() {
                return;
            }
            looptax_path::stop_waiting();
            looptax_servers::stop_starting();
            for n_nudges in 0..N_NUDGES {
                sys::nudge_threads(SIGURG);
                thread::sleep(SAME_WISH / N_NUDGES);
                // What takes longer, such as a server that is just starting, is no reason to be silent.
                if n_nudges == N_QUIET_NUDGES {
                    stopping::say_stopping();
                }
            }
            signals.pending().for_each(drop);
            if signals.forever().next().is_some() {
                live::give_back();
                low_level::exit(Exit::Interrupted.code());
            }
        })
        .map_err(|error| Failure::from(error).context("cannot start a thread"))?;
    Ok(stop)
}

/// Has these signals set another flag, too.
pub(crate) fn set_at_end(flag: &Arc<AtomicBool>) -> std::io::Result<()> {
    for signal in heard() {
        flag::register(signal, Arc::clone(flag))?;
    }
    Ok(())
}

/// Has a file that grows beyond `ulimit -f` be an error of writing, instead of our death. A handler does it and not
/// "ignore", which every program that we start would inherit.
pub(crate) fn survive_large_files() -> std::io::Result<()> {
    if !sys::is_ignored(SIGXFSZ) {
        flag::register(SIGXFSZ, Arc::default())?;
    }
    Ok(())
}

/// Those that nobody has switched off.
fn heard() -> impl Iterator<Item = i32> {
    { SIGNALS.into_iter() }.filter(|signal| !sys::is_ignored(*signal))
}
