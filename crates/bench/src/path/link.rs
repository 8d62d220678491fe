//! One open connection: a socket with time limits, and what the kernel reports about it.

mod calls;
mod facts;
mod patience;
mod raw;
mod socket;

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use looptax_model::dsn::Arm;
use looptax_wire::WireError;
use rustix::io::Errno;
use rustix::net::{Shutdown, shutdown, sockopt};
use rustls::ClientConnection;

use crate::path::tls::{Seal, TlsClient, TlsFacts, invalid};
use crate::path::{Endpoint, PathError, silence};
pub use calls::Calls;
pub use facts::{Limits, LinkFacts};
use patience::Patience;
pub(crate) use patience::{part_of, patiently};
use raw::Raw;
pub(crate) use socket::connect_tcp;
use socket::{brief_facts, connect, facts, no_facts};

/// At most this many reads from a server that is about to close the connection. Its last bytes fit into one or two
/// reads.
const MOST_LAST_READS: usize = 64;

#[derive(Debug)]
pub struct Link {
    raw: Raw,
    facts: LinkFacts,
    io_limit: Duration,
    /// The TLS session that encrypts the bytes, once TLS has started.
    tls: Option<Box<ClientConnection>>,
}

/// A socket without time limits, and the TLS state of its bytes, if it has TLS.
pub struct Unlimited {
    pub fd: OwnedFd,
    /// The TLS state, which encrypts and decrypts every byte.
    pub seal: Option<Seal>,
}

impl Link {
    /// Connects, and asks the kernel for the facts of the connection.
    ///
    /// # Errors
    /// [`PathError::ConnectUnix`] or [`PathError::ConnectTcp`]; [`PathError::Option`] if the kernel refuses an option.
    pub fn open(endpoint: &Endpoint, limits: Limits) -> Result<Self, PathError> {
        Self::connect(endpoint, limits, facts)
    }

    /// Like [`Link::open`], but asks the kernel only for the address family. So the buffer sizes are 0, and the peer is
    /// unknown.
    ///
    /// For [`Arm::Redirect`], looptax does not ask for the family either: the supervisor that moves the connection
    /// would answer in place of the kernel, and report the family with which the socket was opened.
    ///
    /// The link may hold received bytes that its caller has not read yet, so its socket must not be passed on.
    ///
    /// # Errors
    /// As [`Link::open`].
    pub(crate) fn open_briefly(arm: Arm, endpoint: &Endpoint, limits: Limits) -> Result<Self, PathError> {
        let facts = match arm {
            Arm::Redirect => no_facts,
            _ => brief_facts,
        };
        let mut link = Self::connect(endpoint, limits, facts)?;
        link.raw.receive_ahead();
        Ok(link)
    }

    fn connect(
        endpoint: &Endpoint,
        limits: Limits,
        facts: fn(BorrowedFd<'_>) -> Result<LinkFacts, Errno>,
    ) -> Result<Self, PathError> {
        silence::refuse(endpoint)?;
        let fd = connect(endpoint, limits)?;
        let option = |action| move |source: Errno| PathError::Option { action, source: source.into() };
        for timeout in [sockopt::Timeout::Recv, sockopt::Timeout::Send] {
            sockopt::set_socket_timeout(&fd, timeout, Some(part_of(limits.io))).map_err(option("set a time limit"))?;
        }
        let facts = facts(fd.as_fd()).map_err(option("read the socket options"))?;
        Ok(Self { raw: Raw::new(fd, endpoint.clone(), limits.io), facts, io_limit: limits.io, tls: None })
    }

    /// Starts TLS: all bytes that are written and read afterwards are encrypted.
    ///
    /// # Errors
    /// The errors of the socket; [`io::ErrorKind::InvalidData`] if the peer does not speak TLS or is not trusted.
    pub fn start_tls(&mut self, client: &TlsClient) -> io::Result<()> {
        let mut tls = Box::new(client.connection().map_err(invalid)?);
        while tls.is_handshaking() {
            tls.complete_io(&mut self.raw)?;
        }
        self.facts.tls = Some(TlsFacts::from_connection(&tls));
        self.tls = Some(tls);
        Ok(())
    }

    /// Asks the kernel again for the facts, from the calling thread. With [`Arm::Redirect`], another process answers
    /// some system calls of the thread that opened the connection. Only a different thread then gets the kernel's own
    /// answer.
    ///
    /// # Errors
    /// [`PathError::Option`] if the kernel does not report the facts.
    pub fn look_again(&mut self) -> Result<(), PathError> {
        let found = facts(self.raw.fd.as_fd())
            .map_err(|source| PathError::Option { action: "read the socket options", source: source.into() })?;
        self.facts = LinkFacts { tls: self.facts.tls.take(), ..found };
        Ok(())
    }

    /// Returns the facts that the kernel reported when the connection was opened.
    pub fn facts(&self) -> &LinkFacts {
        &self.facts
    }

    pub fn endpoint(&self) -> &Endpoint {
        &self.raw.endpoint
    }

    /// Lets TCP combine small packets again, as it does by default (Nagle's algorithm). Does nothing on a Unix socket.
    ///
    /// # Errors
    /// [`PathError::Option`] if the kernel refuses.
    pub fn leave_nodelay(&mut self) -> Result<(), PathError> {
        if self.facts.nodelay.is_some() {
            sockopt::set_tcp_nodelay(&self.raw.fd, false)
                .map_err(|source| PathError::Option { action: "switch TCP_NODELAY off", source: source.into() })?;
            self.facts.nodelay = Some(false);
        }
        Ok(())
    }

    /// Replaces the time limit of a whole answer with a limit for each receive. Measured requests need this.
    pub(crate) fn wait_for_each(&mut self) {
        self.raw.patience = None;
    }

    /// Returns the flag that must be set when the login over this link has ended. Until then, the time limit of a login
    /// applies.
    pub fn is_logged_in(&self) -> Arc<AtomicBool> {
        let patience = self.raw.patience.as_ref();
        patience.map_or_else(Arc::default, Patience::is_logged_in)
    }

    /// Returns the number of system calls for data so far.
    pub fn calls(&self) -> Calls {
        self.raw.calls
    }

    /// Sends `goodbye`, closes this end, and waits until the peer has closed its end.
    ///
    /// The end that closes first stays in `TIME_WAIT`. Here our end closes first.
    ///
    /// # Errors
    /// [`WireError::Timeout`] if the peer does not close; [`WireError::Malformed`] if the peer keeps on sending.
    pub(crate) fn end(mut self, goodbye: &[u8]) -> Result<Calls, WireError> {
        const ACTION: &str = "wait for the server to close";
        // If the peer has already closed, the write may fail; the read below shows it.
        let _ = self.write_all(goodbye);
        if let Some(tls) = &mut self.tls {
            tls.send_close_notify();
            let _ = tls.complete_io(&mut self.raw);
        }
        let _ = shutdown(&self.raw.fd, Shutdown::Write);
        let mut rest = [0; 256];
        for _ in 0..MOST_LAST_READS {
            match self.read(&mut rest) {
                Ok(0) => return Ok(self.raw.calls),
                Ok(_) => {}
                Err(error) => match error.kind() {
                    // TLS has its own last record, but many servers neither send it nor wait for it.
                    io::ErrorKind::ConnectionReset | io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe => {
                        return Ok(self.raw.calls);
                    }
                    io::ErrorKind::Interrupted => {}
                    io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
                        return Err(WireError::Timeout { action: ACTION, after: self.io_limit });
                    }
                    _ => {
                        return Err(WireError::Io { action: ACTION, source: error });
                    }
                },
            }
        }
        Err(WireError::Malformed {
            protocol: "this",
            action: ACTION,
            expected: "the end of the connection",
            found: "more and more bytes".to_owned(),
        })
    }

    /// Returns the socket for the load engine, without time limits, because a limit would set a kernel timer for each
    /// wait.
    ///
    /// # Errors
    /// [`PathError::Option`] if the kernel refuses to remove the limits.
    pub fn into_unlimited(self) -> Result<Unlimited, PathError> {
        let fd = self.raw.fd;
        for timeout in [sockopt::Timeout::Recv, sockopt::Timeout::Send] {
            sockopt::set_socket_timeout(&fd, timeout, None)
                .map_err(|source| PathError::Option { action: "remove a time limit", source: source.into() })?;
        }
        Ok(Unlimited { fd, seal: self.tls.map(Seal::new) })
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.raw.fd.as_fd()
    }
}

impl Read for Link {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.raw.read(buffer),
            Some(tls) => rustls::Stream::new(&mut **tls, &mut self.raw).read(buffer),
        }
    }
}

impl Write for Link {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match &mut self.tls {
            None => self.raw.write(buffer),
            Some(tls) => rustls::Stream::new(&mut **tls, &mut self.raw).write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.tls {
            None => Ok(()),
            Some(tls) => rustls::Stream::new(&mut **tls, &mut self.raw).flush(),
        }
    }
}
