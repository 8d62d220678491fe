//! The lines that are sent through the pipe between looptax and its reaper.
//!
//! looptax writes the lines, and the reaper parses them. Paths contain only plain characters (`scratch` refuses
//! others).

use looptax_host::lent::Lent;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::servers::process::Process;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Message {
    /// `server <pid> <start time> <signal>`: end this process after looptax has ended.
    Server(Process),
    /// `folder <path>`: remove this folder after looptax has ended.
    Folder(PathBuf),
    /// `gone <pid>`: this process has ended.
    Gone(u32),
    /// `removed <path>`: this folder has been removed.
    Removed(PathBuf),
    /// `lent <thread> <start time> <cores>`: let this thread use these cores again after looptax has ended.
    Lent(Lent),
    /// `returned <thread>`: this thread may already use its cores again.
    Returned(u32),
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(process) => write!(f, "server {process}"),
            Self::Folder(path) => write!(f, "folder {}", path.display()),
            Self::Gone(pid) => write!(f, "gone {pid}"),
            Self::Removed(path) => write!(f, "removed {}", path.display()),
            Self::Lent(lent) => write!(f, "lent {lent}"),
            Self::Returned(tid) => write!(f, "returned {tid}"),
        }
    }
}

impl FromStr for Message {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        let (word, rest) = line.split_once(' ').ok_or(())?;
        match word {
            "server" => rest.parse().map(Self::Server),
            "folder" => Ok(Self::Folder(rest.into())),
            "gone" => rest.parse().map(Self::Gone).map_err(drop),
            "removed" => Ok(Self::Removed(rest.into())),
            "lent" => rest.parse().map(Self::Lent),
            "returned" => rest.parse().map(Self::Returned).map_err(drop),
            _ => Err(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::process::StopSignal;

    #[track_caller]
    fn check(line: &str, expected: Option<Message>) {
        assert_eq!(line.parse().ok(), expected, "{line}");
        if let Some(message) = expected {
            assert_eq!(message.to_string(), line);
        }
    }

    #[test]
    fn every_message_is_read_back_and_nonsense_is_not() {
        let process = Process { pid: 12, start_ticks: 34, stop: StopSignal::Term };
        check("server 12 34 term", Some(Message::Server(process)));
        check("folder /tmp/looptax-a", Some(Message::Folder("/tmp/looptax-a".into())));
        check("gone 12", Some(Message::Gone(12)));
        check("removed /tmp/looptax-a", Some(Message::Removed("/tmp/looptax-a".into())));
        let lent = Lent { tid: 12, start_ticks: 34, cores: vec![0, 5] };
        check("lent 12 34 0,5", Some(Message::Lent(lent)));
        check("returned 12", Some(Message::Returned(12)));
        check("lent 12 34 ", None);
        check("lent 12 34 0,x", None);
        check("lent 12 34", None);
        check("server 1 34 term", None);
        check("kill 12", None);
        check("", None);
    }
}
