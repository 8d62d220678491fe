//! SIGINT, SIGTERM and SIGHUP. While nothing has to be put back, they end the process immediately. A command that
//! starts or changes something first asks for a flag ([`stop_flag`]): from then on the first signal ends every wait and
//! asks for an orderly end, and a later one ends the process. In both cases it ends with [`Exit::Interrupted`].
//!
//! A signal that the parent process has switched off, as `nohup` does, stays off.

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
/// A second signal that comes sooner counts as the same one: `timeout` signals the process and its group, and terminals
/// signal every process in the group.
const SAME_WISH: Duration = Duration::from_secs(1);
/// After this time looptax prints that the end takes longer.
const QUIET: Duration = Duration::from_millis(300);

/// Whether the next signal ends the process immediately.
static ENDS_AT_ONCE: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(true)));
static HAS_COME: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// From now on a signal ends the process immediately, with [`Exit::Interrupted`]. Call this first: it starts no thread.
pub(crate) fn listen() -> io::Result<()> {
    set_at_end(&HAS_COME)?;
    for signal in heard() {
        let code = Exit::Interrupted.code();
        flag::register_conditional_shutdown(signal, code, Arc::clone(&ENDS_AT_ONCE))?;
    }
    Ok(())
}

/// Whether a signal has asked for the end.
pub(crate) fn has_come() -> bool {
    HAS_COME.load(Ordering::Relaxed)
}

/// Pauses; returns false if the user asks for the end.
pub(crate) fn has_paused(pause: Duration, stop: &AtomicBool) -> bool {
    waiting::pause(pause) && !stop.load(Ordering::Relaxed)
}

/// After [`stop_flag`]: from now on a signal ends the process immediately again. Nothing may be left to put back.
pub(crate) fn end_at_once() {
    ENDS_AT_ONCE.store(true, Ordering::SeqCst);
    if has_come() {
        low_level::exit(Exit::Interrupted.code());
    }
}

/// Returns a flag that the first SIGINT, SIGTERM or SIGHUP sets; what was measured until then is kept. Waits for peers
/// and for time end at the same signal ([`waiting`]). Another signal, at least a second later, ends the process
/// immediately: the reaper then stops servers and removes folders. A signal while files are changing
/// ([`waiting::Kept`]) does not.
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
                // looptax first finishes putting old files back.
                if !waiting::goes_back() {
                    waiting::stop();
                }
                thread::sleep(QUIET);
                // A longer wait, such as for a server that is just starting, also gets the message.
                stopping::say_stopping();
                thread::sleep(SAME_WISH.saturating_sub(QUIET));
                signals.pending().for_each(drop);
            }
        })
        .map_err(|error| Failure::from(error).context("cannot start a thread"))?;
    ENDS_AT_ONCE.store(false, Ordering::SeqCst);
    Ok(stop)
}

/// Makes these signals set another flag, too.
pub(crate) fn set_at_end(flag: &Arc<AtomicBool>) -> io::Result<()> {
    for signal in heard() {
        flag::register(signal, Arc::clone(flag))?;
    }
    Ok(())
}

/// Turns growing a file beyond `ulimit -f` into a write error instead of this process's death. A handler does that,
/// since every program that looptax starts would inherit "ignore".
pub(crate) fn survive_large_files() -> io::Result<()> {
    if !sys::is_ignored(SIGXFSZ) {
        flag::register(SIGXFSZ, Arc::default())?;
    }
    Ok(())
}

/// The signals that are not switched off.
fn heard() -> impl Iterator<Item = i32> {
    { SIGNALS.into_iter() }.filter(|signal| !sys::is_ignored(*signal))
}
