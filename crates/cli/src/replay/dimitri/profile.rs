//! Where the server spends its time at each number of connections, by `perf`, as far as it is here and allowed.
//!
//! In looks of their own after everything is measured: sampling costs time, which no figure is to hold.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use looptax_bench::look;
use looptax_record::{HotFunction, ReplayPart};
use rustix::process::{Pid, Signal, kill_process};

use super::super::programs::on_path;
use super::super::runner::arguments;
use super::super::{Amounts, Runner, Step};
use crate::arms::Machine;
use crate::connector::TargetConnector;
use crate::failure::Failure;
use crate::measure::plan::{self, Case, Doing};
use crate::settings::Compare;
use crate::target::{Host, Target};

/// How long each number of connections is looked at: both ways, in turns.
const LENGTH: Duration = Duration::from_secs(3);
/// The same with perf's own start and end.
pub(super) const TAKES: Duration = Duration::from_secs(4);
/// Functions that are shown.
const MOST_SHOWN: usize = 4;
/// Samples per second and thread: an odd number, so that it does not beat with timers.
const SAMPLES_PER_S: &str = "499";

/// Adds the hottest functions to the points of `part`, or says why there are none.
pub(super) fn add(part: &mut ReplayPart, step: &Step, amounts: &Amounts, runner: &Runner<'_>) {
    if runner.is_interrupted() {
        return;
    }
    if !on_path("perf") {
        part.missing.push(
            "the server's hottest functions: perf is not on PATH; install the package linux-perf (Debian) or \
             linux-tools-generic (Ubuntu)"
                .to_owned(),
        );
        return;
    }
    if let Err(failure) = look_at_all(part, step, amounts, runner) {
        part.missing.push(format!(
            "the server's hottest functions: {:#}",
            failure.error
        ));
    }
}

fn look_at_all(
    part: &mut ReplayPart,
    step: &Step,
    amounts: &Amounts,
    runner: &Runner<'_>,
) -> Result<(), Failure> {
    let settings = Compare::new(&arguments(step)?)?;
    let machine = Machine::plain();
    let overview = plan::of(&settings, &machine)?;
    let host = Host::new(machine)?;
    let spec = &settings.targets[0];
    let target = Target::open(spec, &settings.arms, &settings, &host)?;
    let cases = overview.targets.iter().flat_map(|it| &it.cases);
    let mut done = Ok(());
    for case in cases.filter(|case| case.doing == Doing::Judge) {
        if runner.is_interrupted() || done.is_err() {
            break;
        }
        let hottest = one(case, &settings, &target, amounts, runner);
        done = hottest.map(|hottest| {
            let mut points = part.points.iter_mut();
            if let Some(point) = points.find(|it| it.connections == case.connections) {
                point.hottest = hottest;
            }
        });
    }
    let closed = target.close();
    done.and(closed)
}

/// The hottest functions of one case.
fn one(
    case: &Case,
    settings: &Compare,
    target: &Target,
    amounts: &Amounts,
    runner: &Runner<'_>,
) -> Result<Vec<HotFunction>, Failure> {
    let case = Case {
        clients: case.clients[..1].to_vec(),
        ..case.clone()
    };
    let plan = plan::bench(settings, target, &case, settings.seed, None);
    let mut connector = TargetConnector::new(target, vec![[case.arms[0], case.arms[1]]]);
    let pid = target.pid().unwrap_or_default();
    let length = if amounts.epochs.is_some() {
        LENGTH / 3
    } else {
        LENGTH
    };
    let data = runner.folder().join("perf.data");
    let perf = record(&data, pid)?;
    let looked = look(&plan, &mut connector, length, runner.stop());
    let ended = end(perf);
    let hottest = looked
        .map_err(Failure::from)
        .and(ended)
        .and_then(|()| report(&data));
    fs::remove_file(&data).ok();
    hottest
}

fn record(data: &Path, pid: u32) -> Result<Child, Failure> {
    let child = Command::new("perf")
        .args(["record", "-q", "-e", "cpu-clock", "-F", SAMPLES_PER_S, "-o"])
        .arg(data)
        .args(["-p", &pid.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn();
    child.map_err(|error| Failure::usage(format!("perf cannot be started: {error}"), ""))
}

/// Ends the recording; one that had ended by itself was not allowed.
fn end(mut perf: Child) -> Result<(), Failure> {
    let had_ended = perf.try_wait()?.is_some();
    if !had_ended && let Some(pid) = Pid::from_raw(perf.id().cast_signed()) {
        kill_process(pid, Signal::INT)?;
    }
    let output = perf.wait_with_output()?;
    if !had_ended {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    let why = words.lines().map(str::trim).find(|line| !line.is_empty());
    Err(Failure::usage(
        format!(
            "perf may not sample here ({}); root may, or everybody with sysctl kernel.perf_event_paranoid=1",
            why.unwrap_or("it says nothing")
        ),
        "",
    ))
}

fn report(data: &Path) -> Result<Vec<HotFunction>, Failure> {
    let output = Command::new("perf")
        .args([
            "report",
            "--stdio",
            "--no-children",
            "--fields",
            "overhead,sym",
        ])
        .args(["--field-separator", "|", "-i"])
        .arg(data)
        .stdin(Stdio::null())
        .output()?;
    Ok(hottest(&String::from_utf8_lossy(&output.stdout)))
}

/// The first functions of what `perf report` prints: ` 6.64%  |[k] finish_task_switch`.
fn hottest(text: &str) -> Vec<HotFunction> {
    let functions = text.lines().filter_map(|line| {
        let (share, symbol) = line.split_once('|')?;
        let share_pct = share.trim().strip_suffix('%')?.parse().ok()?;
        let (end, name) = symbol.trim().split_once(' ')?;
        Some(HotFunction {
            name: name.trim().to_owned(),
            is_kernel: end == "[k]",
            share_pct,
        })
    });
    functions.take(MOST_SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_functions_are_read_with_their_shares() {
        let text = "# Samples: 512  of event 'cpu-clock'\n#\n# Overhead|Symbol       \n 6.64%  |[k] \
                    finish_task_switch.isra.0\n 5.08%  |[.] mysql_execute(THD*, int)   \nnonsense\n x% |[k] y\n";
        let found = hottest(text);
        let shown: Vec<(&str, bool)> = { found.iter() }
            .map(|it| (it.name.as_str(), it.is_kernel))
            .collect();
        assert_eq!(
            shown,
            [
                ("finish_task_switch.isra.0", true),
                ("mysql_execute(THD*, int)", false)
            ]
        );
        assert!((found[0].share_pct - 6.64).abs() < 1e-9);
    }
}
