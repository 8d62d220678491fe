//! A server that says back what it hears, and clients that check every byte.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::thread;

/// The address that is spliced, and the one that is not.
pub(crate) const SPLICED: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);
pub(crate) const PLAIN: Ipv4Addr = Ipv4Addr::LOCALHOST;

/// Starts a server in a thread; its address.
pub(crate) fn echo_server(on: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind(on).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            thread::spawn(move || echo(stream));
        }
    });
    address
}

/// A server on both addresses, with one port.
pub(crate) fn echo_server_on_both() -> (SocketAddrV4, SocketAddrV4) {
    loop {
        let spliced = TcpListener::bind((SPLICED, 0)).unwrap();
        let port = spliced.local_addr().unwrap().port();
        // Somebody may have the port on the other address.
        if TcpListener::bind((PLAIN, port)).is_err() {
            continue;
        }
        drop(spliced);
        for on in [SPLICED, PLAIN] {
            echo_server((on, port).into());
        }
        return (
            SocketAddrV4::new(SPLICED, port),
            SocketAddrV4::new(PLAIN, port),
        );
    }
}

/// A server on the spliced address.
pub(crate) fn spliced_server() -> SocketAddrV4 {
    v4(echo_server((SPLICED, 0).into()))
}

pub(crate) fn v4(address: SocketAddr) -> SocketAddrV4 {
    match address {
        SocketAddr::V4(address) => address,
        SocketAddr::V6(address) => panic!("{address} is no IPv4 address"),
    }
}

/// Lets a listener's connections begin with their first message.
pub(crate) fn defer_accept(listener: &TcpListener) {
    let seconds: libc::c_int = 10;
    // SAFETY: the option is a live int of this size.
    let result = unsafe {
        libc::setsockopt(
            listener.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_DEFER_ACCEPT,
            (&raw const seconds).cast(),
            size_of_val(&seconds) as u32,
        )
    };
    assert_eq!(result, 0);
}

/// Bytes that this end has sent through TCP and that have arrived.
///
/// # Source
/// linux/tcp.h: `tcpi_bytes_acked` is at byte 120 of `tcp_info`; libc's structure ends before.
pub(crate) fn n_bytes_over_tcp(stream: &TcpStream) -> u64 {
    let mut info = [0_u64; 24];
    let mut n_bytes = size_of_val(&info) as u32;
    // SAFETY: the option is written to live memory of at most this size.
    let result = unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut n_bytes,
        )
    };
    assert_eq!(result, 0);
    info[120 / 8]
}

fn echo(mut stream: TcpStream) {
    stream.set_nodelay(true).unwrap();
    let mut buffer = vec![0; 256 * 1024];
    while let Ok(n) = stream.read(&mut buffer) {
        if n == 0 || stream.write_all(&buffer[..n]).is_err() {
            return;
        }
    }
}

/// A connection without delays.
pub(crate) fn connect(to: SocketAddrV4) -> TcpStream {
    let stream = TcpStream::connect(to).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// Sends so many messages of these sizes in turn, each after the reply to the one before.
pub(crate) fn ping_pong(stream: &mut TcpStream, n_messages: u64, sizes: &[usize]) {
    let mut bytes = Pattern(u64::from(stream.local_addr().unwrap().port()));
    for size in sizes.iter().cycle().take(n_messages as usize) {
        let message = bytes.next(*size);
        stream.write_all(&message).unwrap();
        let mut reply = vec![0; *size];
        stream.read_exact(&mut reply).unwrap();
        assert!(message == reply, "another reply of {size} bytes");
    }
}

/// Bytes without end that are the same for the same start (Knuth's MMIX generator).
pub(crate) struct Pattern(pub(crate) u64);

impl Pattern {
    pub(crate) fn next(&mut self, n_bytes: usize) -> Vec<u8> {
        let mut byte = || {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 56) as u8
        };
        (0..n_bytes).map(|_| byte()).collect()
    }
}
