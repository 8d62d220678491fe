//! Reports and counts tests that cannot run on this machine.
//!
//! Each skipped test is reported on stderr immediately. `cargo xtask check` names a file; each test program adds a
//! line to this file for every skipped test, and `cargo xtask check` counts the lines at the end.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The environment variable with the path of this file; `xtask` uses the same name.
pub const FILE_VARIABLE: &str = "LOOPTAX_SKIPPED_TESTS";

/// Reports that the calling test, or a part of it, is skipped, and why.
pub fn skip(why: &str) {
    static N_UNNAMED: AtomicUsize = AtomicUsize::new(1);
    let thread = std::thread::current();
    // The test harness runs a test in a thread with the test's name, unless it may use only one thread.
    match thread.name() {
        Some(test) if test != "main" => skip_named(test, why),
        _ => {
            let number = N_UNNAMED.fetch_add(1, Ordering::Relaxed);
            skip_named(&format!("test {number} without a name"), why);
        }
    }
}

/// Reports that `test` is skipped, and why. If one program skips the same test for the same reason again, the test is
/// not counted again.
///
/// # Panics
/// Panics if the file in the variable cannot be written, because the count would then be wrong.
pub fn skip_named(test: &str, why: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let line = format!("{why}\t{test}\n");
    let mut said = SAID.lock().expect("nobody panics while holding it");
    if !said.insert(line.clone()) {
        return;
    }
    let words = format!("skipped, {} so far: {test}: {why}\n", said.len());
    // Not a print macro, because the test harness would capture its text.
    io::stderr().write_all(words.as_bytes()).ok();
    if let Some(path) = std::env::var_os(FILE_VARIABLE) {
        // A single write that appends to the file, because other test programs may also write to it.
        OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .and_then(|mut file| file.write_all(line.as_bytes()))
            .expect("the file of skipped tests can be written");
    }
}
