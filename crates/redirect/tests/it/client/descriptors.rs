//! Copies of descriptors, other processes that hold them, and threads with their own descriptor tables.

use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::thread;

use super::{Case, Told, connected, echo, talk};
use crate::raw;

pub(super) const CASES: &[Case] = &[
    ("dup-after", dup_after),
    ("dup-before", dup_before),
    ("dup-far", dup_far),
    ("dup-watched", dup_watched),
    ("shared-before", shared_before),
    ("ring", ring),
    ("fork", fork),
    ("exec", exec),
    ("inherited", inherited),
    ("pass", pass),
    ("own-table", own_table),
    ("vfork", vfork),
    ("fork-then-connect", fork_then_connect),
];

fn dup_after(told: &Told<'_>) {
    let fd = connected(told.to);
    let copy = unsafe { libc::dup(fd) };
    raw::close(fd);
    talk(copy);
    println!("second {}", raw::connect(copy, told.to));
    println!("peer {:?}", raw::name(true, copy, 28));
}

fn dup_before(told: &Told<'_>) {
    let fd = raw::tcp(told.to);
    let copy = unsafe { libc::dup(fd) };
    let far = unsafe { libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 100) };
    println!("connect {}", raw::connect(fd, told.to));
    println!("second {}", raw::connect(copy, told.to));
    println!("flags {}", unsafe { libc::fcntl(far, libc::F_GETFD) });
    talk(far);
    raw::close(fd);
    echo(copy);
}

/// Makes a copy whose number is far from the original's.
fn dup_far(told: &Told<'_>) {
    let fd = raw::tcp(told.to);
    println!("copy {}", unsafe { libc::dup2(fd, 50) });
    println!("connect {}", raw::connect(fd, told.to));
    talk(50);
    println!("peer {:?}", raw::name(true, 50, 28));
    raw::close(fd);
    echo(50);
}

/// Watches the copy instead of the original.
fn dup_watched(told: &Told<'_>) {
    let queue = raw::epoll();
    let fd = raw::tcp(told.to);
    let copy = unsafe { libc::dup(fd) };
    let add = libc::EPOLL_CTL_ADD;
    println!("add {}", raw::epoll_ctl(queue, add, copy, libc::EPOLLIN, 9));
    println!("connect {}", raw::connect(fd, told.to));
    println!("event {:?}", raw::epoll_wait(queue, -1));
    talk(copy);
}

/// An `io_uring` ring holds the socket as one of its registered files: `io_uring_register(2)`.
fn ring(told: &Told<'_>) {
    let fd = raw::tcp(told.to);
    let mut parameters = [0_u64; 15];
    let registered = unsafe {
        let ring = libc::syscall(libc::SYS_io_uring_setup, 4, parameters.as_mut_ptr());
        let files = [fd];
        libc::syscall(libc::SYS_io_uring_register, ring, 2, files.as_ptr(), 1)
    };
    println!("registered {registered} connect {}", raw::connect(fd, told.to));
    talk(fd);
}

/// A child connects the socket that its parent has made, and the parent uses it.
fn shared_before(told: &Told<'_>) {
    let fd = raw::tcp(told.to);
    in_child(|| println!("connect {}", raw::connect(fd, told.to)));
    talk(fd);
}

fn in_child(work: impl FnOnce()) {
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        work();
        std::process::exit(0);
    }
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
}

fn fork(told: &Told<'_>) {
    let fd = connected(told.to);
    println!("way {}", raw::read(fd).trim_end());
    in_child(|| {
        echo(fd);
        println!("peer {:?}", raw::name(true, fd, 28));
        println!("second {}", raw::connect(fd, told.to));
    });
    echo(fd);
}

fn fork_then_connect(told: &Told<'_>) {
    connected(told.to);
    in_child(|| talk(connected(told.to)));
    in_child(|| {
        let queue = raw::epoll();
        let fd = raw::tcp(told.to);
        raw::epoll_ctl(queue, libc::EPOLL_CTL_ADD, fd, libc::EPOLLIN, 5);
        println!("connect {}", raw::connect(fd, told.to));
        println!("event {:?}", raw::epoll_wait(queue, -1));
    });
}

fn exec(told: &Told<'_>) {
    let fd = connected(told.to);
    println!("way {}", raw::read(fd).trim_end());
    let exe = std::env::current_exe().unwrap();
    let words = ["client", "inherited", &told.to.to_string(), &fd.to_string()];
    let status = Command::new(exe).args(words).status().unwrap();
    println!("{status}");
}

fn inherited(told: &Told<'_>) {
    let fd = told.words[0].parse().unwrap();
    echo(fd);
    println!("peer {:?}", raw::name(true, fd, 28));
    println!("set {}", raw::set_number(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1));
}

/// Passes the connection to another process over a socket.
fn pass(told: &Told<'_>) {
    let (one, two) = UnixStream::pair().unwrap();
    in_child(|| {
        let fd = connected(told.to);
        println!("way {}", raw::read(fd).trim_end());
        send(one.as_raw_fd(), fd);
    });
    let fd = receive(two.as_raw_fd());
    echo(fd);
    println!("peer {:?}", raw::name(true, fd, 28));
}

#[repr(C)]
union Room {
    _head: libc::cmsghdr,
    bytes: [u8; 64],
}

fn message(part: &mut libc::iovec, room: &mut Room) -> libc::msghdr {
    let mut head: libc::msghdr = unsafe { std::mem::zeroed() };
    head.msg_iov = part;
    head.msg_iovlen = 1;
    head.msg_control = std::ptr::from_mut(room).cast();
    head.msg_controllen = unsafe { libc::CMSG_SPACE(4) } as usize;
    head
}

fn send(over: i32, fd: i32) {
    let mut byte = 0_u8;
    let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let mut room = Room { bytes: [0; 64] };
    let head = message(&mut part, &mut room);
    unsafe {
        let first = libc::CMSG_FIRSTHDR(&raw const head);
        (*first).cmsg_level = libc::SOL_SOCKET;
        (*first).cmsg_type = libc::SCM_RIGHTS;
        (*first).cmsg_len = libc::CMSG_LEN(4) as usize;
        libc::CMSG_DATA(first).cast::<i32>().write_unaligned(fd);
        assert_eq!(libc::sendmsg(over, &raw const head, 0), 1);
    }
}

fn receive(over: i32) -> i32 {
    let mut byte = 0_u8;
    let mut part = libc::iovec { iov_base: (&raw mut byte).cast(), iov_len: 1 };
    let mut room = Room { bytes: [0; 64] };
    let mut head = message(&mut part, &mut room);
    unsafe {
        assert_eq!(libc::recvmsg(over, &raw mut head, 0), 1);
        let first = libc::CMSG_FIRSTHDR(&raw const head);
        libc::CMSG_DATA(first).cast::<i32>().read_unaligned()
    }
}

/// A thread with its own descriptor table, in which a number refers to another file than in the other threads.
fn own_table(told: &Told<'_>) {
    let to: SocketAddr = told.to;
    let shared = raw::tcp(to);
    let thread = thread::spawn(move || {
        assert_eq!(unsafe { libc::unshare(libc::CLONE_FILES) }, 0);
        raw::close(shared);
        let own = raw::tcp(to);
        println!("same number {}", own == shared);
        println!("connect {}", raw::connect(own, to));
        talk(own);
        own
    });
    let own = thread.join().unwrap();
    println!("here {}", raw::name(true, own, 16).0);
    println!("connect {}", raw::connect(shared, to));
    talk(shared);
}

/// Descriptor, address, and the result of `connect`.
type Borrowed = (i32, *const u8, i32);

extern "C" fn borrowing_child(place: *mut libc::c_void) -> i32 {
    let told = place.cast::<Borrowed>();
    unsafe {
        (*told).2 = libc::connect((*told).0, (*told).1.cast(), 16);
        libc::_exit(0)
    }
}

/// A child that borrows its parent's memory.
fn vfork(told: &Told<'_>) {
    let fd = raw::tcp(told.to);
    let address = raw::raw(told.to, 16);
    // The C library's vfork cannot be called from Rust; this code does the same, as posix_spawn does.
    let mut stack = vec![0_u8; 64 * 1024];
    let top = unsafe { stack.as_mut_ptr().add(stack.len()) };
    let mut told: Borrowed = (fd, address.as_ptr(), -1);
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    let pid = unsafe { libc::clone(borrowing_child, top.cast(), flags, (&raw mut told).cast()) };
    assert!(pid > 0);
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
    println!("in the child {}", told.2);
}
