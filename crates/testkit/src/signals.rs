//! Resets signals that are ignored because the tests run under `nohup` or in the background of a shell.
//!
//! An ignored signal stays ignored after `exec`, so the program under test would not receive Ctrl-C; a signal with a
//! handler is reset to its default action. Called by `Scratch`.

use std::fs;
use std::sync::Once;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT};

/// Makes programs that this process starts from now on receive SIGHUP, SIGINT and SIGQUIT. This process still ignores
/// these signals if it was started with the signals ignored.
pub(crate) fn are_heard_by_children() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let mask = mask.and_then(|it| u64::from_str_radix(it.trim(), 16).ok());
        for signal in [SIGHUP, SIGINT, SIGQUIT] {
            if mask.is_some_and(|it| it >> (signal - 1) & 1 == 1) {
                let seen = signal_hook::flag::register(signal, std::sync::Arc::default());
                seen.expect("it may be caught");
            }
        }
    });
}
