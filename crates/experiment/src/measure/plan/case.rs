//! A comparison in the plan, and the plan for a server.

use std::time::Duration;

use looptax_bench::Placement;
use looptax_model::dsn::Arm;

use crate::arms::Missing;
use crate::spec::load::Load;
use crate::spec::waits::Waits;

/// The kind of measurement that is made of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Doing {
    /// Epochs are measured until there is a verdict.
    Judge,
    /// A short measurement that shows the range of rates, without a verdict.
    Glimpse(Duration),
}

/// Comparisons with one number of connections under one placement.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The arms, the baseline first.
    pub arms: Vec<Arm>,
    /// Connections per arm.
    pub connections: u32,
    /// Where the two ends of each connection run.
    pub placement: Placement,
    /// How the client waits for replies; each client model is a separate contrast.
    pub clients: Vec<Waits>,
    pub doing: Doing,
    /// How connections send requests: without a limit, or at a fixed rate.
    pub load: Load,
    /// The length of slices, if it differs from the usual length: `--precise` measures again with long slices, to show
    /// that the length does not matter.
    pub slice: Option<Duration>,
}

impl Case {
    pub(super) fn without(&self, arm: Arm) -> Self {
        Self { arms: self.arms.iter().copied().filter(|it| *it != arm).collect(), ..self.clone() }
    }

    /// Returns the pairs of arms, one per contrast, in the plan's order.
    pub(crate) fn pairs(&self) -> Vec<[Arm; 2]> {
        let others = &self.arms[1..];
        self.clients.iter().flat_map(|_| others.iter().map(|other| [self.arms[0], *other])).collect()
    }
}

/// The work on one target.
pub struct TargetPlan {
    /// The target's name, without a password.
    pub(super) name: String,
    /// The arms, the baseline first.
    pub arms: Vec<Arm>,
    /// An arm that the user did not request; it is left out if the server does not have it.
    pub unsure: Option<Arm>,
    /// Requested arms that are not possible.
    pub(super) missing: Vec<Missing>,
    /// The cases, in the order of measuring.
    pub cases: Vec<Case>,
    pub(super) hold: Hold,
}

impl TargetPlan {
    /// Returns the target's cases with only these arms, after it has become known which arms are possible.
    pub fn only(&self, arms: &[Arm]) -> Vec<Case> {
        let mut cases = self.cases.clone();
        for case in &mut cases {
            case.arms.retain(|it| arms.contains(it));
        }
        cases
    }
}

/// How the server's threads can be placed on cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hold {
    /// Threads that serve only looptax's connections are pinned.
    Pinned,
    /// The scheduler places the server's threads, and the client follows them.
    Followed,
    /// The server's threads cannot be identified.
    Unknown,
}

impl Hold {
    /// Returns the default placement. `stays`: the client sends its requests over a single connection, without pauses.
    pub(super) fn usual(self, n_cores: usize, stays: bool) -> Placement {
        match self {
            Self::Unknown => Placement::ClientPinned,
            // With several connections, or with pauses, the server may move to another core: only a few slices would
            // count.
            Self::Followed if !stays => Placement::ClientPinned,
            // If there is another core, a server whose threads are not pinned moves to that core.
            Self::Followed if n_cores > 1 => Placement::Split,
            Self::Pinned | Self::Followed => Placement::Same,
        }
    }
}
