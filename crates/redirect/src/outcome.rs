//! The outcome of the connections: counts at the end, and single events while the program runs.

use crate::FallbackReason;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Number of moved connections, by route.
    pub n_moved: Vec<u64>,
    /// Number of connections that stayed on TCP, by route and reason.
    pub left: Vec<Vec<(FallbackReason, u64)>>,
}

impl Stats {
    /// Returns the number of moved connections on all routes together.
    pub fn n_moved(&self) -> u64 {
        self.n_moved.iter().sum()
    }

    /// Returns the number of connections to mapped addresses that stayed on TCP, for all routes and reasons together.
    pub fn n_left(&self) -> u64 {
        self.left.iter().flatten().map(|(_, n)| n).sum()
    }
}

/// An event that a user may need to see immediately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Moved {
        /// Index of the route in the mapping.
        route_idx: usize,
        pid: u32,
    },
    Left {
        /// Index of the route in the mapping.
        route_idx: usize,
        pid: u32,
        reason: FallbackReason,
        /// The error number, if a step failed; otherwise zero.
        errno: i32,
    },
    /// The supervisor died, and another process took its place.
    SupervisorDied,
}

/// The size of a message in the pipe between supervisor and watchdog: short enough to be written whole or not at all.
pub(crate) const MESSAGE_BYTES: usize = 16;
/// A message that is not for the caller: the program was stopped.
pub(crate) const STOPPED: [u8; MESSAGE_BYTES] = [u8::MAX; MESSAGE_BYTES];
const MOVED: u8 = 1;
const LEFT: u8 = 2;

impl Event {
    /// Returns the event as a message; `None` for an event that the watchdog sees itself.
    pub(crate) fn message(self) -> Option<[u8; MESSAGE_BYTES]> {
        let (kind, route_idx, pid, reason, errno) = match self {
            Self::Moved { route_idx, pid } => (MOVED, route_idx, pid, 0, 0),
            Self::Left { route_idx, pid, reason, errno } => (LEFT, route_idx, pid, reason as u8, errno),
            Self::SupervisorDied => return None,
        };
        let mut bytes = [0; MESSAGE_BYTES];
        bytes[0] = kind;
        bytes[1] = reason;
        bytes[2..4].copy_from_slice(&(route_idx as u16).to_ne_bytes());
        bytes[4..8].copy_from_slice(&pid.to_ne_bytes());
        bytes[8..12].copy_from_slice(&errno.to_ne_bytes());
        Some(bytes)
    }

    /// Parses a message; `None` if it is not an event.
    pub(crate) fn from_message(bytes: &[u8; MESSAGE_BYTES]) -> Option<Self> {
        let [kind, reason, r0, r1, p0, p1, p2, p3, e0, e1, e2, e3, ..] = *bytes;
        let route_idx = usize::from(u16::from_ne_bytes([r0, r1]));
        let pid = u32::from_ne_bytes([p0, p1, p2, p3]);
        match kind {
            MOVED => Some(Self::Moved { route_idx, pid }),
            LEFT => Some(Self::Left {
                route_idx,
                pid,
                reason: FallbackReason::from_number(reason)?,
                errno: i32::from_ne_bytes([e0, e1, e2, e3]),
            }),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_through_the_pipe_as_they_were() {
        let events = [
            Event::Moved { route_idx: 63, pid: 4_194_304 },
            Event::Left { route_idx: 1, pid: 17, reason: FallbackReason::Full, errno: 11 },
        ];
        for event in events {
            assert_eq!(Event::from_message(&event.message().unwrap()), Some(event));
        }
        assert_eq!(Event::SupervisorDied.message(), None);
        assert_eq!(Event::from_message(&[0; MESSAGE_BYTES]), None);
    }
}
