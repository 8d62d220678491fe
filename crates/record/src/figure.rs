//! A number with its interval, or the reason why there is none.
//!
//! The only form in which a measured figure is saved. Knows no formula: the numbers come from the
//! statistics. JSON has no infinity, so an end that does not exist is `null`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A point estimate with the interval that belongs to it, in the unit of the field that holds it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Estimate {
    /// The point estimate; always finite.
    pub value: f64,
    /// The lower end of the interval; `null` where it is unbounded.
    pub lo: Option<f64>,
    /// The upper end of the interval; `null` where it is unbounded.
    pub hi: Option<f64>,
    /// How many independent units (epochs, blocks) it rests on.
    pub n: u64,
}

/// Why there is no figure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Missing {
    /// The reason, for a person: "needs about 40 s".
    pub na: String,
}

/// An estimate, or why there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Figure {
    /// There is one.
    Known(Estimate),
    /// There is none.
    Missing(Missing),
}

impl Figure {
    /// A figure from plain numbers: infinite ends become absent ones.
    ///
    /// A value that is not finite has no place in JSON; it gives [`Figure::Missing`].
    pub fn new(value: f64, lo: f64, hi: f64, n: u64) -> Self {
        if !value.is_finite() {
            return Self::missing(format!("the estimate is {value}"));
        }
        let finite = |end: f64| end.is_finite().then_some(end);
        Self::Known(Estimate {
            value,
            lo: finite(lo),
            hi: finite(hi),
            n,
        })
    }

    /// No figure, for this reason.
    pub fn missing(reason: impl Into<String>) -> Self {
        Self::Missing(Missing { na: reason.into() })
    }

    /// The estimate, if there is one.
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
        check(
            &Figure::new(2.0, 1.0, 3.0, 10),
            r#"{"value":2.0,"lo":1.0,"hi":3.0,"n":10}"#,
        );
        check(
            &Figure::new(2.0, -infinite, 100.0, 1),
            r#"{"value":2.0,"lo":null,"hi":100.0,"n":1}"#,
        );
        check(&Figure::missing("no blocks"), r#"{"na":"no blocks"}"#);
    }

    #[test]
    fn a_value_that_json_cannot_hold_becomes_a_reason() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(Figure::new(value, 0.0, 1.0, 3).known().is_none(), "{value}");
        }
    }
}
