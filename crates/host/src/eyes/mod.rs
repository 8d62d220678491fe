//! Counts how many requests each client sends to each server, and measures how long these requests take. Observes the
//! sockets, over TCP and over Unix sockets, without generating a load.
//!
//! Programs in the kernel (`kernel/turns.bpf.c`, checked in as the object file that clang makes of it) count lengths
//! and times at the kernel's tracepoints, and never read a byte of the content. Only this process's descriptors hold
//! the programs. Therefore, when the process ends for any reason, the kernel removes the programs. Called by `watch`
//! and `find`.

pub mod bytes;
mod endpoint;
mod load;
mod refused;

use std::collections::HashMap;
use std::io;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use aya::maps::{Array, HashMap as KernelMap, MapData};
use aya::{Ebpf, include_bytes_aligned};
use looptax_model::stats::{N_TIME_BUCKETS, Times};

use crate::processes::{NS_PER_TICK, stat};

pub use endpoint::{Asked, Name};
pub use refused::Refused;

/// The object file that `cargo xtask eyes` makes from `kernel/turns.bpf.c`.
const PROGRAMS: &[u8] = include_bytes_aligned!("kernel/turns.bpf.o");

/// The object's programs, each with its tracepoint in the kernel.
const TRACEPOINTS: [(&str, &str); 3] =
    [("arrived", "sk_data_ready"), ("received", "sock_recv_length"), ("state", "inet_sock_set_state")];
/// The program for connections that have only one visible end, and its tracepoint.
const OF_ONE_END: (&str, &str) = ("sent", "sock_send_length");

/// Which connections are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Connections with both ends on this machine.
    Here,
    /// The connections of [`Self::Here`], and connections whose other end is on another machine or behind an address
    /// that is rewritten. With this variant, counting costs more for each request.
    Elsewhere,
}

/// The number of 64-bit words in `struct hop` of `kernel/turns.bpf.c`.
const HOP_WORDS: usize = COUNT_WORDS + END_WORDS + 2 * TIMES_WORDS;
const COUNT_WORDS: usize = 7;
const END_WORDS: usize = 4;
const TIMES_WORDS: usize = N_TIME_BUCKETS / 2;

type HopKey = [u64; 2];
type HopWords = [u64; HOP_WORDS];
/// The words of `struct waits` in `kernel/turns.bpf.c`.
type WaitWords = [u64; 1 + TIMES_WORDS];

impl Reach {
    fn tracepoints(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        let of_one_end = (self == Self::Elsewhere).then_some(OF_ONE_END);
        TRACEPOINTS.into_iter().chain(of_one_end)
    }
}

/// The programs, attached until this value is dropped.
pub struct Eyes {
    reach: Reach,
    hops: KernelMap<MapData, HopKey, HopWords>,
    endpoints: KernelMap<MapData, u64, endpoint::Words>,
    accepts: KernelMap<MapData, u64, WaitWords>,
    lost: Array<MapData, u64>,
    /// Keeps the programs attached.
    _programs: Ebpf,
    earlier: HashMap<HopKey, Counts>,
    earlier_accepts: HashMap<u64, Times>,
    earlier_at: Instant,
    earlier_lost: u64,
}

/// The counts between two calls of [`Eyes::look`].
#[derive(Debug, Clone)]
pub struct Look {
    pub over: Duration,
    pub counted: Vec<Counted>,
    /// Addresses to which uncounted clients opened TCP connections. These clients are on other machines, or their
    /// addresses are rewritten on the way.
    pub opened_elsewhere: Vec<Asked>,
    /// For each address, how long new connections waited for the server's first receive or send. The time starts when
    /// the connection is opened, or when the client's first request arrives. For a client that sends its request
    /// immediately, this time is at least as long as the time in the queue of `accept`.
    pub accepted: HashMap<Asked, Times>,
    /// The number of connections or turns for which the kernel's table had no space.
    pub n_lost: u64,
}

/// The requests of one process at one address.
#[derive(Debug, Clone)]
pub struct Counted {
    /// The client; `None` if the client is on another machine, or if its address is rewritten on the way.
    pub client: Option<End>,
    /// The process that answered last; `None` if no process on this machine answered.
    pub server: Option<End>,
    pub asked: Asked,
    pub counts: Counts,
}

/// A process at one end of a connection, as the kernel saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    pub pid: u32,
    pub parent: u32,
    /// The name that the process has set, at most 15 bytes.
    pub comm: String,
    /// Whether the process has ended. Another process may have its pid by now.
    pub has_ended: bool,
}

/// Counts of connections and of turns; a turn is a request with its answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of turns that the client began before it had received the answer to the previous turn.
    pub n_overlapping: u64,
    /// The number of connections that were opened.
    pub n_opened: u64,
    /// The number of TCP connections that were closed. The kernel does not report when a Unix socket is closed.
    pub n_closed: u64,
    pub n_bytes_asked: u64,
    pub n_bytes_answered: u64,
    /// The time from a request's arrival at the server until the client has received the answer. The time that the
    /// client needs to send the request is not included.
    pub times: Times,
    /// The server's part of the time: from the server's first receive until its answer arrived at the client. This part
    /// is measured for one in eight turns; if the client is on another machine, for every turn.
    pub served: Times,
}

impl Counts {
    /// Returns the number of turns. If the client is on another machine, only the server's part is measured.
    pub fn n_turns(&self) -> u64 {
        self.times.n().max(self.served.n())
    }

    pub fn add(&mut self, other: &Self) {
        self.n_overlapping += other.n_overlapping;
        self.n_opened += other.n_opened;
        self.n_closed += other.n_closed;
        self.n_bytes_asked += other.n_bytes_asked;
        self.n_bytes_answered += other.n_bytes_answered;
        self.times.add(&other.times);
        self.served.add(&other.served);
    }

    /// Returns the counts since `earlier`; all counts if `earlier` belongs to another process that had the same pid.
    fn since(&self, earlier: &Self) -> Self {
        let less = || {
            Some(Self {
                n_overlapping: self.n_overlapping.checked_sub(earlier.n_overlapping)?,
                n_opened: self.n_opened.checked_sub(earlier.n_opened)?,
                n_closed: self.n_closed.checked_sub(earlier.n_closed)?,
                n_bytes_asked: self.n_bytes_asked.checked_sub(earlier.n_bytes_asked)?,
                n_bytes_answered: self.n_bytes_answered.checked_sub(earlier.n_bytes_answered)?,
                times: self.times.since(&earlier.times),
                served: self.served.since(&earlier.served),
            })
        };
        less().unwrap_or_else(|| self.clone())
    }

    fn is_none(&self) -> bool {
        self.n_turns() == 0 && self.n_opened == 0 && self.n_closed == 0
    }
}

/// The programs that the kernel has accepted and that are not attached yet.
pub struct Loaded {
    programs: Ebpf,
    reach: Reach,
}

impl Loaded {
    /// Loads the programs into the kernel.
    ///
    /// # Errors
    /// The reason why the programs cannot be loaded: rights, the kernel's age, or the kernel's lockdown.
    pub fn new(reach: Reach) -> Result<Self, Refused> {
        let programs = load::admitted(PROGRAMS, reach.tracepoints())?;
        Ok(Self { programs, reach })
    }

    /// Attaches the programs; counting begins before this function returns. Does not require the rights that loading
    /// required.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn attach(self) -> Result<Eyes, Refused> {
        let Self { mut programs, reach } = self;
        load::attach(&mut programs, reach.tracepoints().map(|it| it.0))?;
        let map = |programs: &mut Ebpf, name: &str| programs.take_map(name).ok_or(Refused::Object);
        let of_map = |error: aya::maps::MapError| Refused::Kernel(error.to_string());
        let mut eyes = Eyes {
            reach,
            hops: map(&mut programs, "hops")?.try_into().map_err(of_map)?,
            endpoints: map(&mut programs, "endpoints")?.try_into().map_err(of_map)?,
            accepts: map(&mut programs, "accepts")?.try_into().map_err(of_map)?,
            lost: map(&mut programs, "lost")?.try_into().map_err(of_map)?,
            _programs: programs,
            earlier: HashMap::new(),
            earlier_accepts: HashMap::new(),
            earlier_at: Instant::now(),
            earlier_lost: 0,
        };
        eyes.look().map_err(|error| Refused::Kernel(error.to_string()))?;
        Ok(eyes)
    }
}

impl Eyes {
    /// Loads and attaches the programs.
    ///
    /// # Errors
    /// As [`Loaded::new`].
    pub fn open(reach: Reach) -> Result<Self, Refused> {
        Loaded::new(reach)?.attach()
    }

    /// Returns the counts since the last call, or since the start.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn look(&mut self) -> io::Result<Look> {
        let hops = self.hops.iter().collect::<Result<Vec<_>, _>>().map_err(io::Error::other)?;
        let now = Instant::now();
        let mut earlier = HashMap::with_capacity(hops.len());
        let (mut counted, mut opened_elsewhere) = (Vec::new(), Vec::new());
        // The number of turns and connections that were not counted, because the kernel's table was full.
        let mut n_nowhere = 0;
        for (key, words) in hops {
            let client = end(&words[COUNT_WORDS..]);
            let is_gone = client.as_ref().is_some_and(|it| it.has_ended);
            // If the process has ended, its counts are read again, because counts may have been added between the first
            // reading and the end of the process.
            let words = if is_gone { self.hops.get(&key, 0).unwrap_or(words) } else { words };
            let counts = counts(&words);
            let before = self.earlier.get(&key);
            let new = before.map_or_else(|| counts.clone(), |it| counts.since(it));
            if is_gone {
                // No process adds to this entry any more, so it is removed.
                let _ = self.hops.remove(&key);
            } else {
                earlier.insert(key, counts);
            }
            if new.is_none() {
                continue;
            }
            let Ok(endpoint) = self.endpoints.get(&key[0], 0) else {
                n_nowhere += new.n_turns() + new.n_opened;
                continue;
            };
            let server = end(&endpoint[endpoint::SERVER_AT..]);
            match endpoint::read(&endpoint) {
                Some(asked) if client.is_none() && self.reach == Reach::Here => opened_elsewhere.push(asked),
                Some(asked) => counted.push(Counted { client, server, asked, counts: new }),
                None => {}
            }
        }
        let lost = self.lost.get(&0, 0).map_err(io::Error::other)?;
        let accepted = self.accepted()?;
        let n_lost = lost.saturating_sub(self.earlier_lost) + n_nowhere;
        let look = Look { over: now - self.earlier_at, counted, opened_elsewhere, accepted, n_lost };
        (self.earlier, self.earlier_at, self.earlier_lost) = (earlier, now, lost);
        Ok(look)
    }

    /// Returns the waiting times of the connections that have stopped waiting since the last call.
    fn accepted(&mut self) -> io::Result<HashMap<Asked, Times>> {
        let mut accepted: HashMap<Asked, Times> = HashMap::new();
        for item in &self.accepts {
            let (id, words) = item.map_err(io::Error::other)?;
            let now = Times::of_words(&words[1..], words[0]);
            let since = self.earlier_accepts.get(&id).map_or_else(|| now.clone(), |it| now.since(it));
            let asked = (since.n() > 0).then(|| endpoint::read(&self.endpoints.get(&id, 0).ok()?)).flatten();
            if let Some(asked) = asked {
                accepted.entry(asked).or_default().add(&since);
            }
            self.earlier_accepts.insert(id, now);
        }
        Ok(accepted)
    }
}

/// Whether the process that started at `started_ns` has ended. `started_ns` is in ns, on the clock that continues while
/// the machine sleeps.
fn has_ended(pid: u32, started_ns: u64) -> bool {
    match stat(pid) {
        // The start times cannot be compared if only the pid was noted (`started_ns` is 0), or if looptax's clock has
        // another origin. In this case the process counts as running as long as its pid exists.
        Some(stat) => started_ns != 0 && !is_in_time_namespace() && stat.start_ticks != started_ns / NS_PER_TICK,
        None => !std::fs::exists(format!("/proc/{pid}")).unwrap_or(true),
    }
}

/// Whether the times in `/proc` are shifted by an offset.
fn is_in_time_namespace() -> bool {
    static IS_MOVED: LazyLock<bool> = LazyLock::new(|| {
        let offsets = std::fs::read_to_string("/proc/self/timens_offsets").unwrap_or_default();
        let boottime = offsets.lines().find_map(|it| it.strip_prefix("boottime"));
        boottime.is_some_and(|it| it.split_whitespace().any(|it| it != "0"))
    });
    *IS_MOVED
}

fn counts(words: &HopWords) -> Counts {
    let times_at = COUNT_WORDS + END_WORDS;
    let (times, served) = words[times_at..].split_at(TIMES_WORDS);
    let (times, served) = (Times::of_words(times, words[5]), Times::of_words(served, words[6]));
    Counts {
        n_overlapping: words[0],
        n_opened: words[1],
        n_closed: words[2],
        n_bytes_asked: words[3],
        n_bytes_answered: words[4],
        times,
        served,
    }
}

/// Parses a `struct end`: two numbers in one word, the start time, then the name.
fn end(words: &[u64]) -> Option<End> {
    let numbers = words[0].to_ne_bytes();
    let [parent, pid] =
        [0, 4].map(|it| u32::from_ne_bytes([numbers[it], numbers[it + 1], numbers[it + 2], numbers[it + 3]]));
    let comm: Vec<u8> = words[2..END_WORDS].iter().flat_map(|it| it.to_ne_bytes()).collect();
    let comm = comm.split(|it| *it == 0).next().unwrap_or_default();
    let name = String::from_utf8_lossy(comm).into_owned();
    (pid != 0).then(|| End { pid, parent, comm: name, has_ended: has_ended(pid, words[1]) })
}
