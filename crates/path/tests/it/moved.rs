//! This program as the process that moves itself into a cgroup: how it is started, and how it starts.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, ExitCode, Stdio};

use crate::{bytes, killed, refused, spliced};

/// A process that does something in a cgroup of its own, and says lines on stdout.
pub(crate) struct Moved {
    pub(crate) child: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Moved {
    /// Starts it, behind these words if there are any: `setpriv …`.
    pub(crate) fn start(before: &[&str], words: &[&str]) -> Self {
        let exe = std::env::current_exe().unwrap();
        let exe = exe.to_str().unwrap();
        let all: Vec<&str> = [before, &[exe, "moved"], words].concat();
        let mut child = Command::new(all[0])
            .args(&all[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// The next line it says.
    #[track_caller]
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        assert!(line.ends_with('\n'), "it ended after `{line}`");
        line.trim_end().to_owned()
    }

    /// Lets it end, which it has to do well; what else it says.
    #[track_caller]
    pub(crate) fn finish(mut self) -> String {
        drop(self.child.stdin.take());
        let mut rest = String::new();
        self.lines.read_to_string(&mut rest).unwrap();
        assert!(self.child.wait().unwrap().success(), "{rest}");
        rest
    }
}

impl Drop for Moved {
    fn drop(&mut self) {
        // Of a test that failed.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// What it does, by name.
pub(crate) type Deed = (&'static str, fn(&[String]));

pub(crate) fn main(words: &[String]) -> ExitCode {
    let mut deeds = [
        spliced::ALONE,
        bytes::ALONE,
        spliced::DEEDS,
        killed::DEEDS,
        refused::DEEDS,
    ]
    .into_iter()
    .flatten();
    let (_, run) = deeds.find(|(name, _)| *name == words[0]).unwrap();
    run(&words[1..]);
    ExitCode::SUCCESS
}

/// Says a line to the test.
pub(crate) fn say(line: &str) {
    println!("{line}");
    std::io::stdout().flush().unwrap();
}

/// Waits until the test wants it to end.
pub(crate) fn wait_for_the_test() {
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
}
