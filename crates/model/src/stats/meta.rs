//! Statistics of a fleet: the effects of many hosts, analysed together.
//!
//! - `pool`: the mean of all hosts, and how much hosts differ; `groups`: the same for groups of hosts.
//! - `shrink`: each host's effect, combined with the effects of the other hosts.
//! - `lost`: the CPU time that a host loses; `top`: the hosts that lose most; `total`: the sum over a fleet of which
//!   only a part was measured.
//! - `unlike`: hosts that differ from the other hosts; `discovery`: false discoveries.
//!
//! Each step goes through the hosts once, and every iteration is bounded.

mod discovery;
mod effect;
mod groups;
mod lost;
mod pool;
mod shrink;
mod sums;
mod tau;
mod top;
mod total;
mod unlike;

pub use discovery::{benjamini_hochberg, benjamini_yekutieli};
pub use effect::{Effect, LEAST_FREEDOM, Unusable};
pub use groups::{Between, Common, Groups, LEAST_HOSTS_OF_OWN, groups};
pub use lost::cores_lost;
pub use pool::{Homogeneity, Pooled, pool};
pub use shrink::{Posterior, Prior};
pub use sums::Sums;
pub use tau::Spread;
pub use top::{Candidate, top_probabilities};
pub use total::{Host, Total, total};
pub use unlike::without_each;
