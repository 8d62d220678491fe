//! The answer to Ctrl-C, if the end takes longer.

use std::io::{self, IsTerminal, Write};

use looptax_host::waiting;

use super::live;

/// Prints after Ctrl-C that the end takes a moment, and what a second one does. A view that has the whole terminal
/// shows it itself.
pub(crate) fn say_stopping() {
    if live::has_terminal() || !io::stderr().is_terminal() {
        return;
    }
    let words = if waiting::goes_back() {
        "the old files are being put back, and what read the new ones reads them again: this is not stopped half way"
    } else if waiting::is_kept() {
        "stopping: the old files are put back first"
    } else {
        "stopping: what has begun is ended in order; Ctrl-C again ends it at once and leaves nothing behind"
    };
    let _ = writeln!(io::stderr().lock(), "\n{words}");
}
