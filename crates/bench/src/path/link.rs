//! One open connection: a socket with time limits, and what the kernel says about it.

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

/// So often a server that closes may still be heard: last words fit into a read or two.
const MOST_LAST_READS: usize = 64;

#[derive(Debug)]
pub struct Link {
    raw: Raw,
    facts: LinkFacts,
    io_limit: Duration,
    /// The TLS session that seals the bytes, once TLS has started.
    tls: Option<Box<ClientConnection>>,
}

/// A socket without time limits, and what its bytes are sealed with, if they are.
pub struct Unlimited {
    pub fd: OwnedFd,
    /// The records' state; every byte goes through it.
    pub seal: Option<Seal>,
}

impl Link {
    /// Connects and asks the kernel what it got.
    ///
    /// # Errors
    /// [`PathError::ConnectUnix`] or [`PathError::ConnectTcp`]; [`PathError::Option`] when the
    /// kernel refuses an option.
    pub fn open(endpoint: &Endpoint, limits: Limits) -> Result<Self, PathError> {
        Self::connect(endpoint, limits, facts)
    }

    /// The same without the facts that cost a system call each, except for the address family: buffer sizes are 0, and
    /// the peer stays unknown. Of [`Arm::Redirect`] the family stays unknown too: the process that moves the connection
    /// would answer the call, with the family that the socket was opened with. It may receive ahead, so its socket must
    /// not be handed on.
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
        let facts = facts(fd.as_fd()).map_err(option("read the properties"))?;
        Ok(Self { raw: Raw::new(fd, endpoint.clone(), limits.io), facts, io_limit: limits.io, tls: None })
    }

    /// Starts TLS: whatever is read and written afterwards is sealed.
    ///
    /// # Errors
    /// Those of the socket; [`io::ErrorKind::InvalidData`] where the peer does not speak it or is not trusted.
    pub fn start_tls(&mut self, client: &TlsClient) -> io::Result<()> {
        let mut tls = Box::new(client.connection().map_err(invalid)?);
        while tls.is_handshaking() {
            tls.complete_io(&mut self.raw)?;
        }
        self.facts.tls = Some(TlsFacts::from_connection(&tls));
        self.tls = Some(tls);
        Ok(())
    }

    /// Asks the kernel again what this is, from the calling thread: where it was opened by one whose calls
    /// somebody else answers ([`Arm::Redirect`]), only another thread hears the truth.
    ///
    /// # Errors
    /// [`PathError::Option`] when the kernel does not tell.
    pub fn look_again(&mut self) -> Result<(), PathError> {
        let found = facts(self.raw.fd.as_fd())
            .map_err(|source| PathError::Option { action: "read the properties", source: source.into() })?;
        self.facts = LinkFacts { tls: self.facts.tls.take(), ..found };
        Ok(())
    }

    /// The kernel's facts about the connection at its opening.
    pub fn facts(&self) -> &LinkFacts {
        &self.facts
    }

    /// Where it leads.
    pub fn endpoint(&self) -> &Endpoint {
        &self.raw.endpoint
    }

    /// Gathers small packets again, as TCP does unless told otherwise (Nagle's algorithm). Does nothing
    /// on a Unix socket.
    ///
    /// # Errors
    /// [`PathError::Option`] when the kernel refuses.
    pub fn leave_nodelay(&mut self) -> Result<(), PathError> {
        if self.facts.nodelay.is_some() {
            sockopt::set_tcp_nodelay(&self.raw.fd, false)
                .map_err(|source| PathError::Option { action: "switch TCP_NODELAY off", source: source.into() })?;
            self.facts.nodelay = Some(false);
        }
        Ok(())
    }

    /// Leaves it to each receive how long it may take: for requests that are measured.
    pub(crate) fn wait_for_each(&mut self) {
        self.raw.patience = None;
    }

    /// The flag to set when the login over it has ended: a login has a separate time limit.
    pub fn is_logged_in(&self) -> Arc<AtomicBool> {
        let patience = self.raw.patience.as_ref();
        patience.map_or_else(Arc::default, Patience::is_logged_in)
    }

    /// System calls for data so far.
    pub fn calls(&self) -> Calls {
        self.raw.calls
    }

    /// Says `goodbye`, closes this end, and waits until the peer has closed its own.
    ///
    /// As with any client that closes first, it is this end that stays in `TIME_WAIT`.
    ///
    /// # Errors
    /// [`WireError::Timeout`] when the peer does not close, [`WireError::Malformed`] when it goes on
    /// talking.
    pub(crate) fn end(mut self, goodbye: &[u8]) -> Result<Calls, WireError> {
        const ACTION: &str = "wait for the server to close";
        // A peer that is gone already needs no goodbye; the read tells.
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
                    // TLS has its own last record, which many servers neither send nor wait for.
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

    /// The socket, for the load engine: without time limits, which would set a kernel timer for each wait.
    ///
    /// # Errors
    /// [`PathError::Option`] when the kernel refuses to lift them.
    pub fn into_unlimited(self) -> Result<Unlimited, PathError> {
        let fd = self.raw.fd;
        for timeout in [sockopt::Timeout::Recv, sockopt::Timeout::Send] {
            sockopt::set_socket_timeout(&fd, timeout, None)
                .map_err(|source| PathError::Option { action: "lift a time limit", source: source.into() })?;
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
