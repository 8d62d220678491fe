//! Call chains for other tools: as folded lines, and as a profile for pprof.

mod message;
mod pprof;

use std::fmt::Write;

pub use pprof::pprof;

/// A call chain of one arm.
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    pub target: String,
    pub workload: String,
    pub connections: u32,
    pub arm: String,
    /// The process and its functions, the outermost first, with `;` between them.
    pub folded: String,
    /// CPU time per 1000 requests, in nanoseconds.
    pub ns: f64,
}

/// Returns a line for each chain: arm, process and functions with `;` between them, a space, and nanoseconds per 1000
/// requests. If the chains have different workloads, the workload comes first.
pub fn folded(chains: &[Chain]) -> String {
    let case = |it: &Chain| (it.target.clone(), it.workload.clone(), it.connections);
    let is_one = chains.windows(2).all(|it| case(&it[0]) == case(&it[1]));
    let mut text = String::new();
    for chain in chains {
        if !is_one {
            let (target, workload, connections) = case(chain);
            // Writing to a string cannot fail.
            let _ = write!(text, "{target} {workload} {connections};");
        }
        let _ = writeln!(text, "{};{} {:.0}", chain.arm, chain.folded, chain.ns);
    }
    text
}
