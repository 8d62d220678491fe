//! The end of the application's output, which is kept only to be quoted in errors.
//!
//! A thread empties the pipe as long as any process holds the other end, so that the application never has to wait for
//! looptax.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

const KEPT_BYTES: usize = 8 * 1024;
const SHOWN_LINES: usize = 6;

/// The last bytes of the output so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Output(Arc<Mutex<VecDeque<u8>>>);

impl Output {
    /// Starts a thread that reads a pipe to its end.
    pub(crate) fn follow(pipe: OwnedFd) -> Self {
        let output = Self::default();
        let kept = output.clone();
        thread::spawn(move || {
            let mut pipe = File::from(pipe);
            let mut piece = [0; 4096];
            while let Ok(n @ 1..) = pipe.read(&mut piece) {
                kept.add(&piece[..n]);
            }
        });
        output
    }

    fn add(&self, bytes: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(bytes);
        let n_over = kept.len().saturating_sub(KEPT_BYTES);
        kept.drain(..n_over);
    }

    /// Returns the last lines, each indented; empty if the application has written nothing.
    pub(crate) fn last_lines(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = kept.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let shown = lines[lines.len().saturating_sub(SHOWN_LINES)..].iter();
        shown.fold(String::new(), |text, line| text + "\n    " + line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept() {
        let output = Output::default();
        assert_eq!(output.last_lines(), "");
        for number in 0..3_000 {
            output.add(format!("line {number}\n\n").as_bytes());
        }
        let lines = output.last_lines();
        assert!(lines.starts_with("\n    line 2994\n"), "{lines}");
        assert!(lines.ends_with("line 2999"), "{lines}");
        assert!(output.0.lock().unwrap().len() <= KEPT_BYTES);
    }
}
