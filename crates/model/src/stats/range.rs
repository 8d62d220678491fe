//! The allowed range of each kind of number (a count, a probability, a process id). Numbers in a saved file are
//! compared with these ranges while the file is read.
//!
//! A file may come from an untrusted source. A number outside its range is refused when it is read, so later code does
//! not loop, allocate or divide by such a number. A field specifies its range twice, for serde and for the schema:
//! `#[serde(deserialize_with = "Level::read")]` and `#[schemars(with = "Level")]`. Used by every saved form.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de};

/// The largest integer up to which every JSON reader represents all integers exactly.
pub(crate) const MOST_COUNT: f64 = 9_007_199_254_740_991.0;
/// The largest absolute value of a figure. A time of 30 years in nanoseconds is smaller than this.
const MOST: f64 = 1e18;

/// The lowest and the highest number of a range.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Span {
    /// The name with its article, as used in a sentence.
    name: &'static str,
    lo: f64,
    hi: f64,
    is_open: (bool, bool),
}

impl Span {
    fn holds(&self, number: f64) -> bool {
        let is_above = if self.is_open.0 { number > self.lo } else { number >= self.lo };
        let is_below = if self.is_open.1 { number < self.hi } else { number <= self.hi };
        is_above && is_below
    }

    fn read<'de, T: Deserialize<'de> + Numbers, D: Deserializer<'de>>(&self, deserializer: D) -> Result<T, D::Error> {
        let read = T::deserialize(deserializer)?;
        match read.find(&|number| !self.holds(number)) {
            Some(found) => Err(de::Error::custom(format_args!("it is {found}; {self}"))),
            None => Ok(read),
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, lo, hi, .. } = self;
        write!(f, "{name} ")?;
        match self.is_open {
            (false, false) => write!(f, "has to be from {lo} to {hi}"),
            (true, true) => write!(f, "has to be between {lo} and {hi}"),
            (true, false) => write!(f, "has to be above {lo} and at most {hi}"),
            (false, true) => write!(f, "has to be at least {lo} and below {hi}"),
        }
    }
}

trait Numbers {
    /// Returns the first number for which `is_so` is true, as text.
    fn find(&self, is_so: &dyn Fn(f64) -> bool) -> Option<String>;
}

macro_rules! numbers {
    ($($number:ty),*) => {$(
        impl Numbers for $number {
            #[allow(
                clippy::cast_lossless,
                trivial_numeric_casts,
                reason = "one line for all kinds of numbers; the conversion to a float moves no number into a range"
            )]
            fn find(&self, is_so: &dyn Fn(f64) -> bool) -> Option<String> {
                is_so(*self as f64).then(|| format!("{self:?}").trim_end_matches(".0").to_owned())
            }
        }
    )*};
}

numbers!(u16, u32, u64, usize, i64, f64);

impl<T: Numbers> Numbers for Option<T> {
    fn find(&self, is_so: &dyn Fn(f64) -> bool) -> Option<String> {
        self.as_ref()?.find(is_so)
    }
}

impl<T: Numbers> Numbers for Vec<T> {
    fn find(&self, is_so: &dyn Fn(f64) -> bool) -> Option<String> {
        self.iter().find_map(|it| it.find(is_so))
    }
}

impl<T: Numbers> Numbers for BTreeMap<String, T> {
    fn find(&self, is_so: &dyn Fn(f64) -> bool) -> Option<String> {
        self.values().find_map(|it| it.find(is_so))
    }
}

impl<T: Numbers, const N: usize> Numbers for [T; N] {
    fn find(&self, is_so: &dyn Fn(f64) -> bool) -> Option<String> {
        self.iter().find_map(|it| it.find(is_so))
    }
}

macro_rules! ranges {
    ($($(#[$doc:meta])* $name:ident: $kind:literal, $words:literal, $lo:expr, $hi:expr, $is_open:expr;)*) => {
        $(
            $(#[$doc])*
            #[derive(Debug)]
            pub enum $name {}

            impl $name {
                /// Returns whether the number is in this range.
                #[must_use]
                pub fn holds(number: f64) -> bool {
                    Self::SPAN.holds(number)
                }

                const SPAN: Span = Span { name: $words, lo: $lo, hi: $hi, is_open: $is_open };

                /// Reads a number of this range, or a container of such numbers.
                ///
                /// # Errors
                /// Fails if a number is outside the range.
                #[expect(private_bounds, reason = "only this module decides which types contain numbers")]
                pub fn read<'de, T, D>(deserializer: D) -> Result<T, D::Error>
                where
                    T: Deserialize<'de> + Numbers,
                    D: Deserializer<'de>,
                {
                    Self::SPAN.read(deserializer)
                }
            }

            impl JsonSchema for $name {
                fn schema_name() -> Cow<'static, str> {
                    stringify!($name).into()
                }

                fn inline_schema() -> bool {
                    true
                }

                fn json_schema(_: &mut SchemaGenerator) -> Schema {
                    schema($kind, Self::SPAN)
                }
            }
        )*

        #[cfg(test)]
        const ALL: &[(&str, Span)] = &[$(($kind, $name::SPAN)),*];
    };
}

ranges! {
    /// A share of all outcomes, such as a p-value; 0 and 1 are allowed.
    Probability: "number", "a probability", 0.0, 1.0, (false, false);
    /// The probability with which an interval may miss the true value; 0 and 1 are not allowed.
    Level: "number", "a probability", 0.0, 1.0, (true, true);
    /// A share of a whole, percent.
    Percent: "number", "a share in percent", 0.0, 100.0, (false, false);
    /// A share of a whole, percent; 0 and 100 are not allowed.
    ProperPercent: "number", "a limit in percent", 0.0, 100.0, (true, true);
    Correlation: "number", "a correlation", -1.0, 1.0, (false, false);
    /// Any figure, positive or negative: a difference, a percentage of change, a logarithm.
    Real: "number", "a figure", -MOST, MOST, (false, false);
    /// A time, a rate or a cost; it is never negative.
    Amount: "number", "a time, rate or cost", 0.0, MOST, (false, false);
    /// A time or rate by which another number is divided, so it must be above zero.
    Positive: "number", "this time or rate", 0.0, MOST, (true, false);
    /// A number of objects, bytes or nanoseconds.
    Count: "integer", "a count", 0.0, MOST_COUNT, (false, false);
    /// A count that fits in 32 bits, such as the nanoseconds of a latency.
    SmallCount: "integer", "a count", 0.0, 4_294_967_295.0, (false, false);
    /// A number that is at least one: connections, statements of a request.
    AtLeastOne: "integer", "a number of connections, statements or commands", 1.0, 16_777_216.0, (false, false);
    /// An index into a list of the same record.
    Index: "integer", "a position in a list", 0.0, 16_777_216.0, (false, false);
    Core: "integer", "the number of a core", 0.0, 65_535.0, (false, false);
    /// The id of a process on this machine; 0 stands for a process in another namespace.
    ///
    /// # Source
    /// Linux, `include/linux/threads.h`, `PID_MAX_LIMIT`.
    ProcessId: "integer", "the number of a process", 0.0, 4_194_304.0, (false, false);
    /// The status of an HTTP response.
    ///
    /// # Source
    /// RFC 9112, section 4: three digits.
    HttpStatus: "integer", "a status of HTTP", 100.0, 999.0, (false, false);
    /// The version of a form or of the method.
    Version: "integer", "a version", 1.0, 1_000_000.0, (false, false);
    /// Seconds since 1970, from the year 1 to the year 9999.
    UnixTime: "integer", "a time in seconds since 1970", -62_135_596_800.0, 253_402_300_799.0, (false, false);
}

fn schema(kind: &str, span: Span) -> Schema {
    let lo = if span.is_open.0 { "exclusiveMinimum" } else { "minimum" };
    let hi = if span.is_open.1 { "exclusiveMaximum" } else { "maximum" };
    if kind == "integer" {
        let (least, most) = (span.lo as i64, span.hi as i64);
        json_schema!({ "type": kind, (lo): least, (hi): most })
    } else {
        json_schema!({ "type": kind, (lo): span.lo, (hi): span.hi })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Form {
        #[serde(deserialize_with = "Level::read")]
        alpha: f64,
        #[serde(default, deserialize_with = "Count::read")]
        counts: Vec<[Option<u64>; 2]>,
    }

    #[track_caller]
    fn check(text: &str, refusal: &str) {
        let error = serde_json::from_str::<Form>(text).err().unwrap();
        assert!(error.to_string().starts_with(refusal), "{error}");
    }

    #[test]
    fn a_number_out_of_its_range_is_refused_with_what_was_found_and_expected() {
        let refused = |number: &str| format!("it is {number}; a probability has to be between 0 and 1");
        for number in ["2", "0", "1", "-1", "-0"] {
            check(&format!("{{\"alpha\": {number}}}"), &refused(number));
        }
        check("{\"alpha\": 1e400}", "number out of range");
        check("{\"alpha\": null}", "invalid type: null");
        check("{\"alpha\": \"0.05\"}", "invalid type: string");
        let counts = |number: &str| format!("{{\"alpha\": 0.05, \"counts\": [[1, null], [{number}, 2]]}}");
        check(&counts("9007199254740992"), "it is 9007199254740992; a count");
        check(&counts("9007199254740993"), "it is 9007199254740993; a count");
        check(&counts("18446744073709551615"), "it is 18446744073709551615; a count");
        let whole: Form = serde_json::from_str(&counts("9007199254740991")).unwrap();
        assert_eq!(whole.counts[1], [Some(9_007_199_254_740_991), Some(2)]);
        assert_eq!(whole.alpha.to_bits(), 0.05_f64.to_bits());
    }

    #[test]
    fn no_range_ends_where_a_float_rounds_a_whole_number_into_it() {
        for (kind, span) in ALL {
            assert!(span.lo < span.hi, "{span}");
            if *kind == "integer" {
                assert!(span.lo.abs().max(span.hi) <= MOST_COUNT, "{span}");
                assert_eq!(span.is_open, (false, false));
            }
        }
    }
}
