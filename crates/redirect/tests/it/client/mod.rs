//! The program that is supervised: runs one case with sockets and prints the results.
//!
//! Lines `way …` show over which transport the server was reached; all other lines must be the same in a plain run and
//! in a moved run.

mod changes;
mod descriptors;
mod events;
mod many;
mod on_demand;
mod options;
mod plain;

use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::process::ExitCode;

use crate::raw;

/// The arguments of a case: the server's address, and further words.
pub(crate) struct Told<'a> {
    pub(crate) to: SocketAddr,
    pub(crate) words: &'a [String],
}

type Case = (&'static str, fn(&Told<'_>));

pub(crate) fn main(words: &[String]) -> ExitCode {
    let told = Told { to: words[1].parse().unwrap(), words: &words[2..] };
    let cases = [
        plain::CASES,
        descriptors::CASES,
        events::CASES,
        options::CASES,
        many::CASES,
        on_demand::CASES,
        changes::CASES,
    ];
    let mut cases = cases.into_iter().flatten();
    let (_, run) = cases.find(|(name, _)| *name == words[0]).unwrap();
    run(&told);
    ExitCode::SUCCESS
}

/// Connects as most programs do.
pub(crate) fn connected(to: SocketAddr) -> RawFd {
    let fd = raw::tcp(to);
    assert_eq!(raw::connect(fd, to), 0);
    fd
}

/// Prints the greeting, then sends text that the server must echo.
pub(crate) fn talk(fd: RawFd) {
    println!("way {}", raw::read(fd).trim_end());
    echo(fd);
}

/// Sends text that the server must echo.
pub(crate) fn echo(fd: RawFd) {
    assert_eq!(raw::write(fd, "hello"), 5);
    println!("echo {}", raw::read(fd));
}
