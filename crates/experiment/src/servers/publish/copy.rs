//! The copy loop: each connection has two threads, and each thread moves the bytes of one direction through a kernel
//! pipe.

use std::convert::Infallible;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::thread;

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, pipe_with, splice};

/// Maximum number of bytes that are moved in one call: the capacity of a pipe.
const MOST_BYTES: usize = 64 << 10;

/// For each connection that arrives at `listener`, opens a connection to `to` and copies the bytes between the two.
/// Runs until the process is killed.
///
/// # Errors
/// Accepting fails permanently.
pub fn serve(listener: &TcpListener, to: SocketAddr) -> io::Result<Infallible> {
    loop {
        match listener.accept() {
            Ok((client, _)) => {
                // If a client cannot be served, its connection is closed, and the client sees this.
                thread::Builder::new().spawn(move || relay(&client, to)).ok();
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Relays one connection until both sides have closed it.
fn relay(client: &TcpStream, to: SocketAddr) -> io::Result<()> {
    let server = TcpStream::connect(to)?;
    for end in [client, &server] {
        end.set_nodelay(true)?;
    }
    thread::scope(|scope| {
        let answers = scope.spawn(|| copy(&server, client));
        let questions = copy(client, &server);
        let answers = answers.join().unwrap_or(Ok(()));
        questions.and(answers)
    })
}

/// Moves the bytes of one direction. At the end of the data, or after an error, closes the sending direction of `to`.
fn copy(from: &TcpStream, to: &TcpStream) -> io::Result<()> {
    let copied = splice_all(from, to);
    // `to` may already be closed.
    to.shutdown(Shutdown::Write).ok();
    if copied.is_err() {
        from.shutdown(Shutdown::Read).ok();
    }
    copied
}

fn splice_all(from: &TcpStream, to: &TcpStream) -> io::Result<()> {
    let (out, into) = pipe_with(PipeFlags::CLOEXEC)?;
    loop {
        let mut n_left = match splice(from, None, &into, None, MOST_BYTES, SpliceFlags::MOVE) {
            Ok(0) => return Ok(()),
            Ok(n_bytes) => n_bytes,
            Err(Errno::INTR) => continue,
            Err(errno) => return Err(errno.into()),
        };
        while n_left > 0 {
            match splice(&out, None, to, None, n_left, SpliceFlags::MOVE) {
                Ok(n_bytes) => n_left -= n_bytes,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn bytes_arrive_whole_both_ways_and_so_does_the_end() {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = server.local_addr().unwrap();
        let proxy = TcpListener::bind("127.0.0.1:0").unwrap();
        let on = proxy.local_addr().unwrap();
        thread::spawn(move || serve(&proxy, to));
        let echo = thread::spawn(move || {
            let (mut peer, _) = server.accept().unwrap();
            let mut all = Vec::new();
            peer.read_to_end(&mut all).unwrap();
            peer.write_all(&all).unwrap();
        });
        let sent: Vec<u8> = (0..1_000_000_u32).map(|it| it as u8).collect();
        let mut client = TcpStream::connect(on).unwrap();
        client.write_all(&sent).unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let mut back = Vec::new();
        client.read_to_end(&mut back).unwrap();
        assert!(back == sent);
        echo.join().unwrap();
    }
}
