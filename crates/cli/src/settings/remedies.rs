//! `--remedies`: the comparisons that together say what would help.
//!
//! Each is what another command line of `compare` would give; the first has the ways to the server, and each of the
//! others one thing changed. Called by `compare`.

use looptax_bench::Placement;
use looptax_failure::Failure;
use looptax_path::Arm;
use looptax_servers::Kind;

use super::target::{self, TargetSpec};
use super::{Compare, requests, words};
use crate::args::CompareArgs;

/// Connections where nothing is said: one alone has no placement to choose.
const CONNECTIONS: u32 = 16;
/// Requests at once, as the published comparisons have them.
const PIPELINE: u32 = 16;
/// Epochs of free placement, which take a quarter of a minute each: the fewest that give an interval.
const FREE_EPOCHS: &str = "6";

/// One comparison of those that say what would help.
pub(crate) struct Part {
    /// What it is about, for the plan.
    pub(crate) title: &'static str,
    /// `Err` where it does not go with what was asked; never of the first.
    pub(crate) settings: Result<Compare, Failure>,
}

/// What was asked for, and the way that programs take today.
pub(crate) struct Asked {
    pub(crate) today: Arm,
    /// The first has the ways to the server.
    pub(crate) parts: Vec<Part>,
}

/// The comparisons of `--remedies`.
///
/// # Errors
/// A usage failure when there is not one server, or nothing over TCP to help against.
pub(crate) fn asked(args: &CompareArgs) -> Result<Asked, Failure> {
    let [typed] = args.targets.as_slice() else {
        return Err(Failure::usage(
            "--remedies is about one server",
            "for example looptax compare private:redis --remedies",
        ));
    };
    if requests::workloads(args.workload.as_deref()).len() > 1 {
        return Err(Failure::usage(
            "--remedies is about one workload",
            "what helps one need not help another: ask of each by itself",
        ));
    }
    let spec = target::parse(typed)?;
    let today = today(args)?;
    let ways = ways(args, today, &spec)?;
    let first = Compare::new(&ways)?;
    let seed = Some(format!("{:x}", first.seed));
    let two = CompareArgs {
        arms: vec![today.name().to_owned(), Arm::Unix.name().to_owned()],
        seed,
        ..ways
    };
    let mut parts = vec![Part {
        title: "ways",
        settings: Ok(first),
    }];
    parts.extend(changes(&two, &spec).into_iter().map(|(title, args)| {
        Part {
            title,
            settings: args
                .map_err(|why| Failure::usage(why, "leave it out"))
                .and_then(|args| Compare::new(&args)),
        }
    }));
    Ok(Asked { today, parts })
}

/// The way that programs take today.
fn today(args: &CompareArgs) -> Result<Arm, Failure> {
    let hint = "--baseline tcp, tcp6, tls, bridge, nat or proxy says what programs do today; without it the first of --arms does";
    let typed = args.baseline.as_ref().or(args.arms.first());
    let today = typed.map_or(Ok(Arm::Tcp), |word| word.parse());
    let today = today.map_err(|error| Failure::usage(error, hint))?;
    match today {
        Arm::Tcp | Arm::Tcp6 | Arm::Tls | Arm::Bridge | Arm::Nat | Arm::Proxy => Ok(today),
        Arm::Unix | Arm::Abstract | Arm::TlsUnix | Arm::Sockmap | Arm::Redirect => {
            Err(Failure::usage(
                format!(
                    "--remedies asks what would help over TCP, and `{today}` is a remedy itself"
                ),
                hint,
            ))
        }
    }
}

/// The comparison of all ways, today's first.
fn ways(args: &CompareArgs, today: Arm, spec: &TargetSpec) -> Result<CompareArgs, Failure> {
    let is_private = matches!(spec, TargetSpec::Private(_));
    let typed: Option<Vec<Arm>> = words(&args.arms, "--arms")?;
    let mut arms = typed.unwrap_or_else(|| usual_arms(today, spec));
    arms.retain(|arm| *arm != today);
    arms.insert(0, today);
    let mut ways = CompareArgs {
        arms: arms.iter().map(|arm| arm.name().to_owned()).collect(),
        baseline: None,
        quick: args.fixed.is_none() && !args.precise,
        ..args.clone()
    };
    if is_private {
        if ways.connections.is_empty() {
            ways.connections = vec![CONNECTIONS];
        }
        if ways.placement.is_empty() {
            ways.placement = vec![Placement::Same.name().to_owned()];
        }
    }
    Ok(ways)
}

/// The ways that are worth a look from today's, as far as a server of this kind may have them.
fn usual_arms(today: Arm, spec: &TargetSpec) -> Vec<Arm> {
    let mut arms = vec![Arm::Unix, Arm::Tcp];
    if matches!(spec, TargetSpec::Private(Kind::Postgres | Kind::Echo)) {
        arms.push(Arm::Abstract);
    }
    let has_tls = !matches!(spec.kind(), "memcached" | "echo");
    let is_private = matches!(spec, TargetSpec::Private(_));
    match today {
        Arm::Tcp | Arm::Tcp6 => {
            if has_tls {
                arms.push(Arm::Tls);
            }
            if is_private {
                arms.extend([Arm::Sockmap, Arm::Bridge]);
            }
            if is_private && spec.kind() != "memcached" {
                arms.push(Arm::Proxy);
            }
        }
        Arm::Nat | Arm::Proxy => arms.push(Arm::Bridge),
        _ => {}
    }
    arms
}

/// Why a change is not measured.
type NoPoint = &'static str;

/// What is changed beside the way, each from `today`, or why that is not measured.
fn changes(
    today: &CompareArgs,
    spec: &TargetSpec,
) -> Vec<(&'static str, Result<CompareArgs, NoPoint>)> {
    let mut changes = vec![
        ("16 requests at once", pipelined(today, spec)),
        ("a connection for each request", reconnected(today, spec)),
    ];
    for (title, placement) in [
        ("left to the scheduler", Placement::Free),
        ("ends on two cores", Placement::Split),
    ] {
        changes.push((title, placed(today, spec, placement)));
    }
    changes
}

fn pipelined(today: &CompareArgs, spec: &TargetSpec) -> Result<CompareArgs, NoPoint> {
    if !matches!(spec.kind(), "redis" | "valkey" | "memcached" | "echo") {
        return Err("a statement is sent when the answer before it is in");
    }
    if today.pipeline > 1 {
        return Err("--pipeline has them already");
    }
    Ok(CompareArgs {
        pipeline: PIPELINE,
        ..today.clone()
    })
}

fn reconnected(today: &CompareArgs, spec: &TargetSpec) -> Result<CompareArgs, NoPoint> {
    if matches!(spec.kind(), "memcached" | "echo") {
        return Err("memcached and echo do not take --reconnect-every");
    }
    Ok(CompareArgs {
        reconnect_every: Some(1),
        // It blocks in every step, whatever waits for the others.
        client: Vec::new(),
        client_like: Vec::new(),
        ..today.clone()
    })
}

fn placed(
    today: &CompareArgs,
    spec: &TargetSpec,
    placement: Placement,
) -> Result<CompareArgs, NoPoint> {
    if matches!(spec, TargetSpec::Running(_)) {
        return Err("the threads of a running server are not ours to pin");
    }
    if today.placement != [Placement::Same.name()] {
        return Err("--placement says otherwise");
    }
    let mut args = CompareArgs {
        placement: vec![placement.name().to_owned()],
        ..today.clone()
    };
    if placement == Placement::Free && args.quick {
        args.quick = false;
        args.fixed = Some(FREE_EPOCHS.to_owned());
    }
    Ok(args)
}
