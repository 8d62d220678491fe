//! Operations on sockets: making, naming and connecting them, reading and setting options.

use std::ffi::{OsStr, c_int, c_long};
use std::io;
use std::mem::size_of;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use super::{checked, new_fd};
use crate::mapping::{Owner, SocketName};

/// A socket's address as bytes, with room for the longest address.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawName {
    bytes: [u8; size_of::<libc::sockaddr_storage>()],
    n_bytes: usize,
}

impl RawName {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.n_bytes.min(self.bytes.len())]
    }

    pub(crate) fn family(&self) -> i32 {
        i32::from(u16::from_ne_bytes([self.bytes[0], self.bytes[1]]))
    }
}

/// Makes a new stream socket of a family; closed on exec, non-blocking.
pub(crate) fn stream(family: c_int) -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: only numbers are passed.
    new_fd(unsafe { libc::socket(family, kind, 0) }.into())
}

/// Returns a Unix address in the kernel's format, and its length.
fn unix_name(name: &[u8], is_abstract: bool) -> ([u8; size_of::<libc::sockaddr_un>()], usize) {
    let mut bytes = [0; size_of::<libc::sockaddr_un>()];
    bytes[..2].copy_from_slice(&(libc::AF_UNIX as u16).to_ne_bytes());
    let start = 2 + usize::from(is_abstract);
    bytes[start..start + name.len()].copy_from_slice(name);
    // A path is followed by a zero byte, which is counted; an abstract name has no final zero.
    let n_bytes = start + name.len() + usize::from(!is_abstract);
    (bytes, n_bytes)
}

pub(crate) fn bind_abstract(socket: BorrowedFd<'_>, name: &[u8]) -> io::Result<()> {
    let (bytes, n_bytes) = unix_name(name, true);
    // SAFETY: the address is a live array, and its length is within it.
    let result = unsafe { libc::bind(socket.as_raw_fd(), bytes.as_ptr().cast(), n_bytes as libc::socklen_t) };
    checked(result.into()).map(drop)
}

pub(crate) fn connect(socket: BorrowedFd<'_>, to: &SocketName) -> io::Result<()> {
    let (bytes, n_bytes) = match to {
        SocketName::Path(path) => unix_name(path.as_os_str().as_bytes(), false),
        SocketName::Abstract(name) => unix_name(name, true),
    };
    // SAFETY: the address is a live array, and its length is within it.
    let result = unsafe { libc::connect(socket.as_raw_fd(), bytes.as_ptr().cast(), n_bytes as libc::socklen_t) };
    checked(result.into()).map(drop)
}

/// Returns the user that called `listen` at the other end of a connected Unix socket, and the name to which the other
/// end is bound.
///
/// # Source
/// unix(7): `SO_PEERCRED`; and `getpeername`, for an abstract name and for a path, which ends with a zero.
pub(crate) fn owner(socket: BorrowedFd<'_>) -> io::Result<Owner> {
    let mut bytes = [0; size_of::<libc::ucred>()];
    option(socket, libc::SOL_SOCKET, libc::SO_PEERCRED, &mut bytes)?;
    // Three numbers of four bytes: process, user and group.
    let [_, _, _, _, u0, u1, u2, u3, ..] = bytes;
    let name = name_by(socket, libc::getpeername)?;
    Ok(Owner {
        uid: u32::from_ne_bytes([u0, u1, u2, u3]),
        bound: match name.bytes().get(2..).unwrap_or_default() {
            [0, name @ ..] => SocketName::Abstract(name.to_vec()),
            [path @ .., 0] | path => SocketName::Path(OsStr::from_bytes(path).into()),
        },
    })
}

/// Returns the name to which a socket is bound.
pub(crate) fn own_name(socket: BorrowedFd<'_>) -> io::Result<RawName> {
    name_by(socket, libc::getsockname)
}

type AskName = unsafe extern "C" fn(c_int, *mut libc::sockaddr, *mut libc::socklen_t) -> c_int;

fn name_by(socket: BorrowedFd<'_>, ask: AskName) -> io::Result<RawName> {
    let mut bytes = [0; size_of::<libc::sockaddr_storage>()];
    let mut n_bytes = bytes.len() as libc::socklen_t;
    // SAFETY: the array is as long as its length says.
    let result = unsafe { ask(socket.as_raw_fd(), bytes.as_mut_ptr().cast(), &raw mut n_bytes) };
    checked(result.into())?;
    Ok(RawName { bytes, n_bytes: n_bytes as usize })
}

/// Reads an option into `value`; returns the number of bytes.
pub(crate) fn option(socket: BorrowedFd<'_>, level: c_int, name: c_int, value: &mut [u8]) -> io::Result<usize> {
    let mut n_bytes = value.len() as libc::socklen_t;
    // SAFETY: the buffer is a live slice of the given length.
    let result =
        unsafe { libc::getsockopt(socket.as_raw_fd(), level, name, value.as_mut_ptr().cast(), &raw mut n_bytes) };
    checked(result.into())?;
    Ok(n_bytes as usize)
}

/// Reads an option that is a number.
pub(crate) fn number(socket: BorrowedFd<'_>, level: c_int, name: c_int) -> io::Result<i32> {
    let mut bytes = [0; 4];
    option(socket, level, name, &mut bytes)?;
    Ok(i32::from_ne_bytes(bytes))
}

/// Reads an option that is a cookie.
pub(crate) fn cookie(socket: BorrowedFd<'_>, name: c_int) -> io::Result<u64> {
    let mut bytes = [0; 8];
    option(socket, libc::SOL_SOCKET, name, &mut bytes)?;
    Ok(u64::from_ne_bytes(bytes))
}

pub(crate) fn set_option(socket: BorrowedFd<'_>, level: c_int, name: c_int, value: &[u8]) -> io::Result<()> {
    // SAFETY: the value is a live slice of the given length.
    let result = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, name, value.as_ptr().cast(), value.len() as libc::socklen_t)
    };
    checked(result.into()).map(drop)
}

/// Makes a TCP socket in exactly the state in which the kernel leaves a socket whose connection was dissolved: the
/// socket's next use reports a reset.
pub(crate) fn dissolved(family: c_int) -> io::Result<OwnedFd> {
    let loopback = |port: u16| match family {
        libc::AF_INET => SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        _ => SocketAddr::from((Ipv6Addr::LOCALHOST, port)),
    };
    let listener = TcpListener::bind(loopback(0))?;
    let connected = TcpStream::connect(listener.local_addr()?)?;
    connected.set_nonblocking(true)?;
    dissolve(connected.as_fd())?;
    Ok(connected.into())
}

/// Receives into `room`; returns the number of bytes, 0 at the end.
pub(crate) fn receive(socket: BorrowedFd<'_>, room: &mut [u8], flags: c_int) -> io::Result<usize> {
    // SAFETY: the buffer is a live slice of the given length.
    let n = unsafe { libc::recv(socket.as_raw_fd(), room.as_mut_ptr().cast(), room.len(), flags) };
    checked(n as c_long).map(|n| n as usize)
}

/// Returns whether a socket that is not connected has a port that its program chose. A port that the kernel chose does
/// not count. Nor does a port from an earlier attempt, which the kernel still shows although the socket has given it
/// up.
///
/// This check gives up a port that the kernel chose: a program that continues over TCP gets another port. The socket
/// listens for a moment, at a port that no program knows.
///
/// # Source
/// `__inet_bind`: only a socket without a port can be bound. `tcp_set_state`: a socket that stops listening keeps its
/// port only if that was requested by number.
pub(crate) fn has_chosen_port(socket: BorrowedFd<'_>, family: c_int) -> io::Result<bool> {
    if bind_to_nothing(socket, family).is_ok() {
        return Ok(false);
    }
    // SAFETY: only numbers are passed.
    checked(unsafe { libc::listen(socket.as_raw_fd(), 0) }.into())?;
    dissolve(socket)?;
    Ok(bind_to_nothing(socket, family).is_err())
}

/// Binds a socket to the unspecified address, without reserving a port. Fails if the socket has a port.
fn bind_to_nothing(socket: BorrowedFd<'_>, family: c_int) -> io::Result<()> {
    // This option of IPv4 applies to both families. With this option, binding does not reserve a port.
    let (level, name) = (libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT);
    let before = number(socket, level, name)?;
    set_option(socket, level, name, &1_i32.to_ne_bytes())?;
    let mut address = [0; size_of::<libc::sockaddr_in6>()];
    address[..2].copy_from_slice(&(family as u16).to_ne_bytes());
    // SAFETY: the address is a live array as long as the longest of both families.
    let result = unsafe { libc::bind(socket.as_raw_fd(), address.as_ptr().cast(), address.len() as libc::socklen_t) };
    let bound = checked(result.into()).map(drop);
    set_option(socket, level, name, &before.to_ne_bytes())?;
    bound
}

/// Connects a socket to no address, which dissolves its connection.
fn dissolve(socket: BorrowedFd<'_>) -> io::Result<()> {
    let nothing = [0_u8; 16];
    // SAFETY: the address is a live array of the given length.
    let result = unsafe { libc::connect(socket.as_raw_fd(), nothing.as_ptr().cast(), 16) };
    checked(result.into()).map(drop)
}

/// Returns the status flags of a descriptor's file (`O_NONBLOCK` and others).
pub(crate) fn status_flags(fd: BorrowedFd<'_>) -> io::Result<c_int> {
    // SAFETY: only numbers are passed.
    let flags = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GETFL) };
    checked(flags.into()).map(|flags| flags as c_int)
}

pub(crate) fn set_status_flags(fd: BorrowedFd<'_>, flags: c_int) -> io::Result<()> {
    // SAFETY: only numbers are passed.
    checked(unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags) }.into()).map(drop)
}

/// Returns a socket's time limit for sending, in milliseconds, rounded up; 0 means no limit.
pub(crate) fn send_timeout_ms(socket: BorrowedFd<'_>) -> io::Result<u64> {
    timeout_ms(socket, libc::SO_SNDTIMEO)
}

/// Returns a socket's time limit for receiving, in milliseconds, rounded up; 0 means no limit.
pub(crate) fn receive_timeout_ms(socket: BorrowedFd<'_>) -> io::Result<u64> {
    timeout_ms(socket, libc::SO_RCVTIMEO)
}

fn timeout_ms(socket: BorrowedFd<'_>, name: c_int) -> io::Result<u64> {
    let mut bytes = [0; size_of::<libc::timeval>()];
    option(socket, libc::SOL_SOCKET, name, &mut bytes)?;
    let (seconds, micros) = bytes.split_at(size_of::<libc::time_t>());
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes);
    Ok(number(seconds) * 1_000 + number(micros).div_ceil(1_000))
}

/// Connects, and waits for a place in the listener's queue; the socket is non-blocking before and after this.
pub(crate) fn connect_patiently(socket: BorrowedFd<'_>, to: &SocketName, patience_ms: u64) -> io::Result<()> {
    let limit = |ms: u64| {
        let mut bytes = [0; size_of::<libc::timeval>()];
        let (seconds, micros) = bytes.split_at_mut(size_of::<libc::time_t>());
        seconds.copy_from_slice(&(ms / 1_000).to_ne_bytes());
        micros.copy_from_slice(&(ms % 1_000 * 1_000).to_ne_bytes());
        bytes
    };
    let name = libc::SO_SNDTIMEO;
    set_option(socket, libc::SOL_SOCKET, name, &limit(patience_ms))?;
    set_status_flags(socket, 0)?;
    let connected = connect(socket, to);
    set_status_flags(socket, libc::O_NONBLOCK)?;
    set_option(socket, libc::SOL_SOCKET, name, &limit(0))?;
    connected
}
