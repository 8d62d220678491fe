//! A timer among the events of an epoll instance, exact to the nanosecond.
//!
//! The time limit of `epoll_wait` is not suitable, because it is in milliseconds. `epoll_pwait2` is not suitable
//! either, because some kernels that databases run on do not have it yet.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::epoll;
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create, timerfd_settime,
};

use super::event::io;
use crate::error::LoadError;

/// The epoll data of an alarm; no connection has this number.
pub(super) const ALARM: u64 = u64::MAX;

const ZERO: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };

pub(super) struct Alarm {
    timer: OwnedFd,
    set_for_ns: u64,
}

impl Alarm {
    /// Makes an alarm that is not set yet. Each time the alarm becomes due, epoll reports this only once, even if
    /// threads wait again.
    pub(super) fn new(poller: &OwnedFd) -> Result<Self, LoadError> {
        let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC).map_err(io("make a timer"))?;
        let once = epoll::EventFlags::IN | epoll::EventFlags::ET;
        epoll::add(poller, &timer, epoll::EventData::new_u64(ALARM), once).map_err(io("register with epoll"))?;
        Ok(Self { timer, set_for_ns: 0 })
    }

    /// Sets the alarm to a time on the clock of [`crate::clock::now_ns`]. If that time has already passed, the alarm is
    /// due immediately.
    ///
    /// # Cost
    /// A system call, unless the alarm is already set to this time.
    #[inline]
    pub(super) fn set(&mut self, at_ns: u64) -> Result<(), LoadError> {
        if at_ns == self.set_for_ns {
            return Ok(());
        }
        self.set_for_ns = at_ns;
        let failed = io("set a timer");
        let at = Timespec::try_from(Duration::from_nanos(at_ns));
        let once = Itimerspec { it_interval: ZERO, it_value: at.map_err(|_| failed(Errno::INVAL))? };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &once).map_err(failed)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rustix::buffer::spare_capacity;

    use super::*;
    use crate::clock::now_ns;

    fn wait(poller: &OwnedFd, limit: Option<&Timespec>) -> Vec<u64> {
        let mut events = Vec::with_capacity(4);
        epoll::wait(poller, spare_capacity(&mut events), limit).unwrap();
        events.iter().map(|event| event.data.u64()).collect()
    }

    #[test]
    fn an_alarm_is_told_once_and_never_early() {
        let poller = epoll::create(epoll::CreateFlags::CLOEXEC).unwrap();
        let mut alarm = Alarm::new(&poller).unwrap();
        assert_eq!(wait(&poller, Some(&ZERO)), [0; 0], "it is not set");
        for ahead_ns in [300_000, 0] {
            let at_ns = now_ns() + ahead_ns;
            alarm.set(at_ns).unwrap();
            assert_eq!(wait(&poller, None), [ALARM]);
            assert!(now_ns() >= at_ns);
            alarm.set(at_ns).unwrap();
            assert_eq!(wait(&poller, Some(&ZERO)), [0; 0], "it was told");
        }
    }
}
