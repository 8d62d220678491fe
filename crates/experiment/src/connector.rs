//! Opens and proves the connections of an epoch, over which the load engine reaches a target.

mod one_shots;
mod sessions;

use std::io;
use std::os::unix::fs::MetadataExt;

use looptax_bench::path::{
    Conversation, Limits, LinkFacts, PathError, Proof, Relayed, Seal, ServerView, Unlimited, prove,
};
use looptax_bench::{ConnectError, Connector, Helper, OneShotClients, Origins, Records, ServerThreads, Wired, Worker};
use looptax_host::kernel;
use looptax_host::lent::Lent;
use looptax_host::processes::of_thread;
use looptax_model::dsn::{Arm, Protocol};
use looptax_model::failure::{Explain, Failure};
use looptax_model::stats::Side;
use looptax_wire::Codec;

use crate::arms::redirect::NotMoved;
use crate::script::ScriptCodec;
use crate::target::Target;
use crate::target::load_limits::others_running;

/// The limit for other clients' running queries is twice their number at the start, and at least twice this constant,
/// because a small number may double by chance.
const LEAST_DOUBLED: u64 = 4;

/// The proof of an arm, taken from the first connection of the last epoch.
#[derive(Debug, Clone)]
pub struct ArmProof {
    pub facts: LinkFacts,
    pub proof: Proof,
}

/// The connections to one target, for pairs of arms.
pub struct TargetConnector<'a> {
    target: &'a Target,
    pairs: Vec<[Arm; 2]>,
    limits: Limits,
    /// Number of other clients' queries that a running server was executing when the measurement began.
    others_at_first: Option<u64>,
    /// Number of connections that have been prepared for load so far.
    pub n_prepared: u64,
    pub proofs: Vec<[Option<ArmProof>; 2]>,
    /// The threads of a running server that may be pinned in this epoch; empty for a private server.
    lent: Vec<u32>,
}

impl<'a> TargetConnector<'a> {
    /// Makes a connector for `pairs` of arms, with one pair per contrast.
    pub fn new(target: &'a Target, pairs: Vec<[Arm; 2]>) -> Self {
        let proofs = pairs.iter().map(|_| [None, None]).collect();
        Self {
            target,
            pairs,
            limits: Limits::default(),
            others_at_first: None,
            n_prepared: 0,
            proofs,
            lent: Vec::new(),
        }
    }

    /// Opens the connections of one side. If several processes serve the side's arm, the epoch's random bits select one
    /// of them.
    fn open(&self, contrast_idx: usize, side: Side, coins: u64, n: usize) -> Result<Vec<Conversation>, Failure> {
        let arm = self.pairs[contrast_idx][side.idx()];
        let endpoints = self.target.endpoints(arm)?;
        let endpoint = endpoints[picked(coins, side, endpoints.len())].clone();
        let endpoint = self.target.arms.seen_from_there(arm, endpoint);
        let links = self.target.arms.open(arm, &endpoint, self.limits, n)?;
        let converse = |link| {
            let conversation = self.target.converse_over(arm, link, self.limits);
            conversation.map_err(cut_off)
        };
        links.into_iter().map(converse).collect()
    }

    /// Checks, by the supervisor's counts, that all connections of the arm `redirect` were moved to the socket.
    ///
    /// # Errors
    /// `NotMoved` if a connection was not moved, or if the supervisor counted another number of connections.
    pub fn check(&self) -> Result<(), NotMoved> {
        self.target.arms.check_moved()
    }

    /// Makes the codec of the workload, or of the user's own script, for one connection of a side.
    fn codec(&self, conversation: &mut Conversation, idx: usize) -> Result<Box<dyn Codec>, PathError> {
        match &self.target.script {
            None => conversation.codec(&self.target.workload, self.target.sending),
            Some(script) => Ok(Box::new(ScriptCodec::prepare(
                conversation,
                &script.set,
                self.target.sending.sent,
                script.presets(idx),
            )?)),
        }
    }

    /// Asks the servers how they see both sides' connections. If one server serves both sides, looptax asks it once.
    /// Otherwise looptax asks the process of each side; looptax must have started both processes, and both must be of
    /// the same kind.
    fn server_views(
        &self,
        conversations: &mut [Vec<Conversation>; 2],
        pair: [Arm; 2],
    ) -> Result<[ServerView; 2], PathError> {
        let ids = |conversations: &[Conversation]| -> Vec<u64> {
            conversations.iter().map(Conversation::connection_id).collect()
        };
        let [baseline_ids, other_ids] = conversations.each_ref().map(|side| ids(side));
        if self.target.is_pooled {
            return self.pooled_views(conversations, pair);
        }
        if self.target.processes_per_arm().is_none() {
            let asked = conversations[0][0].server_view(&[&*baseline_ids, &*other_ids].concat());
            let view = match asked {
                Err(error) if error.is_untold() => {
                    let listener = self.target.pid();
                    ServerView::by_kernel(conversations.iter().flatten(), listener)
                        .ok_or_else(|| error.also_unseen())?
                }
                asked => asked?,
            };
            let [baseline, other] = conversations.each_mut().map(|side| &mut side[0]);
            let is_told = other_ids.iter().all(|id| view.lists(*id));
            if is_told || baseline.protocol() != Protocol::Mysql {
                return Ok([view.clone(), view]);
            }
            // An account without the privilege PROCESS sees only its own connections, and the server may choose another
            // account over the socket. So each side's connections are looked up over a connection of that side.
            let of_other = other.server_view(&other_ids)?;
            let is_one = of_other.identity == view.identity && baseline.is_one_server_with(other)?;
            let of_other = if is_one { of_other } else { view.clone() };
            return Ok([view, of_other]);
        }
        let [baseline, other] = conversations.each_mut().map(|side| &mut side[0]);
        let views = [baseline.server_view(&baseline_ids)?, other.server_view(&other_ids)?];
        for view in &views {
            let pid = view.server_pid.filter(|pid| !self.target.pids.contains(pid));
            if let Some(stranger) = pid {
                let detail = format!("process {stranger} answers, but looptax did not start that process");
                return Err(PathError::DifferentServers { detail });
            }
        }
        let [one, two] = views.each_ref().map(|it| &it.identity);
        if one != two {
            let detail = format!("the processes of the two arms differ: `{one}` and `{two}`");
            return Err(PathError::DifferentServers { detail });
        }
        Ok(views)
    }

    /// Asks, through a pooler, how the server sees both sides' connections. All of them must lead to the same server.
    fn pooled_views(
        &self,
        conversations: &mut [Vec<Conversation>; 2],
        pair: [Arm; 2],
    ) -> Result<[ServerView; 2], PathError> {
        let mut facts = conversations.iter().flatten().map(Conversation::facts);
        let of_socket = facts.find_map(|it| it.peer_pid).or(self.target.pid());
        let names_second_hop = pair.iter().any(|arm| arm.second_hop().is_some());
        let [baseline, other] = conversations;
        let view = |side: &mut [Conversation], arm| {
            let listener = self.target.arms.pooler(arm).or(of_socket);
            pooled_view(side, listener, names_second_hop)
        };
        let views = [view(baseline, pair[0])?, view(other, pair[1])?];
        let [one, two] = views.each_ref().map(|it| &it.identity);
        if one != two {
            let detail = format!("the pooler connects to two servers, `{one}` and `{two}`");
            return Err(PathError::DifferentServers { detail });
        }
        Ok(views)
    }

    /// Opens `n` connections per side, beginning with the side that was drawn at random, and asks the servers how they
    /// see these connections.
    fn meet(&mut self, contrast_idx: usize, Draw { first, coins }: Draw, n: usize) -> Result<Met, Failure> {
        if n == 0 {
            return Err(Failure::new("no connection was asked for"));
        }
        let open = |side| self.open(contrast_idx, side, coins, n);
        let mut conversations = match first {
            Side::Baseline => {
                let baseline = open(Side::Baseline)?;
                [baseline, open(Side::Other)?]
            }
            Side::Other => {
                let other = open(Side::Other)?;
                [open(Side::Baseline)?, other]
            }
        };
        if self.target.has_load_limits {
            let now = watch(&mut conversations[0][0], self.others_at_first)?;
            self.others_at_first = self.others_at_first.or(now);
        }
        let pair = self.pairs[contrast_idx];
        let views = self.server_views(&mut conversations, pair)?;
        Ok(Met { conversations, views })
    }

    /// Returns how many connections the port proxies have relayed so far; `None` if the arm does not pass through a
    /// port proxy.
    fn relayed(&self, contrast_idx: usize, side: Side) -> Option<Relayed> {
        let arm = self.pairs[contrast_idx][side.idx()];
        self.target.arms.relayed(arm)
    }

    fn prove(
        &mut self,
        contrast_idx: usize,
        side: Side,
        conversation: &Conversation,
        view: &ServerView,
        relayed: Option<&Relayed>,
    ) -> Result<Proof, PathError> {
        let arm = self.pairs[contrast_idx][side.idx()];
        let proof = prove(arm, conversation.connection_id(), conversation.facts(), view, relayed)?;
        self.proofs[contrast_idx][side.idx()]
            .get_or_insert_with(|| ArmProof { facts: conversation.facts().clone(), proof: proof.clone() });
        Ok(proof)
    }

    /// Proves and prepares one side's connections.
    fn wire(
        &mut self,
        contrast_idx: usize,
        side: Side,
        conversations: Vec<Conversation>,
        view: &ServerView,
    ) -> Result<Vec<Wired>, ConnectError> {
        let mut wired = Vec::with_capacity(conversations.len());
        let relayed = self.relayed(contrast_idx, side);
        for mut conversation in conversations {
            let proof = self.prove(contrast_idx, side, &conversation, view, relayed.as_ref())?;
            let codec = self.codec(&mut conversation, wired.len()).map_err(not_prepared)?;
            self.n_prepared += 1;
            let worker = match (self.target.threads, &*self.target.pids) {
                (ServerThreads::Tree, [first, ..]) => Some(Worker { pid: *first, tid: *first }),
                (_, pids) => worker_of(proof.worker, pids).or_else(|| {
                    let pid = pids.first().filter(|_| self.target.protocol == Protocol::Mysql)?;
                    worker_of(conversation.answering_thread(*pid), pids)
                }),
            };
            let Unlimited { fd, seal } = conversation.into_link().into_unlimited()?;
            wired.push(Wired {
                fd,
                codec,
                records: seal.map(|seal| Box::new(SealedRecords(seal)) as Box<dyn Records>),
                worker,
                may_pin: self.target.is_private() || worker.is_some_and(|worker| self.lend(worker)),
            });
        }
        Ok(wired)
    }

    /// Whether a thread of a running server may be pinned. Three conditions must hold: the thread serves only this
    /// connection, the kernel permits the pinning, and the reaper restores the thread if looptax is killed.
    fn lend(&mut self, worker: Worker) -> bool {
        let Some(reaper) = &self.target.reaper else { return false };
        let is_alone = match self.target.protocol {
            // The process's first thread serves no connection. A server with a pool of threads does not report which
            // thread serves a connection.
            Protocol::Mysql => worker.tid != worker.pid,
            Protocol::Postgres => !self.target.pids.contains(&worker.pid),
            // One thread serves all clients, so it serves only looptax if no other client uses the server.
            Protocol::Redis => !self.target.has_load_limits,
            _ => false,
        };
        // A server's child process may have more rights than the server itself; a thread of such a child is not pinned.
        let owner = |pid: u32| kernel::metadata(format!("/proc/{pid}")).ok().map(|it| it.uid());
        let is_its_own = self.target.pids.iter().all(|pid| owner(*pid) == owner(worker.pid));
        let is_whole = is_alone && is_its_own && !self.target.is_pooled;
        let lent = is_whole.then(|| Lent::now(worker.tid)).flatten();
        let is_watched = lent.is_some_and(|lent| reaper.watch_thread(lent).is_ok());
        self.lent.extend(is_watched.then_some(worker.tid));
        is_watched
    }

    /// Tells the reaper to forget the threads of the previous epoch, because they may use all their cores again.
    fn forget_lent(&mut self) {
        let Some(reaper) = &self.target.reaper else { return };
        for tid in self.lent.drain(..) {
            reaper.forget_thread(tid);
        }
    }
}

impl Drop for TargetConnector<'_> {
    fn drop(&mut self) {
        self.forget_lent();
    }
}

/// Returns the processes that serve one side's connections through a pooler. The kernel shows that the pooler's process
/// `listener` holds the other ends. The server behind the pooler reports which process serves each connection, and over
/// which transport the pooler reaches the server.
fn pooled_view(
    conversations: &mut [Conversation],
    listener: Option<u32>,
    names_second_hop: bool,
) -> Result<ServerView, PathError> {
    let view = ServerView::by_kernel(conversations.iter(), listener);
    let view = view.filter(|it| listener.is_none() || it.server_pid == listener);
    let mut view = view.ok_or_else(|| PathError::Unseen { endpoint: conversations[0].endpoint().to_string() })?;
    let mut identity = None;
    for conversation in conversations {
        let backend = conversation.backend()?;
        let known = identity.get_or_insert_with(|| backend.identity.clone());
        if *known != backend.identity {
            let detail = format!("the pooler connects to two servers, `{known}` and `{}`", backend.identity);
            return Err(PathError::DifferentServers { detail });
        }
        let id = conversation.connection_id();
        if let Some(client) = view.clients.iter_mut().find(|it| it.connection_id == id) {
            client.worker = Some(backend.pid);
            // The hop behind the pooler is stored only if the arms' names contain it; otherwise it is the same for both
            // arms.
            client.behind = names_second_hop.then_some(backend.seen_as);
        }
    }
    view.identity = identity.unwrap_or(view.identity);
    Ok(view)
}

/// The random choices for an epoch's connections.
#[derive(Clone, Copy)]
struct Draw {
    first: Side,
    /// Random bits that select processes; see [`picked`].
    coins: u64,
}

/// The connections of each side, and how the server sees them: `[baseline, other]`.
struct Met {
    conversations: [Vec<Conversation>; 2],
    views: [ServerView; 2],
}

impl Connector for TargetConnector<'_> {
    fn origins(&self, contrast_idx: usize) -> Origins {
        let arms = &self.target.arms;
        self.pairs[contrast_idx].map(|arm| {
            // Any thread can use an open connection. A special thread is needed only for the arm `redirect`, whose
            // connections only that thread can open, and for requests that open their own connections.
            let is_needed = arm == Arm::Redirect || self.target.opens_within_requests();
            arms.origin(arm).filter(|_| is_needed)
        })
    }

    fn helpers(&self, contrast_idx: usize) -> [Option<Helper>; 2] {
        self.pairs[contrast_idx].map(|arm| self.target.arms.helper(arm))
    }

    fn one_shot_clients(
        &mut self,
        contrast_idx: usize,
        first: Side,
        coins: u64,
        n: usize,
    ) -> Result<Option<OneShotClients>, ConnectError> {
        self.open_one_shots(contrast_idx, Draw { first, coins }, n)
    }

    fn connect(
        &mut self,
        contrast_idx: usize,
        first: Side,
        coins: u64,
        n: usize,
    ) -> Result<[Vec<Wired>; 2], ConnectError> {
        self.forget_lent();
        let Met { conversations: [baseline, other], views } = self.meet(contrast_idx, Draw { first, coins }, n)?;
        // Connections are also prepared in the random order of the sides, so that neither side is always first.
        Ok(match first {
            Side::Baseline => {
                let baseline = self.wire(contrast_idx, Side::Baseline, baseline, &views[0])?;
                [baseline, self.wire(contrast_idx, Side::Other, other, &views[1])?]
            }
            Side::Other => {
                let other = self.wire(contrast_idx, Side::Other, other, &views[1])?;
                [self.wire(contrast_idx, Side::Baseline, baseline, &views[0])?, other]
            }
        })
    }
}

/// The TLS records of a connection, for the load engine.
struct SealedRecords(Seal);

impl Records for SealedRecords {
    fn seal(&mut self, plain: &[u8], sealed: &mut Vec<u8>) -> io::Result<()> {
        self.0.seal(plain, sealed)
    }

    fn open(&mut self, sealed: &[u8], plain: &mut Vec<u8>) -> io::Result<()> {
        self.0.open(sealed, plain)
    }
}

/// Adds a hint if the server cut off a login. The login itself is not the cause: it worked when the run began.
fn cut_off(error: PathError) -> Failure {
    let is_crowded = matches!(&error, PathError::Protocol { source, .. } if source.may_be_crowding());
    let failure = Failure::from(error);
    if !is_crowded {
        return failure;
    }
    failure.with_hint(
        "read the server's log: perhaps the server accepts no more connections (lower -c, or raise the server's \
         limit), or it is shutting down",
    )
}

/// Converts an error from the preparation of a connection; a refusal by the server is [`ConnectError::Refused`].
fn not_prepared(error: PathError) -> ConnectError {
    match error {
        PathError::Refused { .. } => ConnectError::Refused(error.into()),
        other => other.into(),
    }
}

/// Returns which of `n` processes serves a side: the same process for all connections of that side in an epoch.
fn picked(coins: u64, side: Side, n: usize) -> usize {
    let [of_baseline, of_other] = [coins & u64::from(u32::MAX), coins >> 32];
    let own = match side {
        Side::Baseline => of_baseline,
        Side::Other => of_other,
    };
    ((own * n as u64) >> 32) as usize
}

/// Returns how many queries of other clients are running; an error if the number has doubled since the measurement
/// began.
fn watch(observer: &mut Conversation, at_first: Option<u64>) -> Result<Option<u64>, Failure> {
    let now = others_running(observer);
    let now = now.map_err(|error| observer.failed(error))?;
    match (at_first, now) {
        (Some(then), Some(now)) if now > then.max(LEAST_DOUBLED).saturating_mul(2) => {
            Err(CrowdedError { then, now }.into())
        }
        _ => Ok(now),
    }
}

/// During the measurement, the number of other clients' queries on a running server has doubled.
#[derive(Debug, thiserror::Error)]
#[error("stopped: the number of other clients' running queries rose from {then} to {now} during the measurement")]
pub(crate) struct CrowdedError {
    then: u64,
    now: u64,
}

impl Explain for CrowdedError {}

/// Returns the thread that serves a connection; `None` if it does not belong to a known server process. A server in
/// another pid namespace reports ids that belong to unrelated threads here.
fn worker_of(told: Option<u32>, server_pids: &[u32]) -> Option<Worker> {
    let tid = told?;
    let (pid, parent) = of_thread(tid)?;
    // The thread may belong to the server process itself or, in PostgreSQL, to a child process.
    let is_ours = server_pids.contains(&pid) || server_pids.contains(&parent);
    is_ours.then_some(Worker { pid, tid })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_side_has_a_coin_of_its_own_for_each_of_its_processes() {
        let pair = |coins| Side::BOTH.map(|side| picked(coins, side, 2));
        assert_eq!(pair(0), [0, 0]);
        assert_eq!(pair(0x8000_0000), [1, 0]);
        assert_eq!(pair(0x8000_0000_7fff_ffff), [0, 1]);
        assert_eq!(pair(u64::MAX), [1, 1]);
        assert_eq!(picked(u64::MAX, Side::Other, 1), 0);
    }
}
