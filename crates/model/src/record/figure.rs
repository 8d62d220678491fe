//! A number with its interval, or the reason why the number is missing.
//!
//! Measured figures are saved only in this form. There are no formulas in this file: the numbers come from the
//! statistics. JSON cannot represent infinity, so an unbounded end of an interval is `null`.

use crate::stats::range::{Count, Real};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

/// A point estimate with its interval, in the unit of the field that holds the estimate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The point estimate; always finite.
    #[serde(deserialize_with = "Real::read")]
    #[schemars(with = "Real")]
    pub value: f64,
    /// The lower end of the interval; `null` if it is unbounded.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub lo: Option<f64>,
    /// The upper end of the interval; `null` if it is unbounded.
    #[serde(default, deserialize_with = "Real::read")]
    #[schemars(with = "Option<Real>")]
    pub hi: Option<f64>,
    /// Number of independent units (epochs, blocks) from which the estimate was computed.
    #[serde(deserialize_with = "Count::read")]
    #[schemars(with = "Count")]
    pub n: u64,
}

impl Estimate {
    /// Returns whether the whole interval is on one side of zero. If the end towards zero is unbounded, the result is
    /// `false`.
    pub fn excludes_zero(&self) -> bool {
        self.lo.is_some_and(|lo| lo > 0.0) || self.hi.is_some_and(|hi| hi < 0.0)
    }
}

/// The reason why a figure is missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Missing {
    /// The reason, for a person: "needs about 40 s".
    pub na: String,
}

/// An estimate, or the reason why the estimate is missing.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Figure {
    /// The estimate.
    Known(Estimate),
    /// The reason why the estimate is missing.
    Missing(Missing),
}

/// Deserializes both forms through one struct, so that the message of an error names the faulty field.
#[derive(Deserialize)]
struct Either {
    #[serde(default, deserialize_with = "Real::read")]
    value: Option<f64>,
    #[serde(default, deserialize_with = "Real::read")]
    lo: Option<f64>,
    #[serde(default, deserialize_with = "Real::read")]
    hi: Option<f64>,
    #[serde(default, deserialize_with = "Count::read")]
    n: Option<u64>,
    na: Option<String>,
}

impl<'de> Deserialize<'de> for Figure {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Either { value, lo, hi, n, na } = Either::deserialize(deserializer)?;
        match (value, n, na) {
            (Some(value), Some(n), None) => Ok(Self::Known(Estimate { value, lo, hi, n })),
            (None, None, Some(na)) => Ok(Self::Missing(Missing { na })),
            _ => Err(de::Error::custom(
                "a figure has either `value`, `lo`, `hi` and `n`, or `na`, the reason why it is missing",
            )),
        }
    }
}

impl Figure {
    /// Makes a figure from plain numbers.
    ///
    /// If the value is not finite, or is outside the range that a record may hold, the result is [`Figure::Missing`].
    /// An end of the interval that is such a number becomes `None`.
    pub fn new(value: f64, lo: f64, hi: f64, n: u64) -> Self {
        if !Real::holds(value) {
            return Self::missing(format!("the estimate is {value}"));
        }
        let finite = |end: f64| Real::holds(end).then_some(end);
        Self::Known(Estimate { value, lo: finite(lo), hi: finite(hi), n })
    }

    pub fn missing(reason: impl Into<String>) -> Self {
        Self::Missing(Missing { na: reason.into() })
    }

    /// Returns the estimate; `None` if it is missing.
    pub fn known(&self) -> Option<&Estimate> {
        match self {
            Self::Known(estimate) => Some(estimate),
            Self::Missing(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(figure: &Figure, json: &str) {
        assert_eq!(serde_json::to_string(figure).unwrap(), json);
        assert_eq!(&serde_json::from_str::<Figure>(json).unwrap(), figure);
    }

    #[test]
    fn an_end_that_does_not_exist_is_null() {
        let infinite = f64::INFINITY;
        check(&Figure::new(2.0, 1.0, 3.0, 10), r#"{"value":2.0,"lo":1.0,"hi":3.0,"n":10}"#);
        check(&Figure::new(2.0, -infinite, 100.0, 1), r#"{"value":2.0,"lo":null,"hi":100.0,"n":1}"#);
        check(&Figure::missing("no blocks"), r#"{"na":"no blocks"}"#);
    }

    #[test]
    fn a_value_that_a_record_cannot_hold_becomes_a_reason() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX] {
            assert!(Figure::new(value, 0.0, 1.0, 3).known().is_none(), "{value}");
        }
    }
}
