//! The table of cases: data only. A new comparison is an entry here.
//!
//! Pinned cases have server and load generators on one core, so that a ratio is that of the load
//! generators and not of the scheduler.

use looptax_path::Arm;

use super::case::{Case, Place, Throughput, Wanted, Work};
use super::tools::iperf3::IPERF3;
use super::tools::pgbench::PGBENCH;
use super::tools::redis_benchmark::REDIS_BENCHMARK;
use super::tools::sockperf::SOCKPERF;
use super::tools::sysbench::SYSBENCH;

const BOTH: &[Arm] = &[Arm::Unix, Arm::Tcp];
const TCP: &[Arm] = &[Arm::Tcp];
const POLL: &[&str] = &["--workload", "point-select", "--client", "poll"];
/// Samples kept to 8 MiB: beyond that the histograms alone count.
const EVENT: &[&str] = &[
    "--workload",
    "point-select",
    "--client",
    "event",
    "--max-samples",
    "8",
];
/// Rounds of cases that show ranges: each of looptax's runs holds some fifty slices of a second.
const FEW_ROUNDS: Option<u32> = Some(3);

/// A point select with sysbench: the others differ in what they name.
const SYSBENCH_1: Case = Case {
    name: "sysbench-1",
    tool: &SYSBENCH,
    work: Work::PointSelect,
    connections: 1,
    place: Place::OneCore,
    arms: BOTH,
    looptax: POLL,
    wanted: Wanted {
        throughput: Throughput::AtLeast(1.02),
        user_cpu: Some(0.35),
        memory: None,
        p50: None,
    },
    most_rounds: None,
    is_short: true,
};

const SYSBENCH_16: Case = Case {
    name: "sysbench-16",
    connections: 16,
    wanted: Wanted {
        throughput: Throughput::AtLeast(1.0),
        memory: Some(0.5),
        ..SYSBENCH_1.wanted
    },
    is_short: false,
    ..SYSBENCH_1
};

const SYSBENCH_FREE_16: Case = Case {
    name: "sysbench-free-16",
    place: Place::Free,
    wanted: Wanted {
        throughput: Throughput::Ranges,
        memory: None,
        ..SYSBENCH_16.wanted
    },
    most_rounds: FEW_ROUNDS,
    ..SYSBENCH_16
};

const SYSBENCH_FREE_256: Case = Case {
    name: "sysbench-free-256",
    connections: 256,
    looptax: EVENT,
    wanted: Wanted {
        throughput: Throughput::Shown,
        user_cpu: Some(0.2),
        memory: Some(0.1),
        p50: None,
    },
    most_rounds: None,
    ..SYSBENCH_FREE_16
};

const PGBENCH_1: Case = Case {
    name: "pgbench-1",
    tool: &PGBENCH,
    work: Work::SelectOnly,
    looptax: &["--workload", "select-only", "--client", "poll"],
    wanted: Wanted {
        throughput: Throughput::AtLeast(1.0),
        user_cpu: Some(0.8),
        memory: None,
        p50: None,
    },
    is_short: false,
    ..SYSBENCH_1
};

/// pgbench has one thread here, which polls all connections: an epoll loop is what is like it.
const PGBENCH_16: Case = Case {
    name: "pgbench-16",
    connections: 16,
    looptax: &["--workload", "select-only", "--client", "event"],
    is_short: true,
    ..PGBENCH_1
};

const REDIS_P1: Case = Case {
    name: "redis-benchmark-p1",
    tool: &REDIS_BENCHMARK,
    work: Work::Get { pipeline: 1 },
    connections: 50,
    looptax: &["--workload", "get", "--client", "event", "--write"],
    is_short: true,
    ..PGBENCH_1
};

const REDIS_P16: Case = Case {
    name: "redis-benchmark-p16",
    work: Work::Get { pipeline: 16 },
    looptax: &[
        "--workload",
        "get",
        "--client",
        "event",
        "--write",
        "--pipeline",
        "16",
    ],
    is_short: false,
    ..REDIS_P1
};

/// All cases, in the order in which they are measured.
pub(crate) const CASES: &[Case] = &[
    SYSBENCH_1,
    SYSBENCH_16,
    Case {
        name: "sysbench-64",
        connections: 64,
        ..SYSBENCH_16
    },
    SYSBENCH_FREE_16,
    Case {
        name: "sysbench-free-64",
        connections: 64,
        ..SYSBENCH_FREE_16
    },
    SYSBENCH_FREE_256,
    Case {
        name: "sysbench-free-1024",
        connections: 1024,
        wanted: Wanted {
            throughput: Throughput::AtLeast(1.25),
            ..SYSBENCH_FREE_256.wanted
        },
        ..SYSBENCH_FREE_256
    },
    Case {
        name: "sysbench-read-write-16",
        work: Work::ReadWrite,
        looptax: &["--workload", "read-write", "--client", "poll", "--write"],
        wanted: Wanted {
            user_cpu: Some(0.5),
            memory: None,
            ..SYSBENCH_16.wanted
        },
        ..SYSBENCH_16
    },
    PGBENCH_1,
    PGBENCH_16,
    Case {
        name: "pgbench-64",
        connections: 64,
        is_short: false,
        ..PGBENCH_16
    },
    REDIS_P1,
    REDIS_P16,
    Case {
        name: "redis-benchmark-split-p1",
        place: Place::Split,
        is_short: false,
        ..REDIS_P1
    },
    Case {
        name: "redis-benchmark-split-p16",
        place: Place::Split,
        ..REDIS_P16
    },
    SOCKPERF_64,
    Case {
        name: "iperf3-128k",
        tool: &IPERF3,
        work: Work::Stream {
            write_bytes: 128 * 1024,
        },
        looptax: &["--workload", "stream", "--client", "block"],
        wanted: Wanted {
            throughput: Throughput::AtLeast(1.0),
            p50: None,
            ..SOCKPERF_64.wanted
        },
        ..SOCKPERF_64
    },
];

/// sockperf waits in `recvfrom`, and so does `block`. 64 bytes are what looptax's echo sends.
const SOCKPERF_64: Case = Case {
    name: "sockperf-64",
    tool: &SOCKPERF,
    work: Work::PingPong { bytes: 64 },
    connections: 1,
    arms: TCP,
    looptax: &["--workload", "ping", "--client", "block"],
    wanted: Wanted {
        throughput: Throughput::Shown,
        user_cpu: None,
        memory: None,
        p50: Some(1.0),
    },
    is_short: false,
    ..SYSBENCH_1
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_there_once() {
        let mut names: Vec<_> = CASES.iter().map(|case| case.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CASES.len());
    }

    #[test]
    fn every_peer_is_in_the_table_and_some_are_in_the_short_run() {
        for tool in [&SYSBENCH, &PGBENCH, &REDIS_BENCHMARK, &SOCKPERF, &IPERF3] {
            assert!(CASES.iter().any(|case| case.tool.name == tool.name));
        }
        let n_short = CASES.iter().filter(|case| case.is_short).count();
        assert!((2..=5).contains(&n_short), "{n_short}");
    }
}
