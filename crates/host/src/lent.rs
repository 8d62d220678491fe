//! Remembers the cores that a thread of another process could use before looptax pinned it for some time.
//!
//! Callers: `bench`, which pins the thread and gives its cores back; `servers`, whose reaper gives them back if looptax
//! was killed.

use std::fmt;
use std::str::FromStr;

use crate::processes::{cores_of, let_use, stat};

/// A pinned thread and its former cores. The text form is `<thread> <start time> <core>,<core>…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lent {
    pub tid: u32,
    /// The time when the thread started, in ticks since boot. It identifies the thread, because the thread's number may
    /// later belong to another thread.
    pub start_ticks: u64,
    /// The cores that the thread could use before it was pinned.
    pub cores: Vec<usize>,
}

impl Lent {
    /// Reads the thread's present cores; `None` if the thread has ended, or if looptax may not pin it.
    pub fn now(tid: u32) -> Option<Self> {
        let cores = cores_of(tid).ok()?;
        // This sets the same cores again; the call fails if looptax may not pin the thread.
        let_use(tid, &cores).ok()?;
        Some(Self { tid, start_ticks: stat(tid)?.start_ticks, cores })
    }

    /// Lets the thread use its former cores again, if it still exists.
    pub fn give_back(&self) {
        if stat(self.tid).is_some_and(|now| now.start_ticks == self.start_ticks) {
            // A failure means that the thread has just ended.
            let _ = let_use(self.tid, &self.cores);
        }
    }
}

impl fmt::Display for Lent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cores: Vec<String> = self.cores.iter().map(usize::to_string).collect();
        write!(f, "{} {} {}", self.tid, self.start_ticks, cores.join(","))
    }
}

impl FromStr for Lent {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        let mut words = line.split(' ');
        let (Some(tid), Some(start), Some(cores), None) = (words.next(), words.next(), words.next(), words.next())
        else {
            return Err(());
        };
        let cores: Result<Vec<usize>, _> = cores.split(',').map(str::parse).collect();
        Ok(Self {
            tid: tid.parse().map_err(drop)?,
            start_ticks: start.parse().map_err(drop)?,
            cores: cores.map_err(drop)?,
        })
    }
}
