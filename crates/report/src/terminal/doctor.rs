//! The result of `looptax doctor`, for a terminal.

use std::fmt::Write;

use looptax_model::record::{
    AaCheck, Doctor, DoctorAnswer, DoctorResult, InjectCheck, InjectedDelay, InjectedRun, SlicesCheck,
};

use super::lines::fitted;
use super::style::Style;

/// Returns all checks, one line each, and the conclusions. Ends with a line break.
pub fn doctor(found: &Doctor, style: Style) -> String {
    let mut text = format!("tests of this machine with {} ({})\n\n", found.target, found.version);
    for check in &found.checks {
        let mark = match check.passed() {
            Some(true) => "pass",
            Some(false) => "FAIL",
            None => "open",
        };
        let _ = writeln!(text, "  {mark}  {}", line(check));
        if let Some(run) = scheduled_normally(check) {
            let _ = writeln!(text, "        {}", normal_scheduling(run));
        }
    }
    let _ = writeln!(text, "\n{}\nseed {}", conclusion(found), found.seed);
    fitted(&text, style.width)
}

fn conclusion(found: &Doctor) -> String {
    let words = match found.answer {
        DoctorAnswer::Failed => {
            "In its present state, this machine gives verdicts that cannot be trusted. If other programs run, stop \
             them and try again."
        }
        DoctorAnswer::Unanswered => {
            "No check gave an answer, because the intervals are too wide. Stop other programs, or use more runs \
            (--runs)."
        }
        DoctorAnswer::Busy => {
            return format!(
                "This machine was busy during the tests (other processes took {} % of its CPU time, the hypervisor {} \
                 %), so the tests gave no answer. Stop other programs, and try again.",
                number(found.foreign_pct, 0),
                number(found.steal_pct, 0)
            );
        }
        DoctorAnswer::SomeOpen => "No check failed, but some gave no answer.",
        DoctorAnswer::NoGrossError => {
            "No check failed. Few runs find only gross errors: with --runs 20 at least 17 of 20 intervals have to \
             be right; a release of looptax is checked with --runs 100."
        }
        DoctorAnswer::Believable => "As far as these runs show, verdicts of this machine can be trusted.",
    };
    words.to_owned()
}

fn line(check: &DoctorResult) -> String {
    match check {
        DoctorResult::Aa(check) => aa(check),
        DoctorResult::Inject(check) => match &check.delay {
            Some(delay) => inject(check, delay),
            None => format!("inject {}: {}", check.arm, why(check.why.as_deref())),
        },
        DoctorResult::Slices(check) => slices(check),
    }
}

fn why(words: Option<&str>) -> &str {
    words.unwrap_or("no answer")
}

fn aa(check: &AaCheck) -> String {
    format!(
        "{arm} against {arm}: {} of {} runs show a difference between equal arms; at most {} may show a difference \
         by chance (mean {:+.2} %, intervals up to ±{} points)",
        check.alarms,
        check.runs,
        check.accepted,
        check.mean_tax_pct,
        number(check.half_width_points, 1),
        arm = check.arm,
    )
}

fn inject(check: &InjectCheck, delay: &InjectedDelay) -> String {
    let last = delay
        .intervals
        .last()
        .map_or_else(|| "missing".to_owned(), |run| format!("{} for {:.1} %", interval(&run.tax_pct), run.truth_pct));
    format!(
        "{} with a delay of {:.0} ns ({:.0} % of a request), client and server scheduled alternately: {} of {} \
         intervals contain the delay; at least {} must contain it. The last interval is {last}; a typical interval is \
         ±{} points",
        check.arm,
        delay.delay_ns,
        delay.part_pct,
        delay.covered,
        delay.runs,
        delay.least,
        number(delay.half_width_points, 1),
    )
}

fn slices(check: &SlicesCheck) -> String {
    let Some(taxes) = &check.taxes else {
        return format!("slices: {}", why(check.why.as_deref()));
    };
    let [apart, lo, hi] = taxes.difference_points.map(|it| number(it, 1));
    format!(
        "slices of 50 ms: {}, slices of 500 ms: {}; the difference is {apart} percentage points [{lo}, {hi}]; is the \
         difference at most 2 points? {}",
        interval(&taxes.tax_50ms_pct),
        interval(&taxes.tax_500ms_pct),
        match check.passed {
            Some(true) => "yes",
            Some(false) => "no",
            None => "neither shown nor refuted; more epochs (--fixed 40) may decide",
        },
    )
}

fn scheduled_normally(check: &DoctorResult) -> Option<&InjectedRun> {
    match check {
        DoctorResult::Inject(check) => check.delay.as_ref()?.normal_scheduling.as_ref(),
        DoctorResult::Aa(_) | DoctorResult::Slices(_) => None,
    }
}

fn normal_scheduling(run: &InjectedRun) -> String {
    let [without, with] = run.client_switches_forced_per_request.map(|it| number(it, 2));
    format!(
        "with ordinary scheduling (this run is not judged), a delay of {:.1} % is measured as {}; per request, \
         the kernel takes the core from the client {without} times without the delay, and {with} times with the delay",
        run.truth_pct,
        interval(&run.tax_pct),
    )
}

fn interval(of: &[Option<f64>; 3]) -> String {
    let [value, lo, hi] = of.map(|it| number(it, 1));
    format!("{value} % [{lo}, {hi}]")
}

fn number(of: Option<f64>, digits: usize) -> String {
    of.map_or_else(|| "n/a".to_owned(), |it| format!("{it:.digits$}"))
}
