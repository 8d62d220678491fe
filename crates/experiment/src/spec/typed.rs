//! Parses times, rates, counts and shares for every option.
//!
//! Each function returns `None` for a text that does not have one of its forms. The code of the option checks the range
//! and writes the error. Called by `spec` and by the argument types of the command line.

use std::time::Duration;

/// Parses `200us`, `5ms`, `1.5s`, `2m` or `1h`. The unit is required.
pub fn time(typed: &str) -> Option<Duration> {
    let (number, unit) = split(typed);
    let seconds = match unit {
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    let ns = (parsed(number)? * seconds * 1e9).round();
    // A time of a century or more is a typing error, and would not fit into the type.
    (ns < 3.2e18).then(|| Duration::from_nanos(ns as u64))
}

/// Parses `2000`, `50k` or `1.5M`, with or without `/s`. Unit: per second.
pub fn rate(typed: &str) -> Option<f64> {
    number(typed.strip_suffix("/s").unwrap_or(typed))
}

/// Parses the whole numbers `100000`, `500k` or `1.5M`.
pub fn count(typed: &str) -> Option<u32> {
    let number = number(typed)?;
    (number.fract() == 0.0 && number <= f64::from(u32::MAX)).then_some(number as u32)
}

/// Parses `20%` or `20`. Unit: percent.
pub fn percent(typed: &str) -> Option<f64> {
    let digits = typed.strip_suffix('%').unwrap_or(typed).trim_end();
    match digits.strip_prefix('-') {
        Some(digits) => parsed(digits).map(|it| -it),
        None => parsed(digits),
    }
}

/// Parses `0.05` or `5%`. Unit: a fraction of 1.
pub fn share(typed: &str) -> Option<f64> {
    if typed.ends_with('%') {
        return percent(typed).map(|it| it / 100.0);
    }
    parsed(typed)
}

fn number(typed: &str) -> Option<f64> {
    let (digits, unit) = split(typed);
    let factor = match unit {
        "" => 1.0,
        "k" | "K" => 1e3,
        "M" => 1e6,
        _ => return None,
    };
    Some(parsed(digits)? * factor)
}

fn split(typed: &str) -> (&str, &str) {
    let unit = typed.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    (&typed[..typed.len() - unit.len()], unit)
}

/// Parses digits with at most one point: no sign, no exponent, no `inf`.
fn parsed(digits: &str) -> Option<f64> {
    let are_digits = digits.bytes().all(|it| it.is_ascii_digit() || it == b'.');
    let number = digits.parse::<f64>().ok().filter(|_| are_digits)?;
    number.is_finite().then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_read_and_nothing_else() {
        for (typed, us) in [("200us", 200), ("0s", 0), ("1.5s", 1_500_000), ("2m", 120_000_000), ("1h", 3_600_000_000)]
        {
            assert_eq!(time(typed), Some(Duration::from_micros(us)), "{typed}");
        }
        for wrong in ["5", "ms", "", "-1s", "1e3s", "s5", "9999999999999999999999m"] {
            assert_eq!(time(wrong), None, "{wrong}");
        }
        assert_eq!(rate("800/s"), Some(800.0));
        assert_eq!(rate("1.5k"), Some(1_500.0));
        assert_eq!(rate("0.5"), Some(0.5));
        assert_eq!(count("500k"), Some(500_000));
        assert_eq!(count("1.5M"), Some(1_500_000));
        assert_eq!(percent("-3 %"), Some(-3.0));
        assert_eq!(percent("0.5"), Some(0.5));
        assert_eq!(share("5%"), Some(0.05));
        assert_eq!(share("0.05"), Some(0.05));
        for wrong in ["", "k", "-1", "inf", "NaN", "1e99", "1.2.3", "."] {
            assert_eq!(rate(wrong), None, "{wrong}");
            assert_eq!(count(wrong), None, "{wrong}");
            assert_eq!(share(wrong), None, "{wrong}");
        }
        assert_eq!(count("0.5"), None);
        assert_eq!(count("5000M"), None);
    }
}
