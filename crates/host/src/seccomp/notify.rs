//! The listener of a seccomp filter: it receives the calls that wait for an answer.
//!
//! # Source
//! `seccomp_unotify(2)`, Linux 6.9 man pages.

use std::ffi::c_void;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use super::{checked, new_fd};

/// Makes the kernel wake the supervisor on the caller's core, and the caller on the supervisor's core.
///
/// # Source
/// linux/seccomp.h, Linux 6.6: `SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP`; libc does not define it.
const SYNC_WAKE_UP: u64 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// The kernel executes the call as if there were no supervisor.
    GoOn,
    /// The call returns 0 and has no effect.
    Done,
    Value(i64),
    Fail(i32),
}

/// The descriptor at which calls arrive.
#[derive(Debug)]
pub struct Listener(OwnedFd);

/// A call that waits for an answer. A value that is all zeroes is not a call.
#[derive(Debug, Clone, Copy)]
pub struct Call {
    pub id: u64,
    pub tid: i32,
    pub arch: u32,
    pub number: i32,
    pub args: [u64; 6],
}

impl Listener {
    pub fn new(fd: OwnedFd) -> Self {
        Self(fd)
    }

    /// Returns the descriptor on which to wait for calls.
    pub fn fd(&self) -> BorrowedFd<'_> {
        use std::os::fd::AsFd;
        self.0.as_fd()
    }

    fn ioctl(&self, request: libc::Ioctl, argument: *mut c_void) -> io::Result<()> {
        // SAFETY: every caller passes a valid structure of the type that the request expects.
        checked(unsafe { libc::ioctl(self.0.as_raw_fd(), request, argument) }.into()).map(drop)
    }

    /// Asks the kernel to wake threads synchronously; returns an error if the kernel cannot do this.
    pub fn wake_synchronously(&self) -> io::Result<()> {
        let request = libc::SECCOMP_IOCTL_NOTIF_SET_FLAGS;
        // SAFETY: this request takes its flags by value; kernels without it refuse the number.
        let result = unsafe { libc::ioctl(self.0.as_raw_fd(), request, SYNC_WAKE_UP) };
        checked(result.into()).map(drop)
    }

    /// Waits for a call, which the kernel writes to `place`. The memory at `place` has to be zero.
    ///
    /// # Safety
    /// `place` is valid for the kernel's `seccomp_notif`, and no other code reads or writes it during the call.
    pub unsafe fn receive(&self, place: *mut libc::seccomp_notif) -> io::Result<()> {
        self.ioctl(libc::SECCOMP_IOCTL_NOTIF_RECV, place.cast())
    }

    /// Answers a call. Returns `ENOENT` if the call no longer waits, because its thread was killed or a signal ended
    /// the call.
    pub fn answer(&self, id: u64, answer: Answer) -> io::Result<()> {
        let mut response = libc::seccomp_notif_resp { id, val: 0, error: 0, flags: 0 };
        match answer {
            Answer::GoOn => response.flags = libc::SECCOMP_USER_NOTIF_FLAG_CONTINUE as u32,
            Answer::Done => {}
            Answer::Value(value) => response.val = value,
            Answer::Fail(errno) => response.error = -errno,
        }
        self.ioctl(libc::SECCOMP_IOCTL_NOTIF_SEND, (&raw mut response).cast())
    }

    /// Whether the call still waits. If so, the thread with the call's thread number is the thread that made the call.
    pub fn still_waits(&self, id: u64) -> bool {
        let mut id = id;
        self.ioctl(libc::SECCOMP_IOCTL_NOTIF_ID_VALID, (&raw mut id).cast()).is_ok()
    }

    /// Replaces the file under the calling thread's descriptor `fd` with `file`.
    pub fn replace(&self, id: u64, file: BorrowedFd<'_>, fd: i32, is_cloexec: bool) -> io::Result<()> {
        let mut request = libc::seccomp_notif_addfd {
            id,
            flags: libc::SECCOMP_ADDFD_FLAG_SETFD as u32,
            srcfd: file.as_raw_fd() as u32,
            newfd: fd as u32,
            newfd_flags: if is_cloexec { libc::O_CLOEXEC as u32 } else { 0 },
        };
        self.ioctl(libc::SECCOMP_IOCTL_NOTIF_ADDFD, (&raw mut request).cast())
    }

    /// Adds a copy of `file` to the calling thread's descriptors; returns the number of the new descriptor in that
    /// thread.
    ///
    /// # Errors
    /// `EINVAL` or `ENOTTY` before Linux 5.9, which cannot do this; `ENOENT` if the call no longer waits.
    pub fn add(&self, id: u64, file: BorrowedFd<'_>, is_cloexec: bool) -> io::Result<i32> {
        let mut request = libc::seccomp_notif_addfd {
            id,
            flags: 0,
            srcfd: file.as_raw_fd() as u32,
            newfd: 0,
            newfd_flags: if is_cloexec { libc::O_CLOEXEC as u32 } else { 0 },
        };
        let argument = (&raw mut request).cast::<c_void>();
        let request = libc::SECCOMP_IOCTL_NOTIF_ADDFD;
        // SAFETY: the structure is valid and of the type that the request expects.
        let number = unsafe { libc::ioctl(self.0.as_raw_fd(), request, argument) };
        checked(number.into()).map(|it| it as i32)
    }

    /// Waits for at most `patience_ms` (-1: for ever), and returns whether all processes under the filter have ended.
    pub fn is_deserted(&self, patience_ms: i32) -> bool {
        let mut poll = libc::pollfd { fd: self.0.as_raw_fd(), events: 0, revents: 0 };
        // SAFETY: the call gets one valid pollfd.
        let n = unsafe { libc::poll(&raw mut poll, 1, patience_ms) };
        n > 0 && poll.revents & libc::POLLHUP != 0
    }
}

/// Whether an error of `receive` only means that there is no call at present.
pub fn is_passing(error: &io::Error) -> bool {
    let number = error.raw_os_error().unwrap_or(libc::EIO);
    matches!(number, libc::ENOENT | libc::EINTR | libc::EAGAIN)
}

/// Installs a filter for this thread and everything that it starts; returns the listener for the calls that the filter
/// stops.
pub fn install(program: &[libc::sock_filter], flags: libc::c_ulong) -> io::Result<OwnedFd> {
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_ptr().cast_mut() };
    let flags = flags | libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW;
    // SAFETY: the program is a valid array of the given length, which the kernel copies.
    let result = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, flags, &raw const program) };
    new_fd(result)
}

/// Returns the number of bytes that the kernel writes for a call.
pub fn call_bytes() -> io::Result<usize> {
    let mut sizes = libc::seccomp_notif_sizes { seccomp_notif: 0, seccomp_notif_resp: 0, seccomp_data: 0 };
    // SAFETY: the structure is valid.
    let result = unsafe { libc::syscall(libc::SYS_seccomp, libc::SECCOMP_GET_NOTIF_SIZES, 0, &raw mut sizes) };
    checked(result)?;
    Ok(sizes.seccomp_notif.into())
}
