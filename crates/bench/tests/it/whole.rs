//! Whole commands: which runs count, what ends a run, and what is then reported.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use looptax_bench::{
    BenchError, CommandError, CommandPlan, Course, Observer, Outcome, Progress, Shape, Sight, Silent, Stopping,
    Watcher, WholePlan, run_commands,
};
use looptax_model::record::Sightings;
use looptax_model::stats::{InterimAnalyses, Side};

/// A watcher that sees no connections, or objects to one side.
#[derive(Default)]
struct Blind {
    objects_to: Option<Side>,
}

impl Watcher for Blind {
    fn watch(&mut self, _: Side, _: u32) -> Sight {
        Sight::default()
    }

    fn objection(&self, side: Side, _: Sight, _: Sightings) -> Option<String> {
        (self.objects_to == Some(side)).then(|| "the wrong way".to_owned())
    }
}

fn shell(arm: &str, script: &str) -> CommandPlan {
    CommandPlan {
        arm: arm.to_owned(),
        shown: format!("sh -c {script}"),
        words: ["sh", "-c", script].map(str::to_owned).to_vec(),
        set: vec![("GIVEN".to_owned(), "yes".to_owned())],
        unset: vec!["HOME".to_owned()],
    }
}

fn six(scripts: [&str; 2]) -> WholePlan {
    WholePlan {
        course: Course {
            seed: 8,
            names: vec!["one, two".to_owned()],
            connections: 1,
            shape: Shape::whole(),
            warm_up: WholePlan::WARM_UP,
            stopping: Stopping::at(InterimAnalyses::fixed(6), 0.01),
            max_sample_bytes: 0,
        },
        sides: [shell("one", scripts[0]), shell("two", scripts[1])],
        timeout: Duration::from_secs(60),
        server_pid: None,
    }
}

fn run(plan: &WholePlan) -> (Outcome, [Sightings; 2]) {
    let stop = AtomicBool::new(false);
    run_commands(plan, &mut Blind::default(), &mut Silent, &stop)
}

#[test]
fn an_epoch_is_four_runs_in_a_drawn_order_after_a_run_of_each_that_does_not_count() {
    let (outcome, seen) = run(&six([":"; 2]));
    assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
    let epochs = &outcome.contrasts[0].epochs;
    assert_eq!(epochs.len(), 6);
    let orders: Vec<Vec<usize>> =
        epochs.iter().map(|epoch| epoch.raw.sided().map(|(side, _)| side.idx()).collect()).collect();
    assert!(orders.iter().all(|order| *order == [0, 1, 1, 0] || *order == [1, 0, 0, 1]));
    assert!(orders.iter().any(|order| *order != orders[0]), "{orders:?}");
    for epoch in epochs {
        assert!(epoch.raw.counts().theta().is_some());
        for slice in &epoch.raw.slices {
            assert_eq!((slice.completions, slice.requests), (1, 1));
            assert!(slice.active_ns > 0);
        }
    }
    assert_eq!(seen.map(|it| it.n_runs), [13, 13]);
    let stopped = outcome.contrasts[0].stopped.unwrap();
    assert_eq!(stopped.0.n_epochs, 6);
}

#[test]
fn the_children_of_a_command_count_for_its_cpu() {
    let busy = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done";
    let (outcome, _) = run(&six([":", &format!("sh -c '{busy}'; exit 0")]));
    let of = |side: Side| -> u64 {
        let epochs = outcome.contrasts[0].epochs.iter();
        let slices = epochs.flat_map(|epoch| epoch.raw.slices_of(side));
        slices.filter_map(|slice| slice.client_cpu_ns).sum()
    };
    assert!(of(Side::Other) > 2 * of(Side::Baseline));
}

#[test]
fn the_environment_is_as_planned() {
    let script = "test \"$GIVEN\" = yes && test -z \"$HOME\"";
    assert!(run(&six([script; 2])).0.failure.is_none());
}

#[test]
fn a_time_is_turned_into_epochs_after_the_warm_up_and_at_least_six() {
    let mut plan = six([":"; 2]);
    plan.course.stopping.analyses = InterimAnalyses::quick();
    plan.course.stopping.time = Some(Duration::from_millis(1));
    let (outcome, _) = run(&plan);
    assert_eq!(outcome.analyses.n_max(), 6);
    assert_eq!(outcome.contrasts[0].epochs.len(), 6);
    assert!(matches!(outcome.contrasts[0].stopped, Some((analysis, _)) if analysis.is_last));
}

#[track_caller]
fn failed(plan: &WholePlan, watcher: &mut Blind) -> (String, String, CommandError) {
    let (outcome, _) = run_commands(plan, watcher, &mut Silent, &AtomicBool::new(false));
    match outcome.failure {
        Some(BenchError::Command { arm, run, source, .. }) => (arm, run.to_string(), source),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_exit_code_is_told_with_the_words_on_stderr() {
    let plan = six([":", "echo nothing works >&2; exit 3"]);
    let (arm, run, source) = failed(&plan, &mut Blind::default());
    assert_eq!((arm.as_str(), run.as_str()), ("two", "its warm-up run"));
    assert!(source.to_string().contains("exit code 3"), "{source}");
    assert!(source.to_string().contains("nothing works"), "{source}");
}

#[test]
fn a_run_that_fails_later_is_told_by_its_number() {
    let folder = tempfile::tempdir().unwrap();
    let count = folder.path().join("count");
    let script = format!("echo x >> {0}; test $(wc -l < {0}) -lt 4", count.display());
    let (arm, run, _) = failed(&six([&script, ":"]), &mut Blind::default());
    assert_eq!((arm.as_str(), run.as_str()), ("one", "run 3"));
}

#[test]
fn a_signal_is_told() {
    let (_, _, source) = failed(&six(["kill -9 $$", ":"]), &mut Blind::default());
    assert!(matches!(source, CommandError::Signal { signal: 9, .. }));
}

#[test]
fn a_command_that_is_stopped_is_not_waited_for() {
    let (_, _, source) = failed(&six(["kill -STOP $$", ":"]), &mut Blind::default());
    assert!(matches!(source, CommandError::Stopped { .. }), "{source}");
}

#[test]
fn a_program_that_is_not_there_is_told() {
    let mut plan = six([":"; 2]);
    plan.sides[0].words = vec!["/nonexistent/program".to_owned()];
    let (_, _, source) = failed(&plan, &mut Blind::default());
    assert!(matches!(source, CommandError::Start { .. }), "{source}");
}

#[test]
fn the_wrong_transport_ends_the_run() {
    let mut watcher = Blind { objects_to: Some(Side::Other) };
    let (arm, _, source) = failed(&six([":"; 2]), &mut watcher);
    assert_eq!((arm.as_str(), source.to_string()), ("two", "the wrong way".to_owned()));
}

#[test]
fn a_run_over_its_time_is_ended_with_all_that_it_started() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let script = format!("sleep 600 & echo $! > {}; wait", file.display());
    let mut plan = six([&script; 2]);
    plan.timeout = Duration::from_millis(300);
    let (_, _, source) = failed(&plan, &mut Blind::default());
    assert!(matches!(source, CommandError::Timeout { .. }), "{source}");
    check_gone(&file);
}

/// Checks that the process whose number is in `file` has ended, or is about to be reaped by init. After a signal, the
/// process may need some time until it gets a core on which it can end.
#[track_caller]
fn check_gone(file: &std::path::Path) {
    const PATIENCE: Duration = Duration::from_secs(10);
    let pid: u32 = std::fs::read_to_string(file).unwrap().trim().parse().unwrap();
    let state = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit_once(") ").map(|(_, rest)| rest[..1].to_owned())
    };
    let is_gone = || state().is_none_or(|state| state == "Z" || state == "X");
    let start = Instant::now();
    while !is_gone() && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(is_gone(), "{:?}", state());
}

/// Sets `stop` after a number of epochs.
struct Stopper<'a> {
    stop: &'a AtomicBool,
    after: usize,
}

impl Observer for Stopper<'_> {
    fn epoch_ended(&mut self, progress: &Progress<'_>) {
        if progress.n_epochs == self.after {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn stopping_keeps_the_epochs_before_it() {
    let stop = AtomicBool::new(false);
    let mut observer = Stopper { stop: &stop, after: 3 };
    let (outcome, _) = run_commands(&six([":"; 2]), &mut Blind::default(), &mut observer, &stop);
    assert!(outcome.is_interrupted && outcome.failure.is_none());
    assert_eq!(outcome.contrasts[0].epochs.len(), 3);
    assert!(outcome.contrasts[0].stopped.is_none());
}
