//! The features that a caller may switch off, to try an older kernel's behaviour on a newer one, and the point at which
//! a test has the supervisor die.

/// Features to do without although the kernel has them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each feature is there or not, by itself")]
pub struct Switches {
    /// The whole mechanism: as on a kernel without it.
    pub no_listener: bool,
    /// The kernel's waking of the supervisor on the caller's core.
    pub no_sync_wake_up: bool,
    /// Calls that a signal does not end once they are seen.
    pub no_wait_killable: bool,
    pub no_thread_pidfd: bool,
    /// The information about users in descriptors of threads.
    pub no_pidfd_info: bool,
    /// Numbers of processes that are never used again.
    pub no_pidfs: bool,
    pub no_netns_cookie: bool,
    /// `kcmp`.
    pub no_kcmp: bool,
    /// Where the supervisor kills itself.
    pub die_at: Option<DieAt>,
}

/// A moment in the life of a moved connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DieAt {
    /// The call was seen, nothing is done.
    Received,
    /// The program's descriptor is the new socket, the call has no answer.
    Replaced,
    Answered,
}

impl Switches {
    /// Sets one by its name; false when there is none of that name.
    pub fn set(&mut self, name: &str) -> bool {
        match name {
            "listener" => self.no_listener = true,
            "sync-wake-up" => self.no_sync_wake_up = true,
            "wait-killable" => self.no_wait_killable = true,
            "thread-pidfd" => self.no_thread_pidfd = true,
            "pidfd-info" => self.no_pidfd_info = true,
            "pidfs" => self.no_pidfs = true,
            "netns-cookie" => self.no_netns_cookie = true,
            "kcmp" => self.no_kcmp = true,
            "life-after-received" => self.die_at = Some(DieAt::Received),
            "life-after-replaced" => self.die_at = Some(DieAt::Replaced),
            "life-after-answered" => self.die_at = Some(DieAt::Answered),
            _ => return false,
        }
        true
    }
}
