//! Two made-up records: one with every field filled, and one with as few fields as the types allow.
//!
//! The figures have no meaning.

use std::collections::BTreeMap;

use looptax_model::record::{
    Arm, Client, ClientLimit, ClientLimitCause, CommandLine, Commands, Comparison, CountedEpoch, Cpu, CpuTax, CpuTicks,
    Diagnostics, Direction, Disturbance, Epoch, Figure, Hex64, Host, Latency, Look, LookArm, Placement, PlacementUsed,
    PlannedLook, Proof, RateModes, RateRange, Raw, Reason, Record, SampledEpoch, SampledPart, Samples, Sampling,
    Schedule, Sightings, SizeCause, Slice, Stacks, Stall, Stream, Syscalls, Target, Tax, Tested, TimeWait, Trial,
    TrialArm, TrialBill, TrialConnections, TrialCount, TrialDesign, TrialPage, TrialPart, TrialServer, UncertainSize,
    Verdict, Why, WhyRow, Workload,
};

/// Returns a record of a run that was interrupted before anything was measured.
pub(crate) fn minimal() -> Record {
    Record {
        host: Host { kernel: "6.1".to_owned(), cpus: 1, ..Host::default() },
        interrupted: true,
        ..Record::begun("1".to_owned(), "2026-01-02T03:04:05Z".to_owned(), "0.1.0")
    }
}

/// Returns a record with at least one entry in every list, and with every kind of figure.
pub(crate) fn maximal() -> Record {
    Record {
        label: Some("before-kernel".to_owned()),
        finished_at: Some("2026-01-02T03:05:05Z".to_owned()),
        command: words(&["looptax", "compare", "private:mariadb"]),
        seed: Hex64(0xfedc_ba98_7654_3210),
        host: host(),
        comparisons: vec![comparison()],
        looks: vec![look()],
        problems: words(&["redis: no server is installed"]),
        interrupted: false,
        ..minimal()
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn map(key: &str, value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(key.to_owned(), value.to_owned())])
}

fn host() -> Host {
    Host {
        kernel: "6.1.0".to_owned(),
        arch: Some("x86_64".to_owned()),
        cpu_model: Some("a CPU".to_owned()),
        cpus: 2,
        clocksource: Some("tsc".to_owned()),
        governor: Some("performance".to_owned()),
        hypervisor: Some(true),
        smt: Some(false),
        cgroup_cpu_max: Some("max 100000".to_owned()),
        cpuset: Some("0-1".to_owned()),
        preemption: Some("none".to_owned()),
        sched_features: Some("PLACE_LAG NO_HRTICK".to_owned()),
        cgroup_limits: map("memory.max", "1073741824"),
        mitigations: map("meltdown", "Not affected"),
        sysctls: map("net.ipv4.tcp_congestion_control", "cubic"),
        lo_mtu: Some(65_536),
        thp: Some("madvise".to_owned()),
        irq_time_accounting: Some(true),
    }
}

fn target() -> Target {
    Target {
        offers_tls: None,
        meetings: None,
        kind: "mariadb".to_owned(),
        version: "10.11.19-MariaDB".to_owned(),
        private: true,
        name: "private:mariadb".to_owned(),
        settings: map("max_connections", "200"),
        pid: Some(42),
        processes_per_arm: None,
        started_at: Some("2026-01-02T03:04:00Z".to_owned()),
    }
}

fn workload() -> Workload {
    Workload {
        name: "point-select".to_owned(),
        protocol: Some("prepared".to_owned()),
        distribution: None,
        statements: 1,
        pipeline: 1,
        rows: Some(100_000),
        request_bytes: Some(30),
        response_bytes: Some(200),
        stream: Some(Stream { bytes: 4_194_304, write_bytes: Some(131_072) }),
    }
}

fn placement() -> PlacementUsed {
    PlacementUsed { asked: Placement::ClientPinned, real: "client on core 1".to_owned() }
}

fn trial() -> Trial {
    let connections = TrialConnections { n_moved: 400, n_left: 0, n_not_moved: 1, n_slices: 400 };
    let arm = TrialArm {
        n_slices: 400,
        n_pages: 400,
        n_failed: 0,
        connections: vec![connections],
        supervisor_us_per_page: 211.5,
    };
    Trial {
        command: "php -S 127.0.0.1:8080".to_owned(),
        design: TrialDesign::Flip,
        pages: vec![TrialPage { url: "http://127.0.0.1:8080/".to_owned(), status: 200, body_bytes: [61_000, 61_012] }],
        n_pages: 1,
        load_command: Some("k6 run load.js".to_owned()),
        servers: vec![TrialServer {
            kind: "mysql".to_owned(),
            from: vec!["127.0.0.1:3306".to_owned()],
            socket: "/run/mysqld/mysqld.sock".to_owned(),
            pid: Some(812),
        }],
        only: Some(0),
        arms: [arm.clone(), arm],
        p95_us: [Figure::new(45e3, 44e3, 46e3, 9), Figure::new(46e3, 45e3, 47e3, 9)],
        p95_added_us: Figure::new(1_210.0, 310.0, 2_400.0, 9),
        added_by_configuration_us: Figure::new(1_350.0, 540.0, 2_150.0, 20),
        counted: vec![TrialCount {
            server: 0,
            counter: "Questions".to_owned(),
            requests_per_page: 54.0,
            us_per_page: Some(5_200.0),
        }],
        bill: Some(TrialBill {
            without_supervisor: true,
            parts: vec![TrialPart { server: 0, time_us: Figure::missing("x"), cpu_us: Figure::missing("x") }],
            in_all_us: Figure::missing("x"),
            in_all_cpu_us: Figure::missing("x"),
            left_over_us: Figure::missing("x"),
        }),
    }
}

fn why() -> Why {
    let row = |name: &str| WhyRow {
        name: name.to_owned(),
        arms: [Figure::new(1.1, 1.0, 1.2, 40), Figure::missing("nothing seen")],
        difference: Figure::new(0.4, 0.3, 0.5, 40),
        p: Some(0.01),
    };
    let part = |function: Option<&str>| SampledPart {
        process: "server".to_owned(),
        function: function.map(str::to_owned),
        is_kernel: function.is_some(),
        ns: vec![[7, 8]],
        row: Some(row("its own time")),
    };
    Why {
        pair: [0, 1],
        sampling: Sampling {
            event: "cpu-clock".to_owned(),
            period_ns: 99_991,
            cores: 2,
            sees_kernel: true,
            n_samples: 86_000,
            n_of_others: 12,
            n_lost: 0,
            notes: vec!["mariadbd has no symbols".to_owned()],
        },
        layers: vec!["TCP, IP".to_owned(), "not attributed".to_owned()],
        epochs: vec![SampledEpoch {
            raw: Epoch::default(),
            layer_ns: [vec![0, 7], vec![90, 8]],
            counts: [vec![1], vec![2]],
        }],
        counters: vec!["client sends".to_owned()],
        counters_of_warm_up: vec!["wake-ups".to_owned()],
        counted: vec![CountedEpoch { requests: [900, 1_000], counts: [vec![1_700], vec![2_300]] }],
        processes: vec![part(None)],
        functions: vec![part(Some("_raw_spin_unlock"))],
        stacks: Stacks { packed: "eJwDAAAAAAE".to_owned(), requests: [1_000, 900], left_out_ns: [0, 3] },
        rows: vec![row("TCP, IP")],
        sum: Some(row("sum")),
        sampled: Some(row("by samples")),
        by_clocks: Some(row("by the kernel's clocks")),
        without_sampler: Some(row("without the sampler")),
        idle: Some(row("on no CPU")),
        sampler_pct: Some(Figure::new(4.0, 3.0, 5.0, 20)),
        counts: vec![row("client sends")],
        invalid: vec!["2.0 % of the samples did not fit".to_owned()],
    }
}

fn command_line(arm: &str) -> CommandLine {
    CommandLine {
        arm: arm.to_owned(),
        line: "psql -h /run/postgresql".to_owned(),
        variables: vec!["PGPASSWORD".to_owned()],
    }
}

fn comparison() -> Comparison {
    Comparison {
        target: target(),
        workload: workload(),
        connections: 16,
        placement: placement(),
        client: Client::PollFirst,
        client_like: None,
        remedy: None,
        commands: Some(Commands {
            template: Some("psql {transport}".to_owned()),
            lines: ["unix", "tcp"].map(command_line).to_vec(),
            timeout_s: 600,
        }),
        trial: Some(trial()),
        why: vec![why()],
        schedule: Schedule {
            slice_ms: 50.0,
            guard_ms: 10.0,
            octets_per_epoch: 1,
            looks: vec![PlannedLook { epochs: 10, alpha: 0.00417 }],
            fixed: false,
            precise: false,
            delta_pct: 1.0,
            warmup_epochs: 4,
            seed: Hex64(7),
        },
        arms: vec![arm("unix", "/run/a.sock"), arm("tcp", "127.0.0.1:3306")],
        tax: vec![tax()],
        bill: None,
        warnings: words(&["steal 1.2 %"]),
        server_count: None,
        time_wait: Some(TimeWait { before: 3, after: 9_000, local_ports: 28_232, reuse: 2 }),
        load: looptax_model::record::Load::default(),
        stalls: vec![Stall { arm: "tcp".to_owned(), epoch_idx: 0, slice_idx: 3, drain_ms: 31.5 }],
        raw: Raw { epochs: vec![epoch()] },
    }
}

fn arm(name: &str, endpoint: &str) -> Arm {
    Arm {
        name: name.to_owned(),
        endpoint: endpoint.to_owned(),
        verified: true,
        proof: Proof {
            family: "inet".to_owned(),
            peer_pid: Some(42),
            server_view: Some("TCP/IP".to_owned()),
            server_identity: Some("uuid".to_owned()),
            tls: Some("TLSv1.3 TLS_AES_128_GCM_SHA256".to_owned()),
            nodelay: Some(true),
            sndbuf_bytes: Some(212_992),
            rcvbuf_bytes: Some(131_072),
            netns: Some("net:[4026531840]".to_owned()),
            seen: Some(Sightings { n_runs: 40, n_unix: 0, n_tcp: 38 }),
        },
        throughput_per_s: figure(79_800.0),
        latency_us: latency(12.5),
        latency_pooled_us: None,
        cpu_us_per_query: Cpu { client: figure(4.0), server: Figure::missing("not readable") },
        context_switches_per_query: figure(1.0),
        syscalls_per_query: Some(Syscalls { send: 1.0, receive: 2.0, wait: 1.0 }),
    }
}

fn figure(value: f64) -> Figure {
    Figure::new(value, value - 1.0, f64::INFINITY, 10)
}

fn latency(value: f64) -> Latency {
    Latency {
        mean: figure(value),
        p50: figure(value),
        p90: figure(value),
        p99: figure(value),
        p999: Figure::missing("needs about 40 s"),
    }
}

fn tax() -> Tax {
    Tax {
        arm: "tcp".to_owned(),
        baseline: "unix".to_owned(),
        throughput_pct: Figure::new(16.0, 15.4, 16.4, 10),
        theta: Figure::new(0.174, 0.167, 0.179, 10),
        total_throughput_pct: Figure::new(15.9, f64::NEG_INFINITY, 100.0, 10),
        latency_us: latency(2.0),
        cpu_us: CpuTax { client: figure(0.5), server: figure(1.0), both: figure(1.5) },
        verdict: Verdict::Difference,
        direction: Some(Direction::OtherSlower),
        dearer_by_cpu: None,
        reason: Reason::ExcludesZero,
        uncertain_size: Some(UncertainSize { cause: SizeCause::Disturbed, lo_pct: 4.9, hi_pct: 13.9 }),
        disturbance: Some(Disturbance { n_epochs: 8, is_throughout: false, steal_pct: 2.5, foreign_pct: 0.5 }),
        starred: words(&["latency_us.p50"]),
        n_epochs: 10,
        look: Some(0),
        alpha: 0.00417,
        stopped_early: true,
        diagnostics: diagnostics(),
    }
}

fn diagnostics() -> Diagnostics {
    let tested = Some(Tested { value: 0.001, p_value: 0.5 });
    Diagnostics {
        order_effect: tested,
        trend: tested,
        lag1_autocorrelation: Some(0.1),
        theta_sd: Some(0.004),
        dispersion: Some(1.5),
        sampling_floor_pct: Some(0.2),
        n_epochs_left_out: 2,
        totals_disagree: Some(false),
        steal_pct: Some(0.0),
        foreign_pct: Some(0.4),
        littles_law_ratio: Some([0.99, 1.0]),
        guard_transient_ratio: Some([1.0, 0.98]),
        modes: vec![RateModes { arm: "unix".to_owned(), low_per_s: 5e4, high_per_s: 1e5 }],
        slice_invariance_pct: Some(figure(0.1)),
        client_limits: vec![ClientLimit {
            arm: "unix".to_owned(),
            cause: ClientLimitCause::OwnCode { share_pct: 60.0 },
        }],
    }
}

fn epoch() -> Epoch {
    let slice = Slice {
        arm_idx: 1,
        completions: 4_000,
        early: 800,
        drained: 2,
        drained_ns: vec![11_000, 12_000],
        completions_per_100ms: vec![4_000],
        sends: 4_100,
        client_user_ns: Some(20_000_000),
        server_switches: Some(4_100),
        client_cpu_ns: Some(50_000_000),
        server_cpu_ns: None,
        checksum: Some(Hex64(u64::MAX)),
        ..Slice::default()
    };
    Epoch {
        pair: [0, 1],
        order: "obboboob".to_owned(),
        reconnect_us: 900,
        prime_us: 1_000,
        client_cores: vec![Some(0), None],
        server_cores: vec![Some(1), None],
        follows: None,
        slices: vec![slice; 8],
        answers_agree: true,
        cpu_ticks: Some(CpuTicks { user: 10, idle: 80, ..CpuTicks::default() }),
        own_ticks: Some(20.5),
        server_ticks: Some(30.0),
        cpu_pressure_us: Some(1_000),
        n_throttled: Some(0),
        lag_p99_ns: [None, None],
        samples: [Some(Samples { count: 2, packed: "AAAA".to_owned() }), None],
    }
}

fn look() -> Look {
    let range = RateRange { min: 50_000.0, median: 70_000.0, max: 105_000.0 };
    Look {
        target: target(),
        workload: workload(),
        connections: 16,
        placement: placement(),
        client: Client::Event,
        client_like: None,
        seconds: 10.0,
        arms: vec![LookArm {
            name: "unix".to_owned(),
            rate_100ms_per_s: range,
            modes_per_s: vec![50_000.0, 105_000.0],
        }],
        reason: Some("the scheduler moves the rate by 2.1 times".to_owned()),
    }
}
