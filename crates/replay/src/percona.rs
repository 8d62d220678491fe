//! Peter Zaitsev's comparison: point selects, a mysqldump, and latency at a load.
//!
//! Point selects are also measured with TLS, which MySQL 8's own clients take over TCP and not over the socket.

use looptax_bench::Arrivals;
use looptax_dsn::Kind;
use looptax_experiment::Experiment;
use looptax_experiment::spec::exec::Exec;
use looptax_experiment::spec::load::{Load, Rate};
use looptax_experiment::spec::target::TargetSpec;
use looptax_path::Arm;
use looptax_record::{Comparison, ReplayPart, ReplayUnit};

use super::effect::Effect;
use super::programs::on_path;
use super::published::PERCONA;
use super::reading::Reading;
use super::row::{Wanted, row};
use super::step::on_one_core;
use super::{Amounts, Runner, Step};

/// Rows that the dump had.
const DUMPED_ROWS: u64 = 10_000_000;
/// Programs that dump, the published one first.
const DUMPERS: [&str; 2] = ["mysqldump", "mariadb-dump"];
/// Connections of the many-threaded claims.
const MANY: u32 = 64;

pub(crate) fn steps(amounts: &Amounts) -> Vec<Step> {
    let rows = amounts.of(100_000, 100_000, 100);
    let at = |connections: &[u32], arms: &[Arm]| Experiment {
        rows: rows as u32,
        ..on_one_core(Kind::Mariadb, arms, connections)
    };
    let selects = Step::new(
        "selects",
        "prepared primary-key lookups, 1 and 64 connections: socket, loopback, loopback with TLS",
        (
            at(&[1, MANY], &[Arm::Unix, Arm::Tcp, Arm::Tls]),
            &["point-select"],
        ),
        amounts.either(80, 150),
    );
    let at_rates = Experiment {
        load: Load::Open {
            rates: vec![Rate::OfCapacity(40.0), Rate::OfCapacity(80.0)],
            arrivals: Arrivals::Poisson,
        },
        ..at(&[MANY], &[Arm::Unix, Arm::Tcp])
    };
    let load = Step::new(
        "load",
        "lookups at 40 and 80 % of what TCP can serve, 64 connections: socket, loopback",
        (at_rates, &["point-select"]),
        amounts.either(90, 150),
    );
    vec![
        selects
            .epochs(amounts, amounts.either(10, 24))
            .requests(amounts, None),
        dump(amounts),
        load.epochs(amounts, amounts.either(12, 20))
            .requests(amounts, None),
    ]
}

fn dump(amounts: &Amounts) -> Step {
    let rows = dumped_rows(amounts);
    let dumper = dumper().unwrap_or(DUMPERS[0]);
    // Two dumps and at most twelve epochs of four, each a second or two for a million rows.
    let budget_s = amounts.either(45, 60).max(100 * rows / 1_000_000);
    Step::new(
        "dump",
        format!("whole runs of {dumper}, {rows} rows: socket, loopback"),
        (whole_dumps(dumper, rows), &[]),
        budget_s,
    )
    .epochs(amounts, amounts.either(8, 12))
}

fn whole_dumps(dumper: &str, rows: u64) -> Experiment {
    let line = format!("{dumper} --single-transaction {{transport}} looptax");
    Experiment {
        rows: rows as u32,
        exec: Some(
            Exec::one_line(&line, "10m").expect("the line has a program that looptax knows"),
        ),
        ..Experiment::new(TargetSpec::Private(Kind::Mariadb), 0)
    }
}

fn dumped_rows(amounts: &Amounts) -> u64 {
    amounts.of(DUMPED_ROWS, amounts.either(200_000, 500_000), 100)
}

fn dumper() -> Option<&'static str> {
    DUMPERS.into_iter().find(|program| on_path(program))
}

pub(crate) fn run(mut part: ReplayPart, amounts: &Amounts, runner: &mut Runner<'_>) -> ReplayPart {
    let steps = steps(amounts);
    if let Some(reading) = runner.measure(&mut part, &steps[0], 0) {
        for (connections, claim) in [
            (1, "point_select_1_thread"),
            (MANY, "point_select_64_threads"),
        ] {
            add_selects(&mut part, &reading, connections, claim);
        }
    }
    if dumper().is_none() {
        let [published, other] = DUMPERS;
        part.missing.push(format!(
            "the dump: neither {published} nor {other} is on PATH; install the package mariadb-client"
        ));
    } else if let Some(reading) = runner.measure(&mut part, &steps[1], 1) {
        add_dump(&mut part, &reading, amounts);
    }
    if let Some(reading) = runner.measure(&mut part, &steps[2], 2) {
        for (share_pct, claims) in [
            (40.0, ["inject_100k_qps_mean", "inject_100k_qps_p99"]),
            (80.0, ["inject_200k_qps_mean", "inject_200k_qps_p99"]),
        ] {
            add_load(&mut part, &reading, share_pct, claims);
        }
    }
    part
}

fn add_selects(part: &mut ReplayPart, reading: &Reading, connections: u32, claim: &str) {
    let Some(comparison) = reading.comparison(|it| it.connections == connections) else {
        return;
    };
    let s = if connections == 1 { "" } else { "s" };
    let what = format!("lookups, {connections} connection{s}");
    let wanted = |claim, arm, what, reasons| Wanted {
        claim,
        what,
        arm,
        unit: ReplayUnit::TaxPct,
        effect: Effect::Rate,
        reasons,
    };
    let reasons = vec![
        "both ends share one core here, and the client waits as sysbench's does; there the scheduler placed them on 28 \
         cores, where a wake-up may cross cores"
            .to_owned(),
        "MySQL 8's own clients take TLS over TCP and none over the socket; whether sysbench did there is not said, and \
         the row below has it"
            .to_owned(),
    ];
    let published = wanted(Some(PERCONA.claim(claim)), "tcp", what.clone(), reasons);
    part.rows.extend(row(reading, comparison, published));
    let sealed = wanted(None, "tls", format!("{what}, with TLS"), Vec::new());
    part.rows.extend(row(reading, comparison, sealed));
}

fn add_dump(part: &mut ReplayPart, reading: &Reading, amounts: &Amounts) {
    let Some(comparison) = reading.comparison(|_| true) else {
        return;
    };
    let wanted = Wanted {
        claim: Some(PERCONA.claim("mysqldump_10M_rows_2GB")),
        what: "dump: time of a run".to_owned(),
        arm: "tcp",
        unit: ReplayUnit::AddedPct,
        effect: Effect::Rate,
        reasons: vec![
            "most of a dump's time is the server's and the dumper's own work, which no transport changes".to_owned(),
            "nothing is pinned: the scheduler decides where the two run".to_owned(),
        ],
    };
    part.rows.extend(row(reading, comparison, wanted));
    let rows = dumped_rows(amounts);
    if rows < DUMPED_ROWS {
        part.smaller.push(format!(
            "dumped {rows} rows instead of {DUMPED_ROWS}, {:.0} MB instead of 2 GB (--scale 1 dumps all)",
            rows as f64 / 5_000.0
        ));
    }
}

fn add_load(part: &mut ReplayPart, reading: &Reading, share_pct: f64, claims: [&str; 2]) {
    let Some(comparison) = reading.comparison(|it| it.load.share_pct == Some(share_pct)) else {
        return;
    };
    let unit = if share_pct > 50.0 {
        ReplayUnit::Times
    } else {
        ReplayUnit::AddedPct
    };
    let of = [("mean", Effect::Mean), ("p99", Effect::P99)];
    for (claim, (noun, effect)) in claims.into_iter().zip(of) {
        let wanted = Wanted {
            claim: Some(PERCONA.claim(claim)),
            what: format!("at {share_pct:.0} % of TCP's capacity: {noun}"),
            arm: "tcp",
            unit,
            effect,
            reasons: load_reasons(comparison),
        };
        part.rows.extend(row(reading, comparison, wanted));
    }
}

fn load_reasons(comparison: &Comparison) -> Vec<String> {
    let load = &comparison.load;
    let mut reasons = Vec::new();
    if let (Some(rate), Some(capacity)) = (load.rate_per_s, load.capacity_per_s) {
        reasons.push(format!(
            "{rate:.0} requests per second here, of {capacity:.0} that the slower arm served just before; there of \
             250,000 over TCP and 380,000 on the socket"
        ));
    }
    reasons.push(
        "the nearer the load is to what an arm can serve, the more a small difference in capacity becomes waiting"
            .to_owned(),
    );
    reasons
}
