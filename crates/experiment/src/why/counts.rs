//! Counts what the kernel does for a request: system calls, wake-ups, softirqs, packets.
//!
//! After every `period` occurrences of a tracepoint, the kernel writes a record into the core's buffer. The record
//! contains the time, so looptax can assign the counts to a slice and an arm. Counting costs time, so it is on only in
//! warm-up epochs, whose times do not count.

mod tracefs;

use std::collections::HashMap;
use std::io;

use crate::observer::Doer;
use looptax_bench::MeasuredEpoch;
use looptax_model::record::CountedEpoch;
use looptax_model::stats::Side;
use perf_event::events::Tracepoint;
use perf_event::{Builder, Clock, Counter, SampleFlag};

use crate::why::sampler::controls;
use crate::why::sampler::records::What;
use crate::why::sampler::ring::Ring;
use crate::why::tally::Windows;
use crate::why::turns;
use tracefs::Tracefs;

struct Kind {
    /// The path of the tracepoint below the folder `events` of tracefs.
    tracepoint: &'static str,
    /// The condition under which an occurrence is counted, in the syntax of the kernel's filters.
    filter: Option<&'static str>,
    /// The name of the count, and whether there is a separate count for each process that causes occurrences.
    name: &'static str,
    is_by_doer: bool,
}

/// Sources: `include/trace/events` of Linux, `syscalls.h`, `sched.h`, `irq.h`, `net.h`. Vector 3 is `NET_RX_SOFTIRQ` of
/// `linux/interrupt.h`.
const KINDS: [Kind; 4] = [
    Kind { tracepoint: "raw_syscalls/sys_enter", filter: None, name: "system calls", is_by_doer: true },
    Kind { tracepoint: "sched/sched_waking", filter: None, name: "wake-ups", is_by_doer: true },
    Kind {
        tracepoint: "irq/softirq_entry",
        filter: Some("vec == 3"),
        name: "softirqs that receive",
        is_by_doer: false,
    },
    Kind { tracepoint: "net/net_dev_xmit", filter: None, name: "packets sent by devices", is_by_doer: false },
];

/// The processes that take part in a request, and their names in a count.
const DOERS: [(Doer, &str); 5] = [
    (Doer::Client, "by the client"),
    (Doer::Server, "by the server"),
    (Doer::Proxy, "by the port proxy"),
    (Doer::Pooler, "by the pooler"),
    (Doer::Supervisor, "by the supervisor"),
];

pub(crate) struct Counts {
    cores: Vec<Core>,
    /// Number of occurrences after which the kernel writes a record.
    period: u64,
    n_lost: u64,
}

struct Core {
    ring: Ring,
    tracepoints: Vec<Counter>,
    /// For each tracepoint id of the kernel, the index in [`KINDS`].
    kinds: HashMap<u64, usize>,
}

impl Counts {
    /// Opens the tracepoints on these cores, switched off.
    ///
    /// # Errors
    /// The kernel's error: only root may use tracepoints, or this kernel lacks them.
    pub(crate) fn open(cores: &[usize]) -> io::Result<Self> {
        let tracefs = Tracefs::open()?;
        let ids = KINDS.map(|kind| tracefs.id(kind.tracepoint));
        let ids: Vec<u64> = ids.into_iter().collect::<io::Result<_>>()?;
        let cores = cores.iter().map(|core| Core::open(*core, &ids, cores.len()));
        Ok(Self { cores: cores.collect::<io::Result<_>>()?, period: turns::count_period(0, 0), n_lost: 0 })
    }

    /// Returns the names of the counts, in the order of the counts.
    pub(crate) fn names() -> Vec<String> {
        let names = KINDS.iter().flat_map(|kind| {
            if kind.is_by_doer {
                return DOERS.map(|(_, by)| format!("{} {by}", kind.name)).to_vec();
            }
            vec![kind.name.to_owned()]
        });
        names.collect()
    }

    /// Starts counting, with a record after every `period` occurrences.
    ///
    /// # Errors
    /// The kernel's error.
    pub(crate) fn start(&mut self, period: u64) -> io::Result<()> {
        self.period = period;
        let mut tracepoints = self.tracepoints();
        tracepoints.try_for_each(|it| {
            controls::set_period(it, period)?;
            it.enable()
        })
    }

    /// Stops counting until the next [`Counts::start`].
    ///
    /// # Errors
    /// The kernel's error.
    pub(crate) fn pause(&mut self) -> io::Result<()> {
        self.tracepoints().try_for_each(Counter::disable)
    }

    fn tracepoints(&mut self) -> impl Iterator<Item = &mut Counter> {
        self.cores.iter_mut().flat_map(|core| &mut core.tracepoints)
    }

    /// Returns the counts of an epoch's slices; `None` if the kernel has lost records, because the true counts are then
    /// unknown.
    pub(crate) fn take(
        &mut self,
        epoch: &MeasuredEpoch,
        mut doer_of: impl FnMut(u32) -> Option<Doer>,
    ) -> Option<CountedEpoch> {
        let windows = Windows::new(epoch);
        let mut counts = [0, 1].map(|_| vec![0; Self::names().len()]);
        let lost_before = self.n_lost;
        for core in &mut self.cores {
            while core.ring.peek_ns().is_some() {
                match core.ring.head().what {
                    What::Sample(sample) => {
                        let kind = sample.id().and_then(|id| core.kinds.get(&id)).copied();
                        let doer = doer_of(sample.pid().unwrap_or(0));
                        let at = kind.zip(doer).and_then(|(kind, doer)| place(kind, doer));
                        let side = windows.side_at(sample.time().unwrap_or(0));
                        if let Some((side, at)) = side.zip(at) {
                            counts[side.idx()][at] += self.period;
                        }
                    }
                    What::Lost(n) => self.n_lost += n,
                    _ => {}
                }
                core.ring.pop();
            }
        }
        (self.n_lost == lost_before).then(|| CountedEpoch {
            requests: Side::BOTH.map(|side| {
                let slices = epoch.raw.slices_of(side);
                slices.map(|it| it.requests).sum()
            }),
            counts,
        })
    }
}

impl Core {
    fn open(number: usize, ids: &[u64], n_cores: usize) -> io::Result<Self> {
        let silent = || build(perf_event::events::Software::DUMMY, number);
        let mut core = Self { ring: Ring::new(silent, n_cores)?, tracepoints: Vec::new(), kinds: HashMap::new() };
        for (idx, (kind, id)) in KINDS.iter().zip(ids).enumerate() {
            let tracepoint = build(Tracepoint::with_id(*id), number)?;
            if let Some(filter) = kind.filter {
                controls::set_filter(&tracepoint, filter)?;
            }
            controls::redirect(&tracepoint, core.ring.owner())?;
            core.kinds.insert(tracepoint.id(), idx);
            core.tracepoints.push(tracepoint);
        }
        Ok(core)
    }
}

/// Opens an event for all processes on one core, switched off. All events of a core share a buffer, so their records
/// have the same form.
fn build(event: impl perf_event::events::Event, core: usize) -> io::Result<Counter> {
    let mut builder = Builder::new(event);
    builder
        .exclude_kernel(false)
        .exclude_hv(false)
        .clockid(Clock::MONOTONIC)
        .sample_id_all(true)
        .sample(SampleFlag::ID | SampleFlag::TID | SampleFlag::TIME)
        .sample_period(turns::count_period(0, 0))
        .any_pid()
        .one_cpu(core)
        .build()
}

/// Returns the index of a count in the order of [`Counts::names`].
fn place(kind: usize, doer: Doer) -> Option<usize> {
    let n_before = |kind: &Kind| if kind.is_by_doer { DOERS.len() } else { 1 };
    let first: usize = KINDS[..kind].iter().map(n_before).sum();
    let beside = DOERS.iter().position(|(it, _)| *it == doer)?;
    Some(first + if KINDS[kind].is_by_doer { beside } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_stands_where_its_name_does() {
        let names = Counts::names();
        assert_eq!(names.len(), 2 * DOERS.len() + 2);
        let at = |kind, doer| names[place(kind, doer).unwrap()].as_str();
        assert_eq!(at(0, Doer::Client), "system calls by the client");
        assert_eq!(at(1, Doer::Server), "wake-ups by the server");
        assert_eq!(at(2, Doer::Server), "softirqs that receive");
        assert_eq!(at(3, Doer::Proxy), "packets sent by devices");
    }
}
