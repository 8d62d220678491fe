//! The open loop: requests are sent when they are due, whether earlier answers have arrived or not.
//!
//! Latency counts from the moment at which a request was due, so the stall of a server shows in all requests that were
//! due during it. The thread that does the I/O also does the pacing: it sleeps in epoll until the next request is due.
//! If it has a separate core, it spins through the last microseconds, because waking up would make the request late.

use std::collections::VecDeque;

use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::alarm::{ALARM, Alarm};
use super::connection::{Connection, Received};
use super::event::{MOST_EVENTS, io, poller_of};
use super::slice_barrier::SliceSpec;
use super::tally::Tally;
use crate::arrivals::Schedule;
use crate::clock::now_ns;
use crate::error::LoadError;

/// If spinning is allowed, the thread spins through a wait that is shorter than this. The value is an arbitrary choice.
const SPIN_NS: u64 = 60_000;
/// A wait of length zero: only checks what is ready.
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

/// Memory of the loop, kept from slice to slice.
#[derive(Debug, Default)]
pub(crate) struct Queues {
    /// When the requests that wait for a connection were due.
    waiting: VecDeque<u64>,
    /// Connections without a request in flight, starting with the one that has been idle longest.
    idle: VecDeque<usize>,
}

/// Buffers for one slice: its answers, their latencies, and the delay with which each request was sent.
pub(crate) struct Kept<'a> {
    pub(crate) room: &'a mut Vec<u8>,
    pub(crate) samples: &'a mut Vec<u32>,
    pub(crate) lags: &'a mut Vec<u32>,
}

/// Runs the measured loop of an open loop, over all connections of this thread.
///
/// # Cost
/// Per request: one send, one receive and two readings of the clock. Sending a request and receiving its answer may
/// each take, in addition, one `epoll_wait` and one setting of the timer.
pub(crate) fn open_loop(
    connections: &mut [Connection],
    spec: SliceSpec,
    schedule: &mut Schedule,
    may_spin: bool,
    queues: &mut Queues,
    tally: &mut Tally,
    kept: &mut Kept<'_>,
) -> Result<(), LoadError> {
    let poller = poller_of(connections)?;
    let mut alarm = Alarm::new(&poller)?;
    let mut events = Vec::with_capacity(MOST_EVENTS);
    queues.waiting.clear();
    queues.idle.clear();
    queues.idle.extend(0..connections.len());
    loop {
        let now = now_ns();
        arrive(schedule, now.min(spec.stop_at_ns - 1), queues);
        if now >= spec.stop_at_ns {
            give_up(queues, spec, tally, kept);
            if queues.idle.len() == connections.len() {
                return Ok(());
            }
        }
        send_waiting(connections, queues, tally, kept)?;
        // After the end of a slice the thread waits only for answers.
        let until_ns = schedule.due_ns().min(spec.stop_at_ns);
        let until_ns = (now < spec.stop_at_ns).then_some(until_ns);
        let limit = sleep_limit(until_ns, may_spin, &mut alarm)?;
        events.clear();
        tally.waits += 1;
        match epoll::wait(&poller, spare_capacity(&mut events), limit) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(io("wait")(errno)),
        }
        let ready = events.iter().map(|event| event.data.u64());
        for idx in ready.filter(|data| *data != ALARM) {
            let idx = idx as usize;
            if finish(&mut connections[idx], tally, kept)? {
                queues.idle.push_back(idx);
            }
        }
    }
}

/// Sets the alarm if the alarm has to end the next wait for events. Returns the time limit of that wait: zero if the
/// thread spins, otherwise `None`.
#[inline]
fn sleep_limit(
    until_ns: Option<u64>,
    may_spin: bool,
    alarm: &mut Alarm,
) -> Result<Option<&'static Timespec>, LoadError> {
    let Some(until_ns) = until_ns else {
        return Ok(None);
    };
    let wake_ns = until_ns - if may_spin { SPIN_NS } else { 0 };
    if wake_ns <= now_ns() {
        return Ok(Some(&AT_ONCE));
    }
    alarm.set(wake_ns)?;
    Ok(None)
}

/// Queues the requests that are due by now.
#[inline]
fn arrive(schedule: &mut Schedule, until_ns: u64, queues: &mut Queues) {
    while schedule.due_ns() <= until_ns {
        queues.waiting.push_back(schedule.due_ns());
        schedule.advance();
    }
}

/// Sends waiting requests over idle connections.
#[inline]
fn send_waiting(
    connections: &mut [Connection],
    queues: &mut Queues,
    tally: &mut Tally,
    kept: &mut Kept<'_>,
) -> Result<(), LoadError> {
    while !queues.waiting.is_empty() && !queues.idle.is_empty() {
        let (Some(due_ns), Some(idx)) = (queues.waiting.pop_front(), queues.idle.pop_front()) else {
            return Ok(());
        };
        let connection = &mut connections[idx];
        let idle_since_ns = connection.answered_ns;
        connection.prepare();
        connection.sent_ns = due_ns;
        let now = now_ns();
        // If the connection became idle only after the request was due, looptax's own delay begins when the connection
        // became idle.
        let could_go_ns = due_ns.max(idle_since_ns);
        tally.n_queued += u64::from(idle_since_ns > due_ns);
        keep(kept.lags, now.saturating_sub(could_go_ns));
        connection.send(tally)?;
    }
    Ok(())
}

/// Counts the requests that still wait at the end of a slice, each with its waiting time. These requests are never
/// sent.
fn give_up(queues: &mut Queues, spec: SliceSpec, tally: &mut Tally, kept: &mut Kept<'_>) {
    for due_ns in queues.waiting.drain(..) {
        tally.n_unsent += 1;
        tally.behind_ns = tally.behind_ns.max(spec.stop_at_ns.saturating_sub(due_ns));
        if due_ns >= spec.count_from_ns {
            keep(kept.samples, spec.stop_at_ns.saturating_sub(due_ns));
        }
    }
}

/// Receives on a ready connection; true if its request is now answered.
#[inline]
fn finish(connection: &mut Connection, tally: &mut Tally, kept: &mut Kept<'_>) -> Result<bool, LoadError> {
    if connection.receive(kept.room, RecvFlags::DONTWAIT, tally)? != Received::Answer {
        return Ok(false);
    }
    connection.answered_ns = now_ns();
    tally.record_due(connection.sent_ns, connection.answered_ns, kept.samples);
    Ok(true)
}

/// Adds a time if the vector has spare capacity.
#[inline]
fn keep(to: &mut Vec<u32>, ns: u64) {
    if to.len() < to.capacity() {
        to.push(u32::try_from(ns).unwrap_or(u32::MAX));
    }
}
