//! Text of the plan: targets, cases, and the longest time for each.

use std::fmt::Write;
use std::time::Duration;

use looptax_bench::{Placement, REQUESTS_PER_SLICE};
use looptax_model::dsn::{Arm, Kind, Protocol};
use looptax_model::record::EPOCHS_PER_UNSAMPLED;
use looptax_model::stats::signed_rank;

use super::bench::{budget, interim_analyses, most_epochs, shape, warm_up_of};
use super::case::{Case, Doing, Hold, TargetPlan};
use crate::arms::Missing;
use crate::observer::PlannedStep;
use crate::servers::pooler::over_tcp;
use crate::spec::Experiment;
use crate::spec::load::Rate;
use crate::spec::target::TargetSpec;
use crate::spec::waits::Waits;

pub(super) fn text(settings: &Experiment, targets: &[TargetPlan]) -> String {
    let mut text = String::from("plan (Ctrl-C ends it and keeps what was measured)\n");
    for (spec, target) in settings.targets.iter().zip(targets) {
        let _ = writeln!(text, "  {}", target_line(settings, spec));
        for Missing { arm, why } in &target.missing {
            let _ = writeln!(text, "    without {arm}: {why}");
        }
        if let Some(arm) = target.unsure {
            let _ = writeln!(
                text,
                "    {arm} if the server offers TLS; looptax then uses TLS like the server's own programs"
            );
        }
        let has_load_limits = matches!(spec, TargetSpec::Running(_)) && !settings.is_own_server;
        if matches!(spec, TargetSpec::Running(_)) {
            let _ = writeln!(text, "    {}", load_line(settings, target));
            let _ = writeln!(text, "    {}", placement_line(target));
        }
        for case in &target.cases {
            let time = most_time(settings, case, has_load_limits);
            let _ = writeln!(text, "    {}", case_line(settings, case, target.unsure, time));
            let warnings = [low_rate(settings, case), few_unsampled(settings, case)];
            for warning in warnings.into_iter().flatten() {
                let _ = writeln!(text, "      {warning}");
            }
        }
    }
    let at_most = if settings.requests.are_dumps() {
        "at most the dumps above,".to_owned()
    } else {
        let cases = || {
            settings.targets.iter().zip(targets).flat_map(|(spec, target)| {
                let has_load_limits = matches!(spec, TargetSpec::Running(_)) && !settings.is_own_server;
                target.cases.iter().map(move |case| (case, has_load_limits))
            })
        };
        let is_kept = |(case, has_limits): (&Case, bool)| budget(settings, case, has_limits).is_some();
        let longer = if cases().all(|(case, _)| case.load.is_open()) {
            String::new()
        } else if cases().all(is_kept) {
            ", with fewer epochs if answers take long".to_owned()
        } else {
            format!(", longer if slices have to grow to hold {REQUESTS_PER_SLICE} requests")
        };
        let at_most = minutes(at_most(settings, targets));
        format!("at most {at_most} of measuring{longer},")
    };
    let _ = writeln!(text, "  seed {:016x}; {at_most} plus the time to start and fill servers", settings.seed);
    text
}

/// Returns a warning that a rate is too low to fill a slice; the user may have meant a percentage.
fn low_rate(settings: &Experiment, case: &Case) -> Option<String> {
    let Some(Rate::PerSecond(per_s)) = case.load.rate() else {
        return None;
    };
    let slice = shape(settings, case).slice.as_secs_f64();
    let n = per_s * slice;
    if n >= REQUESTS_PER_SLICE {
        return None;
    }
    let share = if per_s <= 100.0 {
        format!("; for a share of the rate that the slower arm can serve, write --rate {per_s}%")
    } else {
        String::new()
    };
    Some(format!(
        "warning: at {per_s} requests per second in total, a slice of {:.0} ms has only {n:.0} requests, but a steady \
         figure needs {REQUESTS_PER_SLICE}: expect wide intervals{share}",
        slice * 1e3
    ))
}

/// Returns a warning if `why` samples so many epochs that too few other epochs are left for a verdict.
fn few_unsampled(settings: &Experiment, case: &Case) -> Option<String> {
    if !settings.is_sampled || case.doing != Doing::Judge {
        return None;
    }
    let last = interim_analyses(settings, case).iter().last()?;
    let (n, need) = (unsampled(last.n_epochs), signed_rank::least_n(last.alpha));
    (n < need).then(|| {
        let are = if n == 1 { "is" } else { "are" };
        format!(
            "warning: only {n} of these {} epochs {are} without the sampler, but a verdict needs {need}: pass --fixed \
             {} to get a verdict",
            last.n_epochs,
            need * EPOCHS_PER_UNSAMPLED as usize
        )
    })
}

/// Returns how many of `n_epochs` epochs are sure to run without the sampler.
fn unsampled(n_epochs: usize) -> usize {
    n_epochs / EPOCHS_PER_UNSAMPLED as usize
}

/// Describes the load on a server that other clients use.
fn load_line(settings: &Experiment, target: &TargetPlan) -> String {
    let most = target.cases.iter().map(|it| it.connections).max();
    let most = most.unwrap_or_default();
    let n_arms = target.cases.iter().map(|it| it.arms.len()).max();
    let n_open = most as usize * n_arms.unwrap_or_default();
    let ask = if most == 1 {
        "only one connection at a time sends requests".to_owned()
    } else {
        format!("up to {most} connections send requests at a time")
    };
    let how = if target.cases.iter().all(|it| it.load.is_open()) {
        "at the given rate, if the server can serve it".to_owned()
    } else if most == 1 {
        "as fast as the server answers, and keeps a core busy".to_owned()
    } else {
        format!("as fast as the server answers, and keep up to {most} cores busy")
    };
    let logins = match logins(settings, target) {
        0 => String::new(),
        n => format!("; up to {n} logins"),
    };
    format!("load: up to {n_open} connections, {ask}, {how}: other clients may wait longer{logins}")
}

/// Returns the number of logins. Each epoch opens new connections on the two arms of each contrast; a glimpse opens
/// them only once.
fn logins(settings: &Experiment, target: &TargetPlan) -> usize {
    if settings.requests.are_dumps() {
        return 0;
    }
    let of_case = |case: &Case| {
        let n_contrasts = case.clients.len() * (case.arms.len() - 1);
        let n_epochs = match case.doing {
            Doing::Judge => most_epochs(settings, case) + 1,
            Doing::Glimpse(_) => 1,
        };
        2 * n_epochs * n_contrasts * case.connections as usize
    };
    // Two more logins check at the beginning that both arms lead to the same server.
    2 + target.cases.iter().map(of_case).sum::<usize>()
}

/// Describes how the cores of a running server are treated.
fn placement_line(target: &TargetPlan) -> &'static str {
    let is_pinned = |it: &Case| matches!(it.placement, Placement::Same | Placement::Split);
    match (target.hold, target.cases.iter().any(is_pinned)) {
        (_, false) => "cores: the server's threads stay where the scheduler puts them",
        (Hold::Pinned, true) => {
            "cores: looptax pins to one core only those server threads that serve these connections (if it can \
             identify these threads); before the connections close, the threads get their old cores back"
        }
        (Hold::Followed | Hold::Unknown, true) => {
            "cores: the server's threads stay where the scheduler puts them; looptax runs its client on the \
             serving thread's core, or on another core, and checks both cores before and after each slice"
        }
    }
}

/// Returns the longest time for all targets, provided that slices do not become longer.
pub(super) fn at_most(settings: &Experiment, targets: &[TargetPlan]) -> Duration {
    let of_target = |(spec, target): (&TargetSpec, &TargetPlan)| -> Duration {
        let has_load_limits = matches!(spec, TargetSpec::Running(_)) && !settings.is_own_server;
        let times = target.cases.iter();
        let times = times.map(|case| most_time(settings, case, has_load_limits));
        times.map(|time| time.measuring + time.warm_up).sum()
    };
    settings.targets.iter().zip(targets).map(of_target).sum()
}

/// Returns the comparisons in order, for the progress display.
pub(super) fn steps(settings: &Experiment, targets: &[TargetPlan]) -> Vec<PlannedStep> {
    let mut steps = Vec::new();
    for (spec, target) in settings.targets.iter().zip(targets) {
        let has_load_limits = matches!(spec, TargetSpec::Running(_)) && !settings.is_own_server;
        steps.extend(target.cases.iter().map(|case| {
            let time = most_time(settings, case, has_load_limits);
            let most = time.measuring + time.warm_up;
            PlannedStep {
                label: format!("{}, {}", spec.name(), case_name(case)),
                at_most_s: (!time.measuring.is_zero()).then_some(most.as_secs_f64()),
            }
        }));
    }
    steps
}

/// Names the properties that distinguish a case from the other cases of its server: `16 connections, same`.
pub fn case_name(case: &Case) -> String {
    let s = if case.connections == 1 { "" } else { "s" };
    let look = match case.doing {
        Doing::Judge => "",
        Doing::Glimpse(_) => ", a glimpse",
    };
    format!("{} connection{s}, {}{look}", case.connections, case.placement)
}

/// Describes for the plan how a server is treated.
pub fn target_line(settings: &Experiment, spec: &TargetSpec) -> String {
    match spec {
        TargetSpec::Private(Kind::Echo) => "echo: a built-in server, started and stopped by looptax".to_owned(),
        TargetSpec::Private(Kind::Memcached) => format!(
            "private memcached: a process serves a socket or TCP, not both; looptax starts two processes for each \
             transport in a scratch folder, fills each process with {} keys, and stops and removes all processes at \
             the end; for every epoch looptax picks one process of each transport at random",
            settings.rows
        ),
        TargetSpec::Private(Kind::Http) => {
            "private http: looptax's own small upstream, a thread for each connection, started and stopped by looptax"
                .to_owned()
        }
        TargetSpec::Private(kind) if kind.is_pooler() => {
            let behind = kind.facts().pools.unwrap_or(*kind);
            let ways = match over_tcp(*kind) {
                Some(_) => "for one database and over the port for another",
                None => "from one process and over the port from another",
            };
            format!(
                "private {kind} in front of a private {behind} with {} rows: both are started in a scratch folder, \
                 stopped and removed; the pool mode is {}; the pooler connects to {behind} over the socket {ways}",
                settings.rows,
                settings.pool_mode.name()
            )
        }
        TargetSpec::Private(Kind::PhpFpm) => {
            "private php-fpm: started in a scratch folder with looptax's four pages, stopped and removed; a pool \
             listens on one address, so each arm has its own processes, forked from one master"
                .to_owned()
        }
        TargetSpec::Private(Kind::Ferretdb) => format!(
            "private ferretdb: started in a scratch folder, filled with {} documents, stopped and removed; with \
             SQLite, FerretDB scans all documents to find one: the fewer --rows, the larger the transport's part of \
             the result",
            settings.rows
        ),
        TargetSpec::Private(kind) => format!(
            "private {kind}: started in a scratch folder, filled with {} rows, stopped and removed",
            settings.rows
        ),
        TargetSpec::Running(running) if settings.may_write => format!(
            "running {}: looptax writes {} rows under a new name (looptax_scratch_…), and removes them afterwards",
            running.shown, settings.rows
        ),
        TargetSpec::Running(running) if running.protocol == Protocol::Http => format!(
            "running {}: looptax requests this page again and again; the application does its full work each time",
            running.shown
        ),
        TargetSpec::Running(running) if settings.exec.is_some() => {
            format!("running {}: your command decides what it reads and writes", running.shown)
        }
        TargetSpec::Running(running) => {
            format!("running {}: reads only, writes nothing", running.shown)
        }
    }
}

fn case_line(settings: &Experiment, case: &Case, unsure: Option<Arm>, time: MostTime) -> String {
    let arms: Vec<_> = case.arms.iter().map(|arm| arm.name()).collect();
    let clients: Vec<_> = case.clients.iter().map(Waits::to_string).collect();
    let what = match case.doing {
        Doing::Judge if settings.requests.are_dumps() => {
            format!("judged, at most {} epochs, each with four dumps", most_epochs(settings, case))
        }
        Doing::Judge if settings.is_sampled => {
            let n = most_epochs(settings, case);
            format!("judged by {} of at most {n} epochs (only the epochs without the sampler count)", unsampled(n))
        }
        Doing::Judge => {
            let n = most_epochs(settings, case);
            let without = unsure.filter(|arm| case.arms.len() > 2 && case.arms.contains(arm));
            let others = without.map(|arm| (arm, most_epochs(settings, &case.without(arm))));
            match others.filter(|(_, others)| *others != n) {
                Some((arm, others)) => {
                    format!("judged, {n} epochs at most ({others} if the server does not offer {arm})")
                }
                None => format!("judged, {n} epochs at most"),
            }
        }
        Doing::Glimpse(_) => "a glimpse, without a verdict".to_owned(),
    };
    let slices = case.slice.map_or_else(String::new, |slice| format!(", slices of {} ms", slice.as_millis()));
    format!(
        "{} connection{} per arm, {}{}, client {}, {}{slices}: {what}, {}",
        case.connections,
        if case.connections == 1 { "" } else { "s" },
        case.placement,
        case.load.words(),
        clients.join(" and "),
        arms.join(" against "),
        time.words(),
    )
}

/// The longest time that a case can take, and its parts.
#[derive(Clone, Copy)]
struct MostTime {
    measuring: Duration,
    warm_up: Duration,
    /// Number of epochs of the warm-up; `None` if this number is not fixed.
    warm_up_epochs: Option<usize>,
}

impl MostTime {
    fn words(self) -> String {
        if self.measuring.is_zero() {
            return "as long as they take".to_owned();
        }
        let measuring = minutes(self.measuring);
        if let Some(n) = self.warm_up_epochs {
            let epochs = if n == 1 { "epoch" } else { "epochs" };
            format!("{measuring} at most, after {n} {epochs} of warm-up")
        } else if self.warm_up.is_zero() {
            format!("{measuring} at most")
        } else {
            format!("{measuring} and {} of warm-up at most", minutes(self.warm_up))
        }
    }
}

fn most_time(settings: &Experiment, case: &Case, has_load_limits: bool) -> MostTime {
    match case.doing {
        Doing::Glimpse(length) => MostTime { measuring: length, warm_up: Duration::ZERO, warm_up_epochs: None },
        // The longest time is unknown until the first dump has ended.
        Doing::Judge if settings.requests.are_dumps() => {
            MostTime { measuring: Duration::ZERO, warm_up: Duration::ZERO, warm_up_epochs: None }
        }
        Doing::Judge => {
            let n_contrasts = (case.clients.len() * (case.arms.len() - 1)) as u32;
            let epoch = shape(settings, case).epoch() * n_contrasts;
            let warm_up = warm_up_of(settings, case, has_load_limits);
            MostTime {
                measuring: epoch * most_epochs(settings, case) as u32,
                warm_up: warm_up.at_most.max(epoch * warm_up.least_epochs as u32),
                warm_up_epochs: warm_up.at_most.is_zero().then_some(warm_up.least_epochs),
            }
        }
    }
}

/// Returns a time as minutes and seconds, rounded up.
pub fn minutes(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil() as u64;
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}
