//! The sources of an epoch's requests: connections that last as long as the epoch, or one-shot clients.

use looptax_model::stats::Side;

use super::held::{Held, shared_cores};
use crate::connect::{ConnectError, Connector, OneShotClients, Wired, Worker};
use crate::cores::{CoreMap, pin_process, pin_tree};
use crate::error::BenchError;
use crate::load::{AnswerLimits, ClientThread, Connection, Load};
use crate::plan::{Course, ServerThreads};
use crate::schedule::EpochDraw;
use crate::server_cpu::ServerMeter;
use crate::slices::EpochOrder;

/// Number of untimed requests on each new connection, unless there are very many connections.
const PRIMING: u64 = 20;
/// From this number of connections on, [`PRIMING_MANY`] requests on each connection are enough to warm the caches that
/// the connections share.
const MANY_CONNECTIONS: usize = 256;
const PRIMING_MANY: u64 = 5;
/// Untimed one-shot requests per client: there is no connection to warm up, and each request takes as long as dozens of
/// requests on an open connection.
const PRIMING_ONE_SHOTS: u64 = 2;

/// The connections or one-shot clients that the client threads use.
pub(super) enum Connections {
    /// Connections that last for the epoch, `[baseline, other]`.
    Kept([Vec<Wired>; 2]),
    /// Clients whose requests open their own connections.
    OneShots(OneShotClients),
}

impl Connections {
    /// Gets the connections or clients of an epoch from the connector.
    pub(super) fn open(connector: &mut dyn Connector, order: &EpochOrder, course: &Course) -> Result<Self, BenchError> {
        let (idx, n) = (order.contrast_idx, course.connections);
        let EpochDraw { first, coins, .. } = order.draw;
        let opened = connector.one_shot_clients(idx, first, coins, n);
        let opened = opened.and_then(|clients| match clients {
            Some(clients) => Ok(Self::OneShots(clients)),
            None => connector.connect(idx, first, coins, n).map(Self::Kept),
        });
        opened.map_err(|error| match error {
            ConnectError::Refused(failure) => BenchError::Slice(failure),
            ConnectError::Connection(source) => BenchError::Connect { contrast: course.names[idx].clone(), source },
        })
    }

    /// Returns the number of untimed requests of each client before the first slice.
    pub(super) fn n_priming(&self, n_connections: usize) -> u64 {
        match self {
            Self::OneShots(_) => PRIMING_ONE_SHOTS,
            Self::Kept(_) if n_connections >= MANY_CONNECTIONS => PRIMING_MANY,
            Self::Kept(_) => PRIMING,
        }
    }

    /// Returns the cores that the server's threads can be pinned to. `None` if the threads are not known, if the
    /// threads also serve other clients, or if the kernel does not allow looptax to pin the threads.
    pub(super) fn cores_to_hold(&self, cores: &[usize]) -> Option<Vec<usize>> {
        match self {
            Self::Kept(sides) => {
                let all = sides.iter().flatten();
                let workers: Option<Vec<Worker>> = all.map(|one| one.worker.filter(|_| one.may_pin)).collect();
                shared_cores(workers?.into_iter(), cores)
            }
            Self::OneShots(clients) => (clients.may_pin && clients.server_pid.is_some()).then(|| cores.to_vec()),
        }
    }

    /// Pins the server's threads to the cores in `map`, until the returned value is dropped.
    pub(super) fn pin(&self, threads: ServerThreads, map: &CoreMap, cores: &[usize]) -> Result<Held, BenchError> {
        let first = map.server.first().copied().flatten();
        let mut held = Held::default();
        let pinned = match self {
            Self::Kept(sides) if matches!(threads, ServerThreads::Any | ServerThreads::Tree) => {
                let own = sides.iter().flatten().filter(|one| one.may_pin);
                let mut pids: Vec<u32> = own.filter_map(|one| Some(one.worker?.pid)).collect();
                pids.dedup();
                let pin = |pid| match threads {
                    ServerThreads::Tree => pin_tree(pid, first, cores),
                    _ => pin_process(pid, first, cores),
                };
                pids.into_iter().try_for_each(pin)
            }
            Self::Kept(sides) => sides.iter().try_for_each(|wired| {
                wired.iter().zip(&map.server).try_for_each(|(one, core)| match (one.worker, core) {
                    (Some(worker), Some(core)) if one.may_pin => held.pin(worker, *core),
                    _ => Ok(()),
                })
            }),
            Self::OneShots(clients) => match (clients.server_pid, clients.may_pin) {
                (Some(pid), true) => {
                    let mut pids = [pid].into_iter().chain(clients.standing_pids.iter().copied());
                    pids.try_for_each(|pid| pin_process(pid, first, cores))
                }
                _ => Ok(()),
            },
        };
        pinned.map_err(|source| BenchError::Machine { action: "pin a server thread", source })?;
        Ok(held)
    }

    /// Returns the worker that serves each connection, `[baseline, other]`; empty if at least one worker is not known.
    pub(super) fn workers(&self) -> [Vec<Worker>; 2] {
        match self {
            Self::Kept(sides) => sides.each_ref().map(|side| {
                let workers: Option<Vec<Worker>> = side.iter().map(|one| one.worker).collect();
                workers.unwrap_or_default()
            }),
            Self::OneShots(_) => [Vec::new(), Vec::new()],
        }
    }

    /// Returns the readers of the server's counters, `[baseline, other]`.
    pub(super) fn meters(&self, threads: ServerThreads) -> [ServerMeter; 2] {
        match self {
            Self::Kept([baseline, other]) => [baseline, other].map(|side| ServerMeter::new(side, threads)),
            Self::OneShots(clients) => [0, 1].map(|_| ServerMeter::of_tree(clients.server_pid)),
        }
    }

    /// Distributes connections or one-shot clients over the threads. There are `n_threads` threads for both sides
    /// together, or `n_threads` for each side.
    pub(super) fn deal(self, threads: &mut [ClientThread], n_threads: usize, limits: AnswerLimits, load: &Load) {
        let first = |side: Side| (side.idx() * n_threads) % threads.len();
        let first = Side::BOTH.map(first);
        match self {
            Self::Kept(sides) => {
                for (side, wired) in Side::BOTH.into_iter().zip(sides) {
                    for (connection_idx, wired) in wired.into_iter().enumerate() {
                        let connection = Connection::new(wired, limits, load.keys(connection_idx, side, 0));
                        let thread = &mut threads[first[side.idx()] + connection_idx % n_threads];
                        thread.connections[side.idx()].push(connection);
                    }
                }
            }
            Self::OneShots(clients) => {
                for (side, clients) in Side::BOTH.into_iter().zip(clients.sides) {
                    let threads = &mut threads[first[side.idx()]..];
                    for (thread, client) in threads.iter_mut().zip(clients) {
                        thread.one_shot_clients[side.idx()] = Some(client);
                    }
                }
            }
        }
    }
}
