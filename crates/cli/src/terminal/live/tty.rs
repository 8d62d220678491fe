//! The terminal while the live view uses it. The view uses the alternate screen, and reads keys without Enter and
//! without echo.
//!
//! The earlier settings of the terminal are in a static variable, so that they can be restored at the end of the view,
//! in a panic, and by a signal that ends the process immediately. Ctrl-C still sends a signal. Ctrl-Z is switched off
//! during the view, because it would return to the shell with looptax's screen still open.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Mutex, Once, PoisonError};

use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

use crate::terminal::screen::{CLOSE, OPEN};

/// The value that switches off a special character of the terminal.
const OFF: u8 = 0;

static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);
static HOOK: Once = Once::new();

/// Restores the terminal when this value is dropped.
pub(super) struct Taken(());

impl Taken {
    pub(super) fn take() -> io::Result<Self> {
        take()?;
        let taken = Self(());
        write(OPEN)?;
        Ok(taken)
    }
}

/// Whether a view is using the terminal now.
pub(crate) fn has_terminal() -> bool {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner);
    before.is_some()
}

impl Drop for Taken {
    fn drop(&mut self) {
        give_back();
    }
}

fn take() -> io::Result<()> {
    HOOK.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            give_back();
            before(panic);
        }));
    });
    let stderr = io::stderr();
    let before = tcgetattr(&stderr)?;
    let mut ours = before.clone();
    ours.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
    ours.special_codes[SpecialCodeIndex::VSUSP] = OFF;
    tcsetattr(&stderr, OptionalActions::Now, &ours)?;
    *BEFORE.lock().unwrap_or_else(PoisonError::into_inner) = Some(before);
    Ok(())
}

/// Restores the earlier settings and screen of the terminal, if a view is using it.
pub(crate) fn give_back() {
    let before = BEFORE.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some(before) = before else {
        return;
    };
    // If this fails, the error cannot be reported anywhere.
    let _ = write(CLOSE);
    // Keys that were pressed during the view were not meant for the shell.
    let _ = tcsetattr(io::stderr().as_fd(), OptionalActions::Flush, &before);
}

/// Opens the keyboard of the controlling terminal, whatever stdin is.
pub(super) fn keyboard() -> io::Result<File> {
    looptax_host::kernel::open("/dev/tty")
}

fn write(text: &str) -> io::Result<()> {
    let mut stderr = io::stderr().lock();
    stderr.write_all(text.as_bytes())?;
    stderr.flush()
}
