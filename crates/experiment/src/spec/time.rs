//! Lengths of time as people type them.

use std::time::Duration;

/// `200us`, `5ms`, `10s` or `2m`; `None` for anything else.
pub fn parse(typed: &str) -> Option<Duration> {
    let unit = typed.trim_start_matches(|c: char| c.is_ascii_digit());
    let number: u64 = typed[..typed.len() - unit.len()].parse().ok()?;
    match unit {
        "us" => Some(Duration::from_micros(number)),
        "ms" => Some(Duration::from_millis(number)),
        "s" => Some(Duration::from_secs(number)),
        "m" => Some(Duration::from_secs(number.checked_mul(60)?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        assert_eq!(parse("200us"), Some(Duration::from_micros(200)));
        assert_eq!(parse("0s"), Some(Duration::ZERO));
        assert_eq!(parse("2m"), Some(Duration::from_secs(2 * 60)));
        for wrong in ["5", "ms", "", "-1s", "1.5s", "1h", "99999999999999999999m"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
