//! Options that say when a run may start: after other runs, within a part of the day, on a quiet machine, and not while
//! a stop file exists.

use std::path::{Path, PathBuf};

use clap::Args;
use jiff::civil::Time;

/// While this file exists, `fleet send` sends nothing, and no timer starts a measurement.
pub(crate) const STOP_FILE: &str = "/etc/looptax/stop";

/// Whether a run waits for another looptax that measures.
#[derive(Debug, Clone, Args)]
pub(crate) struct TurnArgs {
    /// Wait if another looptax measures on this machine.
    #[arg(long)]
    pub(crate) wait: bool,
}

/// Conditions for the start of a comparison. A comparison that has started runs to its end.
#[derive(Debug, Clone, Args)]
pub(crate) struct BeginArgs {
    /// Refuse to start outside these hours, such as 02:00-04:00.
    ///
    /// The times are this machine's local time; 22:00-03:00 spans midnight. At other times looptax refuses the run, or
    /// waits if --wait is given.
    #[arg(hide_short_help = true, long, value_name = "FROM-TO", value_parser = part_of_day)]
    pub(crate) between: Option<PartOfDay>,
    /// Refuse to start above this load per processor, such as 0.2.
    ///
    /// The limit applies to the load average of the last minute, divided by the number of processors. If the load is
    /// higher, looptax refuses the run, or waits if --wait is given.
    #[arg(hide_short_help = true, long, value_name = "LOAD", value_parser = load)]
    pub(crate) max_load: Option<f64>,
    /// Refuse to start while FILE exists.
    ///
    /// looptax refuses the run, or waits until the file is gone if --wait is given. A run that has started continues.
    /// Default: /etc/looptax/stop if --between or --max-load is given, otherwise no file.
    #[arg(hide_short_help = true, long, value_name = "FILE")]
    stop_file: Option<PathBuf>,
}

impl BeginArgs {
    /// Returns the path of the stop file, which need not exist. A run that waits for a time of day or for a quiet
    /// machine runs unattended, so it obeys the machine's stop file even without an option.
    pub(crate) fn stop_file(&self) -> Option<&Path> {
        let is_unattended = self.between.is_some() || self.max_load.is_some();
        let own = is_unattended.then(|| Path::new(STOP_FILE));
        self.stop_file.as_deref().or(own)
    }
}

/// A part of the day. It does not include the time at its end; if the end is earlier than the start, it spans midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PartOfDay {
    from: Time,
    to: Time,
}

impl PartOfDay {
    /// Whether a time of day is in this part.
    pub(crate) fn has(self, now: Time) -> bool {
        if self.from < self.to { (self.from..self.to).contains(&now) } else { now >= self.from || now < self.to }
    }
}

impl std::fmt::Display for PartOfDay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (from, to) = (self.from.strftime("%H:%M"), self.to.strftime("%H:%M"));
        write!(f, "{from}-{to}")
    }
}

fn part_of_day(typed: &str) -> Result<PartOfDay, String> {
    let time = |word: &str| Time::strptime("%H:%M", word).ok();
    let both = { typed.split_once('-') }.and_then(|(from, to)| Some((time(from)?, time(to)?)));
    both.filter(|(from, to)| from != to)
        .map(|(from, to)| PartOfDay { from, to })
        .ok_or_else(|| "give two times of the day, for example 02:00-04:00".to_owned())
}

fn load(typed: &str) -> Result<f64, String> {
    let load = typed.parse::<f64>().ok();
    load.filter(|it| (0.001..=1_000.0).contains(it))
        .ok_or_else(|| "give a load per processor, for example 0.2".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(typed: &str, inside: &[i8], outside: &[i8]) {
        let part = part_of_day(typed).unwrap();
        assert_eq!(part.to_string(), typed);
        let at = |hour: i8| Time::new(hour, 0, 0, 0).unwrap();
        for hour in inside {
            assert!(part.has(at(*hour)), "{hour} is in {typed}");
        }
        for hour in outside {
            assert!(!part.has(at(*hour)), "{hour} is not in {typed}");
        }
    }

    #[test]
    fn a_part_of_the_day_begins_with_its_first_minute_and_is_over_with_its_last() {
        check("02:00-04:00", &[2, 3], &[0, 1, 4, 5, 23]);
        check("22:00-03:00", &[22, 23, 0, 2], &[3, 12, 21]);
    }

    #[test]
    fn refuses_a_wrong_part_of_the_day_and_a_wrong_load() {
        for typed in ["", "02:00", "2-4", "02:00-02:00", "02:00-25:00", "04:00-x", "-"] {
            assert!(part_of_day(typed).is_err(), "{typed}");
        }
        for typed in ["", "-1", "0", "NaN", "inf", "20%"] {
            assert!(load(typed).is_err(), "{typed}");
        }
    }
}
