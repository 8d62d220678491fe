//! Kawin Viriyaprasopsook's comparison: Redis and MariaDB behind a published port, against their sockets.
//!
//! What was called TCP there is a bridge and a port proxy on top of it, so all of these are measured, and the bill
//! says what each adds.

use looptax_bench::ClientModel;
use looptax_dsn::Kind;
use looptax_experiment::Experiment;
use looptax_experiment::spec::{Clients, Requests};
use looptax_path::Arm;
use looptax_record::{Bill, Comparison, Figure, ReplayPart, ReplayUnit, Verdict};
use looptax_report::terminal::micros;

use super::effect::Effect;
use super::published::KAWIN;
use super::reading::Reading;
use super::row::{WORDS, Wanted, row};
use super::step::on_one_core;
use super::{Amounts, Runner, Step};

/// The way that was published, and those that it is made of.
const PUBLISHED_PORT: &str = "proxy";
const PARTS: [(&str, &str); 2] = [("tcp", "loopback TCP"), ("bridge", "and the bridge")];
const ARMS: [Arm; 4] = [Arm::Unix, Arm::Tcp, Arm::Bridge, Arm::Proxy];
/// Slices of a length of their own: with three pairs of arms they must not grow to seconds on a busy machine.
/// They hold over a thousand sends and over a hundred transactions, of which the mean is wanted and no tail.
const REDIS_SLICE_MS: u32 = 50;
const MARIADB_SLICE_MS: u32 = 100;

pub(crate) fn steps(amounts: &Amounts) -> Vec<Step> {
    let keys = amounts.of(100_000, 100_000, 100);
    let epochs = amounts.either(10, 20);
    let with = |kind, connections| Experiment {
        rows: keys as u32,
        ..on_one_core(kind, &ARMS, &[connections])
    };
    // As redis-benchmark has by default.
    let redis = Experiment {
        requests: Requests {
            pipeline: 16,
            value_bytes: Some(3),
            ..Requests::default()
        },
        clients: Some(Clients::Models(vec![ClientModel::Event])),
        ..with(Kind::Redis, 50)
    };
    let redis = Step::new(
        "redis",
        "Redis get and set, 16 commands in a send, 50 connections: socket, loopback, bridge, published port",
        (redis, &["get", "set"]),
        amounts.either(70, 130),
    );
    let mariadb = Step::new(
        "mariadb",
        "MariaDB read-write, 16 connections: socket, loopback, bridge, published port",
        (with(Kind::Mariadb, 16), &["read-write"]),
        amounts.either(70, 130),
    );
    let whole = |step: Step, slice_ms| {
        step.epochs(amounts, epochs)
            .requests(amounts, Some(slice_ms))
    };
    vec![
        whole(redis, REDIS_SLICE_MS),
        whole(mariadb, MARIADB_SLICE_MS),
    ]
}

pub(crate) fn run(mut part: ReplayPart, amounts: &Amounts, runner: &mut Runner<'_>) -> ReplayPart {
    let steps = steps(amounts);
    if let Some(reading) = runner.measure(&mut part, &steps[0], 0) {
        for (workload, claim, what) in [
            ("get", "redis_read", "Redis get"),
            ("set", "redis_write", "Redis set"),
        ] {
            add(
                &mut part,
                &reading,
                workload,
                what,
                &[(claim, Effect::Rate)],
            );
        }
    }
    if let Some(reading) = runner.measure(&mut part, &steps[1], 1) {
        let claims = [
            ("mariadb_read", Effect::Rate),
            ("mariadb_latency", Effect::Mean),
        ];
        add(
            &mut part,
            &reading,
            "read-write",
            "MariaDB read-write",
            &claims,
        );
    }
    part.smaller.push(
        "the work is measured for a time and not by a number of requests: how many there were stands in each row"
            .to_owned(),
    );
    part
}

/// The rows of one workload: the published way, then what it is made of.
fn add(
    part: &mut ReplayPart,
    reading: &Reading,
    workload: &str,
    what: &str,
    claims: &[(&str, Effect)],
) {
    let Some(comparison) = reading.comparison(|it| it.workload.name == workload) else {
        return;
    };
    for (claim, effect) in claims {
        let what = match effect {
            Effect::Rate => what.to_owned(),
            _ => format!("{what}, mean time"),
        };
        let wanted = Wanted {
            claim: Some(KAWIN.claim(claim)),
            what,
            arm: PUBLISHED_PORT,
            unit: ReplayUnit::Times,
            effect: *effect,
            reasons: reasons(comparison),
        };
        part.rows.extend(row(reading, comparison, wanted));
    }
    for (arm, name) in PARTS {
        let wanted = Wanted {
            claim: None,
            what: format!("{what}, of this {name}"),
            arm,
            unit: ReplayUnit::Times,
            effect: Effect::Rate,
            reasons: Vec::new(),
        };
        part.rows.extend(row(reading, comparison, wanted));
    }
    let mut taxes = comparison.tax.iter();
    let is_proved =
        taxes.any(|tax| tax.arm == PUBLISHED_PORT && tax.verdict == Verdict::Difference);
    let bill = comparison.bill.as_ref().filter(|_| is_proved);
    part.findings
        .extend(bill.and_then(|bill| shares(bill, what)));
}

/// Why the published port costs another factor here.
fn reasons(comparison: &Comparison) -> Vec<String> {
    let mut reasons = vec![
        "published as TCP, it was a port proxy and a bridge on top of loopback TCP, as here".to_owned(),
        "client, server and proxy share one core here, so that the rate counts all their work; there the scheduler \
         placed them"
            .to_owned(),
    ];
    let mut arms = comparison.arms.iter();
    let proxy = arms.find(|arm| arm.name == PUBLISHED_PORT);
    let through = proxy.and_then(|arm| arm.endpoint.split_once(" through "));
    if let Some((_, through)) = through {
        reasons.push(format!("the port proxy here is {through}"));
    }
    reasons
}

/// What of the published port's cost is the proxy's, and what the transport's; `None` where that is not proved.
fn shares(bill: &Bill, what: &str) -> Option<String> {
    let step = |arm: &str| bill.steps.iter().find(|step| step.arm == arm);
    let known = |figure: &Figure| {
        let it = figure
            .known()
            .filter(|it| it.lo.is_some() && it.hi.is_some());
        it.copied()
    };
    let [tcp, bridge, proxy] = ["tcp", "bridge", PUBLISHED_PORT].map(step);
    let [tcp, bridge, proxy] = [tcp?, bridge?, proxy?];
    let in_all = known(&proxy.in_all_us)?;
    if in_all.lo? <= 0.0 {
        return None;
    }
    // From what each way costs in all, so that they add up.
    let until_tcp = known(&tcp.in_all_us)?.value;
    let until_bridge = known(&bridge.in_all_us)?.value;
    let share = |figure: &Figure, us: f64| {
        let time = micros(&known(figure)?, WORDS);
        Some(format!("{time} ({:.0} %)", 100.0 * us / in_all.value))
    };
    Some(format!(
        "{what}: of the {} that the published port adds, loopback TCP has {}, the bridge {} and the port proxy {}",
        micros(&in_all, WORDS),
        share(&tcp.time_us, until_tcp)?,
        share(&bridge.time_us, until_bridge - until_tcp)?,
        share(&proxy.time_us, in_all.value - until_bridge)?,
    ))
}

#[cfg(test)]
mod tests {
    use looptax_record::BillStep;

    use super::*;

    #[test]
    fn shares_are_those_of_the_added_time() {
        let us = |value: f64| Figure::new(value, value, value, 8);
        let step = |arm: &str, over: &str, us_: f64, all: f64| BillStep {
            arm: arm.to_owned(),
            over: over.to_owned(),
            time_us: us(us_),
            cpu_us: us(us_),
            in_all_us: us(all),
            left_over_us: None,
        };
        let bill = Bill {
            root: "unix".to_owned(),
            root_time_us: us(10.0),
            root_cpu_us: us(10.0),
            steps: vec![
                step("tcp", "unix", 2.0, 2.0),
                step("bridge", "tcp", 1.0, 3.0),
                step("proxy", "bridge", 17.0, 20.0),
            ],
        };
        let words = shares(&bill, "get").unwrap();
        for part in [
            "of the +20.0 µs [20.0, 20.0] that the published port adds",
            "loopback TCP has +2.0 µs [2.0, 2.0] (10 %)",
            "the bridge +1.0 µs [1.0, 1.0] (5 %)",
            "the port proxy +17.0 µs [17.0, 17.0] (85 %)",
        ] {
            assert!(words.contains(part), "{part}: {words}");
        }
    }
}
