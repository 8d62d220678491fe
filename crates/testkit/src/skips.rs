//! Tests that cannot run on this machine: reported, and counted.
//!
//! Each says so on stderr at once. `cargo xtask check` names a file, into which every skipped test of
//! every program writes a line, and adds the lines up when all is done.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Names the file; `xtask` knows it by the same name.
pub const FILE_VARIABLE: &str = "LOOPTAX_SKIPPED_TESTS";

/// Says that the test that calls it, or a part of it, is skipped, and why.
pub fn skip(why: &str) {
    static N_UNNAMED: AtomicUsize = AtomicUsize::new(1);
    let thread = std::thread::current();
    // The harness runs a test on a thread of its name, unless it may have one thread only.
    match thread.name() {
        Some(test) if test != "main" => skip_named(test, why),
        _ => {
            let number = N_UNNAMED.fetch_add(1, Ordering::Relaxed);
            skip_named(&format!("test {number} without a name"), why);
        }
    }
}

/// Says that `test` is skipped, and why. The same words about the same test of a program count once.
///
/// # Panics
/// When the file that was named cannot be written: the count would be wrong.
pub fn skip_named(test: &str, why: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let line = format!("{why}\t{test}\n");
    let mut said = SAID.lock().expect("nobody panics while holding it");
    if !said.insert(line.clone()) {
        return;
    }
    let words = format!("skipped, {} so far: {test}: {why}\n", said.len());
    // Not a macro: the test harness would keep those words to itself.
    io::stderr().write_all(words.as_bytes()).ok();
    if let Some(path) = std::env::var_os(FILE_VARIABLE) {
        // One write at the end of the file: other test programs may write, too.
        OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .and_then(|mut file| file.write_all(line.as_bytes()))
            .expect("the file of skipped tests can be written");
    }
}
