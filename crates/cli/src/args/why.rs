//! Options of `why`.

use clap::{Arg, Args};

use super::CompareArgs;

/// Options of `why`: the options of `compare` that concern requests.
#[derive(Debug, Clone, Args)]
pub(crate) struct WhyArgs {
    #[command(flatten)]
    pub(crate) compare: CompareArgs,
    /// Keep the client busy for N nanoseconds before each request of the other arms (for tests).
    #[arg(long, hide = true, value_name = "NS", value_parser = clap::value_parser!(u64).range(..=1_000_000))]
    pub(crate) inject_ns: Option<u64>,
    /// The options that the user typed, with their dashes.
    #[arg(skip)]
    pub(crate) typed: Vec<String>,
}

/// Options of `compare` that the help of `why` does not show: `why` refuses them, or they work only together with a
/// refused option.
const REFUSED: [&str; 9] =
    ["remedies", "list", "exec", "exec_unix", "exec_tcp", "exec_timeout", "stall", "queue", "storms"];

/// Options that have a different meaning or default than in `compare`: name, short help, long help.
const OTHERWISE: [(&str, &str, &str); 7] = [
    (
        "targets",
        "Servers, given as in `compare`, or two records of `why`",
        "A server is given as in `compare`: private:mariadb, private:mysql, private:postgres, private:redis, private:valkey, \
         private:memcached, echo, or the URL of a running server. To name a record, pass its file, its run name or \
         its label. Default: echo, and a private server for every installed protocol",
    ),
    (
        "connections",
        "Number of connections over each transport, such as 1,16 (default: 1)",
        "Number of connections over each transport, such as 1,16. looptax makes a separate comparison for each number, \
         and shows the server's functions that take the most time with this number of connections. Default: 1",
    ),
    (
        "workload",
        "Requests to send: point-select, read-write, get, set, ping, ...",
        "The requests to send: point-select, read-write, tpcb …, get, set, mixed:9:1 …, ping, stream; `looptax compare --list` \
         shows all. Several workloads are measured one after the other. Default: point-select, get or ping; on a running \
         server without --write, a workload that writes nothing",
    ),
    (
        "placement",
        "Cores of client and server: same, split, free, client-pinned",
        "same: both ends of a connection on one core; split: on two cores; free: the scheduler decides; client-pinned: \
         only looptax's own threads are pinned. Default: same. On a running server: same if looptax runs as root (except \
         for Redis); otherwise split if there is one connection, and client-pinned if there are more",
    ),
    (
        "fixed",
        "Measure for a fixed time (default: 40s) or number of epochs",
        "A time (10s) or a number of epochs (20). looptax samples call chains in two of three epochs and judges only the \
         others: a verdict needs 18 epochs or more. Default: 40s",
    ),
    (
        "quick",
        "At most 40 epochs, about 20 s per comparison",
        "At most 40 epochs, about 20 s per comparison. Only a third of the epochs, those without samples, count for the verdict",
    ),
    (
        "sweep",
        "Measure with several numbers of connections: 1..1024, or 1,16,256",
        "1..1024 means 1, 2, 4 and so on. The client model is event. For each number of connections `why` shows the \
         throughput and latency of each arm, and the server's functions that take the most time",
    ),
];

/// Adapts an option of `compare` to `why`.
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
