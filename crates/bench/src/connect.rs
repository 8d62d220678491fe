//! Where connections come from: a trait that the command line fulfils.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use looptax_model::failure::Failure;
use looptax_model::stats::Side;
use looptax_wire::{Codec, Draws};

/// Who serves a connection inside the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Worker {
    /// The process, for its CPU clock.
    pub pid: u32,
    /// The thread (for a process per connection: the same number), for pinning.
    pub tid: u32,
}

/// A proved connection, logged in and prepared, ready for load.
pub struct Wired {
    pub fd: OwnedFd,
    pub codec: Box<dyn Codec>,
    /// The layer that changes its bytes on their way; `None` if they travel unchanged.
    pub records: Option<Box<dyn Records>>,
    /// Who serves it, where known.
    pub worker: Option<Worker>,
    /// Whether we may pin the worker.
    pub may_pin: bool,
}

/// The layer that a connection's bytes pass through: TLS.
///
/// # Cost
/// Both members run once per message in the measured loop, and are part of what is measured.
pub trait Records: Send {
    /// Writes `plain` as it travels at the end of `sealed`.
    ///
    /// # Errors
    /// When the connection is over.
    fn seal(&mut self, plain: &[u8], sealed: &mut Vec<u8>) -> io::Result<()>;

    /// Takes what has come, of which the last record may go on in the next call, and writes what is in it at the
    /// end of `plain`.
    ///
    /// # Errors
    /// When it was changed on its way.
    fn open(&mut self, sealed: &[u8], plain: &mut Vec<u8>) -> io::Result<()>;
}

/// A request that brings its own connection: opened, used and closed in one go.
///
/// The load engine repeats it and times it from outside.
pub trait OneShotClient: Send {
    /// Does all of it, with the numbers that `draws` gives, and returns when the server has closed, too. Has its own
    /// time limits.
    ///
    /// # Errors
    /// Whatever went wrong; the run ends with it.
    fn run(&mut self, draws: &mut dyn Draws) -> Result<OneShotCalls, Failure>;
}

/// System calls that one request took for data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OneShotCalls {
    pub sends: u64,
    pub receives: u64,
}

/// The clients of an epoch whose requests bring their own connections.
pub struct OneShotClients {
    /// One per client, `[baseline, other]`.
    pub sides: [Vec<Box<dyn OneShotClient>>; 2],
    /// The server that they connect to, if known.
    pub server_pid: Option<u32>,
    /// Processes that it started beforehand, of which any may serve: they are pinned as it is.
    pub standing_pids: Vec<u32>,
    /// Whether looptax may pin all its threads: it is not known beforehand which of them will serve.
    pub may_pin: bool,
}

/// A thread that client threads can be started from, so that what holds for it holds for them.
pub trait Origin: Send + Sync {
    /// Runs a job on that thread. A job that is dropped was not run: the thread has ended.
    fn run(&self, job: Box<dyn FnOnce() + Send>);
}

/// A process that does part of the work of one side's connections: its CPU time counts as the client's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Helper {
    pub pid: u32,
    /// Whether it is put on the server's cores, with all processes that it has started: a pooler may have one for each
    /// client.
    pub sits_with_server: bool,
}

/// By side: the origin from which its client threads are started, if it is not the coordinator.
pub type Origins = [Option<Arc<dyn Origin>>; 2];

/// Why an epoch has no connections.
#[derive(Debug)]
pub enum ConnectError {
    /// One could not be opened or proved.
    Connection(Failure),
    /// The server refuses what they are to ask.
    Refused(Failure),
}

impl<E: Into<Failure>> From<E> for ConnectError {
    fn from(error: E) -> Self {
        Self::Connection(error.into())
    }
}

pub trait Connector {
    /// The origins from which the client threads of contrast `contrast_idx` are started. If a side has one, each side
    /// has its own client threads.
    fn origins(&self, _contrast_idx: usize) -> Origins {
        [None, None]
    }

    /// The helpers of contrast `contrast_idx`, by side.
    fn helpers(&self, _contrast_idx: usize) -> [Option<Helper>; 2] {
        [None, None]
    }

    /// The epoch's one-shot clients, if requests bring their own connections; else `None`, and [`Connector::connect`]
    /// is called with the same arguments. Proves about the arms as much as it can.
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

    /// Opens `n` connections for each side of contrast `contrast_idx`, those of `first` before the
    /// others', and proves every one of them. `coins` are random bits of this epoch, for whatever else
    /// chance has to decide about its connections.
    ///
    /// # Errors
    /// Whatever kept a connection from being opened or proved; the run ends with it.
    fn connect(
        &mut self,
        contrast_idx: usize,
        first: Side,
        coins: u64,
        n: usize,
    ) -> Result<[Vec<Wired>; 2], ConnectError>;
}
