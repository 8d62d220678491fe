//! The self-check's results in words.

use std::fmt::Write;

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
    let verdict = if checks.iter().any(|check| check["passed"] == false) {
        "This machine does not allow honest verdicts as it is: stop what else runs, and try again."
    } else if checks.iter().all(|check| check["passed"] == true) {
        "Verdicts of this machine can be believed, as far as these runs show."
    } else {
        "Nothing speaks against the verdicts of this machine, but not all checks gave an answer."
    };
    let _ = writeln!(text, "\n{verdict}\nseed {}", word(&report["seed"]));
    text
}

fn line(check: &Value) -> String {
    match check["check"].as_str() {
        Some("aa") => format!(
            "{arm} against {arm}: {} of {} runs say that it differs from itself, at most {} are chance (mean {:+.2} %)",
            check["alarms"],
            check["runs"],
            check["accepted"],
            number(&check["mean_tax_pct"]),
            arm = word(&check["arm"]),
        ),
        Some("inject") if check["passed"].is_boolean() => format!(
            "{} with a delay of {:.0} ns ({:.0} %), both ends in turns: {} of {} intervals cover it, at least {} must",
            word(&check["arm"]),
            number(&check["delay_ns"]),
            number(&check["part_pct"]),
            check["covered"],
            check["runs"],
            check["least"],
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
        _ => format!("{}: {}", word(&check["check"]), word(&check["why"])),
    }
}

fn scheduled_normally(run: &Value) -> String {
    let preempted = &run["client_preempted_per_request"];
    format!(
        "not judged, scheduled as programs are: {:.1} % of delay show as {}; the server takes the core from the client \
         at {:.0} % of requests, with the delay at {:.0} %",
        number(&run["truth_pct"]),
        interval(&run["tax_pct"]),
        100.0 * number(&preempted[0]),
        100.0 * number(&preempted[1]),
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
