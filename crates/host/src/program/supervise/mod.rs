//! Supervises a program that root runs and that is run again to get its configuration.
//!
//! If the program makes a call that opens or executes a file, the kernel stops the call and notifies the supervisor.
//! The supervisor opens the file and passes the descriptor to the program. A file is opened for reading only if no user
//! except root can change the file and every folder on its path. Everything that the program writes is discarded. If
//! the program opens a file that other users can change, the call fails and the file is noted, and the program's output
//! is not used. From the program's memory, the supervisor reads only paths and addresses. It reads each path and each
//! address once, and uses the value that it read.

mod filter;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags, SocketFlags, SocketType,
};

use super::trust::{self, Refused, Rules};
use crate::control::Distrust;
use crate::seccomp::{Answer, Call, Listener, bpf, install, is_passing};

/// The longest path that the kernel accepts, including its zero byte. Source: `PATH_MAX` in linux/limits.h.
const MOST_PATH_BYTES: usize = 4_096;
/// The largest address of a socket, in bytes. Source: `sockaddr_storage`.
const MOST_ADDRESS_BYTES: usize = 128;
/// The port of name servers.
const DOMAIN: u16 = 53;
/// After the program has ended: how long to wait for the supervisor's answer to the last call.
const PATIENCE: Duration = Duration::from_secs(2);
/// The devices that may be read, because their contents come from the kernel. Source:
/// Documentation/admin-guide/devices.txt.
const DEVICES: [(u32, u32); 5] = [(1, 3), (1, 5), (1, 7), (1, 8), (1, 9)];

/// The parts that a child needs to become supervised.
pub(super) struct Confinement {
    filter: Vec<bpf::sock_filter>,
    to_supervisor: OwnedFd,
}

impl Confinement {
    /// Installs the filter for the calling thread, and passes the filter's listener to the supervisor. Allocates no
    /// memory.
    pub(super) fn enter(&self) -> io::Result<()> {
        let listener = install(&self.filter, 0)?;
        let fds = [listener.as_fd()];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        control.push(SendAncillaryMessage::ScmRights(&fds));
        let message = [IoSlice::new(b"l")];
        rustix::net::sendmsg(&self.to_supervisor, &message, &mut control, SendFlags::NOSIGNAL)?;
        Ok(())
    }
}

/// The observations of a supervisor so far.
#[derive(Debug, Default)]
struct Seen {
    /// The first file that users other than root can change.
    foreign: Option<Distrust>,
    /// The error, if the kernel cannot add a descriptor to the program.
    unsupported: Option<i32>,
}

/// A running supervisor.
pub(super) struct Supervision {
    seen: Arc<Mutex<Seen>>,
    /// Receives a message when every call was answered.
    done: Receiver<()>,
    /// Is closed when the program has ended.
    running: OwnedFd,
}

#[derive(Debug)]
pub(super) enum Verdict {
    Counts,
    Foreign(Distrust),
    Unsupported(io::Error),
}

/// Starts a supervisor. The child then has to enter the confinement.
///
/// # Errors
/// The machine's call numbers are not known, or no thread can be started.
pub(super) fn start() -> io::Result<(Supervision, Confinement)> {
    let unsupported = || io::Error::from_raw_os_error(libc::ENOSYS);
    let filter = filter::program().ok_or_else(unsupported)?;
    let pair = || {
        let (kind, flags) = (SocketType::SEQPACKET, SocketFlags::CLOEXEC);
        rustix::net::socketpair(AddressFamily::UNIX, kind, flags, None)
    };
    let (to_supervisor, from_child) = pair()?;
    let (running, is_running) = pair()?;
    let seen = Arc::new(Mutex::new(Seen::default()));
    let work = Work { seen: Arc::clone(&seen), is_running };
    let (sender, done) = mpsc::channel();
    thread::Builder::new().spawn(move || {
        work.run(from_child);
        // If answering took too long, the receiver no longer exists.
        let _ = sender.send(());
    })?;
    let supervision = Supervision { seen, done, running };
    let confinement = Confinement { filter, to_supervisor };
    Ok((supervision, confinement))
}

impl Supervision {
    /// Returns the supervisor's verdict; call it after the program and all processes that it started have ended.
    pub(super) fn end(self) -> Verdict {
        drop(self.running);
        // A supervisor that failed, or that still waits for a file system, has not answered every call.
        let is_whole = self.done.recv_timeout(PATIENCE).is_ok();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match (seen.foreign.take(), seen.unsupported) {
            (Some(why), _) => Verdict::Foreign(why),
            (None, Some(errno)) => Verdict::Unsupported(io::Error::from_raw_os_error(errno)),
            (None, None) if is_whole => Verdict::Counts,
            (None, None) => Verdict::Unsupported(io::Error::other("the program's supervisor did not end")),
        }
    }
}

struct Work {
    seen: Arc<Mutex<Seen>>,
    is_running: OwnedFd,
}

impl Work {
    fn run(self, from_child: OwnedFd) {
        let Some(listener) = self.listener(&from_child) else {
            return;
        };
        drop(from_child);
        let mut answering = Answering { listener, seen: &self.seen, has_executed: false };
        let room = crate::seccomp::call_bytes().unwrap_or(0);
        let room = room.max(size_of::<libc::seccomp_notif>()).div_ceil(8);
        while is_ready(answering.listener.fd(), self.is_running.as_fd()) {
            let mut place = vec![0_u64; room];
            // SAFETY: the memory is aligned, zero and as large as the kernel demands, and no other code uses it.
            let received = unsafe { answering.listener.receive(place.as_mut_ptr().cast()) };
            match received {
                Ok(()) => {}
                Err(error) if is_passing(&error) && !answering.listener.is_deserted(0) => continue,
                Err(_) => return,
            }
            // SAFETY: the kernel has just written this structure to `place`, and it contains only numbers.
            let notif = unsafe { place.as_ptr().cast::<libc::seccomp_notif>().read() };
            answering.handle(&Call {
                id: notif.id,
                tid: notif.pid.cast_signed(),
                arch: notif.data.arch,
                number: notif.data.nr,
                args: notif.data.args,
            });
        }
    }

    fn listener(&self, from_child: &OwnedFd) -> Option<Listener> {
        // A child that could not be confined closes its end of the socket without a message.
        if !is_ready(from_child.as_fd(), self.is_running.as_fd()) {
            return None;
        }
        let mut byte = [0];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut message = [IoSliceMut::new(&mut byte)];
        let flags = RecvFlags::CMSG_CLOEXEC;
        rustix::net::recvmsg(from_child, &mut message, &mut control, flags).ok()?;
        let fd = control.drain().find_map(|it| match it {
            RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
            _ => None,
        });
        fd.map(Listener::new)
    }
}

/// Waits until a message arrives; returns `false` if the program has ended.
fn is_ready(fd: BorrowedFd<'_>, is_running: BorrowedFd<'_>) -> bool {
    let poll = |fd: BorrowedFd<'_>| libc::pollfd { fd: fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut both = [poll(fd), poll(is_running)];
    loop {
        // SAFETY: the call gets two valid structures.
        let n = unsafe { libc::poll(both.as_mut_ptr(), 2, -1) };
        if n < 0 && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted {
            continue;
        }
        return n > 0 && both[0].revents & libc::POLLIN != 0;
    }
}

struct Answering<'a> {
    listener: Listener,
    seen: &'a Mutex<Seen>,
    /// Whether the program itself was executed; after that, it may not execute another program.
    has_executed: bool,
}

struct Opening {
    path: PathBuf,
    flags: OFlags,
}

impl Answering<'_> {
    fn handle(&mut self, call: &Call) {
        let answer = match libc::c_long::from(call.number) {
            libc::SYS_execve | libc::SYS_execveat if !self.has_executed => {
                self.has_executed = true;
                Answer::GoOn
            }
            libc::SYS_execve | libc::SYS_execveat => Answer::Fail(libc::EACCES),
            libc::SYS_kill | libc::SYS_tgkill if is_own(call) => Answer::GoOn,
            libc::SYS_kill | libc::SYS_tgkill => Answer::Done,
            libc::SYS_connect => self.connect(call),
            _ => self.open(call).unwrap_or_else(|errno| Answer::Fail(errno.raw_os_error())),
        };
        // If the call's thread has ended, the call needs no answer.
        let _ = self.listener.answer(call.id, answer);
    }

    fn open(&self, call: &Call) -> Result<Answer, Errno> {
        let opening = self.opening(call)?;
        let is_cloexec = opening.flags.contains(OFlags::CLOEXEC);
        let fd = if is_for_writing(opening.flags) { nowhere(&opening)? } else { self.for_reading(&opening, call.tid)? };
        match self.listener.add(call.id, fd.as_fd(), is_cloexec) {
            Ok(number) => Ok(Answer::Value(number.into())),
            Err(error) if is_passing(&error) => Err(Errno::INTR),
            Err(error) => {
                let errno = error.raw_os_error().unwrap_or(libc::EIO);
                self.seen().unsupported.get_or_insert(errno);
                Err(Errno::ACCESS)
            }
        }
    }

    /// Returns the present path and flags of a call. If the program changes them later, looptax still uses the values
    /// that this function returned.
    fn opening(&self, call: &Call) -> Result<Opening, Errno> {
        #[cfg(target_arch = "x86_64")]
        let (folder, at, flags) = match libc::c_long::from(call.number) {
            libc::SYS_open => (libc::AT_FDCWD, call.args[0], call.args[1]),
            libc::SYS_creat => {
                let flags = libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC;
                (libc::AT_FDCWD, call.args[0], flags as u64)
            }
            _ => (call.args[0] as i32, call.args[1], call.args[2]),
        };
        #[cfg(not(target_arch = "x86_64"))]
        let (folder, at, flags) = (call.args[0] as i32, call.args[1], call.args[2]);
        let path = self.path(call, at)?;
        let path = if path.is_absolute() { path } else { folder_of(call.tid, folder)?.join(path) };
        Ok(Opening { path, flags: OFlags::from_bits_retain(flags as u32) })
    }

    fn path(&self, call: &Call, at: u64) -> Result<PathBuf, Errno> {
        let mut bytes = self.memory(call, at, MOST_PATH_BYTES)?;
        let end = { bytes.iter() }.position(|it| *it == 0);
        bytes.truncate(end.ok_or(Errno::NAMETOOLONG)?);
        if bytes.is_empty() {
            return Err(Errno::NOENT);
        }
        Ok(PathBuf::from(OsString::from_vec(bytes)))
    }

    /// Reads at most `most` bytes of the calling thread's memory.
    fn memory(&self, call: &Call, at: u64, most: usize) -> Result<Vec<u8>, Errno> {
        let memory = File::open(format!("/proc/{}/mem", call.tid)).map_err(|_| Errno::FAULT)?;
        // Another thread may have got the same number before the memory was opened.
        if !self.listener.still_waits(call.id) {
            return Err(Errno::INTR);
        }
        let mut bytes = vec![0; most];
        let mut n_read = 0;
        while n_read < most {
            let place = at.checked_add(n_read as u64).ok_or(Errno::FAULT)?;
            // Reads one page at a time, because the next page may not exist and may not be needed.
            let to_page_end = 4_096 - (place % 4_096) as usize;
            let end = most.min(n_read + to_page_end);
            match memory.read_at(&mut bytes[n_read..end], place) {
                Ok(0) | Err(_) if n_read == 0 => return Err(Errno::FAULT),
                Ok(0) | Err(_) => break,
                Ok(n) => n_read += n,
            }
            if bytes[..n_read].contains(&0) {
                break;
            }
        }
        bytes.truncate(n_read);
        Ok(bytes)
    }

    /// Opens a file for reading if only root can change it.
    fn for_reading(&self, opening: &Opening, tid: i32) -> Result<OwnedFd, Errno> {
        let rules = Rules { sticky_counts: true, own: process_of(tid) };
        let held = match trust::walk(&opening.path, rules) {
            Ok(held) => held,
            Err(Refused::System(errno)) => return Err(errno),
            Err(Refused::Distrust(why)) => {
                self.seen().foreign.get_or_insert(why);
                return Err(Errno::ACCESS);
            }
        };
        let device = (rustix::fs::major(held.stat.st_rdev), rustix::fs::minor(held.stat.st_rdev));
        let is_folder_wanted = opening.flags.contains(OFlags::DIRECTORY);
        match FileType::from_raw_mode(held.stat.st_mode) {
            FileType::Directory => {}
            _ if is_folder_wanted => return Err(Errno::NOTDIR),
            FileType::RegularFile => {}
            FileType::CharacterDevice if DEVICES.contains(&device) => {}
            _ => return Err(Errno::NXIO),
        }
        if opening.flags.contains(OFlags::PATH) {
            return Ok(held.fd);
        }
        let own = format!("/proc/self/fd/{}", held.fd.as_raw_fd());
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
        rustix::fs::openat(CWD, own, flags, Mode::empty())
    }

    /// Allows only connections to name servers, because a test of a configuration resolves host names. All other
    /// connections fail.
    fn connect(&self, call: &Call) -> Answer {
        let [fd, at, length, ..] = call.args;
        let length = usize::try_from(length).unwrap_or(usize::MAX).min(MOST_ADDRESS_BYTES);
        let Ok(address) = self.address(call, at, length) else {
            return Answer::Fail(libc::EFAULT);
        };
        let half = |at: usize| Some([*address.get(at)?, *address.get(at + 1)?]);
        let family = half(0).map(u16::from_ne_bytes).map(i32::from);
        if !matches!(family, Some(libc::AF_INET | libc::AF_INET6)) {
            return Answer::Fail(libc::ENOENT);
        }
        if half(2).map(u16::from_be_bytes) != Some(DOMAIN) {
            // Returns the error of a machine without a network. The C library connects in order to sort addresses:
            // reachable addresses come first.
            return Answer::Fail(libc::ENETUNREACH);
        }
        match self.connect_there(call, fd, &address) {
            Ok(()) => Answer::Done,
            Err(error) => Answer::Fail(error.raw_os_error().unwrap_or(libc::EIO)),
        }
    }

    fn address(&self, call: &Call, at: u64, length: usize) -> Result<Vec<u8>, Errno> {
        let memory = File::open(format!("/proc/{}/mem", call.tid)).map_err(|_| Errno::FAULT)?;
        if !self.listener.still_waits(call.id) {
            return Err(Errno::INTR);
        }
        let mut bytes = vec![0; length];
        { memory.read_exact_at(&mut bytes, at) }.map_err(|_| Errno::FAULT)?;
        Ok(bytes)
    }

    fn connect_there(&self, call: &Call, fd: u64, address: &[u8]) -> io::Result<()> {
        let pid = process_of(call.tid).and_then(|it| i32::try_from(it).ok());
        let pid = pid.and_then(rustix::process::Pid::from_raw);
        let pid = pid.ok_or(io::ErrorKind::NotFound)?;
        let process = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty())?;
        if !self.listener.still_waits(call.id) {
            return Err(io::Error::from_raw_os_error(libc::EINTR));
        }
        let flags = rustix::process::PidfdGetfdFlags::empty();
        let fd = i32::try_from(fd).map_err(io::Error::other)?;
        let socket = rustix::process::pidfd_getfd(&process, fd, flags)?;
        // Only datagram sockets are allowed, because connecting them does not wait; a request to a name server is one
        // message.
        if rustix::net::sockopt::socket_type(&socket)? != SocketType::DGRAM {
            return Err(io::Error::from_raw_os_error(libc::ECONNREFUSED));
        }
        // SAFETY: the address is a valid slice of the given length.
        let result =
            unsafe { libc::connect(socket.as_raw_fd(), address.as_ptr().cast(), address.len() as libc::socklen_t) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_for_writing(flags: OFlags) -> bool {
    let is_place = flags.contains(OFlags::PATH);
    let changes = OFlags::WRONLY | OFlags::RDWR | OFlags::CREATE | OFlags::TRUNC | OFlags::APPEND;
    !is_place && flags.intersects(changes)
}

/// Checks whether a file could exist at the path. If so, returns a descriptor that discards everything written to it.
fn nowhere(opening: &Opening) -> Result<OwnedFd, Errno> {
    let folder = opening.path.parent().unwrap_or(Path::new("/"));
    let place = OFlags::PATH | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, folder, place | OFlags::DIRECTORY, Mode::empty())?;
    if !opening.flags.contains(OFlags::CREATE) {
        rustix::fs::openat(CWD, &opening.path, place, Mode::empty())?;
    }
    let access = opening.flags & OFlags::ACCMODE;
    rustix::fs::openat(CWD, "/dev/null", access | OFlags::CLOEXEC, Mode::empty())
}

/// Returns the folder at which a thread's relative path starts.
fn folder_of(tid: i32, fd: i32) -> Result<PathBuf, Errno> {
    let link = if fd == libc::AT_FDCWD { format!("/proc/{tid}/cwd") } else { format!("/proc/{tid}/fd/{fd}") };
    let path = rustix::fs::readlinkat(CWD, link, Vec::new()).map_err(|_| Errno::BADF)?;
    Ok(PathBuf::from(OsString::from_vec(path.into_bytes())))
}

fn process_of(tid: i32) -> Option<u32> {
    let status = std::fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    let line = status.lines().find_map(|it| it.strip_prefix("Tgid:"))?;
    line.trim().parse().ok()
}

/// Whether a process sends the signal to itself.
fn is_own(call: &Call) -> bool {
    process_of(call.tid).is_some_and(|it| u64::from(it) == call.args[0])
}
