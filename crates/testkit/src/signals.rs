//! Signals that whoever started the tests ignores: `nohup`, or a shell that has them in its background.
//!
//! What is ignored stays so over `exec`, and a program under test would not hear Ctrl-C; what is caught is not.

use std::fs;
use std::sync::Once;

use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT};

/// What is ignored here is no longer so in programs that are started from now on; this one goes on ignoring it.
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
