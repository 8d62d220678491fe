//! The self-check's results in words.

use std::fmt::Write;

use looptax_stats::selfcheck::COVERAGE_RUNS;
use serde_json::Value;

/// All results, one line each, and what follows from them.
pub(super) fn of(report: &Value) -> String {
    let mut text = format!(
        "selfcheck of {} ({})\n\n",
        word(&report["target"]),
        word(&report["version"])
    );
    let checks = report["checks"].as_array().map_or(&[][..], Vec::as_slice);
    for check in checks {
        let mark = match check["passed"].as_bool() {
            Some(true) => "pass",
            Some(false) => "FAIL",
            None => "open",
        };
        let _ = writeln!(text, "  {mark}  {}", line(check));
        if check["normal_scheduling"].is_object() {
            let _ = writeln!(
                text,
                "        {}",
                scheduled_normally(&check["normal_scheduling"])
            );
        }
    }
    let verdict = verdict(report, checks);
    let _ = writeln!(text, "\n{verdict}\nseed {}", word(&report["seed"]));
    text
}

fn verdict(report: &Value, checks: &[Value]) -> String {
    let all_are = |answer: &Value| checks.iter().all(|check| check["passed"] == *answer);
    if checks.iter().any(|check| check["passed"] == false) {
        "This machine does not allow honest verdicts as it is: stop what else runs, and try again."
            .to_owned()
    } else if all_are(&Value::Null) {
        "No check gave an answer.".to_owned()
    } else if report["is_busy"] == true {
        format!(
            "This machine was busy meanwhile (other processes took {:.0} % of its CPU time, the hypervisor {:.0} %): no \
             answer about it. Stop what else runs, and try again.",
            number(&report["foreign_pct"]),
            number(&report["steal_pct"])
        )
    } else if !all_are(&Value::Bool(true)) {
        "No check failed, and some gave no answer.".to_owned()
    } else if report["runs"].as_u64() < Some(COVERAGE_RUNS as u64) {
        "No check failed. Single runs find gross errors only: --runs 20 asks for 17 intervals of 20, --runs 100 is the \
         release gate."
            .to_owned()
    } else {
        "Verdicts of this machine can be believed, as far as these runs show.".to_owned()
    }
}

fn line(check: &Value) -> String {
    match check["check"].as_str() {
        Some("aa") => format!(
            "{arm} against {arm}: {} of {} runs say that it differs from itself, at most {} are chance (mean {:+.2} %, \
             intervals up to ±{:.1} points)",
            check["alarms"],
            check["runs"],
            check["accepted"],
            number(&check["mean_tax_pct"]),
            number(&check["half_width_points"]),
            arm = word(&check["arm"]),
        ),
        Some("inject") if check["intervals"].is_array() => format!(
            "{} with a delay of {:.0} ns ({:.0} % of a request), both ends in turns: {} of {} intervals cover it, at \
             least {} must; the last is {}, typically ±{:.1} points",
            word(&check["arm"]),
            number(&check["delay_ns"]),
            number(&check["part_pct"]),
            check["covered"],
            check["runs"],
            check["least"],
            check["intervals"]
                .as_array()
                .and_then(|rows| rows.last())
                .map_or_else(
                    || "missing".to_owned(),
                    |row| format!(
                        "{} for {:.1} %",
                        interval(&row["tax_pct"]),
                        number(&row["truth_pct"])
                    ),
                ),
            number(&check["half_width_points"]),
        ),
        Some("slices") if check["difference_points"].is_array() => format!(
            "slices of 50 ms: {}, of 500 ms: {}; they differ by {:.1} points [{:.1}, {:.1}], shown to be within 2: {}",
            interval(&check["tax_50ms_pct"]),
            interval(&check["tax_500ms_pct"]),
            number(&check["difference_points"][0]),
            number(&check["difference_points"][1]),
            number(&check["difference_points"][2]),
            match check["passed"].as_bool() {
                Some(true) => "yes",
                Some(false) => "no",
                None => "neither shown nor refuted, more epochs (--fixed 40) may tell",
            },
        ),
        _ => format!(
            "{} {}: {}",
            word(&check["check"]),
            word(&check["arm"]),
            word(&check["why"])
        ),
    }
}

fn scheduled_normally(run: &Value) -> String {
    let forced = &run["client_switches_forced_per_request"];
    format!(
        "not judged, scheduled as programs are: {:.1} % of delay show as {}; the client loses the core {:.2} times per \
         request, with the delay {:.2} times",
        number(&run["truth_pct"]),
        interval(&run["tax_pct"]),
        number(&forced[0]),
        number(&forced[1]),
    )
}

fn interval(of: &Value) -> String {
    format!(
        "{:.1} % [{:.1}, {:.1}]",
        number(&of[0]),
        number(&of[1]),
        number(&of[2])
    )
}

fn number(of: &Value) -> f64 {
    of.as_f64().unwrap_or(f64::NAN)
}

fn word(of: &Value) -> &str {
    of.as_str().unwrap_or("")
}
