//! New processes: forked, executed, ended.
//!
//! A forked child has only the thread that forks. So the child of a process with several threads must not continue as
//! if it still had all threads: the callers (`launch`) ensure this, and a child never returns into its parent's frames.

use std::ffi::{CString, OsString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use looptax_host::kernel;

use super::checked;

/// Forks; the new process runs only `child`. Returns the new process's id.
pub(crate) fn fork(child: impl FnOnce() -> Never) -> io::Result<i32> {
    // SAFETY: the child runs only the closure. The C library makes its own locks usable in the child, and the thread
    // that forks does not hold any lock of looptax.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        // A panic would otherwise unwind into a copy of the parent's frames.
        let _ = catch_unwind(AssertUnwindSafe(child));
        std::process::abort();
    }
    checked(pid.into()).map(|pid| pid as i32)
}

#[derive(Debug)]
pub(crate) enum Never {}

/// Ends this process immediately, without the parent's destructors and buffers.
pub(crate) fn end(code: i32) -> Never {
    // SAFETY: the only argument is a number, and the call does not return.
    unsafe { libc::_exit(code) }
}

/// Executes another program, looked up as by a shell. Returns only if that fails, with the reason.
pub(crate) fn exec(args: &[CString]) -> io::Error {
    let mut pointers: Vec<_> = args.iter().map(|it| it.as_ptr()).collect();
    pointers.push(std::ptr::null());
    // SAFETY: the list ends in null, and its strings are live.
    unsafe { libc::execvp(pointers[0], pointers.as_ptr()) };
    io::Error::last_os_error()
}

/// Sets the action of a signal, and returns the earlier one.
pub(crate) fn set_disposition(signal: i32, disposition: libc::sighandler_t) -> libc::sighandler_t {
    // SAFETY: only the kernel's own actions are passed, not functions.
    unsafe { libc::signal(signal, disposition) }
}

pub(crate) fn raise(signal: i32) {
    // SAFETY: only numbers are passed.
    unsafe { libc::kill(libc::getpid(), signal) };
}

/// Makes this process give up its standard streams and its working folder, which only the program uses from now on.
/// Also gives this process its own name, and raises its limit of descriptors to the maximum.
pub(crate) fn withdraw(name: &str) {
    put_nothing_under(0..3);
    close_inherited();
    let _ = std::env::set_current_dir("/");
    set_name(name);
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is live.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}

/// Closes the descriptors that this process was started with, except for standard error, to which this process writes.
/// Otherwise a lock that the program releases, or a pipe that the program closes, would last until this process ends.
pub(crate) fn let_go_of_inherited() {
    put_nothing_under(0..2);
    close_inherited();
}

/// Redirects these standard descriptors so that reads return nothing and output is discarded.
pub(crate) fn put_nothing_under(numbers: std::ops::Range<i32>) {
    if let Ok(null) = kernel::open_both("/dev/null") {
        for fd in numbers {
            // SAFETY: no value in this process owns the standard descriptors.
            unsafe { libc::dup2(null.as_raw_fd(), fd) };
        }
    }
}

/// Closes all descriptors of a forked process, except for the standard descriptors and these.
///
/// Only for a process that ends with its closure: values of its parent's frames that own a descriptor are never used or
/// dropped in it.
pub(crate) fn keep_only(fds: &[BorrowedFd<'_>]) {
    let mut kept: Vec<u32> = fds.iter().map(|fd| fd.as_raw_fd() as u32).collect();
    kept.sort_unstable();
    kept.push(u32::MAX);
    let mut first = 3;
    for fd in kept {
        if fd > first {
            // SAFETY: only numbers are passed; the values that own these descriptors are not used any more.
            unsafe { libc::syscall(libc::SYS_close_range, first, fd - 1, 0) };
        }
        first = first.max(fd.saturating_add(1));
    }
}

/// Closes the descriptors that this process inherited when it was executed: all descriptors without the close-on-exec
/// flag, except for the three standard descriptors. Descriptors that this process opens itself have that flag.
fn close_inherited() {
    let Ok(names) = kernel::names("/proc/self/fd") else {
        return;
    };
    let numbers = names.filter_map(|it| it.to_str()?.parse::<i32>().ok());
    for fd in numbers.filter(|fd| *fd > 2) {
        // SAFETY: only numbers are passed; none of our values owns a descriptor without the close-on-exec flag.
        unsafe {
            let flags = libc::fcntl(fd, libc::F_GETFD);
            if flags >= 0 && flags & libc::FD_CLOEXEC == 0 {
                libc::close(fd);
            }
        }
    }
}

/// Sets variables of this process's environment; the process must have one thread.
pub(crate) fn set_variables(variables: &[(OsString, OsString)]) -> io::Result<()> {
    let string = |text: &OsString| CString::new(text.as_bytes()).map_err(io::Error::from);
    for (name, value) in variables {
        let (name, value) = (string(name)?, string(value)?);
        // SAFETY: both strings end in zero, and no other thread reads the environment in the meantime.
        checked(unsafe { libc::setenv(name.as_ptr(), value.as_ptr(), 1) }.into())?;
    }
    Ok(())
}

/// Begins a separate session, without a terminal.
pub(crate) fn begin_session() -> io::Result<()> {
    // SAFETY: the call has no arguments.
    checked(unsafe { libc::setsid() }.into()).map(drop)
}

/// Gives this process a name of at most 15 bytes.
pub(crate) fn set_name(name: &str) {
    if let Ok(name) = CString::new(name) {
        // SAFETY: a string that ends in zero; the kernel copies at most 15 bytes.
        unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
    }
}

/// Prevents this process from writing a core dump.
pub(crate) fn forbid_dump() {
    let limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the structure is live.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const limit) };
}

/// Gives up the possibility to gain rights by execution, for this process and its descendants.
pub(crate) fn give_up_new_privileges() -> io::Result<()> {
    // SAFETY: only numbers are passed.
    checked(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }.into()).map(drop)
}

/// Gives this thread a separate table of descriptors.
pub(crate) fn unshare_descriptors() -> io::Result<()> {
    // SAFETY: the only argument is a number; the thread continues with a copy of the table.
    checked(unsafe { libc::unshare(libc::CLONE_FILES) }.into()).map(drop)
}

/// Closes all descriptors of this thread, which has a separate table. The kernel reports a thread as ended before it
/// closes the thread's table, whose files then still have their watches.
///
/// # Source
/// `do_exit` of kernel/exit.c: `exit_mm`, which wakes those that wait for the thread, comes before `exit_files`.
pub(crate) fn close_own_descriptors() {
    // SAFETY: only numbers are passed; the table is a copy, and this thread uses no descriptor any more. Without the
    // call (Linux before 5.9) the table is closed with the thread.
    let _ = unsafe { libc::syscall(libc::SYS_close_range, 0, u32::MAX, 0) };
}

/// Puts a file under a number in this thread's own table, replacing the file that is there.
pub(crate) fn put_under(file: BorrowedFd<'_>, number: i32) -> io::Result<()> {
    // SAFETY: the table is a copy that belongs to this thread or process. The value that owns the old descriptor
    // belongs to the other table; the thread or process with this table ends without using that value.
    checked(unsafe { libc::dup2(file.as_raw_fd(), number) }.into()).map(drop)
}
