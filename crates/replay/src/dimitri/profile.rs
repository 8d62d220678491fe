//! Where the server spends its time at each number of connections, by `perf`, as far as it is here and allowed.
//!
//! In looks of their own after everything is measured: sampling costs time, which no figure is to hold.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use looptax_bench::glimpse;
use looptax_experiment::Experiment;
use looptax_experiment::Machine;
use looptax_experiment::TargetConnector;
use looptax_experiment::plan::{self, Case, Doing};
use looptax_experiment::{Host, Target, ask_nobody};
use looptax_failure::Failure;
use looptax_record::{HotFunction, ReplayFinding, ReplayPart};
use rustix::process::{Pid, Signal, kill_process};

use super::super::programs::on_path;
use super::super::{Amounts, Runner, Step};

/// How long each number of connections is looked at: both arms, in turns.
const LENGTH: Duration = Duration::from_secs(3);
/// How long that takes with perf's own start and end.
pub(super) const TAKES: Duration = Duration::from_secs(4);
/// Functions that are shown.
const MOST_SHOWN: usize = 4;
/// Samples per second and thread: an odd number, so that it does not beat with timers.
const SAMPLES_PER_S: &str = "499";

/// Said where perf may not look into the kernel.
const USER_ALONE: &str = "the kernel's part of the server's hottest functions: perf may look at programs alone here, and \
                          shares are of their time; root may do more, or everybody with sysctl \
                          kernel.perf_event_paranoid=1";

/// What perf saw in one look.
#[derive(Debug, Default, PartialEq)]
struct Profile {
    hottest: Vec<HotFunction>,
    /// Sampled by a timer instead of a counter of cycles.
    is_timer: bool,
    /// Without the kernel: the event's name ends in a `u` then.
    is_user_alone: bool,
}

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
        part.missing
            .push(format!("the server's hottest functions: {failure:#}"));
    }
}

fn look_at_all(
    part: &mut ReplayPart,
    step: &Step,
    amounts: &Amounts,
    runner: &Runner<'_>,
) -> Result<(), Failure> {
    let settings = step.experiments()?.swap_remove(0);
    let machine = Machine::plain();
    let overview = plan::lay_out(&settings, &machine)?;
    let host = Host::new(machine, ask_nobody)?;
    let spec = &settings.targets[0];
    let target = Target::open(spec, &settings.arms, &settings, &host)?;
    let cases = overview.targets.iter().flat_map(|it| &it.cases);
    let mut is_timer = false;
    let mut is_user_alone = false;
    let mut done = Ok(());
    for case in cases.filter(|case| case.doing == Doing::Judge) {
        if runner.is_interrupted() || done.is_err() {
            break;
        }
        let profile = one(case, &settings, &target, amounts, runner);
        done = profile.map(|profile| {
            is_timer |= profile.is_timer;
            is_user_alone |= profile.is_user_alone;
            let mut points = part.points.iter_mut();
            if let Some(point) = points.find(|it| it.connections == case.connections) {
                point.hottest = profile.hottest;
            }
        });
    }
    let closed = target.close();
    if is_user_alone {
        part.missing.push(USER_ALONE.to_owned());
    } else if is_timer {
        part.findings.push(ReplayFinding::SampledByTimer);
    }
    done.and(closed)
}

/// The hottest functions of one case.
fn one(
    case: &Case,
    settings: &Experiment,
    target: &Target,
    amounts: &Amounts,
    runner: &Runner<'_>,
) -> Result<Profile, Failure> {
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
    let looked = glimpse(&plan, &mut connector, length, runner.stop());
    let ended = end(perf);
    let profile = looked
        .map_err(Failure::from)
        .and(ended)
        .and_then(|()| report(&data));
    fs::remove_file(&data).ok();
    profile
}

fn record(data: &Path, pid: u32) -> Result<Child, Failure> {
    let child = Command::new("perf")
        // Cycles where there is a counter of them; perf takes a timer elsewhere.
        .args(["record", "-q", "-F", SAMPLES_PER_S, "-o"])
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
        kill_process(pid, Signal::INT).map_err(std::io::Error::from)?;
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

fn report(data: &Path) -> Result<Profile, Failure> {
    let output = Command::new("perf")
        .args(["report", "--stdio", "--no-children"])
        .args(["--fields", "overhead,dso,sym", "--field-separator", "|"])
        .arg("-i")
        .arg(data)
        .stdin(Stdio::null())
        .output()?;
    Ok(profile(&String::from_utf8_lossy(&output.stdout)))
}

/// The first functions of what `perf report` prints: ` 6.64%  |[kernel.kallsyms]  |[k] finish_task_switch`. What has no
/// name counts together for its file.
fn profile(text: &str) -> Profile {
    let mut events = { text.lines() }.filter_map(|line| line.split_once("of event '"));
    let event = events.next().map_or("", |(_, event)| event);
    let is_timer = event.contains("cpu-clock");
    let is_user_alone = event
        .split_once(':')
        .is_some_and(|(_, how)| how.contains('u'));
    let mut hottest: Vec<HotFunction> = Vec::new();
    for function in text.lines().filter_map(function) {
        let mut known = hottest.iter_mut();
        match known.find(|it| it.name == function.name && it.is_kernel == function.is_kernel) {
            Some(known) => known.share_pct += function.share_pct,
            None => hottest.push(function),
        }
    }
    hottest.sort_by(|one, other| other.share_pct.total_cmp(&one.share_pct));
    hottest.truncate(MOST_SHOWN);
    Profile {
        hottest,
        is_timer,
        is_user_alone,
    }
}

fn function(line: &str) -> Option<HotFunction> {
    let (share, rest) = line.split_once('|')?;
    let (file, symbol) = rest.split_once('|')?;
    let share_pct = share.trim().strip_suffix('%')?.parse().ok()?;
    let (end, name) = symbol.trim().split_once(' ')?;
    let name = match name.trim() {
        name if name.starts_with("0x") => format!("{} without a symbol", file.trim()),
        name => name.to_owned(),
    };
    Some(HotFunction {
        name,
        is_kernel: end == "[k]",
        share_pct,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_functions_are_read_with_their_shares() {
        let text = "# Samples: 512  of event 'cpu-clock'\n#\n# Overhead|Shared Object|Symbol       \n 6.64%  \
                    |[kernel.kallsyms]|[k] finish_task_switch.isra.0\n 5.08%  |mariadbd |[.] mysql_execute(THD*, int)   \n\
                    nonsense\n x% |a|[k] y\n 4.00%  |mariadbd |[.] 0x0000000000a1\n 3.00%  |mariadbd |[.] 0x00000000b2\n";
        let found = profile(text);
        let shown: Vec<(&str, bool, f64)> = { found.hottest.iter() }
            .map(|it| (it.name.as_str(), it.is_kernel, it.share_pct))
            .collect();
        assert_eq!(
            shown,
            [
                ("mariadbd without a symbol", false, 7.0),
                ("finish_task_switch.isra.0", true, 6.64),
                ("mysql_execute(THD*, int)", false, 5.08),
            ]
        );
        assert!(found.is_timer);
        assert_eq!(profile("# of event 'cycles:P'\n"), Profile::default());
        assert!(!found.is_user_alone && profile("# of event 'cpu-clock:u'\n").is_user_alone);
    }
}
