//! Ctrl-C: the first asks for an orderly end, a later one ends at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::{flag, low_level};

use crate::failure::Exit;
use crate::terminal::live;

const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];
/// A second signal that comes sooner is the same wish: `timeout` signals the process and its group,
/// terminals signal everybody in it.
const SAME_WISH: Duration = Duration::from_secs(1);

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
    !stop.load(Ordering::Relaxed)
}

/// A flag that the first SIGINT, SIGTERM or SIGHUP sets; what was measured until then is kept. One that
/// comes a second later, or after that, ends the process at once: the reaper then stops servers and
/// removes folders.
pub(crate) fn stop_flag() -> std::io::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in SIGNALS {
        flag::register(signal, Arc::clone(&stop))?;
    }
    let mut signals = Signals::new(SIGNALS)?;
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            if signals.forever().next().is_none() {
                return;
            }
            thread::sleep(SAME_WISH);
            signals.pending().for_each(drop);
            if signals.forever().next().is_some() {
                live::give_back();
                low_level::exit(Exit::Interrupted.code());
            }
        })?;
    Ok(stop)
}
