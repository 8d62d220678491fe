//! The client model with few threads: one epoll over many connections.
//!
//! Per ready connection it receives, takes the answer and sends the next request at once, as
//! event-driven clients do.

use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::lane::Lane;
use super::tally::Tally;
use super::wait::{receive, timespec};
use crate::clock::now_ns;
use crate::error::LoadError;

/// Ready connections taken at once.
const MOST_EVENTS: usize = 256;

/// The measured loop of the event model, over all lanes of this thread.
///
/// # Cost
/// Per request one send, one receive, one reading of the clock and a share of an `epoll_wait`. The
/// epoll itself is made before the first request and lasts one slice.
pub(crate) fn closed_loop(
    lanes: &mut [Lane],
    stop_at_ns: u64,
    tally: &mut Tally,
    samples: &mut Vec<u32>,
) -> Result<(), LoadError> {
    let Some(limit) = lanes.first().map(Lane::io_limit) else {
        return Ok(());
    };
    let io = |action| {
        move |errno: Errno| LoadError::Io {
            action,
            source: errno.into(),
        }
    };
    let poller = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(io("make an epoll"))?;
    for (idx, lane) in lanes.iter().enumerate() {
        let data = epoll::EventData::new_u64(idx as u64);
        epoll::add(&poller, lane.fd(), data, epoll::EventFlags::IN)
            .map_err(io("register with epoll"))?;
    }
    let mut events = Vec::with_capacity(MOST_EVENTS);
    for lane in lanes.iter_mut() {
        lane.prepare();
        lane.sent_ns = now_ns();
        lane.send(tally)?;
    }
    let mut n_in_flight = lanes.len();
    let timeout = timespec(limit);
    while n_in_flight > 0 {
        events.clear();
        tally.waits += 1;
        match epoll::wait(&poller, spare_capacity(&mut events), Some(&timeout)) {
            Ok(0) => return Err(LoadError::Timeout { limit }),
            Ok(_) => {}
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(io("wait")(errno)),
        }
        for event in &events {
            let lane = &mut lanes[event.data.u64() as usize];
            if !turn(lane, stop_at_ns, tally, samples)? {
                n_in_flight -= 1;
            }
        }
    }
    Ok(())
}

/// One ready connection; false when it has nothing in flight any more.
#[inline]
fn turn(
    lane: &mut Lane,
    stop_at_ns: u64,
    tally: &mut Tally,
    samples: &mut Vec<u32>,
) -> Result<bool, LoadError> {
    let Some(n) = receive(lane, tally, RecvFlags::DONTWAIT)? else {
        return Ok(true);
    };
    if !lane.accept(n)? {
        return Ok(true);
    }
    let answered_ns = now_ns();
    tally.record(lane.sent_ns, answered_ns, lane.is_first, samples);
    lane.is_first = false;
    if answered_ns >= stop_at_ns {
        return Ok(false);
    }
    lane.prepare();
    // The end of one exchange is the start of the next: writing a request takes some 20 ns.
    lane.sent_ns = answered_ns;
    lane.send(tally)?;
    Ok(true)
}
