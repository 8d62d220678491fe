//! Samples of CPU time: the kernel interrupts each core after a fixed amount of CPU time, and records the call chain.
//!
//! Each core has one clock and one ring buffer; no memory is allocated per sample. The clock is the kernel's software
//! event `cpu-clock`, because hardware counters are not tested yet. Idle time does not count, and neither does the
//! kernel's work in interrupts of an idle core. `Sampler` holds the address spaces, so it knows the places of a sample
//! when it passes the sample on. The caller opens the sampler, switches it on for an epoch, and drains it after each
//! epoch.

pub(crate) mod controls;
mod events;
pub(crate) mod records;
mod refusal;
pub(crate) mod ring;

use std::collections::HashSet;
use std::io;

use looptax_host::processes::stat;
use looptax_model::failure::Failure;
use perf_event::{Counter, data::Sample as Raw};
use procfs::process::Process;
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use crate::why::places::{Frame, FrameId, Places};
use crate::why::spaces::{Mapped, Spaces};
use events::{Scope, Task};
use records::What;
use ring::Ring;

/// Addresses from this value on are marks in a call chain: `PERF_CONTEXT_MAX` of `linux/perf_event.h`.
const FIRST_MARK: u64 = -4095_i64 as u64;
/// The frames after this mark belong to the kernel: `PERF_CONTEXT_KERNEL`.
const KERNEL_MARK: u64 = -128_i64 as u64;
/// The frames after this mark belong to the program: `PERF_CONTEXT_USER`.
const USER_MARK: u64 = -512_i64 as u64;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample<'a> {
    /// The time on `CLOCK_MONOTONIC`.
    pub(crate) time_ns: u64,
    pub(crate) pid: u32,
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests read this field"))]
    pub(crate) tid: u32,
    /// The CPU time that the sample represents.
    pub(crate) weight_ns: u64,
    /// The call chain, the innermost frame first: the kernel's part, then the program's part.
    pub(crate) frames: &'a [FrameId],
    /// Number of frames in the kernel's part.
    #[cfg_attr(not(test), expect(dead_code, reason = "only tests read this field"))]
    pub(crate) n_kernel: usize,
}

/// A sample, or another item that was removed from the buffers.
pub(crate) enum Drained<'a> {
    Sample(Sample<'a>),
    Fork { parent: u32, child: u32 },
}

/// Samples the whole machine or some processes.
pub(crate) struct Sampler {
    scope: Scope,
    period_ns: u64,
    cores: Vec<Core>,
    watched: HashSet<u32>,
    spaces: Spaces,
    tally: Tally,
    notes: Vec<String>,
}

struct Core {
    number: usize,
    ring: Ring,
    clocks: Vec<Counter>,
    /// These events are never switched off: they report changes of the threads' address spaces as long as they are
    /// open.
    silent: Vec<Counter>,
}

/// The places of all samples so far, the number of missing records, and the frames of the current sample.
#[derive(Default)]
struct Tally {
    places: Places,
    n_lost: u64,
    n_throttled: u64,
    frames: Vec<FrameId>,
}

impl Sampler {
    /// Opens the events on these cores, switched off. They sample the whole machine, or if the kernel forbids that,
    /// only the processes that are passed to [`Sampler::watch`].
    ///
    /// # Errors
    /// The kernel takes no samples at all, or none for this user.
    pub(crate) fn open(period_ns: u64, cores: &[usize]) -> Result<Self, Failure> {
        let scopes = [Scope::Machine, Scope::OwnWithKernel, Scope::Own];
        for scope in scopes {
            let opened: io::Result<Vec<Core>> =
                cores.iter().map(|core| open_core(scope, *core, period_ns, cores.len())).collect();
            match opened {
                Err(error) if scope != Scope::Own && refusal::is_forbidden(&error) => {}
                Err(error) => return Err(refusal::explain(error)),
                Ok(cores) => {
                    return Ok(Self {
                        scope,
                        period_ns,
                        cores,
                        watched: HashSet::new(),
                        spaces: Spaces::default(),
                        tally: Tally::default(),
                        notes: note_scope(scope),
                    });
                }
            }
        }
        unreachable!("the last scope returns")
    }

    /// Adds processes with their threads, and with the children that they start later; does nothing if the whole
    /// machine is sampled. Pass a child that already exists in the same call as its parent.
    ///
    /// # Errors
    /// The kernel's refusal. It is not an error if a process has ended or belongs to another user.
    pub(crate) fn watch(&mut self, pids: &[u32]) -> Result<(), Failure> {
        if self.scope == Scope::Machine {
            return Ok(());
        }
        let before = self.watched.clone();
        for &pid in pids {
            let parent = parent_of(pid);
            let comes_by_itself = parent.is_some_and(|parent| before.contains(&parent));
            if comes_by_itself || !self.watched.insert(pid) {
                continue;
            }
            match self.watch_threads(pid) {
                Err(error) if refusal::is_forbidden(&error) => self.notes.push(format!(
                    "process {pid} belongs to another user, so looptax takes no samples of this process: run \
                    looptax as root"
                )),
                result => result.map_err(refusal::explain)?,
            }
        }
        Ok(())
    }

    fn watch_threads(&mut self, pid: u32) -> io::Result<()> {
        let tasks = Process::new(pid.cast_signed()).and_then(|process| process.tasks());
        let tids = tasks.into_iter().flatten().flatten().map(|task| task.tid);
        for tid in tids {
            let task = Task::Thread(tid.cast_unsigned());
            for core in &mut self.cores {
                match core.add(self.scope, task, self.period_ns) {
                    // The thread has ended since it was listed.
                    Err(error) if is_gone(&error) => break,
                    result => result?,
                }
            }
        }
        Ok(())
    }

    /// Starts sampling; `period_ns` is the CPU time between two samples of a core.
    ///
    /// # Errors
    /// The kernel's error.
    pub(crate) fn start(&mut self, period_ns: u64) -> Result<(), Failure> {
        self.period_ns = period_ns;
        let mut clocks = self.clocks();
        clocks
            .try_for_each(|clock| {
                controls::set_period(clock, period_ns)?;
                clock.enable()
            })
            .map_err(|error| Failure::from(error).context("cannot begin to sample"))
    }

    /// Stops sampling until the next [`Sampler::start`]; samples stay in the buffers until they are drained.
    ///
    /// # Errors
    /// The kernel's error.
    pub(crate) fn pause(&mut self) -> Result<(), Failure> {
        let mut clocks = self.clocks();
        clocks.try_for_each(Counter::disable).map_err(|error| Failure::from(error).context("cannot end the sampling"))
    }

    fn clocks(&mut self) -> impl Iterator<Item = &mut Counter> {
        self.cores.iter_mut().flat_map(|core| &mut core.clocks)
    }

    /// Passes all items up to now to `take`, in order of time.
    pub(crate) fn drain(&mut self, take: &mut dyn FnMut(Drained<'_>)) {
        let until_ns = now_ns();
        self.spaces.begin_turn();
        while let Some(core) = self.find_next(until_ns) {
            let ring = &mut self.cores[core].ring;
            match ring.head().what {
                What::Sample(sample) => {
                    let mut take = |sample: &Sample<'_>| take(Drained::Sample(*sample));
                    let period_ns = self.period_ns;
                    self.tally.take(&mut self.spaces, &sample, period_ns, &mut take);
                }
                What::Map(map) => {
                    let mapped = Mapped {
                        pid: map.pid,
                        start: map.addr,
                        n_bytes: map.len,
                        offset: map.pgoff,
                        path: map.filename_os().as_ref(),
                        inode: map.ino().unwrap_or(0),
                    };
                    self.spaces.map(&mut self.tally.places, mapped);
                }
                What::Fork { parent, child } => {
                    self.spaces.fork(parent, child);
                    if parent != child {
                        take(Drained::Fork { parent, child });
                    }
                }
                What::Exec { pid } => self.spaces.exec(pid),
                What::Exit { pid } => self.spaces.exit(pid),
                What::Lost(n) => self.tally.n_lost += n,
                What::Throttled => self.tally.n_throttled += 1,
                What::Other => {}
            }
            ring.pop();
        }
    }

    /// Returns the core whose next record is the oldest.
    fn find_next(&mut self, until_ns: u64) -> Option<usize> {
        let heads = self.cores.iter_mut().enumerate();
        heads
            .filter_map(|(idx, core)| Some((core.ring.peek_ns()?, idx)))
            .filter(|(time_ns, _)| *time_ns <= until_ns)
            .min()
            .map(|(_, idx)| idx)
    }

    /// Returns the places of the frames of all samples so far.
    pub(crate) fn places(&self) -> &Places {
        &self.tally.places
    }

    /// Whether the kernel's functions are sampled as well.
    pub(crate) fn sees_kernel(&self) -> bool {
        self.scope != Scope::Own
    }

    #[cfg(test)]
    pub(crate) fn sees_machine(&self) -> bool {
        self.scope == Scope::Machine
    }

    /// Returns how many records have been lost since the beginning because a buffer was full, plus how many times the
    /// kernel has slowed the clock because sampling took too long.
    pub(crate) fn n_missing(&self) -> u64 {
        self.tally.n_lost + self.tally.n_throttled
    }

    pub(crate) fn n_cores(&self) -> usize {
        self.cores.len()
    }

    pub(crate) fn event() -> &'static str {
        "cpu-clock"
    }

    /// Returns the notes for the user about the parts that are not visible.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }
}

impl Core {
    /// Opens the events of one task, which write their records into the buffer of this core.
    fn add(&mut self, scope: Scope, task: Task, period_ns: u64) -> io::Result<()> {
        let clock = events::open_clock(scope, task, self.number, period_ns)?;
        controls::redirect(&clock, self.ring.owner())?;
        self.clocks.push(clock);
        if let Task::Thread(_) = task {
            let silent = events::open_silent(scope, task, self.number)?;
            controls::redirect(&silent, self.ring.owner())?;
            self.silent.push(silent);
        }
        Ok(())
    }
}

impl Tally {
    /// Passes one sample to `take`, with its frames as indexes.
    fn take(&mut self, spaces: &mut Spaces, raw: &Raw<'_>, period_ns: u64, take: &mut dyn FnMut(&Sample<'_>)) {
        let pid = raw.pid().unwrap_or(0);
        let chain = raw.callchain().unwrap_or_default();
        let n_kernel = self.intern(spaces, pid, chain);
        take(&Sample {
            time_ns: raw.time().unwrap_or(0),
            pid,
            tid: raw.tid().unwrap_or(0),
            // The period is passed in: the kernel's sample contains the period with which its event was opened, not the
            // current period.
            weight_ns: period_ns,
            frames: &self.frames,
            n_kernel,
        });
    }

    /// Stores the frames of a call chain; returns how many of them belong to the kernel.
    fn intern(&mut self, spaces: &mut Spaces, pid: u32, chain: &[u64]) -> usize {
        self.frames.clear();
        let mut n_kernel = 0;
        let mut mark = 0;
        let mut is_exact = true;
        for &address in chain {
            if address >= FIRST_MARK {
                (mark, is_exact) = (address, true);
                continue;
            }
            // The address of a caller is the address after its call instruction, so 1 is subtracted to get a byte of
            // the call.
            let place = if is_exact { address } else { address.saturating_sub(1) };
            let frame = match mark {
                KERNEL_MARK => Some(Frame::Kernel(place)),
                USER_MARK => spaces.locate(&mut self.places, pid, place, is_exact),
                _ => continue,
            };
            let frame = match frame {
                Some(frame) => frame,
                None if is_exact => Frame::Unknown,
                // This address is not a caller's: the program was built without frame pointers. The frames after it are
                // wrong, too.
                None => break,
            };
            n_kernel += usize::from(mark == KERNEL_MARK);
            self.frames.push(self.places.add_frame(frame));
            is_exact = false;
        }
        n_kernel
    }
}

fn open_core(scope: Scope, number: usize, period_ns: u64, n_cores: usize) -> io::Result<Core> {
    let task = match scope {
        Scope::Machine => Task::Every,
        Scope::OwnWithKernel | Scope::Own => Task::Ours,
    };
    let mut core = Core {
        number,
        ring: Ring::new(|| events::open_silent(scope, task, number), n_cores)?,
        clocks: Vec::new(),
        silent: Vec::new(),
    };
    if scope == Scope::Machine {
        core.add(scope, task, period_ns)?;
    }
    Ok(core)
}

fn note_scope(scope: Scope) -> Vec<String> {
    let note = match scope {
        Scope::Machine => return Vec::new(),
        Scope::OwnWithKernel => {
            "looptax takes samples of this user's processes only: to see what the kernel does for other processes \
             too, run looptax as root, or set `sysctl kernel.perf_event_paranoid=-1`"
        }
        Scope::Own => {
            "looptax takes samples of this user's processes only, and not of the kernel: `sysctl \
             kernel.perf_event_paranoid=1` adds the kernel's work for these processes, `=-1` the whole machine, as \
             root sees it"
        }
    };
    vec![note.to_owned()]
}

pub(crate) fn parent_of(pid: u32) -> Option<u32> {
    Some(stat(pid)?.parent)
}

fn is_gone(error: &io::Error) -> bool {
    Errno::from_io_error(error) == Some(Errno::SRCH)
}

fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests;
