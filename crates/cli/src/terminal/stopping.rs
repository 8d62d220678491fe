//! The message after Ctrl-C, if looptax does not end immediately.

use std::io::{self, IsTerminal, Write};

use looptax_host::waiting;

use super::live;

/// Prints after Ctrl-C that looptax is stopping, and what a second Ctrl-C does. The view on the whole terminal
/// shows this itself.
pub(crate) fn say_stopping() {
    if live::has_terminal() || !io::stderr().is_terminal() {
        return;
    }
    let words = if waiting::goes_back() {
        "looptax is putting the old files back and reloading the programs that read the new files; it cannot stop \
         halfway"
    } else if waiting::is_kept() {
        "stopping: looptax first puts the old files back"
    } else {
        "stopping: looptax ends everything that it started, in order; a second Ctrl-C ends everything immediately, and \
         even then nothing is left behind"
    };
    let _ = writeln!(io::stderr().lock(), "\n{words}");
}
