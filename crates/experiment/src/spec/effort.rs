//! How long to measure: until there is a verdict, or for a requested time.

use std::time::{Duration, Instant};

use looptax_bench::Stopping;
use looptax_model::failure::Failure;
use looptax_model::stats::{InterimAnalyses, StopRule};

use super::typed;

const LEAST_EPOCHS: usize = 6;
/// Maximum number of epochs; a larger number is probably a typing error.
const MOST_EPOCHS: usize = 10_000;
/// Minimum of a fixed time; less is not enough for six epochs.
const SHORTEST: Duration = Duration::from_secs(1);
/// Maximum of a fixed time; a longer time is probably a typing error.
const LONGEST: Duration = Duration::from_secs(24 * 3600);
const LONGEST_WARM_UP: Duration = Duration::from_secs(3600);

/// When to stop measuring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Interim analyses after 10 to 120 epochs.
    Full,
    /// Interim analyses after 10, 20 and 40 epochs.
    Quick,
    /// The same as `Full`, but the measurement continues until the interval is narrow.
    Precise,
    /// A single analysis after this number of epochs.
    Epochs(usize),
    /// A single analysis after this time.
    Time(Duration),
}

/// Half the width of the range of differences that are not worth reporting: 1 % of throughput.
pub const DELTA: f64 = 0.01;

impl Effort {
    /// Whether the measurement ends only after the number of epochs, or the time, that the user requested.
    pub fn is_fixed(self) -> bool {
        matches!(self, Self::Epochs(_) | Self::Time(_))
    }

    /// Returns the interim analyses. `full` has the interim analyses of a full run. A time is converted to a number of
    /// epochs; `epoch` is the length of an epoch, if this length is known.
    pub fn analyses(self, full: InterimAnalyses, epoch: Option<Duration>) -> InterimAnalyses {
        match self {
            Self::Full => full,
            Self::Quick => InterimAnalyses::quick(),
            Self::Precise => InterimAnalyses::full(),
            Self::Epochs(n) => InterimAnalyses::fixed(n),
            Self::Time(time) => {
                let n = epoch.map_or(0, |epoch| time.div_duration_f64(epoch) as usize);
                InterimAnalyses::fixed(n.max(LEAST_EPOCHS))
            }
        }
    }

    pub fn stopping(self, analyses: InterimAnalyses, deadline: Option<Instant>) -> Stopping {
        Stopping { rule: StopRule { is_precise: self == Self::Precise }, deadline, ..Stopping::at(analyses, DELTA) }
    }
}

/// Parses `10s`, `2m` or a number of epochs.
pub fn fixed(typed: &str) -> Result<Effort, Failure> {
    if let Ok(n) = typed.parse::<usize>() {
        if (LEAST_EPOCHS..=MOST_EPOCHS).contains(&n) {
            return Ok(Effort::Epochs(n));
        }
        let (word, bound) =
            if n < LEAST_EPOCHS { ("below the minimum", LEAST_EPOCHS) } else { ("above the maximum", MOST_EPOCHS) };
        return Err(Failure::usage(
            format!("`--fixed {typed}`: the number of epochs is {word} of {bound}"),
            format!("use --fixed {bound}, or a time such as --fixed 10s"),
        ));
    }
    match typed::time(typed) {
        Some(length) if (SHORTEST..=LONGEST).contains(&length) => Ok(Effort::Time(length)),
        _ => Err(Failure::usage(
            format!("`--fixed {typed}` is neither a time nor a number of epochs"),
            "for example --fixed 10s, or --fixed 20 (at least 6 epochs)",
        )),
    }
}

/// Parses `0s`, `5s`, `2m`.
pub fn warm_up(typed: &str) -> Result<Duration, Failure> {
    typed::time(typed).filter(|length| *length <= LONGEST_WARM_UP).ok_or_else(|| {
        Failure::usage(format!("`--warm-up {typed}` is not a time"), "for example --warm-up 5s; an hour at most")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(typed: &str, expected: Option<Effort>) {
        assert_eq!(fixed(typed).ok(), expected, "{typed}");
    }

    #[test]
    fn fixed_is_a_time_or_a_number_of_epochs() {
        check("10s", Some(Effort::Time(Duration::from_secs(10))));
        check("2m", Some(Effort::Time(Duration::from_secs(2 * 60))));
        check("20", Some(Effort::Epochs(20)));
        check("5", None); // six is the least that gives an interval
        check("0s", None);
        check("x", None);
        check("", None);
    }

    #[test]
    fn a_number_of_epochs_out_of_bounds_is_told_as_one() {
        for (typed, words) in [
            ("4", "`--fixed 4`: the number of epochs is below the minimum of 6"),
            ("20000", "epochs is above the maximum of 10000"),
            ("x", "is neither a time nor a number of epochs"),
        ] {
            let told = fixed(typed).unwrap_err().to_string();
            assert!(told.contains(words), "{told}");
        }
    }
}
