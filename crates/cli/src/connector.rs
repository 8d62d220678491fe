//! Opens an epoch's connections and proves every one of them: the load engine's way to a target.

use std::error::Error;
use std::fs;

use looptax_bench::{Connector, Wired, Worker};
use looptax_path::{Arm, Conversation, Limits, LinkFacts, PathError, Proof, prove};
use looptax_stats::Side;
use looptax_wire::Codec;

use crate::script::ScriptCodec;
use crate::target::Target;
use crate::target::care::others_running;

/// So many running queries may be chance: only more than twice this counts as doubled.
const LEAST_DOUBLED: u64 = 4;

/// What was proved about an arm, from its first connection of the last epoch.
#[derive(Debug, Clone)]
pub(crate) struct ArmProof {
    pub(crate) facts: LinkFacts,
    pub(crate) proof: Proof,
}

/// Connections to one target for pairs of arms.
pub(crate) struct TargetConnector<'a> {
    target: &'a Target,
    /// By contrast: baseline and other.
    pairs: Vec<[Arm; 2]>,
    limits: Limits,
    /// Queries of others on a running server when we came.
    others_at_first: Option<u64>,
    /// Connections that were prepared for load so far.
    pub(crate) n_prepared: u64,
    /// By contrast, by side.
    pub(crate) proofs: Vec<[Option<ArmProof>; 2]>,
}

impl<'a> TargetConnector<'a> {
    /// A connector for `pairs` of arms, one per contrast.
    pub(crate) fn new(target: &'a Target, pairs: Vec<[Arm; 2]>) -> Self {
        let proofs = pairs.iter().map(|_| [None, None]).collect();
        Self {
            target,
            pairs,
            limits: Limits::default(),
            others_at_first: None,
            n_prepared: 0,
            proofs,
        }
    }

    fn open(&self, arm: Arm, n: usize) -> Result<Vec<Conversation>, PathError> {
        let endpoint = self.target.endpoint(arm)?;
        (0..n)
            .map(|_| {
                Conversation::open(
                    self.target.protocol,
                    &endpoint,
                    &self.target.login,
                    self.limits,
                )
            })
            .collect()
    }

    /// The workload, or the user's own, on one connection of a side.
    fn codec(&self, talk: &mut Conversation, idx: usize) -> Result<Box<dyn Codec>, PathError> {
        match &self.target.script {
            None => talk.codec(&self.target.workload, self.target.sending),
            Some(script) => Ok(Box::new(ScriptCodec::prepare(
                talk,
                &script.set,
                self.target.sending.sent,
                script.presets(idx),
            )?)),
        }
    }

    /// Proves and prepares one side's connections.
    fn wire(
        &mut self,
        contrast_idx: usize,
        side: Side,
        talks: Vec<Conversation>,
        census: &looptax_path::Census,
    ) -> Result<Vec<Wired>, PathError> {
        let arm = self.pairs[contrast_idx][side.idx()];
        let mut wired = Vec::with_capacity(talks.len());
        for mut talk in talks {
            let proof = prove(arm, talk.connection_id(), talk.facts(), census)?;
            let codec = self.codec(&mut talk, wired.len())?;
            self.n_prepared += 1;
            let worker = worker_of(&proof, self.target.pid);
            self.proofs[contrast_idx][side.idx()].get_or_insert_with(|| ArmProof {
                facts: talk.facts().clone(),
                proof,
            });
            wired.push(Wired {
                fd: talk.into_link().into_unlimited_fd()?,
                codec,
                worker,
                may_pin: self.target.is_private(),
            });
        }
        Ok(wired)
    }
}

impl Connector for TargetConnector<'_> {
    fn connect(
        &mut self,
        contrast_idx: usize,
        first: Side,
        n: usize,
    ) -> Result<[Vec<Wired>; 2], Box<dyn Error + Send + Sync>> {
        let pair = self.pairs[contrast_idx];
        let mut others_at_first = self.others_at_first;
        let (mut baseline, other) = match first {
            Side::Baseline => {
                let baseline = self.open(pair[0], n)?;
                (baseline, self.open(pair[1], n)?)
            }
            Side::Other => {
                let other = self.open(pair[1], n)?;
                (self.open(pair[0], n)?, other)
            }
        };
        let ids: Vec<u64> = baseline
            .iter()
            .chain(&other)
            .map(Conversation::connection_id)
            .collect();
        let observer = baseline.first_mut().ok_or("no connection was asked for")?;
        if self.target.is_cared_for {
            others_at_first = others_at_first.or(watch(observer, others_at_first)?);
        }
        let census = observer.census(&ids)?;
        self.others_at_first = others_at_first;
        // Preparing happens in the drawn order too: no side is always first at anything.
        Ok(match first {
            Side::Baseline => {
                let baseline = self.wire(contrast_idx, Side::Baseline, baseline, &census)?;
                [
                    baseline,
                    self.wire(contrast_idx, Side::Other, other, &census)?,
                ]
            }
            Side::Other => {
                let other = self.wire(contrast_idx, Side::Other, other, &census)?;
                [
                    self.wire(contrast_idx, Side::Baseline, baseline, &census)?,
                    other,
                ]
            }
        })
    }
}

/// Queries of others that run now; an error when they have doubled since we came.
fn watch(observer: &mut Conversation, at_first: Option<u64>) -> Result<Option<u64>, CrowdedError> {
    let now = others_running(observer);
    match (at_first, now) {
        (Some(then), Some(now)) if now > 2 * then.max(LEAST_DOUBLED) => {
            Err(CrowdedError { then, now })
        }
        _ => Ok(now),
    }
}

/// Others' queries on a running server have doubled while we measured.
#[derive(Debug, thiserror::Error)]
#[error("stopped: other clients' running queries went from {then} to {now} while measuring")]
pub(crate) struct CrowdedError {
    then: u64,
    now: u64,
}

/// The thread that serves a connection, when it is one of the server process that we know: a number
/// from another pid namespace would point at a stranger.
fn worker_of(proof: &Proof, server_pid: Option<u32>) -> Option<Worker> {
    let tid = proof.worker?;
    let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
    let field = |name: &str| -> Option<u32> {
        status
            .lines()
            .find_map(|line| line.strip_prefix(name))?
            .trim()
            .parse()
            .ok()
    };
    let pid = field("Tgid:")?;
    let parent = field("PPid:")?;
    // A thread of the server, or (PostgreSQL) a child of it.
    let is_ours = server_pid.is_some_and(|server| pid == server || parent == server);
    is_ours.then_some(Worker { pid, tid })
}
