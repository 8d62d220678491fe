//! The values of an expression, their conversions, and how they are written into SQL.
//!
//! A value has 16 bytes and is copied; evaluation in a measured loop moves no other data.

use std::io::Write;

use crate::script::fault::RunFault;

/// Number of significant digits of a double in SQL text, as in pgbench.
const DOUBLE_DIGITS: i32 = 15;

/// The value of an expression.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value {
    Null,
    Boolean(bool),
    Integer(i64),
    Double(f64),
}

impl Value {
    /// Returns the value of a definition's text: NULL, a truth value or a number; `None` for other text.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let is = |word: &str| text.eq_ignore_ascii_case(word);
        if is("null") {
            return Some(Self::Null);
        }
        if is("true") || is("yes") || is("on") {
            return Some(Self::Boolean(true));
        }
        if is("false") || is("no") || is("off") {
            return Some(Self::Boolean(false));
        }
        if let Ok(integer) = text.parse() {
            return Some(Self::Integer(integer));
        }
        let is_number = text.bytes().any(|byte| byte.is_ascii_digit());
        let double: f64 = text.parse().ok().filter(|_| is_number)?;
        double.is_finite().then_some(Self::Double(double))
    }

    /// Returns the value as an integer. Doubles are rounded to the nearest integer, and halves to the nearest even
    /// integer, as C's `rint` does.
    pub(crate) fn integer(self, operation: &'static str) -> Result<i64, RunFault> {
        match self {
            Self::Integer(integer) => Ok(integer),
            Self::Double(double) => rounded(double).ok_or(RunFault::Overflow { operation }),
            _ => Err(self.unfit("an integer")),
        }
    }

    pub(crate) fn double(self) -> Result<f64, RunFault> {
        match self {
            Self::Integer(integer) => Ok(integer as f64),
            Self::Double(double) => Ok(double),
            _ => Err(self.unfit("a number")),
        }
    }

    /// Returns the value's truth: a number is true unless it is zero, and NULL is not true.
    pub(crate) fn is_true(self) -> bool {
        match self {
            Self::Null => false,
            Self::Boolean(truth) => truth,
            Self::Integer(integer) => integer != 0,
            Self::Double(double) => double != 0.0,
        }
    }

    /// Appends the value as SQL text.
    ///
    /// # Cost
    /// No allocation unless `out` has to grow.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"NULL"),
            Self::Boolean(truth) => {
                out.extend_from_slice(if truth { b"true" } else { b"false" });
            }
            Self::Integer(integer) => {
                write!(out, "{integer}").expect("writing to memory does not fail");
            }
            Self::Double(double) => write_double(double, out),
        }
    }

    fn unfit(self, wanted: &'static str) -> RunFault {
        let found = match self {
            Self::Null => "NULL",
            Self::Boolean(_) => "a truth value",
            Self::Integer(_) => "an integer",
            Self::Double(_) => "a double",
        };
        RunFault::Type { wanted, found }
    }
}

fn rounded(double: f64) -> Option<i64> {
    // 2^63 is the smallest positive double that does not fit; -2^63 fits.
    const END: f64 = 9_223_372_036_854_775_808.0;
    let whole = double.round_ties_even();
    (-END..END).contains(&whole).then_some(whole as i64)
}

/// Writes like C's `%.15g`: fixed notation if the exponent is small, without trailing zeros.
fn write_double(double: f64, out: &mut Vec<u8>) {
    let mut buffer = [0_u8; 32];
    let mut rest = &mut buffer[..];
    write!(rest, "{double:.*e}", (DOUBLE_DIGITS - 1) as usize)
        .expect("a sign, 15 digits, a point and an exponent fit 32 bytes");
    let n_left = rest.len();
    let written = &buffer[..buffer.len() - n_left];
    let mut parts = written.splitn(2, |&byte| byte == b'e');
    let mantissa = parts.next().unwrap_or_default();
    let exponent =
        parts.next().and_then(|digits| std::str::from_utf8(digits).ok()).and_then(|digits| digits.parse().ok());
    let Some(exponent) = exponent else {
        // `inf` and `NaN` have no exponent.
        out.extend_from_slice(written);
        return;
    };
    if mantissa.first() == Some(&b'-') {
        out.push(b'-');
    }
    let mut digits = [b'0'; DOUBLE_DIGITS as usize];
    let mut n_digits = 1;
    let found = mantissa.iter().filter(|byte| byte.is_ascii_digit());
    for (digit_idx, (digit, &byte)) in digits.iter_mut().zip(found).enumerate() {
        *digit = byte;
        if byte != b'0' {
            n_digits = digit_idx + 1;
        }
    }
    write_digits(&digits[..n_digits], exponent, out);
}

/// Writes the number `digits` × 10^`exponent`. The decimal point in `digits` is after the first digit.
fn write_digits(digits: &[u8], exponent: i32, out: &mut Vec<u8>) {
    if !(-4..DOUBLE_DIGITS).contains(&exponent) {
        let (first, rest) = digits.split_at(1);
        out.extend_from_slice(first);
        if !rest.is_empty() {
            out.push(b'.');
            out.extend_from_slice(rest);
        }
        let sign = if exponent < 0 { '-' } else { '+' };
        write!(out, "e{sign}{:02}", exponent.abs()).expect("writing to memory does not fail");
        return;
    }
    if exponent < 0 {
        out.extend_from_slice(b"0.");
        out.extend((exponent..-1).map(|_| b'0'));
        out.extend_from_slice(digits);
        return;
    }
    let n_whole = exponent as usize + 1;
    let (whole, fraction) = digits.split_at(n_whole.min(digits.len()));
    out.extend_from_slice(whole);
    out.extend((whole.len()..n_whole).map(|_| b'0'));
    if !fraction.is_empty() {
        out.push(b'.');
        out.extend_from_slice(fraction);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: Value, wanted: &str) {
        let mut out = Vec::new();
        value.write(&mut out);
        assert_eq!(String::from_utf8(out).unwrap(), wanted);
    }

    #[test]
    fn writes_values_as_pgbench_does() {
        check(Value::Null, "NULL");
        check(Value::Boolean(true), "true");
        check(Value::Integer(i64::MIN), "-9223372036854775808");
        // The expected texts are those of `printf '%.15g'`.
        for (double, wanted) in [
            (0.0, "0"),
            (-0.5, "-0.5"),
            (0.1 + 0.2, "0.3"),
            (1.0 / 3.0, "0.333333333333333"),
            (1e16, "1e+16"),
            (1e15, "1e+15"),
            (123_456_789_012_345.0, "123456789012345"),
            (1e14, "100000000000000"),
            (1e-4, "0.0001"),
            (1e-5, "1e-05"),
            (-1.25e-7, "-1.25e-07"),
            (1e300, "1e+300"),
            (1024.0, "1024"),
            (1234.5, "1234.5"),
            (std::f64::consts::PI, "3.14159265358979"),
            (f64::MAX, "1.79769313486232e+308"),
            (5e-324, "4.94065645841247e-324"),
        ] {
            check(Value::Double(double), wanted);
        }
    }

    #[test]
    fn reads_definitions() {
        for (text, wanted) in [
            ("7", Some(Value::Integer(7))),
            ("-7", Some(Value::Integer(-7))),
            ("1.5", Some(Value::Double(1.5))),
            ("9223372036854775808", Some(Value::Double(9.223_372_036_854_776e18))),
            ("NULL", Some(Value::Null)),
            ("Yes", Some(Value::Boolean(true))),
            ("off", Some(Value::Boolean(false))),
            ("inf", None),
            ("nan", None),
            ("1e999", None),
            ("text", None),
            ("", None),
        ] {
            assert_eq!(Value::parse(text), wanted, "{text}");
        }
    }

    #[test]
    fn rounds_halves_to_even_and_stays_in_range() {
        for (double, wanted) in [
            (2.5, Some(2)),
            (3.5, Some(4)),
            (-9_223_372_036_854_775_808.0, Some(i64::MIN)),
            (9_223_372_036_854_775_808.0, None),
            (f64::NAN, None),
            (f64::INFINITY, None),
        ] {
            assert_eq!(rounded(double), wanted, "{double}");
        }
    }
}
