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
        let mark = if check["passed"] == true {
            "pass"
        } else {
            "FAIL"
        };
        let _ = writeln!(text, "  {mark}  {}", line(check));
    }
    let has_failed = checks.iter().any(|check| check["passed"] != true);
    let verdict = if has_failed {
        "This machine does not allow honest verdicts as it is: stop what else runs, and try again."
    } else {
        "Verdicts of this machine can be believed, as far as these runs show."
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
        Some("inject") => format!(
            "{} with a delay of {:.0} ns ({:.0} %): {} of {} intervals cover it, at least {} must",
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
            if check["passed"] == true { "yes" } else { "no" },
        ),
        _ => format!("{}: {}", word(&check["check"]), word(&check["why"])),
    }
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
