//! The parts of the record's comparison that do not depend on the results: the server, the arms and the load.

use std::error::Error;

use looptax_bench::path::{Echo, EchoRequest, Family, PathError, TlsFacts, Workload};
use looptax_bench::{BenchError, ContrastRun, Course, Distribution, Outcome, Pacing, Placement, Plan};
use looptax_model::analysis::Ending;
use looptax_model::analysis::proved_arm::ProvedArm;
use looptax_model::dsn::Arm;
use looptax_model::record;
use looptax_model::stats::{InterimAnalysis, StopCause};
use looptax_wire::Sent;
use record::{Comparison, Hex64};

use super::plan::Case;
use crate::connector::ArmProof;
use crate::spec::load::Rate;
use crate::spec::waits::Waits;
use crate::spec::{Effort, Experiment};
use crate::target::Target;

/// Describes the server and the workload for the record.
pub(crate) fn what(target: &Target, settings: &Experiment) -> (record::Target, record::Workload) {
    let is_sql =
        matches!(target.protocol, looptax_model::dsn::Protocol::Mysql | looptax_model::dsn::Protocol::Postgres);
    let is_keyed =
        !matches!(target.workload, Workload::Ping | Workload::SystemRow { .. } | Workload::Echo(_) | Workload::Connect);
    let [request_bytes, response_bytes] = message_bytes(&target.workload);
    let server = record::Target {
        kind: target.kind.clone(),
        version: target.version.clone(),
        private: target.is_private(),
        name: target.name.clone(),
        settings: target.settings.iter().cloned().collect(),
        pid: target.pid(),
        processes_per_arm: target.processes_per_arm().map(|n| n as u32),
        started_at: None,
        offers_tls: target.offers_tls,
        meetings: target.meetings.clone(),
    };
    let workload = record::Workload {
        name: target.workload.to_string(),
        protocol: is_sql.then(|| sent_as(target)).flatten(),
        distribution: match target.distribution {
            Distribution::Uniform => None,
            Distribution::Zipf(exponent) => Some(format!("zipf:{exponent}")),
        },
        statements: target.workload.n_statements() as u32,
        pipeline: target.sending.pipeline as u32,
        rows: is_keyed.then_some(u64::from(settings.rows)),
        request_bytes,
        response_bytes,
        stream: stream(&target.workload),
    };
    (server, workload)
}

/// Returns how statements are sent, if the protocol offers a choice.
fn sent_as(target: &Target) -> Option<String> {
    let word = match (&target.workload, target.sending.sent) {
        (Workload::Connect | Workload::Dump { .. }, _) => return None,
        (_, Sent::Prepared) => "prepared",
        (_, Sent::Text) => "text",
    };
    Some(word.to_owned())
}

/// Returns the stream of a dump. Its length is known only after a dump has ended.
pub(crate) fn dumped(workload: &Workload, raw: &record::Raw) -> Option<record::Stream> {
    if !matches!(workload, Workload::Dump { .. } | Workload::DumpValues { .. }) {
        return None;
    }
    let slice = raw.epochs.first()?.slices.first()?;
    Some(record::Stream { bytes: slice.received_bytes?.checked_div(slice.requests)?, write_bytes: None })
}

/// Returns the sizes of a request and its reply, in bytes, if they are fixed.
fn message_bytes(workload: &Workload) -> [Option<u64>; 2] {
    match workload {
        Workload::Echo(Echo { request: EchoRequest::Ping { request_bytes, reply_bytes }, .. }) => {
            [request_bytes, reply_bytes].map(|bytes| Some(u64::from(*bytes)))
        }
        _ => [None, None],
    }
}

fn stream(workload: &Workload) -> Option<record::Stream> {
    match workload {
        Workload::Echo(Echo { request: EchoRequest::Stream { bytes, write_bytes }, .. }) => {
            Some(record::Stream { bytes: *bytes, write_bytes: Some(u64::from(*write_bytes)) })
        }
        _ => None,
    }
}

/// Returns the schedule of the epochs after the warm-up, for the record.
pub(crate) fn schedule(course: &Course, outcome: &Outcome, effort: Effort) -> record::Schedule {
    let shape = outcome.shape;
    let planned = |it: InterimAnalysis| record::PlannedLook { epochs: it.n_epochs as u32, alpha: it.alpha };
    record::Schedule {
        slice_ms: shape.slice.as_secs_f64() * 1e3,
        guard_ms: shape.guard.as_secs_f64() * 1e3,
        octets_per_epoch: shape.octets as u32,
        looks: outcome.analyses.iter().map(planned).collect(),
        fixed: effort.is_fixed(),
        precise: effort == Effort::Precise,
        delta_pct: course.stopping.delta * 100.0,
        warmup_epochs: outcome.n_warm_up_epochs as u32,
        seed: Hex64(course.seed),
    }
}

/// Makes a comparison with all its fields except arms, epochs and judgement.
pub(crate) fn skeleton(
    target: &Target,
    settings: &Experiment,
    case: &Case,
    client: Waits,
    schedule: record::Schedule,
) -> Comparison {
    let (server, workload) = what(target, settings);
    let placement = placement_for(&target.workload, case.placement);
    let waits = client.on(case.arms[0]).into();
    Comparison {
        connections: case.connections,
        client_like: client.like(&case.arms),
        remedy: settings.remedy,
        ..Comparison::unmeasured(server, workload, placement, waits, schedule)
    }
}

pub(crate) fn load_of(target: &Target, case: &Case, plan: &Plan, capacity_per_s: Option<f64>) -> record::Load {
    match plan.pacing {
        Pacing::Closed { think } => record::Load {
            reconnect_every: target.reconnect_every,
            think_us: (!think.is_zero()).then_some(think.as_secs_f64() * 1e6),
            ..record::Load::default()
        },
        Pacing::Open(open) => record::Load {
            rate_per_s: Some(open.rate_per_s),
            capacity_per_s,
            share_pct: match case.load.rate() {
                Some(Rate::OfCapacity(pct)) => Some(pct),
                _ => None,
            },
            arrivals: Some(open.arrivals.name().to_owned()),
            spins: open.may_spin,
            think_us: None,
            reconnect_every: None,
        },
    }
}

pub(crate) fn arm(arm: Arm, target: &Target, proof: Option<&ArmProof>) -> Result<ProvedArm, PathError> {
    let endpoints = target.endpoints(arm)?.into_iter();
    let endpoints = endpoints.map(|it| target.arms.seen_from_there(arm, it).to_string());
    let mut endpoint = endpoints.collect::<Vec<String>>().join(" or ");
    if let Some(through) = target.arms.through(arm) {
        endpoint.push_str(" through ");
        endpoint.push_str(through);
    }
    Ok(ProvedArm {
        name: arm.name().to_owned(),
        endpoint,
        verified: proof.is_some(),
        proof: proof.map(proof_of).unwrap_or_default(),
    })
}

fn proof_of(proof: &ArmProof) -> record::Proof {
    let facts = &proof.facts;
    record::Proof {
        family: match facts.family {
            Family::Unix => "AF_UNIX".to_owned(),
            Family::Inet => "AF_INET".to_owned(),
            Family::Inet6 => "AF_INET6".to_owned(),
            Family::Other(number) => format!("family {number}"),
        },
        peer_pid: facts.peer_pid,
        server_view: Some(proof.proof.server_view.clone()),
        server_identity: Some(proof.proof.server_identity.clone()),
        tls: facts.tls.as_ref().map(tls_words),
        nodelay: facts.nodelay,
        sndbuf_bytes: Some(facts.send_buffer_bytes as u64),
        rcvbuf_bytes: Some(facts.receive_buffer_bytes as u64),
        netns: None,
        seen: None,
    }
}

/// Describes the TLS of a connection: `TLSv1.3 TLS13_AES_256_GCM_SHA384, whole handshakes`.
fn tls_words(facts: &TlsFacts) -> String {
    let handshakes = if facts.is_resumed { "resumed sessions" } else { "whole handshakes" };
    format!("{} {}, {handshakes}", facts.version, facts.cipher)
}

/// Returns how a contrast ended. If it did not end at an interim analysis, its level is `cut_short_alpha`.
pub(crate) fn ending_of(contrast: &ContrastRun, cut_short_alpha: f64, failure: Option<&BenchError>) -> Ending {
    let chain = failure.map(|failure| {
        std::iter::successors(Some(failure as &dyn Error), |error| (*error).source())
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(": ")
    });
    let stopped = contrast.stopped;
    Ending {
        invalid: chain.into_iter().collect(),
        look: stopped.map(|(analysis, _)| analysis.idx as u32),
        alpha: stopped.map_or(cut_short_alpha, |(analysis, _)| analysis.alpha),
        stopped_early: stopped.is_some_and(|(analysis, cause)| !analysis.is_last && cause != StopCause::Invalid),
    }
}

/// Returns the requested placement with a description of what it does.
pub(crate) fn placement_used(placement: Placement) -> record::PlacementUsed {
    let real = match placement {
        Placement::Same => "both ends of a connection pinned to one core, which looptax picks at random for each epoch",
        Placement::Split => "the two ends pinned to different cores, which looptax picks at random for each epoch",
        Placement::Free => "nothing pinned",
        Placement::ClientPinned => "client threads pinned, the server's threads not pinned",
    };
    record::PlacementUsed { asked: placement, real: real.to_owned() }
}

/// Describes to what extent the epochs kept to the placement; `None` if there is nothing to report.
pub(crate) fn placed(placement: Placement, raw: &record::Raw) -> Option<record::PlacementUsed> {
    let is_pinned = matches!(placement, Placement::Same | Placement::Split);
    if raw.epochs.iter().any(|it| it.follows.is_some()) {
        let slices = || raw.epochs.iter().flat_map(|epoch| epoch.slices.iter().map(move |slice| (epoch, slice)));
        let n_there = slices().filter(|(epoch, slice)| epoch.is_in_place(slice)).count();
        let where_to = if placement == Placement::Same { "runs on the core" } else { "avoids the core" };
        let real = format!(
            "the client {where_to} on which the server's thread last ran; this was so in {n_there} of {} slices, \
             and only these slices count",
            slices().count()
        );
        return Some(record::PlacementUsed { asked: placement, real });
    }
    let is_unknown = raw.epochs.iter().flat_map(|it| &it.server_cores).any(Option::is_none);
    (is_pinned && is_unknown).then(|| record::PlacementUsed {
        asked: Placement::ClientPinned,
        real: "client threads pinned; looptax could not see on which cores the server's threads ran".to_owned(),
    })
}

/// Does the same as [`placement_used`] for workloads whose connections may be served by any of the server's
/// threads.
pub(crate) fn placement_for(workload: &Workload, placement: Placement) -> record::PlacementUsed {
    let used = placement_used(placement);
    let real = match (workload, placement) {
        (Workload::Connect, Placement::Same) => {
            "all clients and all threads of the server pinned to one core, which looptax picks at random for each epoch"
        }
        (Workload::Connect, Placement::Split) => {
            "all threads of the server pinned to one core, all clients to other cores; looptax picks these cores at \
             random for each epoch"
        }
        _ => return used,
    };
    record::PlacementUsed { real: real.to_owned(), ..used }
}
