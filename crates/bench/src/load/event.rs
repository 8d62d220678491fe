//! The client model with few threads: each thread waits with one epoll for many connections.
//!
//! For each ready connection, the thread receives the answer, accepts it and immediately sends the next request.
//! Event-driven clients do the same.

use std::os::fd::OwnedFd;

use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::connection::{Connection, Received};
use super::slice_barrier::SliceSpec;
use super::tally::Tally;
use crate::clock::{busy_wait, now_ns};
use crate::error::LoadError;
use crate::plan::SidePlan;

pub(super) const MOST_EVENTS: usize = 256;

/// Runs the measured loop of the event model, over all connections of this thread.
///
/// # Cost
/// Per request: one send, one receive, one reading of the clock and a share of an `epoll_wait`. The epoll instance is
/// made before the first request and lasts one slice.
pub(crate) fn closed_loop(
    connections: &mut [Connection],
    spec: SliceSpec,
    plan: SidePlan,
    room: &mut Vec<u8>,
    tally: &mut Tally,
    samples: &mut Vec<u32>,
) -> Result<(), LoadError> {
    let poller = poller_of(connections)?;
    let mut events = Vec::with_capacity(MOST_EVENTS);
    for connection in connections.iter_mut() {
        start(connection, now_ns(), plan.inject_ns, tally)?;
    }
    let mut n_in_flight = connections.len();
    while n_in_flight > 0 {
        events.clear();
        tally.waits += 1;
        match epoll::wait(&poller, spare_capacity(&mut events), None) {
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(io("wait")(errno)),
        }
        for event in &events {
            let connection = &mut connections[event.data.u64() as usize];
            let Some(answered_ns) = finish(connection, room, tally, samples)? else {
                continue;
            };
            if answered_ns >= spec.stop_at_ns {
                n_in_flight -= 1;
            } else {
                start(connection, answered_ns, plan.inject_ns, tally)?;
            }
        }
    }
    Ok(())
}

/// Makes an epoll instance that watches all connections. An event contains the index of its connection.
pub(super) fn poller_of(connections: &[Connection]) -> Result<OwnedFd, LoadError> {
    let poller = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(io("create an epoll instance"))?;
    for (idx, connection) in connections.iter().enumerate() {
        let data = epoll::EventData::new_u64(idx as u64);
        epoll::add(&poller, connection.fd(), data, epoll::EventFlags::IN).map_err(io("register with epoll"))?;
    }
    Ok(poller)
}

/// Returns a function that turns the error code of a system call into a [`LoadError`] that names `action`.
pub(super) fn io(action: &'static str) -> impl Fn(Errno) -> LoadError {
    move |errno| LoadError::Io { action, source: errno.into() }
}

/// Receives on a ready connection. If the answer is now complete, returns the time at which the answer's last byte was
/// received.
#[inline]
fn finish(
    connection: &mut Connection,
    room: &mut Vec<u8>,
    tally: &mut Tally,
    samples: &mut Vec<u32>,
) -> Result<Option<u64>, LoadError> {
    if connection.receive(room, RecvFlags::DONTWAIT, tally)? != Received::Answer {
        return Ok(None);
    }
    let answered_ns = now_ns();
    tally.record(connection.sent_ns, answered_ns, connection.is_first, samples);
    connection.is_first = false;
    Ok(Some(answered_ns))
}

/// Sends the connection's next request. Its latency counts from `since_ns`, when the previous answer had arrived: this
/// saves a reading of the clock, and writing a request takes only some 20 ns.
#[inline]
fn start(
    connection: &mut Connection,
    since_ns: u64,
    inject_ns: Option<u64>,
    tally: &mut Tally,
) -> Result<(), LoadError> {
    connection.prepare();
    connection.sent_ns = since_ns;
    if let Some(inject_ns) = inject_ns {
        tally.injected_ns += busy_wait(inject_ns);
        connection.sent_ns = now_ns();
    }
    connection.send(tally)
}
