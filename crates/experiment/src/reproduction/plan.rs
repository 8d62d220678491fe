//! Prints the plan of a reproduction before anything is measured.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use crate::plan::minutes;

use super::part::Part;
use super::step::Amounts;

/// Returns the planned measurements, their longest time, and the folder for the results.
pub fn text(parts: &[Part], amounts: &Amounts, folder: &Path) -> String {
    let mut text = String::from("plan (Ctrl-C ends it and keeps what was measured)\n");
    let mut most = Duration::ZERO;
    for part in parts {
        let steps = part.steps(amounts);
        let extra = part.extra_work(amounts);
        let extra_time = extra.map_or(Duration::ZERO, |(_, time)| time);
        let time = steps.iter().map(|step| step.budget).sum::<Duration>() + extra_time;
        most += time;
        let _ = writeln!(text, "  {}: at most {}", part.name(), minutes(time));
        for step in steps {
            let _ = writeln!(text, "    {}, {}", step.what, minutes(step.budget));
            let _ = writeln!(text, "      {}", step.line());
        }
        if let Some((what, time)) = extra {
            let _ = writeln!(text, "    {what}, {}", minutes(time));
        }
    }
    let _ = writeln!(
        text,
        "  at most {} of measuring, plus the time to start and fill servers; looptax ends a comparison that exceeds \
         its planned time; looptax writes records to {}",
        minutes(most),
        folder.display()
    );
    text
}
