//! A program that connects on request. It gets its orders over a socket that is not redirected, and reports over which
//! transport it connected.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread;

use super::{Case, Told};
use crate::raw;

pub(super) const CASES: &[Case] = &[("on-demand", on_demand)];

/// Starts `n_threads` threads, each with a connection to the test that controls it.
fn on_demand(told: &Told<'_>) {
    let control = &told.words[0];
    let n_threads = told.words[1].parse().unwrap();
    thread::scope(|scope| {
        for _ in 0..n_threads {
            scope.spawn(|| obey(UnixStream::connect(control).unwrap()));
        }
    });
}

fn obey(mut control: UnixStream) {
    let lines = BufReader::new(control.try_clone().unwrap()).lines();
    let mut open = -1;
    for line in lines {
        let line = line.unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        let answer = match words[..] {
            ["dial", address, n] => dial(address.parse().unwrap(), n.parse().unwrap()),
            // A non-blocking `connect`, which `again` repeats.
            ["begin", address] => {
                let address: SocketAddr = address.parse().unwrap();
                let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK;
                open = raw::socket(raw::family(address), kind);
                let begun = raw::connect(open, address);
                raw::poll(open, libc::POLLOUT, -1);
                begun.to_string()
            }
            ["again", address] => raw::connect(open, address.parse().unwrap()).to_string(),
            _ => panic!("{line}"),
        };
        writeln!(control, "{answer}").unwrap();
    }
}

/// Returns how many connections used TCP, and how many the socket.
fn dial(address: SocketAddr, n: usize) -> String {
    let mut ways = [0, 0];
    for _ in 0..n {
        let mut stream = TcpStream::connect(address).unwrap();
        let mut first = [0; 4];
        stream.read_exact(&mut first).unwrap();
        ways[usize::from(&first == b"unix")] += 1;
    }
    format!("{} {}", ways[0], ways[1])
}
