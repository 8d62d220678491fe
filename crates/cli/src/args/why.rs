//! What `why` takes.

use clap::{Arg, Args};

use super::CompareArgs;

/// Options of `why`: those of `compare` that are about requests.
#[derive(Debug, Clone, Args)]
pub(crate) struct WhyArgs {
    #[command(flatten)]
    pub(crate) compare: CompareArgs,
    /// Keep the client busy for so many nanoseconds before each request of the other arms (for tests).
    #[arg(long, hide = true, value_name = "NS", value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    pub(crate) inject_ns: Option<u64>,
    /// Options that were typed, with their dashes.
    #[arg(skip)]
    pub(crate) typed: Vec<String>,
}

/// Options of `compare` that `why` refuses by name, and those that mean nothing without them.
const REFUSED: [&str; 9] =
    ["remedies", "list", "exec", "exec_unix", "exec_tcp", "exec_timeout", "stall", "queue", "storms"];

/// Where an option means something else here than in `compare`, or has another default.
const OTHERWISE: [(&str, &str, &str); 7] = [
    (
        "targets",
        "Servers, as `compare` takes them, or two records of `why`",
        "Servers, as `compare` takes them: private:mariadb, private:mysql, private:postgres, private:redis, private:valkey, \
         private:memcached, echo, or a running one by its URL. Or two records of `why`, each by its file, the name of its run \
         or its label. Default: a private server for every protocol that is installed, and echo",
    ),
    (
        "connections",
        "Connections per transport, one comparison each (default: 1)",
        "Connections per arm, one comparison each; with several, the server's hottest functions at each. Default: 1",
    ),
    (
        "workload",
        "What to request: point-select, read-write, get, set, ping, ...",
        "What is asked: point-select, read-write, tpcb …, get, set, mixed:9:1 …, ping, stream (`looptax compare --list` shows \
         all). Default: point-select, get or ping; on a running server without --write what can be asked without writing. \
         Several are measured one after the other",
    ),
    (
        "placement",
        "Cores of client and server: same, split, free, client-pinned",
        "Where the two ends of a connection run: same (one core), split (two cores), free (the scheduler decides), \
         client-pinned (only our own threads are pinned). Default: same; on a running server same as root (not Redis), else split at one connection",
    ),
    (
        "fixed",
        "Measure for a fixed time (default: 40s) or number of epochs",
        "How long is measured: a time (10s) or a number of epochs (18). A third of the epochs run without the sampler, and \
         the verdict comes from those: 18 are the least that gives one. Default: 40s",
    ),
    (
        "quick",
        "At most 40 epochs, about 20 s per comparison",
        "At most 40 epochs, some 20 s per comparison, of which a third count for the verdict",
    ),
    (
        "sweep",
        "Many numbers of connections: 1..1024, or 1,16,256",
        "Connections 1, 2, 4 … as 1..1024, or a list as 1,16,256, with the event client: the server's hottest functions at \
         each, beside throughput and latency of each arm",
    ),
];

/// The options of `compare` as `why` has them.
pub(super) fn of_why(option: Arg) -> Arg {
    let id = option.get_id().as_str();
    if REFUSED.contains(&id) {
        return option.hide(true);
    }
    match OTHERWISE.iter().find(|(name, ..)| *name == id) {
        Some((_, help, long_help)) => option.help(*help).long_help(*long_help),
        None => option,
    }
}
