//! The supervisor: receives calls from the kernel and answers them.
//!
//! The supervisor is a separate process between the watchdog and the program (`launch`); if that process died, the
//! watchdog is the supervisor. Each thread answers one call at a time; `pool` ensures that a thread is free.

mod pool;
mod sockets;

use std::collections::HashMap;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::answers::options::{self, Options};
use crate::answers::{names, receive};
use crate::caller::{Own, status};
use crate::filter::{self, Kind};
use crate::outcome::Event;
use crate::page::{Page, Slot, stage};
use crate::processes::Processes;
use crate::sys::{pass, socket, wait};
use crate::{DieAt, FallbackReason, Features, Mapping, Steering, Switches, connect};
use looptax_host::seccomp::{Answer, Call, Listener};
use pool::Pool;
use sockets::Sockets;

/// Maximum number of sockets that `unanswered` remembers. On kernels without `WAIT_KILLABLE_RECV`, a signal can end a
/// call after its socket was put in place; such calls are rare.
const MAX_UNANSWERED: usize = 1_024;

pub(crate) struct Supervisor {
    pub(crate) listener: Arc<Listener>,
    pub(crate) page: &'static Page,
    pub(crate) mapping: Mapping,
    pub(crate) features: Features,
    pub(crate) own: Own,
    pub(crate) processes: Processes,
    pub(crate) options: Options,
    /// Part of each name, so that the names differ from those of other supervisors.
    pub(crate) maker: u32,
    /// Sets which routes are moved right now; without it, all routes are moved.
    pub(crate) steering: Option<Steering>,
    switches: Switches,
    events: Option<OwnedFd>,
    wants_events: bool,
    /// Sockets for which the last answer was "in progress", and whose program has not called again.
    pub(crate) on_their_way: Sockets,
    /// For each call that has not received its answer yet: the socket that was put in place for the call.
    unanswered: Mutex<HashMap<u64, u64>>,
    pool: Pool,
}

pub(crate) struct Parts {
    pub(crate) listener: Arc<Listener>,
    pub(crate) page: &'static Page,
    pub(crate) mapping: Mapping,
    pub(crate) features: Features,
    pub(crate) steering: Option<Steering>,
    pub(crate) switches: Switches,
    /// The pipe into which events are written.
    pub(crate) events: Option<OwnedFd>,
    /// Whether all events are sent; if not, only the first moved connection of each route is reported.
    pub(crate) wants_events: bool,
}

impl Supervisor {
    /// # Errors
    /// If this process cannot read its own identity.
    pub(crate) fn new(parts: Parts) -> std::io::Result<Self> {
        if parts.features.has_sync_wake_up {
            // If this is refused, waking is only slower.
            let _ = parts.listener.wake_synchronously();
        }
        Ok(Self {
            listener: parts.listener,
            page: parts.page,
            mapping: parts.mapping,
            features: parts.features,
            steering: parts.steering,
            own: Own::look()?,
            processes: Processes::default(),
            options: Options::new(),
            maker: std::process::id(),
            switches: parts.switches,
            events: parts.events,
            wants_events: parts.wants_events,
            on_their_way: Sockets::default(),
            unanswered: Mutex::default(),
            pool: Pool::new(),
        })
    }

    /// Answers the calls that a dead supervisor left, then begins to receive calls. Returns immediately.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn start(self: &Arc<Self>) -> std::io::Result<()> {
        for slot in self.page.left_behind() {
            if let Some(call) = slot.call() {
                let answer = if slot.stage() == stage::REPLACING {
                    connect::finish(self, &call)
                } else {
                    self.answer_to(&call, slot, &mut None)
                };
                let _ = self.listener.answer(call.id, answer);
            }
            slot.clear();
        }
        pool::start(self)
    }

    /// Answers the call in a slot, and empties the slot.
    fn handle(&self, slot: &Slot) {
        let begun_ns = self.steering.map(|_| wait::monotonic_ns());
        // The slice under which the call is counted.
        let mut counted_in = None;
        if let Some(call) = slot.call() {
            self.die_at(DieAt::Received);
            let answer = self.answer_to(&call, slot, &mut counted_in);
            // Done before the answer: once the program has the answer, the kernel may let the program run first on this
            // core.
            if let (Some(steering), Some(begun_ns), Some(slice)) = (self.steering, begun_ns, counted_in) {
                steering.add_busy(slice, wait::monotonic_ns() - begun_ns);
            }
            self.give(&call, answer);
            if answer != Answer::GoOn {
                self.die_at(DieAt::Answered);
            }
        }
        slot.clear();
    }

    /// Sends the answer. If the call no longer exists, it needs no answer.
    fn give(&self, call: &Call, answer: Answer) {
        if self.features.has_wait_killable {
            let _ = self.listener.answer(call.id, answer);
            return;
        }
        // The thread that handles the program's next call has to know whether this answer arrived.
        let mut unanswered = self.unanswered();
        if self.listener.answer(call.id, answer).is_ok() {
            unanswered.remove(&call.id);
        }
    }

    fn answer_to(&self, call: &Call, slot: &Slot, counted_in: &mut Option<u32>) -> Answer {
        match filter::kind(call.arch, call.number) {
            Kind::Connect => connect::answer(self, call, slot, counted_in),
            Kind::Name => names::answer(self, call),
            Kind::Option => options::answer(self, call),
            Kind::Receive => receive::answer(self, call),
            seen => {
                self.note(call, seen);
                Answer::GoOn
            }
        }
    }

    /// Records a call that continues unchanged, but changes facts that were read before.
    fn note(&self, call: &Call, seen: Kind) {
        let tid = call.tid;
        let changes = &self.page.changes;
        let status = status(tid).ok();
        match (seen, status) {
            (Kind::Queue, Some(status)) => self.processes.note_queue(status.pid),
            // In a process with several threads, each thread may have separate groups. A thread that executes a program
            // gets the first thread's number.
            (Kind::Groups, Some(status)) if status.n_threads == 1 => changes.note_groups(),
            (Kind::Groups | Kind::World, _) => changes.note_other(),
            (Kind::Confinement, _) => changes.note_confinement(filter::is_landlock(call.number)),
            _ => {}
        }
    }

    /// Makes another thread take this thread's place, so that this thread may wait while it handles a call. Returns
    /// false if that is impossible.
    pub(crate) fn may_wait(&self) -> bool {
        pool::stand_in(self)
    }

    pub(crate) fn note_moved(&self, route_idx: usize, pid: u32) {
        let is_first = self.page.count_moved(route_idx);
        self.tell(Event::Moved { route_idx, pid }, is_first);
    }

    pub(crate) fn note_left(&self, route_idx: usize, pid: u32, reason: FallbackReason, errno: i32) {
        self.page.count_left(route_idx, reason);
        self.tell(Event::Left { route_idx, pid, reason, errno }, false);
    }

    fn tell(&self, event: Event, is_first: bool) {
        if let (Some(events), Some(message)) = (&self.events, event.message())
            && (self.wants_events || is_first)
        {
            // If the pipe is full, an event is lost, but never a connection.
            let _ = pass::write(events.as_fd(), &message);
        }
    }

    fn unanswered(&self) -> MutexGuard<'_, HashMap<u64, u64>> {
        self.unanswered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the socket that a call is about to get. On a kernel that lets signals end calls that were seen, the call
    /// may be gone before its answer.
    pub(crate) fn expect_answer(&self, call: &Call, new: &OwnedFd) {
        if self.features.has_wait_killable {
            return;
        }
        if let Ok(cookie) = socket::cookie(new.as_fd(), libc::SO_COOKIE) {
            let mut unanswered = self.unanswered();
            if unanswered.len() >= MAX_UNANSWERED {
                unanswered.clear();
            }
            unanswered.insert(call.id, cookie);
        }
    }

    /// Returns whether `call` repeats an earlier call that moved this socket and that a signal then ended.
    pub(crate) fn is_repeated(&self, call: &Call, socket: &OwnedFd) -> bool {
        if self.features.has_wait_killable {
            return false;
        }
        let Ok(cookie) = socket::cookie(socket.as_fd(), libc::SO_COOKIE) else {
            return false;
        };
        let mut unanswered = self.unanswered();
        let n_before = unanswered.len();
        unanswered.retain(|_, it| *it != cookie);
        let is_repeated = unanswered.len() != n_before;
        if is_repeated {
            unanswered.insert(call.id, cookie);
        }
        is_repeated
    }

    /// Ends this process at this point if a test requests it.
    pub(crate) fn die_at(&self, at: DieAt) {
        if self.switches.die_at == Some(at) {
            connect::die();
        }
    }
}
