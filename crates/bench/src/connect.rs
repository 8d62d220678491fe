//! How the load engine gets its connections: a trait that the crate `experiment` implements.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use looptax_model::failure::Failure;
use looptax_model::stats::Side;
use looptax_wire::{Codec, Draws};

/// The process and thread that serve a connection inside the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Worker {
    /// The process, whose CPU clock is read.
    pub pid: u32,
    /// The thread, for pinning; if the server has a process per connection, the same number as `pid`.
    pub tid: u32,
}

/// A connection whose transport is proved, logged in and prepared for load.
pub struct Wired {
    pub fd: OwnedFd,
    pub codec: Box<dyn Codec>,
    /// The layer that encrypts and decrypts the connection's bytes; `None` without encryption.
    pub records: Option<Box<dyn Records>>,
    /// The worker that serves the connection, if known.
    pub worker: Option<Worker>,
    /// Whether looptax may pin the worker.
    pub may_pin: bool,
}

/// The layer that a connection's bytes pass through: TLS.
///
/// # Cost
/// Both methods run once per message in the measured loop, and their time is part of the measurement.
pub trait Records: Send {
    /// Encrypts `plain` and appends the result to `sealed`.
    ///
    /// # Errors
    /// If the connection is over.
    fn seal(&mut self, plain: &[u8], sealed: &mut Vec<u8>) -> io::Result<()>;

    /// Decrypts received bytes and appends their data to `plain`. The last record may be incomplete; the next call then
    /// has the rest of this record.
    ///
    /// # Errors
    /// If a record was changed on its way.
    fn open(&mut self, sealed: &[u8], plain: &mut Vec<u8>) -> io::Result<()>;
}

/// A request that opens its own connection, uses it once and closes it.
///
/// The load engine repeats it and times it from outside.
pub trait OneShotClient: Send {
    /// Performs the whole request with random numbers from `draws`. Returns after the client and the server have closed
    /// the connection. The request has its own time limits.
    ///
    /// # Errors
    /// Any error of the request; it ends the run.
    fn run(&mut self, draws: &mut dyn Draws) -> Result<OneShotCalls, Failure>;
}

/// The number of system calls with which one request sent and received its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OneShotCalls {
    pub sends: u64,
    pub receives: u64,
}

/// The clients of an epoch in which every request opens its own connection.
pub struct OneShotClients {
    /// The one-shot clients, `[baseline, other]`.
    pub sides: [Vec<Box<dyn OneShotClient>>; 2],
    /// The server that the clients connect to, if known.
    pub server_pid: Option<u32>,
    /// Processes that the server started in advance. Any of them may serve a request, so looptax pins them together
    /// with the server.
    pub standing_pids: Vec<u32>,
    /// Whether looptax may pin all threads of the server. Any of these threads may serve a request, and looptax cannot
    /// know in advance which one.
    pub may_pin: bool,
}

/// A thread that can start client threads, which then inherit its properties, such as its network namespace.
pub trait Origin: Send + Sync {
    /// Runs `job` on the origin's thread. If the thread has ended, `job` is dropped and does not run.
    fn run(&self, job: Box<dyn FnOnce() + Send>);
}

/// A process that does part of the work of one side's connections; its CPU time counts as the client's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Helper {
    pub pid: u32,
    /// Whether looptax pins the helper, and all processes that the helper has started, to the server's cores. A pooler
    /// may have a process for each client.
    pub sits_with_server: bool,
}

/// By side: the origin that starts the side's client threads; `None` if the coordinator starts them.
pub type Origins = [Option<Arc<dyn Origin>>; 2];

/// Why an epoch has no connections.
#[derive(Debug)]
pub enum ConnectError {
    /// A connection could not be opened or proved.
    Connection(Failure),
    /// The server refuses the requests that the connections are to send.
    Refused(Failure),
}

impl<E: Into<Failure>> From<E> for ConnectError {
    fn from(error: E) -> Self {
        Self::Connection(error.into())
    }
}

pub trait Connector {
    /// Returns the origins from which the client threads of contrast `contrast_idx` are started. If at least one side
    /// has an origin, each side has separate client threads.
    fn origins(&self, _contrast_idx: usize) -> Origins {
        [None, None]
    }

    /// Returns the helpers of contrast `contrast_idx`, by side.
    fn helpers(&self, _contrast_idx: usize) -> [Option<Helper>; 2] {
        [None, None]
    }

    /// Returns the epoch's one-shot clients if every request opens its own connection. Otherwise returns `None`, and
    /// [`Connector::connect`] is then called with the same arguments. Before an implementation returns clients, it
    /// proves as much about the arms as it can.
    ///
    /// # Errors
    /// As [`Connector::connect`].
    fn one_shot_clients(
        &mut self,
        _contrast_idx: usize,
        _first: Side,
        _coins: u64,
        _n: usize,
    ) -> Result<Option<OneShotClients>, ConnectError> {
        Ok(None)
    }

    /// Opens `n` connections for each side of contrast `contrast_idx` and proves each of them. Starts with the side
    /// `first`. `coins` are this epoch's random bits, for any other random decision about the epoch's connections.
    ///
    /// # Errors
    /// The reason why a connection could not be opened or proved; it ends the run.
    fn connect(
        &mut self,
        contrast_idx: usize,
        first: Side,
        coins: u64,
        n: usize,
    ) -> Result<[Vec<Wired>; 2], ConnectError>;
}
