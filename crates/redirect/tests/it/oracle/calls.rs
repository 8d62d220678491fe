//! The calls of a random program: chooses them, makes them, and prints their results.
//!
//! Values that depend on chance in both runs (port numbers, inode numbers) are not printed.

use std::mem::zeroed;
use std::net::{Ipv4Addr, SocketAddr};

use super::program::{Coin, settle, settle_surely};
use super::{data, options};
use crate::raw;

pub(super) type Turn = Box<dyn FnOnce(&mut World) -> String + Send>;
type Prepare = fn(&mut Coin) -> Turn;

const N_SLOTS: u64 = 5;
const N_QUEUES: u64 = 2;
const NOBODY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 1);

pub(super) struct World {
    pub(super) to: SocketAddr,
    /// The program's sockets; -1 for an empty slot.
    pub(super) slots: [i32; N_SLOTS as usize],
    /// For each slot, the socket of which it is a copy.
    pub(super) origins: [usize; N_SLOTS as usize],
    /// Number of bytes on their way back from the server, by socket.
    pub(super) pending: Vec<i64>,
    pub(super) queues: [i32; N_QUEUES as usize],
}

/// All calls by their names; a call that is listed twice is made twice as often.
pub(super) const CALLS: &[(&str, Prepare)] = &[
    ("socket", open),
    ("socket", open),
    ("connect", connect),
    ("connect", connect),
    ("connect", connect),
    ("bind", bind),
    ("listen", listen),
    ("accept4", accept),
    ("getsockname", options::name),
    ("getpeername", options::name),
    ("getsockopt", options::get),
    ("getsockopt", options::get),
    ("setsockopt", options::set),
    ("setsockopt", options::set),
    ("send", data::send),
    ("send", data::send),
    ("sendmsg", data::send_message),
    ("write", data::write),
    ("writev", data::write_parts),
    ("recv", data::receive),
    ("recv", data::receive),
    ("recvmsg", data::receive_message),
    ("read", data::read),
    ("readv", data::read_parts),
    ("shutdown", shut_down),
    ("close", close),
    ("dup", copy),
    ("dup2", copy_to),
    ("fcntl", control),
    ("ioctl", ask_device),
    ("poll", look),
    ("select", select),
    ("epoll_create1", make_queue),
    ("epoll_ctl", change_queue),
    ("epoll_wait", ask_queue),
    ("fork", in_child),
];

/// Opens a socket and connects it.
pub(super) fn first(coin: &mut Coin, _: SocketAddr) -> Turn {
    let is_patient = coin.below(2) == 0;
    Box::new(move |world| {
        let kind = if is_patient { 0 } else { libc::SOCK_NONBLOCK };
        let opened = world.open(0, libc::AF_INET, libc::SOCK_STREAM | kind);
        let to = world.to;
        format!("first {opened} {}", world.connect(0, &raw::raw(to, 16)))
    })
}

impl World {
    pub(super) fn new(to: SocketAddr) -> Self {
        Self {
            to,
            slots: [-1; N_SLOTS as usize],
            origins: [0; N_SLOTS as usize],
            pending: vec![0],
            queues: [-1; N_QUEUES as usize],
        }
    }

    pub(super) fn close_all(&mut self) {
        for fd in self.slots.iter().chain(&self.queues).filter(|fd| **fd >= 0) {
            raw::close(*fd);
        }
    }

    /// Puts a descriptor into a slot, and closes the descriptor that was there.
    fn put(&mut self, slot: usize, fd: i32, origin: usize) {
        if self.slots[slot] >= 0 && self.slots[slot] != fd {
            raw::close(self.slots[slot]);
        }
        self.slots[slot] = fd;
        self.origins[slot] = origin;
    }

    fn open(&mut self, slot: usize, family: i32, kind: i32) -> String {
        let fd = raw::socket(family, kind);
        self.pending.push(0);
        let origin = self.pending.len() - 1;
        self.put(slot, fd, origin);
        format!("{}", fd.min(0))
    }

    fn connect(&mut self, slot: usize, address: &[u8]) -> String {
        let fd = self.slots[slot];
        let result = raw::connect_raw(fd, address);
        let is_no_family = address.first() == Some(&0);
        if result == 0 && is_no_family {
            self.pending[self.origins[slot]] = 0;
        }
        if result == -i64::from(libc::EINPROGRESS) {
            settle(fd, libc::POLLOUT);
        }
        if result == 0 || result == -i64::from(libc::EINPROGRESS) {
            take_greeting(fd, is_no_family);
        }
        format!("{result}")
    }

    /// Records `n` sent bytes, and waits until they have come back from the server.
    pub(super) fn sent(&mut self, slot: usize, n: i64) {
        let origin = self.origins[slot];
        if n > 0 && raw::name(true, self.slots[slot], 28).0 == 0 {
            self.pending[origin] += n;
            let wanted = self.pending[origin];
            for _ in 0..300 {
                if waiting(self.slots[slot]) >= wanted {
                    return;
                }
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
        }
    }

    pub(super) fn received(&mut self, slot: usize, n: i64, flags: i32) {
        if n > 0 && flags & libc::MSG_PEEK == 0 {
            let pending = &mut self.pending[self.origins[slot]];
            *pending = (*pending - n).max(0);
        }
    }

    /// Returns whether a call that waits would return.
    pub(super) fn may_wait(&self, slot: usize) -> bool {
        raw::poll(self.slots[slot], libc::POLLIN, 0) != 0
    }
}

/// Receives the line that shows over which transport the server was reached.
fn take_greeting(fd: i32, is_no_family: bool) {
    if is_no_family || raw::name(true, fd, 28).0 != 0 {
        return;
    }
    let mut byte = [0_u8];
    while byte != *b"\n" {
        settle_surely(fd, libc::POLLIN);
        let place = byte.as_mut_ptr().cast();
        if unsafe { libc::recv(fd, place, 1, libc::MSG_DONTWAIT) } <= 0 {
            return;
        }
    }
}

fn waiting(fd: i32) -> i64 {
    let mut n = 0_i32;
    unsafe { libc::ioctl(fd, libc::FIONREAD, &raw mut n) };
    n.into()
}

pub(super) fn slot(coin: &mut Coin) -> usize {
    // Mostly the first slot, so that the calls have an effect.
    let idx = coin.below(2 * N_SLOTS);
    if idx < N_SLOTS { idx as usize } else { 0 }
}

fn open(coin: &mut Coin) -> Turn {
    let at = coin.below(N_SLOTS) as usize;
    let family = coin.one_of(&[libc::AF_INET, libc::AF_INET, libc::AF_INET, libc::AF_INET6]);
    let kinds = [
        libc::SOCK_STREAM,
        libc::SOCK_STREAM,
        libc::SOCK_STREAM | libc::SOCK_CLOEXEC,
        libc::SOCK_STREAM | libc::SOCK_NONBLOCK,
        libc::SOCK_DGRAM,
    ];
    let kind = coin.one_of(&kinds);
    Box::new(move |world| format!("socket {at} {family} {kind}: {}", world.open(at, family, kind)))
}

fn connect(coin: &mut Coin) -> Turn {
    let at = slot(coin);
    let (which, n_bytes) = (coin.below(10), coin.one_of(&[16, 16, 28, 128, 2, 8, 0, 129]));
    Box::new(move |world| {
        let address = match which {
            0 => raw::raw(NOBODY, n_bytes),
            1 => vec![0; n_bytes],
            2 => raw::raw(world.to, n_bytes),
            3 => {
                let mapped = Ipv4Addr::LOCALHOST.to_ipv6_mapped();
                raw::raw(SocketAddr::from((mapped, world.to.port())), 28)
            }
            4 => {
                let fd = world.slots[at];
                let result = unsafe { libc::connect(fd, 16 as *const _, 16) };
                return format!("connect {at} bad place: {}", raw::number(result.into()));
            }
            _ => raw::raw(world.to, 16),
        };
        let what = ["nobody", "nothing", "server", "mapped"].get(which as usize).unwrap_or(&"server");
        format!("connect {at} {what} {}: {}", address.len(), world.connect(at, &address))
    })
}

fn bind(coin: &mut Coin) -> Turn {
    let at = slot(coin);
    let ip = coin.one_of(&[Ipv4Addr::LOCALHOST, Ipv4Addr::UNSPECIFIED]);
    Box::new(move |world| {
        let address = raw::raw(SocketAddr::from((ip, 0)), 16);
        let result = unsafe { libc::bind(world.slots[at], address.as_ptr().cast(), 16) };
        format!("bind {at} {ip}: {}", raw::number(result.into()))
    })
}

fn listen(coin: &mut Coin) -> Turn {
    let at = slot(coin);
    Box::new(move |world| {
        let result = unsafe { libc::listen(world.slots[at], 5) };
        format!("listen {at}: {}", raw::number(result.into()))
    })
}

fn accept(coin: &mut Coin) -> Turn {
    let at = slot(coin);
    Box::new(move |world| {
        let fd = world.slots[at];
        let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
        if flags >= 0 && flags & libc::O_NONBLOCK == 0 {
            return format!("accept4 {at}: would wait");
        }
        let none = std::ptr::null_mut();
        let result = unsafe { libc::accept4(fd, none, std::ptr::null_mut(), 0) };
        format!("accept4 {at}: {}", raw::number(result.into()).min(0))
    })
}

fn shut_down(coin: &mut Coin) -> Turn {
    let (at, how) = (slot(coin), coin.one_of(&[libc::SHUT_WR, libc::SHUT_WR, libc::SHUT_RD, libc::SHUT_RDWR, 7]));
    // Mostly omitted, because most programs continue with their connections.
    let is_made = coin.below(3) == 0;
    Box::new(move |world| {
        if !is_made {
            return format!("shutdown {at}: not now");
        }
        let fd = world.slots[at];
        let result = unsafe { libc::shutdown(fd, how) };
        if result == 0 {
            settle(fd, libc::POLLRDHUP);
        }
        format!("shutdown {at} {how}: {}", raw::number(result.into()))
    })
}

fn close(coin: &mut Coin) -> Turn {
    let at = coin.below(N_SLOTS) as usize;
    Box::new(move |world| {
        let result = unsafe { libc::close(world.slots[at]) };
        world.slots[at] = -1;
        format!("close {at}: {}", raw::number(result.into()))
    })
}

fn copy(coin: &mut Coin) -> Turn {
    let (from, to) = (slot(coin), coin.below(N_SLOTS) as usize);
    let way = coin.below(3);
    Box::new(move |world| {
        let fd = world.slots[from];
        let new = unsafe {
            match way {
                0 => libc::dup(fd),
                1 => libc::fcntl(fd, libc::F_DUPFD, 60),
                _ => libc::fcntl(fd, libc::F_DUPFD_CLOEXEC, 100),
            }
        };
        if new >= 0 {
            world.put(to, new, world.origins[from]);
        }
        format!("dup {from} {to} {way}: {}", raw::number(new.into()).min(0))
    })
}

fn copy_to(coin: &mut Coin) -> Turn {
    let (from, to) = (slot(coin), coin.below(N_SLOTS) as usize);
    let flags = coin.one_of(&[0, libc::O_CLOEXEC]);
    Box::new(move |world| {
        let (old, new) = (world.slots[from], world.slots[to]);
        let result = unsafe { libc::dup3(old, new, flags) };
        if result >= 0 {
            world.origins[to] = world.origins[from];
        }
        format!("dup3 {from} {to}: {}", raw::number(result.into()).min(0))
    })
}

fn control(coin: &mut Coin) -> Turn {
    let (at, which, value) = (slot(coin), coin.below(4), coin.below(2) as i32);
    Box::new(move |world| {
        let fd = world.slots[at];
        let result = unsafe {
            match which {
                0 => libc::fcntl(fd, libc::F_GETFL),
                1 => libc::fcntl(fd, libc::F_SETFL, value * libc::O_NONBLOCK),
                2 => libc::fcntl(fd, libc::F_GETFD),
                _ => libc::fcntl(fd, libc::F_SETFD, value),
            }
        };
        format!("fcntl {at} {which} {value}: {}", raw::number(result.into()))
    })
}

fn ask_device(coin: &mut Coin) -> Turn {
    let at = slot(coin);
    let request = coin.one_of(&[libc::FIONREAD, libc::FIONBIO, libc::TIOCOUTQ, 0x8905, 0x894b]);
    let value = coin.below(2) as i32;
    Box::new(move |world| {
        let mut value = value;
        let result = unsafe { libc::ioctl(world.slots[at], request, &raw mut value) };
        format!("ioctl {at} {request:#x}: {} {value}", raw::number(result.into()))
    })
}

fn look(coin: &mut Coin) -> Turn {
    let at = slot(coin);
    let events = libc::POLLIN | libc::POLLOUT | libc::POLLPRI | libc::POLLRDHUP;
    Box::new(move |world| format!("poll {at}: {:#x}", raw::poll(world.slots[at], events, 0)))
}

fn select(coin: &mut Coin) -> Turn {
    let at = slot(coin);
    Box::new(move |world| {
        let fd = world.slots[at];
        if fd < 0 {
            return format!("select {at}: none");
        }
        let mut time = libc::timeval { tv_sec: 0, tv_usec: 0 };
        let (n, sets) = unsafe {
            let mut sets: [libc::fd_set; 3] = zeroed();
            for set in &mut sets {
                libc::FD_SET(fd, set);
            }
            let [one, two, three] = &mut sets;
            let n = libc::select(fd + 1, one, two, three, &raw mut time);
            (n, sets.map(|set| libc::FD_ISSET(fd, &raw const set)))
        };
        format!("select {at}: {n} {sets:?}")
    })
}

fn make_queue(coin: &mut Coin) -> Turn {
    let at = coin.below(N_QUEUES) as usize;
    Box::new(move |world| {
        if world.queues[at] >= 0 {
            raw::close(world.queues[at]);
        }
        world.queues[at] = raw::epoll();
        format!("epoll_create1 {at}")
    })
}

fn change_queue(coin: &mut Coin) -> Turn {
    let (queue, at) = (coin.below(N_QUEUES) as usize, slot(coin));
    let what = coin.one_of(&[libc::EPOLL_CTL_ADD, libc::EPOLL_CTL_ADD, libc::EPOLL_CTL_MOD, libc::EPOLL_CTL_DEL]);
    let events = coin.one_of(&[libc::EPOLLIN, libc::EPOLLIN | libc::EPOLLOUT, libc::EPOLLOUT]);
    let mode = coin.one_of(&[0, 0, libc::EPOLLET, libc::EPOLLONESHOT]);
    Box::new(move |world| {
        let result = raw::epoll_ctl(world.queues[queue], what, world.slots[at], events | mode, at as u64);
        format!("epoll_ctl {queue} {what} {at} {events:#x} {mode:#x}: {result}")
    })
}

fn ask_queue(coin: &mut Coin) -> Turn {
    let queue = coin.below(N_QUEUES) as usize;
    Box::new(move |world| {
        let mut events: [libc::epoll_event; 8] = unsafe { zeroed() };
        let n = unsafe { libc::epoll_wait(world.queues[queue], events.as_mut_ptr(), 8, 0) };
        let mut told: Vec<(u64, u32)> = events[..n.max(0) as usize].iter().map(|it| (it.u64, it.events)).collect();
        told.sort_unstable();
        format!("epoll_wait {queue}: {} {told:x?}", raw::number(n.into()))
    })
}

/// Lets a child process make a call on a socket that both processes hold.
fn in_child(coin: &mut Coin) -> Turn {
    let (at, which) = (slot(coin), coin.below(3));
    Box::new(move |world| {
        let (fd, to) = (world.slots[at], raw::raw(world.to, 16));
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let result = match which {
                0 => raw::connect_raw(fd, &to),
                1 => raw::name(true, fd, 28).0,
                _ => raw::write(fd, "xyz"),
            };
            unsafe { libc::_exit(result.unsigned_abs() as i32) };
        }
        let mut status = 0;
        unsafe { libc::waitpid(pid, &raw mut status, 0) };
        let result = status >> 8;
        match which {
            0 if result == 0 || result == libc::EINPROGRESS => {
                settle(fd, libc::POLLOUT);
                take_greeting(fd, false);
            }
            2 if result == 3 => world.sent(at, 3),
            _ => {}
        }
        format!("fork {at} {which}: {result}")
    })
}
