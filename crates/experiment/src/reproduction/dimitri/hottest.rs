//! The functions of the server that take the most time at each number of connections. To find them, the sweep is
//! repeated and sampled in the same way as by `why`.
//!
//! The sampling comes after all measurements, because it takes time, and no figure may include this time.

use std::time::Duration;

use crate::comparison::{Measured, Named, measured};
use crate::spec::exec::joined;
use crate::spec::{Clients, Effort};
use crate::why::Watch;
use looptax_bench::ClientModel;
use looptax_model::failure::Failure;
use looptax_model::record::{
    Comparison, HotFunction, Record, ReproductionFinding, ReproductionPart, ReproductionStep, SampledPart, Why,
};

use super::super::runner::in_one_line;
use super::super::{Amounts, Runner, Step};

pub(super) const WHAT: &str = "the server's hottest functions";
/// Time that is sampled at each number of connections.
pub(super) const TAKES: Duration = Duration::from_secs(8);
/// Number of epochs at each number of connections; a third of them is not sampled.
const EPOCHS: usize = 9;
const MOST_SHOWN: usize = 4;
/// The process whose functions are shown.
const PROCESS: &str = "server";

/// The sentence that is shown if the kernel's functions are not visible.
const USER_ALONE: &str = "the kernel's part of the server's hottest functions is not shown, because looptax may \
                          sample only user-space code on this machine; the shares are shares of user-space time. To \
                          see the kernel's part, run looptax as root, or set sysctl kernel.perf_event_paranoid=-1";

/// Adds the hottest functions to the points of `part`, or the reason why they are missing.
pub(super) fn add(part: &mut ReproductionPart, step: &Step, amounts: &Amounts, runner: &Runner<'_>) {
    if runner.is_interrupted() {
        return;
    }
    match sampled(part, step, amounts, runner) {
        Ok(Measured { record, failure }) => {
            part.missing.extend(failure.map(|it| in_one_line(WHAT, &it)));
            take(&record, part);
        }
        Err(failure) => part.missing.push(in_one_line(WHAT, &failure)),
    }
}

/// Samples the sweep, and saves its record in the folder that has the records of the steps.
fn sampled(
    part: &mut ReproductionPart,
    step: &Step,
    amounts: &Amounts,
    runner: &Runner<'_>,
) -> Result<Measured, Failure> {
    let mut experiment = step.experiments()?.swap_remove(0);
    experiment.clients = Some(Clients::Models(vec![ClientModel::Event]));
    experiment.effort = Effort::Epochs(amounts.epochs.map_or(EPOCHS, |it| it as usize));
    let mut command = experiment.command_without_seed();
    "why".clone_into(&mut command[1]);
    let path = runner.folder().join("dimitri-functions.json");
    let kept = ReproductionStep {
        what: WHAT.to_owned(),
        command: joined(&command),
        run: None,
        path: Some(path.display().to_string()),
    };
    let time = TAKES * experiment.connections.as_ref().map_or(1, Vec::len) as u32;
    let done = runner.at_most(time, |observer, deadline, stop| {
        experiment.deadline = Some(deadline);
        experiment.is_sampled = true;
        let named = Named { suffix: "-dimitri-functions", command, path: Some(&path) };
        let mut watch = Watch::new(experiment.seed, observer)?;
        measured(vec![experiment], named, &mut watch, stop)
    })?;
    if !done.record.comparisons.is_empty() {
        runner.remember(&done.record, &path);
        part.steps.push(ReproductionStep { run: Some(done.record.id.clone()), ..kept });
    }
    Ok(done)
}

/// Copies the samples of a record, and the facts about how they were taken, to the points of `part`.
fn take(record: &Record, part: &mut ReproductionPart) {
    let sampled = |it: &Comparison| Some((it.connections, it.why.first()?.clone()));
    let all: Vec<(u32, Why)> = record.comparisons.iter().filter_map(sampled).collect();
    for (connections, why) in &all {
        let mut points = part.points.iter_mut();
        if let Some(point) = points.find(|it| it.connections == *connections) {
            point.hottest = hottest(why);
        }
    }
    let n_without = part.points.iter().filter(|it| it.hottest.is_empty());
    let n_without = n_without.count();
    if n_without > 0 {
        let n = part.points.len();
        part.missing.push(format!("{WHAT} for {n_without} of {n} numbers of connections, because the time ran out"));
    }
    if all.iter().any(|(_, why)| !why.sampling.sees_kernel) {
        part.missing.push(USER_ALONE.to_owned());
    } else if !all.is_empty() {
        part.findings.push(ReproductionFinding::SampledByTimer);
    }
}

/// Returns the server's functions with the largest shares of its time, both arms taken together.
fn hottest(why: &Why) -> Vec<HotFunction> {
    let us = |part: &SampledPart| -> Option<f64> {
        let arms = part.row.as_ref()?.arms.each_ref().map(|it| it.known());
        Some(arms[0]?.value + arms[1]?.value)
    };
    let mut processes = why.processes.iter();
    let all = processes.find(|it| it.process == PROCESS).and_then(us);
    let Some(all) = all.filter(|us| *us > 0.0) else {
        return Vec::new();
    };
    let function = |part: &SampledPart| {
        Some(HotFunction {
            name: part.function.clone()?,
            is_kernel: part.is_kernel,
            share_pct: 100.0 * us(part)? / all,
        })
    };
    let of_server = why.functions.iter().filter(|it| it.process == PROCESS);
    let mut hottest: Vec<HotFunction> = of_server.filter_map(function).collect();
    hottest.sort_by(|one, other| other.share_pct.total_cmp(&one.share_pct));
    hottest.truncate(MOST_SHOWN);
    hottest
}

#[cfg(test)]
mod tests {
    use looptax_model::record::{Figure, Sampling, WhyRow};

    use super::*;

    #[test]
    fn the_first_functions_are_those_with_the_largest_shares_of_both_ways() {
        let part = |process: &str, function: Option<&str>, us: [f64; 2]| SampledPart {
            process: process.to_owned(),
            function: function.map(str::to_owned),
            is_kernel: function == Some("tcp_sendmsg"),
            ns: Vec::new(),
            row: Some(WhyRow {
                name: String::new(),
                arms: us.map(|us| Figure::new(us, us, us, 9)),
                difference: Figure::missing("nobody asks"),
                p: None,
            }),
        };
        let mut why = Why {
            processes: vec![part("client", None, [7.0, 7.0]), part(PROCESS, None, [8.0, 12.0])],
            functions: vec![
                part("client", Some("send"), [6.0, 6.0]),
                part(PROCESS, Some("a"), [1.0, 1.0]),
                part(PROCESS, Some("tcp_sendmsg"), [0.0, 3.0]),
                part(PROCESS, Some("b"), [0.5, 0.5]),
                part(PROCESS, Some("c"), [0.4, 0.4]),
                part(PROCESS, Some("d"), [0.1, 0.1]),
            ],
            ..Why::unmeasured([0, 1], Sampling::default(), Vec::new())
        };
        let shown: Vec<(String, bool, f64)> =
            { hottest(&why).into_iter() }.map(|it| (it.name, it.is_kernel, it.share_pct.round())).collect();
        let expected = [("tcp_sendmsg", true, 15.0), ("a", false, 10.0), ("b", false, 5.0), ("c", false, 4.0)];
        assert_eq!(shown, expected.map(|(name, is_kernel, pct)| (name.to_owned(), is_kernel, pct)));
        why.processes.clear();
        assert_eq!(hottest(&why), []);
    }
}
