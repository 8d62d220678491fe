//! Handling of SIGINT, SIGTERM and SIGHUP. At first, each of these signals ends the process immediately. A command that
//! starts or changes something first calls [`stop_flag`]: from then on the first signal ends every wait and requests an
//! orderly end, and a later signal ends the process. The exit code is always that of [`Exit::Interrupted`].
//!
//! If the parent process has set a signal to be ignored, as `nohup` does, the signal stays ignored.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

use looptax_host::waiting;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use signal_hook::{flag, low_level};

use crate::failure::{Exit, Failure};
use crate::sys;
use crate::terminal::{live, stopping};

const SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];
/// A second signal within this time counts as the same request: `timeout` signals the process and its group, and
/// terminals signal every process in the group.
const SAME_WISH: Duration = Duration::from_secs(1);
/// If the command has not ended this long after the signal, looptax prints that it is stopping.
const QUIET: Duration = Duration::from_millis(300);

/// Whether the next signal ends the process immediately.
static ENDS_AT_ONCE: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(true)));
static HAS_COME: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Makes each signal end the process immediately with [`Exit::Interrupted`]. Call this before anything else; it starts
/// no thread.
pub(crate) fn listen() -> io::Result<()> {
    set_at_end(&HAS_COME)?;
    for signal in heard() {
        let code = Exit::Interrupted.code();
        flag::register_conditional_shutdown(signal, code, Arc::clone(&ENDS_AT_ONCE))?;
    }
    Ok(())
}

/// Whether one of the signals has arrived.
pub(crate) fn has_come() -> bool {
    HAS_COME.load(Ordering::Relaxed)
}

/// Pauses; returns false if a signal or the user has requested the end.
pub(crate) fn has_paused(pause: Duration, stop: &AtomicBool) -> bool {
    waiting::pause(pause) && !stop.load(Ordering::Relaxed)
}

/// Undoes the effect of [`stop_flag`]: signals end the process immediately again. Call this only if nothing is left to
/// put back.
pub(crate) fn end_at_once() {
    ENDS_AT_ONCE.store(true, Ordering::SeqCst);
    if has_come() {
        low_level::exit(Exit::Interrupted.code());
    }
}

/// Returns a flag that the first SIGINT, SIGTERM or SIGHUP sets; the data measured until then is kept. The same signal
/// also ends waits for peers and for time ([`waiting`]). A further signal, at least a second later, ends the process
/// immediately; the reaper then stops servers and removes folders. While files are being changed ([`waiting::Kept`]), a
/// further signal does not end the process.
pub(crate) fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    set_at_end(&stop)?;
    let mut signals = Signals::new(heard())?;
    thread::Builder::new()
        .name("signals".to_owned())
        .spawn(move || {
            while signals.forever().next().is_some() {
                if waiting::has_stopped() && !waiting::is_kept() {
                    live::give_back();
                    low_level::exit(Exit::Interrupted.code());
                }
                // While looptax restores old files, its waits are not cut short: it finishes restoring first.
                if !waiting::goes_back() {
                    waiting::stop();
                }
                thread::sleep(QUIET);
                // This thread prints the message, so the message also appears if looptax has to wait longer, for
                // example for a server that is just starting.
                stopping::say_stopping();
                thread::sleep(SAME_WISH.saturating_sub(QUIET));
                signals.pending().for_each(drop);
            }
        })
        .map_err(|error| Failure::from(error).context("cannot start a thread"))?;
    ENDS_AT_ONCE.store(false, Ordering::SeqCst);
    Ok(stop)
}

/// Makes the signals also set this flag.
pub(crate) fn set_at_end(flag: &Arc<AtomicBool>) -> io::Result<()> {
    for signal in heard() {
        flag::register(signal, Arc::clone(flag))?;
    }
    Ok(())
}

/// Makes a write beyond `ulimit -f` fail with an error instead of killing this process. This needs a signal handler: if
/// the signal were ignored instead, every program that looptax starts would inherit this setting.
pub(crate) fn survive_large_files() -> io::Result<()> {
    if !sys::is_ignored(SIGXFSZ) {
        flag::register(SIGXFSZ, Arc::default())?;
    }
    Ok(())
}

/// Returns the signals that the parent process has not set to be ignored.
fn heard() -> impl Iterator<Item = i32> {
    { SIGNALS.into_iter() }.filter(|signal| !sys::is_ignored(*signal))
}
