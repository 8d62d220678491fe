//! The calls of a random program: drawn, made, and told with what they gave.
//!
//! What depends on chance in both runs (numbers of ports, of inodes) is not told.

use std::mem::{size_of, zeroed};
use std::net::{Ipv4Addr, SocketAddr};

use super::program::{Coin, settle};
use crate::raw;

pub(super) type Turn = Box<dyn FnOnce(&mut World) -> String + Send>;
type Prepare = fn(&mut Coin) -> Turn;

const N_SLOTS: u64 = 5;
const N_QUEUES: u64 = 2;
/// Nobody listens there.
const NOBODY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 1);

/// What a program has.
pub(super) struct World {
    to: SocketAddr,
    /// Its sockets; -1 where there is none.
    slots: [i32; N_SLOTS as usize],
    /// Which socket each slot is a copy of.
    origins: [usize; N_SLOTS as usize],
    /// Bytes on their way back, by socket.
    pending: Vec<i64>,
    queues: [i32; N_QUEUES as usize],
}

/// All calls by their names; what stands twice is made twice as often.
pub(super) const CALLS: &[(&str, Prepare)] = &[
    ("socket", open),
    ("socket", open),
    ("connect", connect),
    ("connect", connect),
    ("connect", connect),
    ("bind", bind),
    ("listen", listen),
    ("accept4", accept),
    ("getsockname", name),
    ("getpeername", name),
    ("getsockopt", get),
    ("getsockopt", get),
    ("setsockopt", set),
    ("setsockopt", set),
    ("send", send),
    ("send", send),
    ("sendmsg", send_message),
    ("write", write),
    ("writev", write_parts),
    ("recv", receive),
    ("recv", receive),
    ("recvmsg", receive_message),
    ("read", read),
    ("readv", read_parts),
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

    /// Puts a descriptor into a slot, in place of what is there.
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
            // The server greets, and says which way it was reached: that is taken out here.
            self.take_greeting(fd, is_no_family);
        }
        format!("{result}")
    }

    fn take_greeting(&self, fd: i32, is_no_family: bool) {
        if is_no_family || raw::name(true, fd, 28).0 != 0 {
            return;
        }
        let mut byte = [0_u8];
        while byte != *b"\n" {
            settle(fd, libc::POLLIN);
            let place = byte.as_mut_ptr().cast();
            if unsafe { libc::recv(fd, place, 1, libc::MSG_DONTWAIT) } <= 0 {
                return;
            }
        }
    }

    /// What is on its way back is there when this returns.
    fn sent(&mut self, slot: usize, n: i64) {
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

    fn received(&mut self, slot: usize, n: i64, flags: i32) {
        if n > 0 && flags & libc::MSG_PEEK == 0 {
            let pending = &mut self.pending[self.origins[slot]];
            *pending = (*pending - n).max(0);
        }
    }

    /// Whether a call that waits would come back.
    fn may_wait(&self, slot: usize) -> bool {
        raw::poll(self.slots[slot], libc::POLLIN, 0) != 0
    }
}

fn waiting(fd: i32) -> i64 {
    let mut n = 0_i32;
    unsafe { libc::ioctl(fd, libc::FIONREAD, &raw mut n) };
    n.into()
}

fn slot(coin: &mut Coin) -> usize {
    // Mostly the first, so that something comes of it.
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
    Box::new(move |world| {
        format!(
            "socket {at} {family} {kind}: {}",
            world.open(at, family, kind)
        )
    })
}

fn connect(coin: &mut Coin) -> Turn {
    let at = slot(coin);
    let (which, n_bytes) = (
        coin.below(10),
        coin.one_of(&[16, 16, 28, 128, 2, 8, 0, 129]),
    );
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
        let what = ["nobody", "nothing", "server", "mapped"]
            .get(which as usize)
            .unwrap_or(&"server");
        format!(
            "connect {at} {what} {}: {}",
            address.len(),
            world.connect(at, &address)
        )
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

/// Whether a name's port is none, the server's, or another.
fn told_name(world: &World, (result, bytes, n_told): (i64, Vec<u8>, u32)) -> String {
    let port = bytes.get(2..4).map(|it| u16::from_be_bytes([it[0], it[1]]));
    let port = match port {
        None => "cut",
        Some(0) => "none",
        Some(port) if port == world.to.port() => "server's",
        Some(_) => "own",
    };
    let rest: Vec<u8> = bytes
        .iter()
        .enumerate()
        .filter(|(idx, _)| !(2..4).contains(idx))
        .map(|(_, byte)| *byte)
        .collect();
    format!("{result} {rest:?} {n_told} {port}")
}

fn name(coin: &mut Coin) -> Turn {
    let (at, is_peer) = (slot(coin), coin.below(2) == 0);
    let room = coin.one_of(&[16, 28, 128, 4, 0]);
    Box::new(move |world| {
        let what = if is_peer {
            "getpeername"
        } else {
            "getsockname"
        };
        let told = raw::name(is_peer, world.slots[at], room);
        format!("{what} {at} {room}: {}", told_name(world, told))
    })
}

/// Options with the most bytes of their values that are told.
const OPTIONS: [(i32, i32, usize); 30] = [
    (libc::SOL_SOCKET, libc::SO_TYPE, 4),
    (libc::SOL_SOCKET, libc::SO_ERROR, 4),
    (libc::SOL_SOCKET, libc::SO_DOMAIN, 4),
    (libc::SOL_SOCKET, libc::SO_PROTOCOL, 4),
    (libc::SOL_SOCKET, libc::SO_KEEPALIVE, 4),
    (libc::SOL_SOCKET, libc::SO_REUSEADDR, 4),
    (libc::SOL_SOCKET, libc::SO_REUSEPORT, 4),
    (libc::SOL_SOCKET, libc::SO_ACCEPTCONN, 4),
    (libc::SOL_SOCKET, libc::SO_LINGER, 8),
    (libc::SOL_SOCKET, libc::SO_OOBINLINE, 4),
    (libc::SOL_SOCKET, libc::SO_PRIORITY, 4),
    (libc::SOL_SOCKET, libc::SO_TIMESTAMP, 4),
    (libc::SOL_SOCKET, libc::SO_ZEROCOPY, 4),
    (libc::SOL_SOCKET, libc::SO_SNDBUF, 4),
    (libc::SOL_SOCKET, 9_999, 4),
    (libc::IPPROTO_TCP, libc::TCP_NODELAY, 4),
    (libc::IPPROTO_TCP, libc::TCP_CORK, 4),
    (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, 4),
    (libc::IPPROTO_TCP, libc::TCP_KEEPCNT, 4),
    (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, 4),
    (libc::IPPROTO_TCP, libc::TCP_SYNCNT, 4),
    (libc::IPPROTO_TCP, libc::TCP_LINGER2, 4),
    (libc::IPPROTO_TCP, libc::TCP_CONGESTION, 16),
    (libc::IPPROTO_TCP, libc::TCP_MAXSEG, 4),
    (libc::IPPROTO_TCP, libc::TCP_INFO, 1),
    (libc::IPPROTO_TCP, 9_999, 4),
    (libc::IPPROTO_IP, libc::IP_TOS, 4),
    (libc::IPPROTO_IP, libc::IP_TTL, 4),
    (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 4),
    (libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS, 4),
];

fn get(coin: &mut Coin) -> Turn {
    let at = slot(coin);
    let (level, option, room) = coin.one_of(&OPTIONS);
    let room = if coin.below(8) == 0 {
        2.min(room)
    } else {
        room
    };
    Box::new(move |world| {
        let told = raw::get(world.slots[at], level, option, room);
        format!("getsockopt {at} {level} {option} {room}: {told:?}")
    })
}

fn set(coin: &mut Coin) -> Turn {
    let at = slot(coin);
    let (level, option, room) = coin.one_of(&OPTIONS);
    let value = coin.one_of(&[0_i32, 1, 1, 3, 60, -1]);
    let n_bytes = coin.one_of(&[4, 4, 4, room, 1, 0]);
    Box::new(move |world| {
        let mut bytes = value.to_ne_bytes().repeat(4);
        bytes.truncate(n_bytes);
        let result = raw::set(world.slots[at], level, option, &bytes);
        format!("setsockopt {at} {level} {option} {value} {n_bytes}: {result}")
    })
}

const DATA: &[u8] = b"abcdefghijklmnopqrstuvwxyz0123456789";

fn send(coin: &mut Coin) -> Turn {
    let (at, n) = (slot(coin), coin.below(36) as usize);
    let flags = coin.one_of(&[
        0,
        0,
        libc::MSG_MORE,
        libc::MSG_DONTWAIT,
        libc::MSG_DONTROUTE,
        libc::MSG_EOR,
    ]);
    let has_address = coin.below(12) == 0;
    Box::new(move |world| {
        let address = raw::raw(world.to, 16);
        let (place, n_address) = if has_address {
            (address.as_ptr().cast(), 16)
        } else {
            (std::ptr::null(), 0)
        };
        let fd = world.slots[at];
        let sent = unsafe { libc::sendto(fd, DATA.as_ptr().cast(), n, flags, place, n_address) };
        let sent = raw::number(sent as i64);
        if flags & libc::MSG_MORE != 0 {
            // What is held back goes out here.
            raw::set_number(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1);
        }
        world.sent(at, sent);
        format!("sendto {at} {n} {flags:#x} {n_address}: {sent}")
    })
}

fn part(bytes: &[u8]) -> libc::iovec {
    libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    }
}

fn send_message(coin: &mut Coin) -> Turn {
    let (at, n) = (slot(coin), coin.below(18) as usize);
    Box::new(move |world| {
        let mut parts = [part(&DATA[..n]), part(&DATA[18..])];
        let mut head: libc::msghdr = unsafe { zeroed() };
        head.msg_iov = parts.as_mut_ptr();
        head.msg_iovlen = 2;
        let sent = unsafe { libc::sendmsg(world.slots[at], &raw const head, 0) };
        let sent = raw::number(sent as i64);
        world.sent(at, sent);
        format!("sendmsg {at} {n}: {sent}")
    })
}

fn write(coin: &mut Coin) -> Turn {
    let (at, n) = (slot(coin), coin.below(36) as usize);
    Box::new(move |world| {
        let n = unsafe { libc::write(world.slots[at], DATA.as_ptr().cast(), n) };
        let sent = raw::number(n as i64);
        world.sent(at, sent);
        format!("write {at}: {sent}")
    })
}

fn write_parts(coin: &mut Coin) -> Turn {
    let (at, n) = (slot(coin), coin.below(18) as usize);
    Box::new(move |world| {
        let parts = [part(&DATA[..n]), part(&[]), part(&DATA[30..])];
        let sent = unsafe { libc::writev(world.slots[at], parts.as_ptr(), 3) };
        let sent = raw::number(sent as i64);
        world.sent(at, sent);
        format!("writev {at} {n}: {sent}")
    })
}

fn text(n: i64, bytes: &[u8]) -> String {
    format!("{n} {}", String::from_utf8_lossy(bytes))
}

fn receive(coin: &mut Coin) -> Turn {
    let (at, n) = (slot(coin), coin.one_of(&[0, 1, 5, 40]));
    let flags = [
        libc::MSG_DONTWAIT,
        libc::MSG_DONTWAIT | libc::MSG_PEEK,
        libc::MSG_DONTWAIT | libc::MSG_TRUNC,
        libc::MSG_DONTWAIT | libc::MSG_TRUNC | libc::MSG_PEEK,
        libc::MSG_ERRQUEUE,
        libc::MSG_DONTWAIT | libc::MSG_WAITALL,
        0,
        libc::MSG_PEEK,
        libc::MSG_TRUNC,
    ];
    let (flags, wants_address) = (coin.one_of(&flags), coin.below(12) == 0);
    Box::new(move |world| {
        let is_patient = flags & (libc::MSG_DONTWAIT | libc::MSG_ERRQUEUE) == 0;
        if is_patient && !world.may_wait(at) {
            return format!("recvfrom {at} {n} {flags:#x}: would wait");
        }
        let mut bytes = [b'.'; 40];
        let (mut address, mut n_address) = ([0_u8; 128], 128);
        let (place, length) = if wants_address {
            (address.as_mut_ptr(), &raw mut n_address)
        } else {
            (std::ptr::null_mut(), std::ptr::null_mut())
        };
        let fd = world.slots[at];
        let got = unsafe {
            libc::recvfrom(
                fd,
                bytes.as_mut_ptr().cast(),
                n,
                flags,
                place.cast(),
                length,
            )
        };
        let got = raw::number(got as i64);
        world.received(at, got, flags);
        let told = if wants_address { n_address } else { 0 };
        format!(
            "recvfrom {at} {n} {flags:#x} {wants_address}: {told} {}",
            text(got, &bytes)
        )
    })
}

fn receive_message(coin: &mut Coin) -> Turn {
    let at = slot(coin);
    let flags = coin.one_of(&[
        0,
        libc::MSG_PEEK,
        libc::MSG_TRUNC,
        libc::MSG_ERRQUEUE,
        libc::MSG_CTRUNC,
    ]);
    Box::new(move |world| {
        let mut bytes = [b'.'; 12];
        let (one, two) = bytes.split_at_mut(3);
        let mut parts = [part(one), part(two)];
        let mut control = [0_u8; 256];
        let mut head: libc::msghdr = unsafe { zeroed() };
        head.msg_iov = parts.as_mut_ptr();
        head.msg_iovlen = 2;
        head.msg_control = control.as_mut_ptr().cast();
        head.msg_controllen = control.len();
        head.msg_flags = 99;
        let got =
            unsafe { libc::recvmsg(world.slots[at], &raw mut head, flags | libc::MSG_DONTWAIT) };
        let got = raw::number(got as i64);
        world.received(at, got, flags);
        let (controls, told) = (head.msg_controllen, head.msg_flags);
        format!(
            "recvmsg {at} {flags:#x}: {controls} {told} {}",
            text(got, &bytes)
        )
    })
}

fn read(coin: &mut Coin) -> Turn {
    let (at, n) = (slot(coin), coin.one_of(&[0, 1, 5, 40]));
    Box::new(move |world| {
        if !world.may_wait(at) {
            return format!("read {at} {n}: would wait");
        }
        let mut bytes = [b'.'; 40];
        let got = unsafe { libc::read(world.slots[at], bytes.as_mut_ptr().cast(), n) };
        let got = raw::number(got as i64);
        world.received(at, got, 0);
        format!("read {at} {n}: {}", text(got, &bytes))
    })
}

fn read_parts(coin: &mut Coin) -> Turn {
    let at = slot(coin);
    Box::new(move |world| {
        if !world.may_wait(at) {
            return format!("readv {at}: would wait");
        }
        let mut bytes = [b'.'; 12];
        let (one, two) = bytes.split_at_mut(5);
        let parts = [part(one), part(two)];
        let got = unsafe { libc::readv(world.slots[at], parts.as_ptr(), 2) };
        let got = raw::number(got as i64);
        world.received(at, got, 0);
        format!("readv {at}: {}", text(got, &bytes))
    })
}

fn shut_down(coin: &mut Coin) -> Turn {
    let (at, how) = (
        slot(coin),
        coin.one_of(&[
            libc::SHUT_WR,
            libc::SHUT_WR,
            libc::SHUT_RD,
            libc::SHUT_RDWR,
            7,
        ]),
    );
    // Most programs go on with what they have.
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
    let request = coin.one_of(&[
        libc::FIONREAD,
        libc::FIONBIO,
        libc::TIOCOUTQ,
        0x8905,
        0x894b,
    ]);
    let value = coin.below(2) as i32;
    Box::new(move |world| {
        let mut value = value;
        let result = unsafe { libc::ioctl(world.slots[at], request, &raw mut value) };
        format!(
            "ioctl {at} {request:#x}: {} {value}",
            raw::number(result.into())
        )
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
        let mut time = libc::timeval {
            tv_sec: 0,
            tv_usec: 0,
        };
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
    let what = coin.one_of(&[
        libc::EPOLL_CTL_ADD,
        libc::EPOLL_CTL_ADD,
        libc::EPOLL_CTL_MOD,
        libc::EPOLL_CTL_DEL,
    ]);
    let events = coin.one_of(&[
        libc::EPOLLIN,
        libc::EPOLLIN | libc::EPOLLOUT,
        libc::EPOLLOUT,
    ]);
    let mode = coin.one_of(&[0, 0, libc::EPOLLET, libc::EPOLLONESHOT]);
    Box::new(move |world| {
        let result = raw::epoll_ctl(
            world.queues[queue],
            what,
            world.slots[at],
            events | mode,
            at as u64,
        );
        format!("epoll_ctl {queue} {what} {at} {events:#x} {mode:#x}: {result}")
    })
}

fn ask_queue(coin: &mut Coin) -> Turn {
    let queue = coin.below(N_QUEUES) as usize;
    Box::new(move |world| {
        let mut events: [libc::epoll_event; 8] = unsafe { zeroed() };
        let n = unsafe { libc::epoll_wait(world.queues[queue], events.as_mut_ptr(), 8, 0) };
        let mut told: Vec<(u64, u32)> = events[..n.max(0) as usize]
            .iter()
            .map(|it| (it.u64, it.events))
            .collect();
        told.sort_unstable();
        format!("epoll_wait {queue}: {} {told:x?}", raw::number(n.into()))
    })
}

/// A child does something with a socket that both hold.
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
                world.take_greeting(fd, false);
            }
            2 if result == 3 => world.sent(at, 3),
            _ => {}
        }
        format!("fork {at} {which}: {result}")
    })
}

const _: () = assert!(size_of::<libc::iovec>() == 16);
