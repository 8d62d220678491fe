//! Options, flags and time limits: those that are set before `connect` and after, and those that are read back.

use super::{Case, Told, connected, talk};
use crate::raw;

pub(super) const CASES: &[Case] = &[
    ("options", options),
    ("odd-options", odd_options),
    ("info", info),
    ("refused-options", refused_options),
    ("early-options", early_options),
    ("reuse-port", reuse_port),
    ("own-signals", signals),
    ("without-copy", without_copy),
    ("flags", flags),
    ("settings", settings),
];

const TCP: i32 = libc::IPPROTO_TCP;

/// Options that programs set and read, with a number as their value.
const NUMBERS: [(i32, i32, i32); 12] = [
    (TCP, libc::TCP_NODELAY, 1),
    (TCP, libc::TCP_NODELAY, 0),
    (TCP, libc::TCP_KEEPIDLE, 77),
    (TCP, libc::TCP_KEEPINTVL, 7),
    (TCP, libc::TCP_KEEPCNT, 3),
    (TCP, libc::TCP_USER_TIMEOUT, 1234),
    (TCP, libc::TCP_QUICKACK, 1),
    (TCP, libc::TCP_CORK, 0),
    (TCP, libc::TCP_SYNCNT, 4),
    (libc::IPPROTO_IP, libc::IP_TOS, 0x10),
    (libc::IPPROTO_IP, libc::IP_TTL, 33),
    (libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1),
];

fn options(told: &Told<'_>) {
    let fd = connected(told.to);
    for (level, name, value) in NUMBERS {
        println!("{level} {name}: {:?}", raw::get_number(fd, level, name).0);
        println!("set {}", raw::set_number(fd, level, name, value));
        println!("get {:?}", raw::get_number(fd, level, name));
    }
    for name in [libc::SO_DOMAIN, libc::SO_PROTOCOL, libc::SO_TYPE, libc::SO_ERROR] {
        println!("{name}: {:?}", raw::get_number(fd, libc::SOL_SOCKET, name));
        println!("set {}", raw::set_number(fd, libc::SOL_SOCKET, name, 1));
    }
    let before = raw::tcp(told.to);
    for (level, name, value) in NUMBERS {
        raw::set_number(before, level, name, value);
    }
    println!("connect {}", raw::connect(before, told.to));
    for (level, name, _) in NUMBERS {
        // This option shows the state of the moment.
        if name != libc::TCP_QUICKACK {
            println!("{level} {name}: {:?}", raw::get_number(before, level, name));
        }
    }
    talk(before);
}

/// Options that are set before `connect` and that a Unix socket does not have.
fn early_options(told: &Told<'_>) {
    let early = [
        (TCP, libc::TCP_LINGER2, 13),
        (TCP, libc::TCP_NOTSENT_LOWAT, 4_096),
        (libc::IPPROTO_IP, libc::IP_FREEBIND, 1),
        (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, 0),
        (libc::SOL_SOCKET, libc::SO_PRIORITY, 3),
        (libc::SOL_SOCKET, libc::SO_REUSEPORT, 1),
        (libc::SOL_SOCKET, libc::SO_RCVLOWAT, 9),
    ];
    let fd = raw::tcp(told.to);
    for (level, name, value) in early {
        println!("set {}", raw::set_number(fd, level, name, value));
    }
    println!("{}", raw::set(fd, TCP, libc::TCP_CONGESTION, b"reno"));
    println!("connect {}", raw::connect(fd, told.to));
    for (level, name, _) in early {
        println!("{level} {name}: {:?}", raw::get_number(fd, level, name));
    }
    println!("{:?}", raw::get(fd, TCP, libc::TCP_CONGESTION, 16));
    raw::set_number(fd, libc::SOL_SOCKET, libc::SO_RCVLOWAT, 1);
    talk(fd);
}

fn reuse_port(told: &Told<'_>) {
    let fd = connected(told.to);
    let (level, name) = (libc::SOL_SOCKET, libc::SO_REUSEPORT);
    println!("{:?}", raw::get_number(fd, level, name));
    println!("set {}", raw::set_number(fd, level, name, 1));
    println!("{:?}", raw::get_number(fd, level, name));
    talk(fd);
}

/// Signals that a socket sends contain the number of the descriptor on which they were enabled.
fn signals(told: &Told<'_>) {
    let fd = raw::tcp(told.to);
    let flags = unsafe {
        libc::fcntl(fd, libc::F_SETOWN, libc::getpid());
        libc::signal(libc::SIGIO, libc::SIG_IGN);
        libc::fcntl(fd, libc::F_SETFL, libc::O_ASYNC)
    };
    println!("flags {flags}");
    println!("connect {}", raw::connect(fd, told.to));
    talk(fd);
}

fn without_copy(told: &Told<'_>) {
    let fd = raw::tcp(told.to);
    let set = raw::set_number(fd, libc::SOL_SOCKET, libc::SO_ZEROCOPY, 1);
    println!("set {set} connect {}", raw::connect(fd, told.to));
    talk(fd);
}

/// Wrong lengths, wrong numbers, and options that do not exist.
fn odd_options(told: &Told<'_>) {
    let fd = connected(told.to);
    for (level, name) in [
        (TCP, libc::TCP_NODELAY),
        (TCP, 9_999),
        (libc::IPPROTO_IP, 9_999),
        (libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS),
        (libc::IPPROTO_IPV6, 9_999),
        (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY),
        (TCP, libc::TCP_FASTOPEN),
        (TCP, libc::TCP_FASTOPEN_CONNECT),
        (TCP, libc::TCP_KEEPIDLE),
    ] {
        for length in [0, 1, 2, 4, 8] {
            let value = vec![0; length];
            println!("{level} {name} {length}: {}", raw::set(fd, level, name, &value));
            let (result, value) = raw::get(fd, level, name, length);
            println!("{result} {}", value.len());
        }
        println!("{}", raw::set_number(fd, level, name, -5));
    }
    let bad = 16 as *mut libc::c_void;
    let result = unsafe { libc::setsockopt(fd, TCP, libc::TCP_NODELAY, bad, 4) };
    println!("bad place {}", raw::number(result.into()));
    let mut n = 4;
    let result = unsafe { libc::getsockopt(fd, TCP, libc::TCP_NODELAY, bad, &raw mut n) };
    println!("bad place {}", raw::number(result.into()));
    n = -1_i32 as u32;
    let place = (&raw mut n).cast();
    let result = unsafe { libc::getsockopt(fd, TCP, libc::TCP_NODELAY, place, &raw mut n) };
    println!("bad length {}", raw::number(result.into()));
    let name = libc::TCP_CONGESTION;
    println!("congestion {}", raw::set(fd, TCP, name, b"reno"));
    println!("congestion {:?}", raw::get(fd, TCP, name, 16));
    println!("congestion {}", raw::set(fd, TCP, name, b"no-such"));
}

fn info(told: &Told<'_>) {
    let fd = connected(told.to);
    let (result, info) = raw::get(fd, TCP, libc::TCP_INFO, 104);
    println!("{result} {} state {}", info.len(), info[0]);
    let (result, info) = raw::get(fd, TCP, libc::TCP_INFO, 1);
    println!("{result} {} state {}", info.len(), info[0]);
}

fn refused_options(told: &Told<'_>) {
    let fd = connected(told.to);
    println!("{}", raw::set(fd, TCP, libc::TCP_ULP, b"tls"));
    println!("{}", raw::set_number(fd, TCP, libc::TCP_REPAIR, 1));
    println!("{}", raw::get(fd, TCP, libc::TCP_ZEROCOPY_RECEIVE, 64).0);
    talk(fd);
}

fn flags(told: &Told<'_>) {
    for flags in [0, libc::SOCK_NONBLOCK, libc::SOCK_CLOEXEC, libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC] {
        let fd = raw::socket(raw::family(told.to), libc::SOCK_STREAM | flags);
        raw::connect(fd, told.to);
        let (status, own) = unsafe { (libc::fcntl(fd, libc::F_GETFL), libc::fcntl(fd, libc::F_GETFD)) };
        println!("{flags:x}: {status:x} {own:x}");
        raw::poll(fd, libc::POLLIN, -1);
        println!("way {}", raw::read(fd).trim_end());
    }
}

fn settings(told: &Told<'_>) {
    let fd = raw::tcp(told.to);
    let limit = [3_i64.to_ne_bytes(), 250_000_i64.to_ne_bytes()].concat();
    let linger = [1_i32.to_ne_bytes(), 5_i32.to_ne_bytes()].concat();
    let level = libc::SOL_SOCKET;
    raw::set(fd, level, libc::SO_RCVTIMEO, &limit);
    raw::set(fd, level, libc::SO_SNDTIMEO, &limit);
    raw::set(fd, level, libc::SO_LINGER, &linger);
    raw::set_number(fd, level, libc::SO_KEEPALIVE, 1);
    raw::set_number(fd, level, libc::SO_OOBINLINE, 1);
    raw::set_number(fd, level, libc::SO_SNDBUF, 100_000);
    raw::set_number(fd, level, libc::SO_RCVBUF, 50_000);
    println!("connect {}", raw::connect(fd, told.to));
    for (name, room) in [
        (libc::SO_RCVTIMEO, 16),
        (libc::SO_SNDTIMEO, 16),
        (libc::SO_LINGER, 8),
        (libc::SO_KEEPALIVE, 4),
        (libc::SO_OOBINLINE, 4),
        (libc::SO_SNDBUF, 4),
        (libc::SO_RCVBUF, 4),
    ] {
        println!("{name}: {:?}", raw::get(fd, level, name, room));
    }
    talk(fd);
}
