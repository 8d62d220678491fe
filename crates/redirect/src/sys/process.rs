//! Operations on another process: a descriptor for it, its descriptors, its memory, its links in `/proc`.

use std::ffi::{CString, c_long};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};

use looptax_host::{kernel, processes};

use super::{checked, new_fd, own_pid};
use crate::Features;

/// Kinds for `kcmp`. Source: linux/kcmp.h; libc does not have them.
const KCMP_FILE: c_long = 0;
const KCMP_EPOLL_TFD: c_long = 7;

/// The argument of `kcmp` that identifies a file in an event queue. Source: linux/kcmp.h.
#[repr(C)]
struct EpollSlot {
    queue: u32,
    file: u32,
    offset: u32,
}

/// Opens a descriptor for a process, or for a thread if `flags` contain `PIDFD_THREAD`.
pub(crate) fn pidfd_open(pid: i32, flags: u32) -> io::Result<OwnedFd> {
    // SAFETY: only two numbers are passed; the result is a new descriptor.
    new_fd(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, flags) })
}

/// Copies another process's descriptor; the copy is closed on exec.
pub(crate) fn pidfd_getfd(pidfd: BorrowedFd<'_>, fd: i32) -> io::Result<OwnedFd> {
    // SAFETY: only numbers are passed; the result is a new descriptor.
    new_fd(unsafe { libc::syscall(libc::SYS_pidfd_getfd, pidfd.as_raw_fd(), fd, 0) })
}

/// Returns the process and the user of a thread. If `pidfd` is the descriptor of a process, the thread is the first
/// thread of this process.
///
/// # Errors
/// `ESRCH` if the thread has ended; other errors on kernels before 6.13.
pub(crate) fn pidfd_info(pidfd: BorrowedFd<'_>) -> io::Result<libc::pidfd_info> {
    // SAFETY: all zeroes is a valid value of this plain structure.
    let mut info: libc::pidfd_info = unsafe { std::mem::zeroed() };
    info.mask = u64::from(libc::PIDFD_INFO_CREDS);
    // SAFETY: the request determines the structure's type, and the structure is live.
    let result = unsafe { libc::ioctl(pidfd.as_raw_fd(), libc::PIDFD_GET_INFO, &raw mut info) };
    checked(result.into())?;
    if info.mask & u64::from(libc::PIDFD_INFO_CREDS) == 0 {
        return Err(io::Error::from_raw_os_error(libc::ENOTSUP));
    }
    Ok(info)
}

/// Returns a number that distinguishes a process from all earlier and later processes with the same id. `pidfd` is a
/// descriptor of its thread `tid`.
pub(crate) fn number(pidfd: BorrowedFd<'_>, tid: i32, pid: i32, features: Features) -> Option<u64> {
    if features.has_pidfs {
        if features.has_thread_pidfd && tid == pid {
            return inode(pidfd).ok();
        }
        let pidfd = pidfd_open(pid, 0).ok()?;
        return inode(pidfd.as_fd()).ok();
    }
    Some(processes::stat(pid.cast_unsigned())?.start_ticks)
}

/// Returns whether a process is stopped by a signal.
pub(crate) fn is_stopped(pid: i32) -> bool {
    processes::stat(pid.cast_unsigned()).is_some_and(|it| it.is_stopped)
}

/// Returns whether a signal is pending for a process, or for its first thread.
///
/// # Source
/// `proc_pid_status(5)`: `SigPnd` and `ShdPnd`, masks in hexadecimal.
pub(crate) fn has_pending(pid: i32, signal: i32) -> bool {
    let text = kernel::text(format!("/proc/{pid}/status")).unwrap_or_default();
    let masks = text.lines().filter_map(|line| {
        let mask = line.strip_prefix("SigPnd:").or(line.strip_prefix("ShdPnd:"));
        u64::from_str_radix(mask?.trim(), 16).ok()
    });
    masks.fold(0, |all, mask| all | mask) >> (signal - 1) & 1 == 1
}

pub(crate) fn pidfd_signal(pidfd: BorrowedFd<'_>, signal: i32) -> io::Result<()> {
    let no_info = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: the pointer to further information may be null.
    let result = unsafe { libc::syscall(libc::SYS_pidfd_send_signal, pidfd.as_raw_fd(), signal, no_info, 0) };
    checked(result).map(drop)
}

/// Reads another process's memory; returns the number of bytes, which is less than requested if the memory ends
/// earlier.
pub(crate) fn read_memory(tid: i32, address: u64, into: &mut [u8]) -> io::Result<usize> {
    let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
    let remote = libc::iovec { iov_base: address as *mut _, iov_len: into.len() };
    // SAFETY: the local area is a live slice; only the kernel uses the remote address.
    let n = unsafe { libc::process_vm_readv(tid, &raw const local, 1, &raw const remote, 1, 0) };
    checked(n as c_long).map(|n| n as usize)
}

/// Writes to two places in another process's memory in one call; succeeds completely, or returns an error.
pub(crate) fn write_memory(tid: i32, writes: [(u64, &[u8]); 2]) -> io::Result<()> {
    let local =
        writes.map(|(_, bytes)| libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() });
    let remote = writes.map(|(address, bytes)| libc::iovec { iov_base: address as *mut _, iov_len: bytes.len() });
    // SAFETY: the local areas are live slices, which the kernel only reads. Only the kernel uses the remote addresses,
    // and it respects which memory the other process may write to.
    let n = unsafe { libc::process_vm_writev(tid, local.as_ptr(), 2, remote.as_ptr(), 2, 0) };
    let n_wanted: usize = writes.iter().map(|(_, bytes)| bytes.len()).sum();
    if checked(n as c_long)? as usize == n_wanted { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::EFAULT)) }
}

/// Returns whether a descriptor of another thread refers to the same open file as one of ours.
pub(crate) fn is_same_file(tid: i32, fd: i32, ours: BorrowedFd<'_>) -> io::Result<bool> {
    let own_pid = std::process::id();
    // SAFETY: only numbers are passed.
    let result = unsafe {
        libc::syscall(libc::SYS_kcmp, tid, own_pid, KCMP_FILE, c_long::from(fd), c_long::from(ours.as_raw_fd()))
    };
    checked(result).map(|order| order == 0)
}

/// Returns whether two descriptor numbers of another thread refer to one open file.
pub(crate) fn are_same_file(tid: i32, one: i32, other: i32) -> io::Result<bool> {
    // SAFETY: only numbers are passed.
    let result = unsafe { libc::syscall(libc::SYS_kcmp, tid, tid, KCMP_FILE, c_long::from(one), c_long::from(other)) };
    checked(result).map(|order| order == 0)
}

/// Returns whether another thread's event queue watches our file under the number `fd`.
///
/// # Source
/// `get_epoll_tfile_raw_ptr` of the kernel's eventpoll.c: a queue may watch several files under one number, because the
/// number may refer to another file by now.
pub(crate) fn does_watch(tid: i32, queue: i32, fd: i32, file: BorrowedFd<'_>) -> io::Result<bool> {
    // The program may add or remove watches during the search. The order of the watches then changes, and the search
    // may miss a file.
    for _ in 0..LOOKS_AMONG_FILES {
        match find_watch(tid, queue, fd, file)? {
            Found::Watched => return Ok(true),
            Found::Nothing => return Ok(false),
            Found::OtherFiles => {}
        }
    }
    Ok(false)
}

enum Found {
    Watched,
    Nothing,
    OtherFiles,
}

fn find_watch(tid: i32, queue: i32, fd: i32, file: BorrowedFd<'_>) -> io::Result<Found> {
    let own = c_long::from(file.as_raw_fd());
    for offset in 0..MOST_FILES_OF_A_NUMBER {
        let slot = EpollSlot { queue: queue as u32, file: fd as u32, offset };
        // SAFETY: the last argument points to a live structure of the type that KCMP_EPOLL_TFD reads.
        let result = unsafe { libc::syscall(libc::SYS_kcmp, own_pid(), tid, KCMP_EPOLL_TFD, own, &raw const slot) };
        match checked(result) {
            Ok(0) => return Ok(Found::Watched),
            Ok(_) => {}
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) && offset == 0 => return Ok(Found::Nothing),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(Found::OtherFiles)
}

/// Number of searches through the files under a number before the file counts as absent.
const LOOKS_AMONG_FILES: u32 = 4;
/// Maximum number of files that are searched under one descriptor number; in practice a queue watches fewer files under
/// one number.
const MOST_FILES_OF_A_NUMBER: u32 = 4;

/// Returns the number of threads of a process.
///
/// # Source
/// `proc_task_getattr` of the kernel's fs/proc/base.c: the number of links includes one per thread.
pub(crate) fn n_threads(tid: i32) -> io::Result<u64> {
    Ok(kernel::metadata(format!("/proc/{tid}/task"))?.nlink().saturating_sub(2))
}

pub(crate) fn inode(fd: BorrowedFd<'_>) -> io::Result<u64> {
    // SAFETY: all zeroes is a valid stat, which the kernel fills in.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live stat.
    checked(unsafe { libc::fstat(fd.as_raw_fd(), &raw mut stat) }.into())?;
    Ok(stat.st_ino)
}

/// Copies a descriptor to a number of at least `least`; the copy is closed on exec.
pub(crate) fn duplicate(fd: BorrowedFd<'_>, least: i32) -> io::Result<OwnedFd> {
    // SAFETY: only numbers are passed; the result is a new descriptor.
    new_fd(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, least) }.into())
}

/// Returns the target of a link in `/proc`.
pub(crate) fn link(path: &str) -> io::Result<Vec<u8>> {
    let path = CString::new(path).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
    let mut target = vec![0_u8; 128];
    // SAFETY: the path ends in zero, and the buffer is a live vector of the given length.
    let n = unsafe { libc::readlink(path.as_ptr(), target.as_mut_ptr().cast(), target.len()) };
    target.truncate(checked(n as c_long)? as usize);
    Ok(target)
}

/// The `/proc` file of a descriptor of another thread; the file can be read repeatedly.
///
/// Opening the file takes longer than any other step of a connection; the kernel returns the current state at every
/// read.
#[derive(Debug)]
pub(crate) struct Descriptor {
    pub(crate) fd: i32,
    file: File,
}

impl Descriptor {
    pub(crate) fn open(tid: i32, fd: i32) -> io::Result<Self> {
        let file = kernel::open(format!("/proc/{tid}/fdinfo/{fd}"))?;
        Ok(Self { fd, file })
    }

    /// Returns whether the descriptor is closed on exec now.
    ///
    /// # Source
    /// `proc_pid_fdinfo(5)`: `flags` in octal, with `O_CLOEXEC`.
    pub(crate) fn is_cloexec(&self) -> io::Result<bool> {
        let mut start = [0; 256];
        let n_bytes = self.file.read_at(&mut start, 0)?;
        let text = String::from_utf8_lossy(&start[..n_bytes]);
        let flags = text.lines().find_map(|line| i32::from_str_radix(line.strip_prefix("flags:")?.trim(), 8).ok());
        let flags = flags.ok_or_else(|| io::Error::from_raw_os_error(libc::EIO))?;
        Ok(flags & libc::O_CLOEXEC != 0)
    }
}

/// Allows another process to inspect this one, if Yama requires that; without Yama, the other process may do so
/// already.
///
/// # Source
/// Linux, Documentation/admin-guide/LSM/Yama.rst: `PR_SET_PTRACER`.
pub(crate) fn let_look(pid: i32) {
    // SAFETY: only numbers are passed. Without Yama the kernel refuses the call, which does no harm.
    unsafe { libc::prctl(libc::PR_SET_PTRACER, pid as libc::c_ulong, 0, 0, 0) };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::{own_pid, socket};

    #[test]
    fn a_descriptor_s_flag_is_that_of_now_each_time() {
        let other = socket::stream(libc::AF_UNIX).unwrap();
        let fd = other.as_raw_fd();
        let told = Descriptor::open(own_pid(), fd).unwrap();
        for is_cloexec in [true, false, true] {
            // SAFETY: only numbers are passed; the descriptor is this test's own.
            let set = unsafe { libc::fcntl(fd, libc::F_SETFD, i32::from(is_cloexec)) };
            assert_eq!((set, told.is_cloexec().unwrap()), (0, is_cloexec));
        }
    }
}
