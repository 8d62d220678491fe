//! `--remedies`: the comparisons that together show what would help.
//!
//! The first comparison compares the arms; each further comparison changes one setting. Called with an experiment that
//! has all settings except the arms.

use looptax_bench::Placement;
use looptax_model::dsn::Arm;
use looptax_model::dsn::{Kind, Protocol};
use looptax_model::failure::Failure;
use looptax_model::record::RemedyKind;

use super::target::TargetSpec;
use super::{Effort, Experiment};

/// Default number of connections. A single connection would leave no choice of placement.
const CONNECTIONS: u32 = 16;
/// Number of requests in a pipeline, the same as in the published comparisons.
const PIPELINE: u32 = 16;
/// Number of epochs with free placement; each of them takes 4 s.
const FREE_EPOCHS: usize = 12;

/// A comparison that shows whether a change would help.
#[derive(Debug)]
pub struct Part {
    /// The changed setting, for the plan.
    pub title: &'static str,
    /// The experiment, or an error with the reason why the user's options make the comparison impossible. The first
    /// comparison is always possible.
    pub experiment: Result<Experiment, Failure>,
}

/// Returns the comparisons that show what would help programs that connect over `today`. `arms` are the arms to compare
/// with `today`; with `None`, the default arms are compared.
///
/// # Errors
/// A usage failure if there is not exactly one server, or if no remedy reduces the cost of the arm `today`.
pub fn parts(base: Experiment, today: Arm, arms: Option<Vec<Arm>>) -> Result<Vec<Part>, Failure> {
    let [spec] = base.targets.as_slice() else {
        return Err(Failure::usage(
            "--remedies needs exactly one server",
            "for example looptax compare private:redis --remedies",
        ));
    };
    let spec = spec.clone();
    check_today(today)?;
    let first = over_arms(base, today, &spec, arms);
    first.check()?;
    let two = Experiment { arms: vec![today, Arm::Unix], ..first.clone() };
    let mut parts = vec![Part { title: "arms", experiment: Ok(first) }];
    parts.extend(changes(&two, &spec).into_iter().map(|(title, changed)| {
        let changed = changed.map_err(|why| Failure::usage(why, "leave it out"));
        Part { title, experiment: changed.and_then(|it| it.check().map(|()| it)) }
    }));
    Ok(parts)
}

/// The hint if no remedy reduces the cost of the arm that programs use today.
pub const TODAY: &str = "use --baseline to name the transport that programs use today: tcp, tcp6, tls, tls-unix, \
    bridge, nat, proxy or pasta; without --baseline, looptax uses the first arm of --arms";

fn check_today(today: Arm) -> Result<(), Failure> {
    match today {
        Arm::Tcp | Arm::Tcp6 | Arm::Tls | Arm::TlsUnix | Arm::Bridge | Arm::Nat | Arm::Proxy | Arm::Pasta => Ok(()),
        _ if today.second_hop().is_some() => Err(Failure::usage(
            "--remedies compares one hop, but a pooler has two",
            "the bill of `looptax compare private:pgbouncer` shows the gain of each hop",
        )),
        _ => Err(Failure::usage(
            format!("--remedies searches for remedies for TCP or TLS, but `{today}` is itself a remedy"),
            TODAY,
        )),
    }
}

/// Makes the comparison of all arms, with the arm `today` as the baseline.
fn over_arms(base: Experiment, today: Arm, spec: &TargetSpec, arms: Option<Vec<Arm>>) -> Experiment {
    let mut arms = arms.unwrap_or_else(|| usual_arms(today, spec));
    arms.retain(|arm| *arm != today);
    arms.insert(0, today);
    let mut first = Experiment { arms, adds_tls: false, ..base };
    if first.effort == Effort::Full {
        first.effort = Effort::Quick;
    }
    if matches!(spec, TargetSpec::Private(_)) {
        first.connections.get_or_insert_with(|| vec![CONNECTIONS]);
        first.placements.get_or_insert_with(|| vec![Placement::Same]);
    }
    first
}

/// Returns the arms that are worth comparing with `today`, and that a server of this kind may have.
fn usual_arms(today: Arm, spec: &TargetSpec) -> Vec<Arm> {
    let mut arms = vec![Arm::Unix, Arm::Tcp];
    if matches!(spec, TargetSpec::Private(Kind::Postgres | Kind::Echo)) {
        arms.push(Arm::Abstract);
    }
    let has_tls = !matches!(spec.kind(), Kind::Memcached | Kind::Ferretdb | Kind::Mongodb | Kind::Echo);
    let is_private = matches!(spec, TargetSpec::Private(_));
    match today {
        Arm::Tcp | Arm::Tcp6 => {
            if has_tls {
                arms.push(Arm::Tls);
            }
            if is_private {
                arms.push(Arm::Bridge);
            }
            if is_private && spec.kind() != Kind::Memcached {
                arms.push(Arm::Proxy);
            }
        }
        Arm::Nat | Arm::Proxy => arms.push(Arm::Bridge),
        // MariaDB's own programs keep using TLS after they have moved to the socket.
        Arm::Tls if spec.kind().protocol() == Some(Protocol::Mysql) => arms.push(Arm::TlsUnix),
        Arm::TlsUnix => arms.retain(|arm| *arm == Arm::Unix),
        _ => {}
    }
    arms
}

/// The reason why a change is not measured.
type NoPoint = &'static str;

/// Returns the changes that keep the arm. Each change has a title, and either `today` with this change or the reason
/// why the change is not measured.
fn changes(today: &Experiment, spec: &TargetSpec) -> Vec<(&'static str, Result<Experiment, NoPoint>)> {
    let mut changes = vec![
        ("16 requests at once", pipelined(today, spec)),
        ("a connection for each request", reconnected(today, spec)),
    ];
    for (title, placement, kind) in [
        ("left to the scheduler", Placement::Free, RemedyKind::OneCore),
        ("ends on two cores", Placement::Split, RemedyKind::TwoCores),
    ] {
        changes.push((title, placed(today, spec, placement, kind)));
    }
    changes
}

fn pipelined(today: &Experiment, spec: &TargetSpec) -> Result<Experiment, NoPoint> {
    if let Some(Protocol::Mysql | Protocol::Postgres | Protocol::Mongodb) = spec.kind().protocol() {
        return Err("looptax sends a statement or command only after the previous answer");
    }
    if today.requests.pipeline > 1 {
        return Err("--pipeline already sends several requests together");
    }
    let mut changed = today.clone();
    changed.requests.pipeline = PIPELINE;
    changed.remedy = Some(RemedyKind::Pipelining);
    Ok(changed)
}

fn reconnected(today: &Experiment, spec: &TargetSpec) -> Result<Experiment, NoPoint> {
    if matches!(spec.kind(), Kind::Memcached | Kind::Ferretdb | Kind::Mongodb | Kind::Echo) {
        return Err("memcached, MongoDB, FerretDB and echo do not support --reconnect-every");
    }
    let mut changed = today.clone();
    changed.requests.reconnect_every = Some(1);
    // The client of this change blocks in every step, whatever client model the other comparisons use.
    changed.clients = None;
    changed.remedy = Some(RemedyKind::Persistent);
    Ok(changed)
}

fn placed(
    today: &Experiment,
    spec: &TargetSpec,
    placement: Placement,
    kind: RemedyKind,
) -> Result<Experiment, NoPoint> {
    if matches!(spec, TargetSpec::Running(_)) {
        return Err("--remedies does not change the placement of a running server");
    }
    if today.placements.as_deref() != Some(&[Placement::Same]) {
        return Err("--placement sets another placement");
    }
    let mut changed = today.clone();
    changed.placements = Some(vec![placement]);
    changed.remedy = Some(kind);
    if placement == Placement::Free && changed.effort == Effort::Quick {
        changed.effort = Effort::Epochs(FREE_EPOCHS);
    }
    Ok(changed)
}
