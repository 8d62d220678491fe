//! Starts a process that enters network and host name namespaces of other processes, and does nothing else.
//!
//! Entering a namespace requires `CAP_SYS_ADMIN`, which is almost as powerful as root. A forked process keeps only this
//! capability. It receives the descriptor of a namespace, enters the namespace, and opens one of three objects in it: a
//! socket that lists sockets, the file of a limit, or a file in memory with the host's name. Then it sends the new
//! descriptor back. Apart from this, the forked process reads no data that other processes write. The main program can
//! therefore give up the capability before it inspects anything. The process ends when the program ends, because the
//! program holds the other end of the process's socket.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::ptr;
use std::sync::{Mutex, PoisonError};

use rustix::fs::{MemfdFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType, netlink, recvmsg, sendmsg, socket_with, socketpair,
};
use rustix::thread::{CapabilitySet, LinkNameSpaceType, capabilities, move_into_link_name_space};

use crate::{kernel, rights};

/// The number of the descriptor at which the process keeps its end of the socket; it closes all other descriptors.
const LINE: RawFd = 0;

/// The codes of the things that the process can open in a namespace.
const LISTER: i32 = 0;
const QUEUE_LIMIT: i32 = 1;
const HOST_NAME: i32 = 2;

/// The program's end of the socket; `None` until the process was started.
static OURS: Mutex<Option<OwnedFd>> = Mutex::new(None);

/// Starts the process, if this thread may enter namespaces and the process is not running yet.
///
/// # Errors
/// The kernel's error; `PermissionDenied` without `CAP_SYS_ADMIN`.
pub fn start() -> io::Result<()> {
    let mut ours = OURS.lock().unwrap_or_else(PoisonError::into_inner);
    started(&mut ours).map(drop)
}

/// Opens a socket in another network namespace. The socket lists the sockets of that namespace, as `sock_diag(7)`
/// describes.
///
/// # Errors
/// As [`start`].
pub fn socket_lister(namespace: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    opened_in(namespace, LISTER)
}

/// Opens a file of the kernel in another network namespace. The file limits the queues of that namespace's listening
/// sockets.
///
/// # Errors
/// As [`start`].
pub(crate) fn queue_limit(namespace: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    opened_in(namespace, QUEUE_LIMIT)
}

/// Returns a file in memory that contains the host name of another UTS namespace.
///
/// # Errors
/// As [`start`].
pub(crate) fn host_name(namespace: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    opened_in(namespace, HOST_NAME)
}

fn opened_in(namespace: BorrowedFd<'_>, what: i32) -> io::Result<OwnedFd> {
    let mut ours = OURS.lock().unwrap_or_else(PoisonError::into_inner);
    let line = started(&mut ours)?.as_fd();
    let asked = send(line, what, Some(namespace)).and_then(|()| receive(line));
    match asked? {
        Some((0, Some(socket))) => Ok(socket),
        Some((errno, _)) => Err(io::Error::from_raw_os_error(errno)),
        None => {
            *ours = None;
            Err(io::ErrorKind::BrokenPipe.into())
        }
    }
}

fn started(ours: &mut Option<OwnedFd>) -> io::Result<&OwnedFd> {
    if ours.is_none() {
        if !capabilities(None)?.effective.contains(CapabilitySet::SYS_ADMIN) {
            return Err(Errno::PERM.into());
        }
        let kind = SocketType::SEQPACKET;
        let (our_end, its_end) = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
        fork(&its_end)?;
        *ours = Some(our_end);
    }
    ours.as_ref().ok_or_else(|| Errno::PERM.into())
}

/// Forks the process. The program may have several threads at that point, so the new process only makes system calls.
fn fork(its_end: &OwnedFd) -> io::Result<()> {
    // SAFETY: all zeroes is a valid set of signals; `all` and `before` are live while the calls fill and read them.
    // Signals are blocked during the fork, so that no signal handler of the program runs in the new process.
    let pid = unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        let mut before: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, &raw mut before);
        let pid = libc::fork();
        if pid == 0 {
            serve(its_end.as_raw_fd());
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, ptr::null_mut());
        pid
    };
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Does the whole work of the process. Allocates no memory, takes no lock, and never returns.
fn serve(line: RawFd) -> ! {
    // SAFETY: only descriptor numbers are used. The parent's values own the open descriptors, and this process never
    // uses those values.
    unsafe {
        libc::dup2(line, LINE);
        if libc::syscall(libc::SYS_close_range, LINE + 1, u32::MAX, 0) != 0 {
            for fd in LINE + 1..libc::sysconf(libc::_SC_OPEN_MAX) as RawFd {
                libc::close(fd);
            }
        }
        libc::prctl(libc::PR_SET_NAME, c"looptax-netns".as_ptr());
    }
    // SAFETY: the descriptor was opened just above, and nothing closes it.
    let line = unsafe { BorrowedFd::borrow_raw(LINE) };
    if rights::keep_only(CapabilitySet::SYS_ADMIN).is_ok() {
        while let Ok(Some((what, namespace))) = receive(line) {
            let opened = namespace.ok_or(Errno::INVAL).and_then(|it| open_in(it.as_fd(), what));
            let sent = match &opened {
                Ok(socket) => send(line, 0, Some(socket.as_fd())),
                Err(errno) => send(line, errno.raw_os_error(), None),
            };
            if sent.is_err() {
                break;
            }
        }
    }
    // SAFETY: the call takes a number and does not return.
    unsafe { libc::_exit(0) }
}

/// Opens the object in the namespace, and returns to the process's own namespace. If the process stayed in the other
/// namespace, it would be listed there, and the namespace would exist as long as the process.
fn open_in(namespace: BorrowedFd<'_>, what: i32) -> rustix::io::Result<OwnedFd> {
    let (kind, own) = match what {
        HOST_NAME => (LinkNameSpaceType::HostNameAndNISDomainName, c"/proc/self/ns/uts"),
        _ => (LinkNameSpaceType::Network, c"/proc/self/ns/net"),
    };
    let home = rustix::fs::open(own, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    move_into_link_name_space(namespace, Some(kind))?;
    let opened = open_here(what);
    move_into_link_name_space(home.as_fd(), Some(kind))?;
    opened
}

fn open_here(what: i32) -> rustix::io::Result<OwnedFd> {
    if what == HOST_NAME {
        let file = rustix::fs::memfd_create(c"host name", MemfdFlags::CLOEXEC)?;
        rustix::io::write(&file, rustix::system::uname().nodename().to_bytes())?;
        return Ok(file);
    }
    if what == QUEUE_LIMIT {
        // The kernel shows the limit of the namespace in which the file is opened.
        return rustix::fs::open(kernel::SOMAXCONN, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    }
    socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(netlink::SOCK_DIAG))
}

/// Sends a number, and a descriptor if there is one. In a request, the number is the code of the object to open. In a
/// reply, the number is an error number, or 0.
fn send(line: BorrowedFd<'_>, errno: i32, fd: Option<BorrowedFd<'_>>) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fds = [fd.unwrap_or(line)];
    if fd.is_some() {
        control.push(SendAncillaryMessage::ScmRights(&fds));
    }
    let bytes = errno.to_ne_bytes();
    // If the other end was closed, SIGPIPE must not kill this process.
    let flags = SendFlags::NOSIGNAL;
    sendmsg(line, &[IoSlice::new(&bytes)], &mut control, flags)?;
    Ok(())
}

/// Receives a message from the other end; `None` if that end is closed.
fn receive(line: BorrowedFd<'_>) -> io::Result<Option<(i32, Option<OwnedFd>)>> {
    let mut bytes = [0; 4];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let n_bytes = loop {
        let mut parts = [IoSliceMut::new(&mut bytes)];
        match recvmsg(line, &mut parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            outcome => break outcome?.bytes,
        }
    };
    let received = control.drain().find_map(|it| match it {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    });
    Ok((n_bytes == bytes.len()).then(|| (i32::from_ne_bytes(bytes), received)))
}
