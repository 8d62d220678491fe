//! A thread of another process that is pinned for a while, and the cores that it could use before.
//!
//! Callers: `bench`, which pins the thread and gives its cores back; `servers`, whose reaper gives them back if looptax
//! was killed.

use std::fmt;
use std::str::FromStr;

use crate::processes::{cores_of, let_use, stat};

/// Its text form is `<thread> <start time> <core>,<core>…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lent {
    pub tid: u32,
    /// When the thread started, in ticks since boot: its number may be given to another thread later.
    pub start_ticks: u64,
    /// The cores that the thread may use.
    pub cores: Vec<usize>,
}

impl Lent {
    /// The thread as it is now; `None` if it has ended, or if we may not pin it.
    pub fn now(tid: u32) -> Option<Self> {
        let cores = cores_of(tid).ok()?;
        // This sets the cores that the thread has already, which fails if we may not pin it.
        let_use(tid, &cores).ok()?;
        Some(Self { tid, start_ticks: stat(tid)?.start_ticks, cores })
    }

    /// Lets the thread use its cores again, if it still exists.
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
