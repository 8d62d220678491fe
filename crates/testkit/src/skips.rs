//! Tests that cannot run on this machine are reported and counted.
//!
//! Each such test is reported on stderr immediately. `cargo xtask check` names a file to which every skipped test of
//! every program adds a line, and in the end counts the lines.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The variable with the file's path; `xtask` uses the same name.
pub const FILE_VARIABLE: &str = "LOOPTAX_SKIPPED_TESTS";

/// Reports that the calling test, or a part of it, is skipped, and why.
pub fn skip(why: &str) {
    static N_UNNAMED: AtomicUsize = AtomicUsize::new(1);
    let thread = std::thread::current();
    // The harness runs a test on a thread with the test's name, unless it may use only one thread.
    match thread.name() {
        Some(test) if test != "main" => skip_named(test, why),
        _ => {
            let number = N_UNNAMED.fetch_add(1, Ordering::Relaxed);
            skip_named(&format!("test {number} without a name"), why);
        }
    }
}

/// Reports that `test` is skipped, and why. The same reason for the same test of a program counts once.
///
/// # Panics
/// If the named file cannot be written, because the count would then be wrong.
pub fn skip_named(test: &str, why: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let line = format!("{why}\t{test}\n");
    let mut said = SAID.lock().expect("nobody panics while holding it");
    if !said.insert(line.clone()) {
        return;
    }
    let words = format!("skipped, {} so far: {test}: {why}\n", said.len());
    // Not a macro, because the test harness would capture that text.
    io::stderr().write_all(words.as_bytes()).ok();
    if let Some(path) = std::env::var_os(FILE_VARIABLE) {
        // A single write at the end of the file, because other test programs may write, too.
        OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .and_then(|mut file| file.write_all(line.as_bytes()))
            .expect("the file of skipped tests can be written");
    }
}
