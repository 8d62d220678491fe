//! The address family of a connection, as the kernel reports it.

/// The address family that `getsockname` gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// `AF_UNIX`.
    Unix,
    /// `AF_INET`.
    Inet,
    /// `AF_INET6`.
    Inet6,
    /// Any other family, by its number; 0 if it was not looked up.
    Other(u16),
}
