//! Opens the two events of the sampler: a clock of each core's CPU time, and a silent event that reports changes of
//! address spaces.
//!
//! The silent event is never switched off, so that the sampler also knows mappings that were made between two slices.

use std::io;

use perf_event::events::Software;
use perf_event::{Builder, Clock, Counter, SampleFlag};

/// The processes that the kernel allows this process to sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// Every process and the kernel.
    Machine,
    /// This user's processes, and the kernel while it works for them.
    OwnWithKernel,
    /// This user's processes, without the kernel.
    Own,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Task {
    Every,
    /// The first thread of looptax.
    Ours,
    /// A thread, and the threads and processes that it starts.
    Thread(u32),
}

/// Opens the silent event, switched on.
pub(super) fn open_silent(scope: Scope, task: Task, core: usize) -> io::Result<Counter> {
    let mut builder = new_builder(Software::DUMMY, scope);
    builder.enabled(true).task(true).comm(true).comm_exec(true);
    builder.mmap(true).mmap2(true);
    observe(&mut builder, task, core).build()
}

/// Opens the clock, switched off; `period_ns` is the CPU time between two samples.
pub(super) fn open_clock(scope: Scope, task: Task, core: usize, period_ns: u64) -> io::Result<Counter> {
    let mut builder = new_builder(Software::CPU_CLOCK, scope);
    builder.sample_period(period_ns);
    observe(&mut builder, task, core).build()
}

/// Returns the settings that both events share: their records go into the same buffer, so they must have the same form.
fn new_builder(event: Software, scope: Scope) -> Builder<'static> {
    let mut builder = Builder::new(event);
    builder
        .exclude_kernel(scope == Scope::Own)
        .exclude_hv(true)
        .exclude_idle(true)
        .exclude_guest(true)
        .clockid(Clock::MONOTONIC)
        .sample_id_all(true)
        .sample(SampleFlag::IP | SampleFlag::TID | SampleFlag::TIME)
        .sample(SampleFlag::CPU | SampleFlag::PERIOD | SampleFlag::CALLCHAIN);
    builder
}

fn observe<'a>(builder: &'a mut Builder<'static>, task: Task, core: usize) -> &'a mut Builder<'static> {
    match task {
        Task::Every => builder.any_pid(),
        Task::Ours => builder.observe_self(),
        Task::Thread(tid) => builder.observe_pid(tid.cast_signed()).inherit(true),
    }
    .one_cpu(core)
}
