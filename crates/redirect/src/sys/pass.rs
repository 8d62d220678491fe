//! Passes a descriptor to another process over a socket.

use std::io;
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use super::checked;

/// Space for one descriptor with its header, aligned as the header requires.
#[repr(C)]
union Ancillary {
    _head: libc::cmsghdr,
    bytes: [u8; 64],
}

/// Makes a pair of connected sockets that preserves message boundaries; closed on exec.
pub(crate) fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: the array has room for two descriptors.
    checked(unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, fds.as_mut_ptr()) }.into())?;
    // SAFETY: the kernel has just made both descriptors for us.
    Ok(unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) })
}

/// Makes a pipe, with its reading end first; closed on exec, non-blocking.
pub(crate) fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    let flags = libc::O_CLOEXEC | libc::O_NONBLOCK;
    // SAFETY: the array has room for two descriptors.
    checked(unsafe { libc::pipe2(fds.as_mut_ptr(), flags) }.into())?;
    // SAFETY: the kernel has just made both descriptors for us.
    Ok(unsafe { (OwnedFd::from_raw_fd(fds[0]), OwnedFd::from_raw_fd(fds[1])) })
}

/// Sends a message, with a descriptor or without.
pub(crate) fn send(socket: BorrowedFd<'_>, message: &[u8], fd: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut part = libc::iovec { iov_base: message.as_ptr().cast_mut().cast(), iov_len: message.len() };
    let mut ancillary = Ancillary { bytes: [0; 64] };
    // SAFETY: all zeroes is a valid value of this plain structure.
    let mut head: libc::msghdr = unsafe { zeroed() };
    head.msg_iov = &raw mut part;
    head.msg_iovlen = 1;
    if let Some(fd) = fd {
        head.msg_control = (&raw mut ancillary).cast();
        // SAFETY: the call only computes a size.
        head.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<RawFd>() as u32) } as _;
        // SAFETY: the area is live, aligned and large enough for a header and one descriptor.
        unsafe {
            let first = libc::CMSG_FIRSTHDR(&raw const head);
            (*first).cmsg_level = libc::SOL_SOCKET;
            (*first).cmsg_type = libc::SCM_RIGHTS;
            (*first).cmsg_len = libc::CMSG_LEN(size_of::<RawFd>() as u32) as _;
            libc::CMSG_DATA(first).cast::<RawFd>().write_unaligned(fd.as_raw_fd());
        }
    }
    // SAFETY: all memory that the header points to is live.
    let n = unsafe { libc::sendmsg(socket.as_raw_fd(), &raw const head, libc::MSG_NOSIGNAL) };
    checked(n as _).map(drop)
}

/// Receives a message into `message`. Returns the message's length (0 if the other end is closed), and the descriptor
/// that came with the message.
pub(crate) fn receive(socket: BorrowedFd<'_>, message: &mut [u8]) -> io::Result<(usize, Option<OwnedFd>)> {
    let mut part = libc::iovec { iov_base: message.as_mut_ptr().cast(), iov_len: message.len() };
    let mut ancillary = Ancillary { bytes: [0; 64] };
    // SAFETY: all zeroes is a valid value of this plain structure.
    let mut head: libc::msghdr = unsafe { zeroed() };
    head.msg_iov = &raw mut part;
    head.msg_iovlen = 1;
    head.msg_control = (&raw mut ancillary).cast();
    head.msg_controllen = size_of::<Ancillary>() as _;
    // SAFETY: all memory that the header points to is live.
    let n = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut head, libc::MSG_CMSG_CLOEXEC) };
    let n_bytes = checked(n as _)? as usize;
    // SAFETY: the kernel filled the area; a descriptor in it is new and belongs to us.
    let fd = unsafe {
        let first = libc::CMSG_FIRSTHDR(&raw const head);
        if first.is_null() || (*first).cmsg_type != libc::SCM_RIGHTS {
            None
        } else {
            let number = libc::CMSG_DATA(first).cast::<RawFd>().read_unaligned();
            Some(OwnedFd::from_raw_fd(number))
        }
    };
    Ok((n_bytes, fd))
}

/// Writes a short message to a pipe, whole or not at all.
pub(crate) fn write(pipe: BorrowedFd<'_>, message: &[u8]) -> io::Result<()> {
    // SAFETY: the message is a live slice.
    let n = unsafe { libc::write(pipe.as_raw_fd(), message.as_ptr().cast(), message.len()) };
    checked(n as _).map(drop)
}

/// Reads from a pipe; returns the number of bytes, or 0 at the end of the pipe.
pub(crate) fn read(pipe: BorrowedFd<'_>, into: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the buffer is a live slice.
    let n = unsafe { libc::read(pipe.as_raw_fd(), into.as_mut_ptr().cast(), into.len()) };
    checked(n as _).map(|n| n as usize)
}
