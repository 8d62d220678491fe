//! Makes the rows about many simultaneous connections: how many fail over the socket, compared with TCP.

use std::collections::BTreeMap;
use std::time::Duration;

use looptax_model::failure::Failure;
use looptax_model::record::{
    Figure, ReproductionPart, ReproductionProof, ReproductionReason, ReproductionRow, ReproductionSide,
    ReproductionStep, ReproductionUnit, SideUnit, StormArm, StormSize, Storms,
};

use super::publication::{Publication, StormPlan};
use super::{Amounts, Runner};
use crate::spec::exec::joined;
use crate::spec::new_seed;
use crate::storm;

/// Describes the work, and returns its longest time.
pub(crate) fn extra_work(publication: &Publication) -> (&'static str, Duration) {
    let budgets = publication.storms.iter().map(|it| Duration::from_secs(it.budget_s));
    ("many connections at the same time, alternately over the socket and over TCP", budgets.sum())
}

/// Adds the storms with their rows, and the shortest queue at which no connection failed.
pub(crate) fn add(part: &mut ReproductionPart, publication: &Publication, amounts: &Amounts, runner: &Runner<'_>) {
    for plan in &publication.storms {
        if runner.is_interrupted() {
            return;
        }
        match storms(plan, amounts, runner) {
            Ok(Some(storms)) => add_row(part, plan, &storms, runner),
            Ok(None) if runner.is_interrupted() => return,
            Ok(None) => part.missing.push(format!("{}: the time ran out", plan.what)),
            Err(failure) => part.missing.push(super::runner::in_one_line(&plan.what, &failure)),
        }
    }
}

fn storms(plan: &StormPlan, amounts: &Amounts, runner: &Runner<'_>) -> Result<Option<Storms>, Failure> {
    let spec = storm::Spec {
        kind: plan.target,
        client: storm::client(Some(&plan.client), plan.target)?,
        connections: vec![plan.connections],
        n_storms: { amounts.epochs }.unwrap_or_else(|| amounts.either(plan.storms[0], plan.storms[1])),
        stall: Duration::ZERO,
        rate_per_s: None,
        queue: plan.queue,
        seed: new_seed()?,
    };
    runner.at_most(Duration::from_secs(plan.budget_s), |observer, _, stop| storm::run(&spec, observer, stop))
}

fn add_row(part: &mut ReproductionPart, plan: &StormPlan, storms: &Storms, runner: &Runner<'_>) {
    let Some(size) = storms.sizes.first() else { return };
    let [Some(unix), Some(tcp)] = ["unix", "tcp"].map(|arm| size.arms.iter().find(|it| it.arm == arm)) else {
        return;
    };
    let path = runner.folder().join(format!("{}-storms-{}.json", part.name, part.steps.len()));
    let saved = looptax_store::save_value(storms, &path);
    part.missing.extend(saved.as_ref().err().map(|error| format!("{}: {error}", plan.what)));
    part.steps.push(ReproductionStep {
        what: plan.what.clone(),
        command: command(plan, unix.storms.len()),
        run: None,
        path: saved.is_ok().then(|| path.display().to_string()),
    });
    let measured = failed(unix);
    let mut reasons: Vec<ReproductionReason> = plan.reasons.iter().map(|words| known(words)).collect();
    reasons.push(known(&smallest(storms, size)));
    let judged = plan.claim.as_ref().map(|claim| claim.judge(&measured));
    reasons.extend(judged.as_ref().and_then(|it| it.why.clone()));
    let claim = plan.claim.as_ref();
    part.rows.push(ReproductionRow {
        claim: claim.map_or("part", |claim| &claim.name).to_owned(),
        what: plan.what.clone(),
        arms: [tcp.arm.clone(), unix.arm.clone()],
        unit: ReproductionUnit::SharePct,
        published: claim.map(|it| it.published(ReproductionUnit::SharePct)),
        sides: [tcp, unix].map(|it| ReproductionSide { figure: failed(it), unit: SideUnit::Pct }),
        measured,
        verdict: judged.map(|it| it.verdict),
        proof: ReproductionProof {
            requests: [tcp, unix].iter().flat_map(|it| &it.storms).map(|it| it.served).sum(),
            ..ReproductionProof::default()
        },
        reasons,
        step_idx: part.steps.len() as u32 - 1,
    });
}

fn known(words: &str) -> ReproductionReason {
    ReproductionReason::Known { words: words.to_owned(), figures: BTreeMap::new() }
}

fn failed(arm: &StormArm) -> Figure {
    let [value, lo, hi] = arm.failed_pct;
    Figure::new(value, lo, hi, arm.storms.len() as u64)
}

fn smallest(storms: &Storms, size: &StormSize) -> String {
    let (here, n, tries) = (storms.queue, size.connections, size.tries_of_queue);
    match size.smallest_queue {
        Some(queue) => {
            format!(
                "the queue in this row is {here}; with a queue of {queue}, none of {n} connections failed in any of \
                 {tries} storms"
            )
        }
        None => {
            format!("the queue in this row is {here}; looptax found no queue with which none of {n} connections failed")
        }
    }
}

fn command(plan: &StormPlan, n_storms: usize) -> String {
    let mut words = vec!["looptax".to_owned(), "compare".to_owned(), format!("private:{}", plan.target)];
    let options = [
        ("--workload", Some("storm".to_owned())),
        ("--client-like", Some(plan.client.clone())),
        ("-c", Some(plan.connections.to_string())),
        ("--storms", Some(n_storms.to_string())),
        ("--queue", plan.queue.map(|it| it.to_string())),
    ];
    for (name, value) in options {
        words.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]));
    }
    joined(&words)
}
