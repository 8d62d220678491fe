//! Why a connection to a mapped address stays on TCP: each connection has one reason, which is counted and reported.

/// A reason to stay on TCP. Connections to addresses that are not mapped are not counted and have no reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum FallbackReason {
    /// There is no file at the socket's path.
    NoSocket,
    Refused,
    /// The caller may not use the socket.
    Denied,
    /// Another user or another server listens at the socket.
    Stranger,
    /// The socket's queue is full, and the caller cannot wait or has waited long enough.
    Full,
    /// The program bound the socket to a port of its choice.
    Bound,
    /// The caller is in another network namespace, which has another loopback.
    OtherNetwork,
    /// The caller is in another user namespace, with other accounts.
    OtherUsers,
    /// Because of another root or other mounts, the caller sees another file at the socket's path, or no file.
    OtherRoot,
    /// looptax could not assume the caller's user, groups or capabilities.
    Credentials,
    /// The caller's security label (`SELinux`, `AppArmor`) differs from ours.
    Label,
    /// The caller's arguments or environment request something that a socket does not provide.
    Demanded,
    /// looptax may not inspect the caller's process.
    Hidden,
    /// The caller's event queues watch the socket in a way that cannot be carried over.
    Watched,
    /// Another process holds the same socket, and its copy cannot be exchanged.
    Shared,
    /// The caller has installed a seccomp filter or entered a Landlock domain.
    Confined,
    /// The caller's socket has an option that a Unix socket cannot have.
    Option,
    /// The socket is used through a ring (`io_uring`), which the supervisor does not see.
    Ring,
    /// The supervisor died during the call.
    Crashed,
    /// Something else failed; the error number says what it was.
    Failed,
}

impl FallbackReason {
    /// All reasons, in the order of their numbers.
    pub const ALL: [Self; 20] = [
        Self::NoSocket,
        Self::Refused,
        Self::Denied,
        Self::Stranger,
        Self::Full,
        Self::Bound,
        Self::OtherNetwork,
        Self::OtherUsers,
        Self::OtherRoot,
        Self::Credentials,
        Self::Label,
        Self::Demanded,
        Self::Hidden,
        Self::Watched,
        Self::Shared,
        Self::Confined,
        Self::Option,
        Self::Ring,
        Self::Crashed,
        Self::Failed,
    ];

    /// Returns the reason as text that follows “left on TCP: ”.
    pub fn words(self) -> &'static str {
        match self {
            Self::NoSocket => "there is no socket at that path",
            Self::Refused => "no process listens on the socket",
            Self::Denied => "the program's user may not use the socket",
            Self::Stranger => "the socket is not the server's",
            Self::Full => "the socket's queue is full",
            Self::Bound => "the program bound its end of the connection to a port of its choice",
            Self::OtherNetwork => "the program is in another network namespace",
            Self::OtherUsers => "the program is in another user namespace",
            Self::OtherRoot => "the program, under its own root or mounts, does not see that socket at that path",
            Self::Credentials => "looptax could not take on the program's user and groups",
            Self::Label => "the program has a different security label",
            Self::Demanded => "the program's arguments or environment ask for TLS",
            Self::Hidden => "looptax may not inspect the program",
            Self::Watched => "looptax cannot make the program's event queue (epoll) watch the new socket",
            Self::Shared => "another process has the same socket open",
            Self::Confined => "the program has restricted itself (a filter of system calls, or Landlock)",
            Self::Option => "the program's socket has an option that a Unix socket cannot have",
            Self::Ring => "the program uses its sockets through io_uring",
            Self::Crashed => "looptax's supervisor process died during the call",
            Self::Failed => "the kernel refused a step of the move",
        }
    }

    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_places_in_the_list() {
        for (idx, reason) in FallbackReason::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, idx);
            assert_eq!(FallbackReason::from_number(idx as u8), Some(reason));
        }
        assert_eq!(FallbackReason::from_number(FallbackReason::ALL.len() as u8), None);
    }
}
