//! The names and options of a socket.

use super::calls::{Turn, World, slot};
use super::program::Coin;
use crate::raw;

/// Returns a name as text, with its port as `cut`, `none`, `server's` or `own`.
fn told_name(world: &World, (result, mut bytes, n_told): (i64, Vec<u8>, u32), room: usize) -> String {
    // The last written bytes may be equal to the bytes that were in the buffer before.
    bytes.resize(if result == 0 { room.min(n_told as usize) } else { 0 }, 0xee);
    let port = bytes.get(2..4).map(|it| u16::from_be_bytes([it[0], it[1]]));
    let port = match port {
        None => "cut",
        Some(0) => "none",
        Some(port) if port == world.to.port() => "server's",
        Some(_) => "own",
    };
    let rest: Vec<u8> = bytes.iter().copied().take(2).chain(bytes.iter().copied().skip(4)).collect();
    format!("{result} {rest:?} {n_told} {port}")
}

pub(super) fn name(coin: &mut Coin) -> Turn {
    let (at, is_peer) = (slot(coin), coin.below(2) == 0);
    let room = coin.one_of(&[16, 28, 128, 4, 0]);
    Box::new(move |world| {
        let what = if is_peer { "getpeername" } else { "getsockname" };
        let told = raw::name(is_peer, world.slots[at], room);
        format!("{what} {at} {room}: {}", told_name(world, told, room))
    })
}

/// Options, each with the highest number of bytes of its value that is printed.
const OPTIONS: [(i32, i32, usize); 35] = [
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
    (libc::SOL_SOCKET, libc::SO_INCOMING_CPU, 4),
    (libc::SOL_SOCKET, 9_999, 4),
    (libc::IPPROTO_TCP, libc::TCP_NODELAY, 4),
    (libc::IPPROTO_TCP, libc::TCP_CORK, 4),
    (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, 4),
    (libc::IPPROTO_TCP, libc::TCP_KEEPCNT, 4),
    (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT, 4),
    (libc::IPPROTO_TCP, libc::TCP_SYNCNT, 4),
    (libc::IPPROTO_TCP, libc::TCP_LINGER2, 4),
    (libc::IPPROTO_TCP, libc::TCP_CONGESTION, 16),
    (libc::IPPROTO_TCP, libc::TCP_FASTOPEN, 4),
    (libc::IPPROTO_TCP, libc::TCP_FASTOPEN_CONNECT, 4),
    (libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, 4),
    (libc::IPPROTO_TCP, libc::TCP_MAXSEG, 4),
    (libc::IPPROTO_TCP, libc::TCP_INFO, 1),
    (libc::IPPROTO_TCP, libc::TCP_ULP, 4),
    (libc::IPPROTO_TCP, 9_999, 4),
    (libc::IPPROTO_IP, libc::IP_TOS, 4),
    (libc::IPPROTO_IP, libc::IP_TTL, 4),
    (libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 4),
    (libc::IPPROTO_IPV6, libc::IPV6_UNICAST_HOPS, 4),
];

pub(super) fn get(coin: &mut Coin) -> Turn {
    let at = slot(coin);
    let (level, option, room) = coin.one_of(&OPTIONS);
    let room = if coin.below(8) == 0 { 2.min(room) } else { room };
    Box::new(move |world| {
        let told = raw::get(world.slots[at], level, option, room);
        format!("getsockopt {at} {level} {option} {room}: {told:?}")
    })
}

pub(super) fn set(coin: &mut Coin) -> Turn {
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
