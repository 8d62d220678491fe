//! Features that a caller can switch off, to test an older kernel's behaviour on a newer one; and the point at which
//! the supervisor dies in a test.

/// Features that looptax does not use although the kernel has them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each feature is present or absent, independently of the others")]
pub struct Switches {
    /// Whether to act as if the kernel did not have seccomp user notification.
    pub no_listener: bool,
    /// Whether not to wake the supervisor on the caller's core.
    pub no_sync_wake_up: bool,
    /// Whether signals may end calls that the supervisor has seen.
    pub no_wait_killable: bool,
    pub no_thread_pidfd: bool,
    /// Whether to ignore the information about users in the descriptors of threads.
    pub no_pidfd_info: bool,
    /// Whether not to use process numbers that are never reused.
    pub no_pidfs: bool,
    pub no_netns_cookie: bool,
    /// Whether not to use `kcmp`.
    pub no_kcmp: bool,
    /// The point at which the supervisor kills itself.
    pub die_at: Option<DieAt>,
}

/// A moment in the handling of a moved connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DieAt {
    /// The supervisor has seen the call and done nothing yet.
    Received,
    /// The program's descriptor refers to the new socket, but the call has no answer yet.
    Replaced,
    Answered,
}

impl Switches {
    /// Sets the switch with this name; false if there is no such switch.
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
