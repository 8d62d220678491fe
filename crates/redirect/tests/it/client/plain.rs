//! Connections as programs make them, and calls that fail as they should.

use std::net::{Ipv4Addr, SocketAddr, TcpListener, UdpSocket};

use super::{Case, Told, connected, echo, talk};
use crate::raw;

pub(super) const CASES: &[Case] = &[
    ("blocking", blocking),
    ("non-blocking", non_blocking),
    ("asked-again", asked_again),
    ("second", second),
    ("lengths", lengths),
    ("read-only", read_only),
    ("bad-address", bad_address),
    ("udp", udp),
    ("unmapped", unmapped),
    ("refused-then-mapped", refused_then_mapped),
    ("half-close", half_close),
    ("bound", bound),
    ("bound-later", bound_later),
    ("wrong-family", wrong_family),
    ("names", names),
    ("bad-names", bad_names),
    ("one-family", one_family),
    ("account", account),
    ("listen", listen),
    ("forever", forever),
    ("inheritance", inheritance),
    ("closes", closes),
    ("receive-flags", receive_flags),
    ("dissolved", dissolved),
    ("port-alone", port_alone),
    ("port-of-the-kernel", port_of_the_kernel),
];

fn blocking(told: &Told<'_>) {
    talk(connected(told.to));
}

fn non_blocking(told: &Told<'_>) {
    let fd = raw::socket(raw::family(told.to), libc::SOCK_STREAM | libc::SOCK_NONBLOCK);
    println!("first {}", raw::connect(fd, told.to));
    println!("out {}", raw::poll(fd, libc::POLLOUT, -1) & libc::POLLOUT);
    println!("error {:?}", raw::get_number(fd, libc::SOL_SOCKET, libc::SO_ERROR));
    println!("in {}", raw::poll(fd, libc::POLLIN, -1));
    talk_when_readable(fd);
}

/// Calls `connect` again to learn how far the connection is, as some programs do.
fn asked_again(told: &Told<'_>) {
    let fd = raw::socket(raw::family(told.to), libc::SOCK_STREAM | libc::SOCK_NONBLOCK);
    println!("first {}", raw::connect(fd, told.to));
    println!("out {}", raw::poll(fd, libc::POLLOUT, -1) & libc::POLLOUT);
    println!("second {}", raw::connect(fd, told.to));
    println!("third {}", raw::connect(fd, told.to));
    raw::poll(fd, libc::POLLIN, -1);
    talk_when_readable(fd);
}

/// Receives with flags; returns the result, and the content of the buffer after that.
fn receive(fd: i32, room: usize, flags: i32) -> String {
    let mut bytes = [b'.'; 16];
    let n = unsafe { libc::recv(fd, bytes.as_mut_ptr().cast(), room, flags) };
    let n = raw::number(n as i64);
    format!("{n} {}", String::from_utf8_lossy(&bytes))
}

/// Receives a message into two buffers; returns the result, what the kernel reports about the message, and the content
/// of the buffers.
fn receive_message(fd: i32, flags: i32) -> String {
    let mut bytes = [b'.'; 16];
    let (one, two) = bytes.split_at_mut(2);
    let part = |part: &mut [u8]| libc::iovec { iov_base: part.as_mut_ptr().cast(), iov_len: part.len() };
    let mut parts = [part(one), part(two)];
    let mut head: libc::msghdr = unsafe { std::mem::zeroed() };
    head.msg_iov = parts.as_mut_ptr();
    head.msg_iovlen = 2;
    head.msg_flags = 77;
    let n = raw::number(unsafe { libc::recvmsg(fd, &raw mut head, flags) } as i64);
    let (controls, told) = (head.msg_controllen, head.msg_flags);
    format!("{n} {controls} {told} {}", String::from_utf8_lossy(&bytes))
}

/// Receives with flags that a Unix socket does not support.
fn receive_flags(told: &Told<'_>) {
    let fd = connected(told.to);
    println!("way {}", raw::read(fd).trim_end());
    println!("errors {}", receive(fd, 16, libc::MSG_ERRQUEUE));
    println!("errors {}", receive_message(fd, libc::MSG_ERRQUEUE));
    assert_eq!(raw::write(fd, "0123456789abcdef"), 16);
    raw::poll(fd, libc::POLLIN, -1);
    println!("errors {}", receive(fd, 16, libc::MSG_ERRQUEUE));
    println!("look {}", receive(fd, 4, libc::MSG_PEEK | libc::MSG_TRUNC));
    println!("away {}", receive(fd, 4, libc::MSG_TRUNC));
    println!("then {}", receive(fd, 3, 0));
    println!("away {}", receive_message(fd, libc::MSG_TRUNC));
    let impatient = libc::MSG_TRUNC | libc::MSG_DONTWAIT;
    println!("empty {}", receive(fd, 4, impatient));
    assert_eq!(raw::write(fd, "xy"), 2);
    println!("waited for {}", receive(fd, 2, libc::MSG_TRUNC | libc::MSG_WAITALL));
    let nothing = unsafe { libc::recv(fd, std::ptr::null_mut(), 1, libc::MSG_TRUNC | libc::MSG_DONTWAIT) };
    println!("nowhere {}", raw::number(nothing as i64));
    println!("no socket {}", receive(1, 4, libc::MSG_TRUNC));
}

/// Connects, dissolves the connection, and connects again.
fn dissolved(told: &Told<'_>) {
    let fd = raw::tcp(told.to);
    let option = (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE);
    println!("early {}", raw::connect_raw(fd, &[0, 0]));
    raw::set_number(fd, option.0, option.1, 55);
    println!("connect {}", raw::connect(fd, told.to));
    talk(fd);
    for n_bytes in [16, 2, 1] {
        println!("away {n_bytes}: {}", raw::connect_raw(fd, &[0; 16][..n_bytes]));
        println!("peer {}", raw::name(true, fd, 28).0);
    }
    println!("write {}", raw::write(fd, "hello"));
    println!("option {:?}", raw::get_number(fd, option.0, option.1));
    println!("connect {}", raw::connect(fd, told.to));
    talk(fd);
}

/// Connects with a port that the kernel has already chosen, as Tcl does.
fn port_of_the_kernel(told: &Told<'_>) {
    let fd = raw::tcp(told.to);
    let any = raw::raw(SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)), 16);
    let bound = unsafe { libc::bind(fd, any.as_ptr().cast(), 16) };
    let (_, before, _) = raw::name(false, fd, 128);
    println!("bind {bound} connect {}", raw::connect(fd, told.to));
    let (_, after, _) = raw::name(false, fd, 128);
    println!("own port stays {}", before[2..4] == after[2..4]);
    talk(fd);
}

/// Connects with a port that the program has chosen, without an address.
fn port_alone(told: &Told<'_>) {
    let free = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 0)).unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let fd = raw::tcp(told.to);
    let own = raw::raw(SocketAddr::from((Ipv4Addr::UNSPECIFIED, port)), 16);
    let bound = unsafe { libc::bind(fd, own.as_ptr().cast(), 16) };
    println!("bind {bound} connect {}", raw::connect(fd, told.to));
    let (_, bytes, _) = raw::name(false, fd, 16);
    println!("own port {}", bytes[2..4] == port.to_be_bytes());
    talk(fd);
}

/// Connects with a bound address, for which the kernel chooses the port at `connect`.
fn bound_later(told: &Told<'_>) {
    let fd = raw::tcp(told.to);
    let yes = 1_i32;
    let length = size_of::<i32>() as libc::socklen_t;
    let option = libc::IP_BIND_ADDRESS_NO_PORT;
    let set = unsafe { libc::setsockopt(fd, libc::SOL_IP, option, (&raw const yes).cast(), length) };
    let own = raw::raw(SocketAddr::from(([127, 0, 0, 2], 0)), 16);
    let bound = unsafe { libc::bind(fd, own.as_ptr().cast(), 16) };
    println!("{set} {bound} connect {}", raw::connect(fd, told.to));
    let (_, bytes, _) = raw::name(false, fd, 16);
    println!("own address {:?}", &bytes[4..8]);
    talk(fd);
}

fn talk_when_readable(fd: i32) {
    println!("way {}", raw::read(fd).trim_end());
    assert_eq!(raw::write(fd, "hello"), 5);
    raw::poll(fd, libc::POLLIN, -1);
    println!("echo {}", raw::read(fd));
    println!("empty {}", raw::read(fd));
}

fn second(told: &Told<'_>) {
    let fd = connected(told.to);
    println!("second {}", raw::connect(fd, told.to));
    println!("third {}", raw::connect(fd, told.to));
    talk(fd);
}

fn lengths(told: &Told<'_>) {
    for room in [16, 28, 64, 128] {
        let fd = raw::tcp(told.to);
        println!("{room}: {}", raw::connect_raw(fd, &raw::raw(told.to, room)));
        talk(fd);
    }
    for room in [0, 2, 8, 15, 129, 1000] {
        let fd = raw::tcp(told.to);
        println!("{room}: {}", raw::connect_raw(fd, &raw::raw(told.to, room)));
    }
}

/// Connects with an address in memory that cannot be written to.
fn read_only(told: &Told<'_>) {
    let bytes = raw::raw(told.to, 16);
    unsafe {
        let page = libc::mmap(
            std::ptr::null_mut(),
            4096,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        // At the very end of the page: nothing beyond the address can be read.
        let place = page.cast::<u8>().add(4096 - 16);
        place.copy_from(bytes.as_ptr(), 16);
        libc::mprotect(page, 4096, libc::PROT_READ);
        let fd = raw::tcp(told.to);
        let slice = std::slice::from_raw_parts(place, 16);
        println!("connect {}", raw::connect_raw(fd, slice));
        talk(fd);
    }
}

fn bad_address(told: &Told<'_>) {
    let fd = raw::tcp(told.to);
    let result = unsafe { libc::connect(fd, 16 as *const libc::sockaddr, 16) };
    println!("bad pointer {}", raw::number(result.into()));
    println!("bad descriptor {}", raw::connect(-1, told.to));
    println!("closed descriptor {}", raw::connect(999, told.to));
    println!("no socket {}", raw::connect(1, told.to));
    // At the end of the program's memory, with lengths that extend beyond it.
    let beyond = unsafe {
        let (read, write) = (libc::PROT_READ, libc::PROT_WRITE);
        let pages =
            libc::mmap(std::ptr::null_mut(), 8192, read | write, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0);
        libc::munmap(pages.add(4096), 4096);
        pages.add(4096).cast::<u8>()
    };
    let bytes = raw::raw(told.to, 16);
    for (n_there, n_told) in [(8, 16), (16, 28), (16, 128)] {
        let place = unsafe { beyond.sub(n_there) };
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, n_there) };
        let result = unsafe { libc::connect(fd, place.cast(), n_told) };
        println!("{n_told} beyond {n_there} {}", raw::number(result.into()));
    }
    println!("after {}", raw::connect(fd, told.to));
    talk(fd);
}

/// Connects to an IPv4 address inside an IPv6 one: first with a socket only for IPv6, then with a socket for both
/// families.
fn one_family(told: &Told<'_>) {
    let fd = raw::socket(libc::AF_INET6, libc::SOCK_STREAM);
    for is_alone in [1, 0] {
        println!("set {}", raw::set_number(fd, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, is_alone));
        println!("connect {}", raw::connect(fd, told.to));
    }
    talk(fd);
}

fn udp(told: &Told<'_>) {
    let server = UdpSocket::bind(told.to).unwrap();
    let fd = raw::socket(libc::AF_INET, libc::SOCK_DGRAM);
    println!("connect {}", raw::connect(fd, told.to));
    assert_eq!(raw::write(fd, "hi"), 2);
    println!("got {}", server.recv(&mut [0; 8]).unwrap());
}

fn unmapped(_: &Told<'_>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let fd = connected(listener.local_addr().unwrap());
    println!("second {}", raw::connect(fd, listener.local_addr().unwrap()));
    let (mut accepted, peer) = listener.accept().unwrap();
    println!("peer {}", peer.ip());
    std::io::Write::write_all(&mut accepted, b"hi").unwrap();
    println!("got {}", raw::read(fd));
}

/// Connects to a port on which no process listens, then to the server, with the same socket.
fn refused_then_mapped(told: &Told<'_>) {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let fd = raw::tcp(told.to);
    println!("refused {}", raw::connect(fd, closed));
    println!("mapped {}", raw::connect(fd, told.to));
    talk(fd);
}

fn half_close(told: &Told<'_>) {
    let fd = connected(told.to);
    println!("way {}", raw::read(fd).trim_end());
    assert_eq!(raw::write(fd, "hello"), 5);
    println!("echo {}", raw::read(fd));
    println!("shutdown {}", unsafe { libc::shutdown(fd, libc::SHUT_WR) });
    println!("write {}", raw::write(fd, "x"));
    println!("end {:?}", raw::read(fd));
}

fn bound(told: &Told<'_>) {
    let fd = raw::tcp(told.to);
    let own = raw::raw(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0), 16);
    println!("bind {}", unsafe { libc::bind(fd, own.as_ptr().cast(), 16) });
    let (_, before, _) = raw::name(false, fd, 16);
    println!("connect {}", raw::connect(fd, told.to));
    let (_, after, _) = raw::name(false, fd, 16);
    println!("same name {}", before == after);
    talk(fd);
}

fn wrong_family(told: &Told<'_>) {
    let fd = raw::socket(libc::AF_INET, libc::SOCK_STREAM);
    let other = SocketAddr::new("::ffff:127.0.0.1".parse().unwrap(), told.to.port());
    println!("v6 address {}", raw::connect(fd, other));
    let fd = raw::socket(libc::AF_INET6, libc::SOCK_STREAM);
    let (result, way) = (raw::connect(fd, told.to), raw::read(fd));
    println!("v4 address {result} {}", way.starts_with("error"));
    let fd = raw::socket(libc::AF_UNIX, libc::SOCK_STREAM);
    println!("unix socket {}", raw::connect(fd, told.to));
}

fn names(told: &Told<'_>) {
    let fd = connected(told.to);
    for room in [128, 28, 16, 8, 2, 0] {
        let (result, bytes, n) = raw::name(true, fd, room);
        println!("peer {room}: {result} {bytes:?} {n}");
        let (result, mut bytes, n) = raw::name(false, fd, room);
        // The port is different each time.
        let n_shown = bytes.len().min(room);
        if n_shown >= 4 {
            println!("has port {}", bytes[2..4] != [0, 0]);
            bytes[2..4].fill(0);
        }
        println!("own {room}: {result} {bytes:?} {n}");
    }
    let (_, one, _) = raw::name(false, fd, 28);
    let (_, two, _) = raw::name(false, fd, 28);
    println!("stays {}", one == two);
    let copy = unsafe { libc::dup(fd) };
    println!("copy {}", raw::name(false, copy, 28).1 == one);
    talk(fd);
}

fn bad_names(told: &Told<'_>) {
    let fd = connected(told.to);
    let place = |at: usize| at as *mut libc::sockaddr;
    let mut room: libc::sockaddr_in6 = unsafe { std::mem::zeroed() };
    let good = (&raw mut room).cast::<libc::sockaddr>();
    let call = |address, length: *mut u32| {
        let own = raw::number(unsafe { libc::getsockname(fd, address, length) }.into());
        let peer = raw::number(unsafe { libc::getpeername(fd, address, length) }.into());
        println!("{own} {peer}");
    };
    let mut n = 28;
    call(place(16), &raw mut n);
    call(good, std::ptr::null_mut());
    let mut negative = -1_i32 as u32;
    call(good, &raw mut negative);
    let mut none = 0;
    call(place(16), &raw mut none);
    println!("{:?}", raw::name(true, -1, 16).0);
    println!("{:?}", raw::name(true, 1, 16).0);
}

fn account(told: &Told<'_>) {
    let fd = connected(told.to);
    println!("way {}", raw::read(fd).trim_end());
}

/// A server in the program itself: names and options of its connections are the kernel's.
fn listen(_: &Told<'_>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let client = std::net::TcpStream::connect(address).unwrap();
    let (server, peer) = listener.accept().unwrap();
    server.set_nodelay(true).unwrap();
    println!("{}", server.nodelay().unwrap());
    println!("{}", client.local_addr().unwrap() == peer);
    println!("{}", server.local_addr().unwrap() == address);
}

/// Prints the state that this program was started with.
fn inheritance(_: &Told<'_>) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    for line in status.lines() {
        if line.starts_with("Umask") {
            println!("{line}");
        }
    }
    println!("alarm {}", unsafe { libc::alarm(0) } / 100);
    println!("nice {}", unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) });
    println!("parent's death {}", {
        let mut signal = 0;
        unsafe { libc::prctl(libc::PR_GET_PDEATHSIG, &raw mut signal) };
        signal
    });
}

/// Closes its output and descriptor 9, which it was given, and waits for the end of its input.
fn closes(told: &Told<'_>) {
    talk(connected(told.to));
    raw::close(9);
    raw::close(1);
    for line in std::io::stdin().lines() {
        line.unwrap();
    }
}

fn forever(told: &Told<'_>) {
    let first = connected(told.to);
    talk(first);
    for line in std::io::stdin().lines() {
        let fd = connected(told.to);
        talk(fd);
        raw::close(fd);
        echo(first);
        println!("did {}", line.unwrap());
    }
}
