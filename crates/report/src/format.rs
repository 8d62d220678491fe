//! Formats numbers and strings from outside for people.
//!
//! Rates have three digits; a percentage or a time has as many digits as its interval justifies. Only this file
//! replaces signs for a terminal that shows only ASCII.

use looptax_model::record::Estimate;

/// Which characters the reader's terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Text {
    /// Whether the terminal shows more than ASCII.
    pub(crate) is_unicode: bool,
}

/// A space at which lines are not broken; it is printed as an ordinary space.
pub(crate) const GLUE: char = '\u{a0}';

/// From this time on, in µs, times are printed in milliseconds.
pub(crate) const MS_FROM_US: f64 = 9_999.5;

impl Text {
    /// Returns `±`, or `+/-` for ASCII.
    pub(crate) fn plus_minus(self) -> &'static str {
        if self.is_unicode { "±" } else { "+/-" }
    }

    pub(crate) fn micro(self) -> &'static str {
        if self.is_unicode { "µs" } else { "us" }
    }

    fn infinity(self) -> &'static str {
        if self.is_unicode { "∞" } else { "inf" }
    }

    /// Returns a string from outside in a form that can neither control the terminal nor mislead the reader.
    ///
    /// Control characters, including line breaks, and characters that are invisible or change the writing direction are
    /// replaced by their codes; all other characters are kept.
    pub(crate) fn clean(self, foreign: &str) -> String {
        let mut clean = String::with_capacity(foreign.len());
        for c in foreign.chars() {
            if is_dangerous(c) || (!self.is_unicode && !c.is_ascii()) {
                clean.extend(c.escape_unicode());
            } else {
                clean.push(c);
            }
        }
        clean
    }

    /// Formats a time: `10.5 µs`, `0.85 µs`, `12.0 ms`.
    pub(crate) fn micros(self, us: f64) -> String {
        if us.abs() >= MS_FROM_US {
            return format!("{}{GLUE}ms", three_digits(us / 1e3));
        }
        format!("{}{GLUE}{}", fixed(us, time_decimals(us)), self.micro())
    }

    /// Formats two times in the same unit, the unit of the larger time.
    pub(crate) fn both_micros(self, us: [f64; 2]) -> [String; 2] {
        let is_ms = us.iter().any(|it| it.abs() >= MS_FROM_US);
        us.map(|it| if is_ms { format!("{}{GLUE}ms", three_digits(it / 1e3)) } else { self.micros(it) })
    }

    /// Formats a difference with its sign: `+2.0 µs`.
    pub(crate) fn signed_micros(self, us: f64) -> String {
        let sign = if us >= 0.0 { "+" } else { "" };
        format!("{sign}{}", self.micros(us))
    }

    /// Formats a difference with its interval: `+2.0 µs [1.9, 2.1]`.
    pub(crate) fn signed_micros_interval(self, us: &Estimate) -> String {
        let is_ms = us.value.abs() >= MS_FROM_US;
        let scale = if is_ms { 1e3 } else { 1.0 };
        let decimals = if is_ms { three_decimals(us.value / scale) } else { time_decimals(us.value) };
        let ends = self.interval(us, |end| fixed(end / scale, decimals));
        format!("{}{GLUE}{ends}", self.signed_micros(us.value))
    }

    /// Formats a time with its interval: `10.5 µs [10.1, 10.9]`.
    pub(crate) fn micros_interval(self, us: &Estimate) -> String {
        self.signed_micros_interval(us).trim_start_matches('+').to_owned()
    }

    /// Formats a rate with its interval: `94.9K/s [93.0, 96.1]`.
    pub(crate) fn rate_interval(self, per_s: &Estimate) -> String {
        let (scale, _) = scale_of(per_s.value);
        let decimals = three_decimals(per_s.value / scale);
        let ends = self.interval(per_s, |end| fixed(end / scale, decimals));
        format!("{}{GLUE}{ends}", rate(per_s.value))
    }

    /// Formats a rate of bytes, `4.28 GB/s [4.11, 4.40]`, for requests that each transfer `bytes` bytes.
    pub(crate) fn byte_rate_interval(self, per_s: &Estimate, bytes: u64) -> String {
        let bytes = bytes as f64;
        let (scale, _) = scale_of(per_s.value * bytes);
        let decimals = three_decimals(per_s.value * bytes / scale);
        let ends = self.interval(per_s, |end| fixed(end * bytes / scale, decimals));
        format!("{}{GLUE}{ends}", byte_rate(per_s.value * bytes))
    }

    /// Formats how much longer a whole command takes, `+10.1 ms [9.8, 10.3]`, with at least as many digits as its
    /// interval justifies.
    pub(crate) fn signed_run_time(self, us: &Estimate) -> String {
        let (scale, unit) = run_unit(us.value);
        let decimals = three_decimals(us.value / scale);
        let sign = if us.value >= 0.0 { "+" } else { "" };
        let ends = self.interval(us, |end| fixed(end / scale, decimals));
        format!("{sign}{}{GLUE}{unit}{GLUE}{ends}", fixed(us.value / scale, decimals))
    }

    /// Formats a percentage: `16.0 % [15.4, 16.4]`, or `27.2 % [no interval]` if there were too few epochs for an
    /// interval. An upper end of 100 also means that there is no interval, because a share cannot exceed 100.
    pub(crate) fn percent(self, pct: &Estimate) -> String {
        let decimals = pct_decimals(pct);
        let is_open = pct.lo.is_none() && pct.hi.is_none_or(|hi| hi >= 100.0);
        let ends = if is_open { format!("[no{GLUE}interval]") } else { self.interval(pct, |end| fixed(end, decimals)) };
        format!("{}{GLUE}%{GLUE}{ends}", fixed(pct.value, decimals))
    }

    /// Formats a count per request: `1.00 [0.98, 1.02]`.
    pub(crate) fn per_request(self, count: &Estimate) -> String {
        format!("{}{GLUE}{}", fixed(count.value, 2), self.interval(count, |end| fixed(end, 2)))
    }

    /// Formats an estimate with `whole`, or only its `value` if the estimate has no interval.
    pub(crate) fn as_known(
        it: &Estimate,
        value: impl Fn(f64) -> String,
        whole: impl Fn(&Estimate) -> String,
    ) -> String {
        match (it.lo, it.hi) {
            (None, None) => value(it.value),
            _ => whole(it),
        }
    }

    /// Formats an interval with the given digits: `[15.4, 16.4]`.
    pub(crate) fn interval(self, estimate: &Estimate, digits: impl Fn(f64) -> String) -> String {
        let infinity = self.infinity();
        let lo = estimate.lo.map_or_else(|| format!("-{infinity}"), &digits);
        let hi = estimate.hi.map_or_else(|| infinity.to_owned(), &digits);
        format!("[{lo},{GLUE}{hi}]")
    }
}

/// Formats a rate: `94.9K/s`, `150K/s`, `1.41M/s`, `850/s`.
pub(crate) fn rate(per_s: f64) -> String {
    let (scale, suffix) = scale_of(per_s);
    format!("{}{suffix}/s", three_digits(per_s / scale))
}

/// Formats a range of rates, with both ends in the unit of the larger end: `50-105K/s`.
pub(crate) fn rate_range(min_per_s: f64, max_per_s: f64) -> String {
    let (scale, suffix) = scale_of(max_per_s);
    let digits = |value: f64| fixed(value, usize::from(value < 9.95));
    format!("{}-{}{suffix}/s", digits(min_per_s / scale), digits(max_per_s / scale))
}

/// Formats a rate of bytes in powers of ten, as is usual for disks and networks: `4.28 GB/s`, `850 MB/s`, `12.0 KB/s`.
pub(crate) fn byte_rate(bytes_per_s: f64) -> String {
    let (scale, prefix) = scale_of(bytes_per_s);
    format!("{}{GLUE}{prefix}B/s", three_digits(bytes_per_s / scale))
}

/// Formats a range of byte rates: `1.2-3.4 GB/s`.
pub(crate) fn byte_rate_range(min_per_s: f64, max_per_s: f64) -> String {
    let (scale, prefix) = scale_of(max_per_s);
    let digits = |value: f64| fixed(value / scale, usize::from(value / scale < 9.95));
    format!("{}-{}{GLUE}{prefix}B/s", digits(min_per_s), digits(max_per_s))
}

/// Formats a number of bytes in powers of ten, rounded: `196 MB`, `1.95 GB`.
pub(crate) fn amount(bytes: u64) -> String {
    let (scale, prefix) = scale_of(bytes as f64);
    format!("{}{GLUE}{prefix}B", three_digits(bytes as f64 / scale))
}

/// Formats a number of bytes without rounding: `64 bytes`, `128 KiB`, `4 MiB`.
pub(crate) fn size(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let whole = units.into_iter().find(|(shift, _)| bytes >= 1 << shift && bytes.trailing_zeros() >= *shift);
    match whole {
        Some((shift, unit)) => format!("{}{GLUE}{unit}", bytes >> shift),
        None => counted(bytes, "byte"),
    }
}

/// Formats a factor: `2.1 times`.
pub(crate) fn times(factor: f64) -> String {
    format!("{}{GLUE}times", fixed(factor, usize::from(factor < 99.95)))
}

/// Formats a percentage that somebody has chosen, without trailing zeros: `1 %`, `0.5 %`.
pub(crate) fn chosen_percent(pct: f64) -> String {
    format!("{pct}{GLUE}%")
}

/// Formats a count with its noun: `1 connection`, `16 connections`.
pub(crate) fn counted(n: u64, noun: &str) -> String {
    format!("{n}{GLUE}{noun}{}", if n == 1 { "" } else { "s" })
}

fn is_dangerous(c: char) -> bool {
    let is_invisible_or_turning = matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}');
    c.is_control() || is_invisible_or_turning
}

fn scale_of(per_s: f64) -> (f64, &'static str) {
    // At these limits and above, a number rounded to three digits would need the next unit.
    match per_s {
        rate if rate < 999.5 => (1.0, ""),
        rate if rate < 999.5e3 => (1e3, "K"),
        rate if rate < 999.5e6 => (1e6, "M"),
        _ => (1e9, "G"),
    }
}

/// Formats the time of a whole command: `312 ms`, `12.3 s`.
pub(crate) fn run_time(us: f64) -> String {
    let (scale, unit) = run_unit(us);
    format!("{}{GLUE}{unit}", three_digits(us / scale))
}

/// Returns the unit for a time: its length in µs and its name. Milliseconds below ten seconds, otherwise seconds.
fn run_unit(us: f64) -> (f64, &'static str) {
    if us.abs() < 9_999_500.0 { (1e3, "ms") } else { (1e6, "s") }
}

fn three_digits(value: f64) -> String {
    fixed(value, three_decimals(value))
}

fn three_decimals(value: f64) -> usize {
    match value.abs() {
        size if size < 9.995 => 2,
        size if size < 99.95 => 1,
        _ => 0,
    }
}

fn time_decimals(us: f64) -> usize {
    match us.abs() {
        size if size < 0.995 => 2,
        size if size < 99.95 => 1,
        _ => 0,
    }
}

/// Returns 2 if the interval is so narrow that one decimal would hide it, otherwise 1.
fn pct_decimals(pct: &Estimate) -> usize {
    let width = pct.lo.zip(pct.hi).map(|(lo, hi)| hi - lo);
    if width.is_some_and(|width| width < 0.2) { 2 } else { 1 }
}

/// Does the same as `{:.n}`, but without a minus sign if all digits are zero.
pub(crate) fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(digits) if digits.bytes().all(|byte| matches!(byte, b'0' | b'.')) => digits.to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNICODE: Text = Text { is_unicode: true };
    const ASCII: Text = Text { is_unicode: false };

    #[track_caller]
    fn check(found: impl AsRef<str>, expected: &str) {
        assert_eq!(found.as_ref().replace(GLUE, " "), expected);
    }

    fn estimate(value: f64, lo: Option<f64>, hi: Option<f64>) -> Estimate {
        Estimate { value, lo, hi, n: 10 }
    }

    #[test]
    fn rates_keep_three_digits() {
        check(rate(94_900.0), "94.9K/s");
        check(rate(149_900.0), "150K/s");
        check(rate(1_410_000.0), "1.41M/s");
        check(rate(850.4), "850/s");
        check(rate(999.7), "1.00K/s");
        check(rate(999_600.0), "1.00M/s");
        check(rate(3.0), "3.00/s");
        check(rate(0.0), "0.00/s");
    }

    #[test]
    fn a_range_has_one_unit() {
        check(rate_range(50_100.0, 104_900.0), "50-105K/s");
        check(rate_range(900_000.0, 1_240_000.0), "0.9-1.2M/s");
        check(rate_range(0.0, 700.0), "0.0-700/s");
    }

    #[test]
    fn times_show_their_sign_only_as_differences() {
        check(UNICODE.micros(10.54), "10.5 µs");
        check(UNICODE.micros(0.851), "0.85 µs");
        check(UNICODE.micros(150.4), "150 µs");
        check(ASCII.micros(12_000.0), "12.0 ms");
        check(UNICODE.signed_micros(2.04), "+2.0 µs");
        check(UNICODE.signed_micros(-0.001), "0.00 µs");
        check(ASCII.signed_micros(-3.24), "-3.2 us");
        let us = estimate(2.04, Some(1.9), None);
        check(UNICODE.signed_micros_interval(&us), "+2.0 µs [1.9, ∞]");
    }

    #[test]
    fn a_run_takes_milliseconds_or_seconds() {
        check(run_time(15_340.0), "15.3 ms");
        check(run_time(850.0), "0.85 ms");
        check(run_time(2_500_000.0), "2500 ms");
        check(run_time(12_340_000.0), "12.3 s");
        let us = estimate(10_060.0, Some(9_840.0), Some(10_310.0));
        check(UNICODE.signed_run_time(&us), "+10.1 ms [9.8, 10.3]");
        let us = estimate(-40.0, None, Some(60.0));
        check(ASCII.signed_run_time(&us), "-0.04 ms [-inf, 0.06]");
    }

    #[test]
    fn bytes_have_powers_of_ten_where_they_flow_and_of_two_where_they_were_chosen() {
        check(byte_rate(4_276_000_000.0), "4.28 GB/s");
        check(byte_rate(850_000_000.0), "850 MB/s");
        check(byte_rate(12.0), "12.0 B/s");
        check(byte_rate_range(1.2e9, 3.44e9), "1.2-3.4 GB/s");
        check(amount(195_910_000), "196 MB");
        check(size(64), "64 bytes");
        check(size(4 << 20), "4 MiB");
        check(size(100_000), "100000 bytes");
        check(size(1 << 32), "4 GiB");
    }

    #[test]
    fn a_percentage_has_the_digits_its_interval_is_worth() {
        check(UNICODE.percent(&estimate(16.0, Some(15.4), Some(16.4))), "16.0 % [15.4, 16.4]");
        check(UNICODE.percent(&estimate(0.05, Some(-0.01), Some(0.11))), "0.05 % [-0.01, 0.11]");
        check(UNICODE.percent(&estimate(-0.01, None, Some(100.0))), "0.0 % [no interval]");
        check(ASCII.percent(&estimate(1.0, None, None)), "1.0 % [no interval]");
    }

    #[test]
    fn foreign_strings_cannot_steer_the_terminal() {
        check(UNICODE.clean("8.0\u{1b}[2J\n"), r"8.0\u{1b}[2J\u{a}");
        check(UNICODE.clean("a\u{202e}b\u{9b}c"), r"a\u{202e}b\u{9b}c");
        check(UNICODE.clean("Größe"), "Größe");
        check(ASCII.clean("Größe"), r"Gr\u{f6}\u{df}e");
    }
}
