//! System calls for the client, as a C program makes them: errors are numbers.

use std::mem::size_of;
use std::net::SocketAddr;
use std::os::fd::RawFd;

/// Returns the result, or the negative error number.
pub(crate) fn number(result: i64) -> i64 {
    if result < 0 { -i64::from(std::io::Error::last_os_error().raw_os_error().unwrap()) } else { result }
}

pub(crate) fn socket(family: i32, kind: i32) -> RawFd {
    number(unsafe { libc::socket(family, kind, 0) }.into()) as RawFd
}

/// Returns a TCP socket for the address's family.
pub(crate) fn tcp(address: SocketAddr) -> RawFd {
    socket(family(address), libc::SOCK_STREAM)
}

pub(crate) fn family(address: SocketAddr) -> i32 {
    if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 }
}

/// Returns the address in the kernel's form, with a length of `room` bytes.
pub(crate) fn raw(address: SocketAddr, room: usize) -> Vec<u8> {
    let mut bytes = vec![0; 28];
    bytes[..2].copy_from_slice(&(family(address) as u16).to_ne_bytes());
    bytes[2..4].copy_from_slice(&address.port().to_be_bytes());
    match address {
        SocketAddr::V4(it) => bytes[4..8].copy_from_slice(&it.ip().octets()),
        SocketAddr::V6(it) => bytes[8..24].copy_from_slice(&it.ip().octets()),
    }
    bytes.resize(room, 0);
    bytes
}

pub(crate) fn connect_raw(fd: RawFd, bytes: &[u8]) -> i64 {
    number(unsafe { libc::connect(fd, bytes.as_ptr().cast(), bytes.len() as u32) }.into())
}

pub(crate) fn connect(fd: RawFd, address: SocketAddr) -> i64 {
    let room = if address.is_ipv4() { 16 } else { 28 };
    connect_raw(fd, &raw(address, room))
}

/// Reads text; returns an error as its number.
pub(crate) fn read(fd: RawFd) -> String {
    let mut bytes = [0; 256];
    let n = number(unsafe { libc::read(fd, bytes.as_mut_ptr().cast(), bytes.len()) } as i64);
    if n < 0 { format!("error {n}") } else { String::from_utf8_lossy(&bytes[..n as usize]).into_owned() }
}

pub(crate) fn write(fd: RawFd, text: &str) -> i64 {
    let flags = libc::MSG_NOSIGNAL;
    number(unsafe { libc::send(fd, text.as_ptr().cast(), text.len(), flags) } as i64)
}

pub(crate) fn close(fd: RawFd) {
    unsafe { libc::close(fd) };
}

pub(crate) fn set_number(fd: RawFd, level: i32, name: i32, value: i32) -> i64 {
    set(fd, level, name, &value.to_ne_bytes())
}

pub(crate) fn set(fd: RawFd, level: i32, name: i32, value: &[u8]) -> i64 {
    let (place, n) = (value.as_ptr().cast(), value.len() as u32);
    number(unsafe { libc::setsockopt(fd, level, name, place, n) }.into())
}

pub(crate) fn get(fd: RawFd, level: i32, name: i32, room: usize) -> (i64, Vec<u8>) {
    let mut value = vec![0_u8; room];
    let mut n = room as u32;
    let place = value.as_mut_ptr().cast();
    let result = unsafe { libc::getsockopt(fd, level, name, place, &raw mut n) };
    value.truncate(n as usize);
    (number(result.into()), value)
}

pub(crate) fn get_number(fd: RawFd, level: i32, name: i32) -> (i64, i32) {
    let (result, value) = get(fd, level, name, 4);
    (result, i32::from_ne_bytes(value.try_into().unwrap()))
}

/// Reads the peer's name or our own; returns the result, the written bytes, and the returned length.
pub(crate) fn name(is_peer: bool, fd: RawFd, room: usize) -> (i64, Vec<u8>, u32) {
    let mut bytes = vec![0xee_u8; 128];
    let mut n = room as u32;
    let place = bytes.as_mut_ptr().cast();
    let result = unsafe {
        if is_peer { libc::getpeername(fd, place, &raw mut n) } else { libc::getsockname(fd, place, &raw mut n) }
    };
    let n_written = bytes.iter().rposition(|byte| *byte != 0xee).map_or(0, |at| at + 1);
    bytes.truncate(n_written);
    (number(result.into()), bytes, n)
}

/// Returns the user, group and supplementary groups of the other end.
pub(crate) fn peer_account(fd: RawFd) -> String {
    let (_, bytes) = get(fd, libc::SOL_SOCKET, libc::SO_PEERCRED, size_of::<libc::ucred>());
    let word = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
    let (result, groups) = get(fd, libc::SOL_SOCKET, libc::SO_PEERGROUPS, 1024);
    assert_eq!(result, 0);
    let mut groups: Vec<u32> = groups.chunks_exact(4).map(|it| u32::from_ne_bytes(it.try_into().unwrap())).collect();
    groups.sort_unstable();
    format!("uid={} gid={} groups={groups:?}", word(4), word(8))
}

pub(crate) fn epoll() -> RawFd {
    number(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) }.into()) as RawFd
}

pub(crate) fn epoll_ctl(queue: RawFd, what: i32, fd: RawFd, events: i32, data: u64) -> i64 {
    let mut event = libc::epoll_event { events: events as u32, u64: data };
    number(unsafe { libc::epoll_ctl(queue, what, fd, &raw mut event) }.into())
}

/// Waits for the next event; returns its bits and data, or zeroes if there is none in time.
pub(crate) fn epoll_wait(queue: RawFd, patience_ms: i32) -> (u32, u64) {
    let mut event = libc::epoll_event { events: 0, u64: 0 };
    let n = unsafe { libc::epoll_wait(queue, &raw mut event, 1, patience_ms) };
    if n == 1 { (event.events, event.u64) } else { (0, 0) }
}

pub(crate) fn poll(fd: RawFd, events: i16, patience_ms: i32) -> i16 {
    let mut it = libc::pollfd { fd, events, revents: 0 };
    unsafe { libc::poll(&raw mut it, 1, patience_ms) };
    it.revents
}
