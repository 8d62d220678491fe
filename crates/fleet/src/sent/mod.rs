//! The tables, one file each: their columns, and how their rows are made from the facts about this machine.

pub mod findings;
pub mod reports;
pub mod verdicts;

use looptax_model::record::{Estimate, Figure};

use crate::column::Value;

/// The facts about the sender that are in every row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sender {
    pub report_id: String,
    /// The machine's number, see [`crate::host_id`].
    pub host_id: String,
    /// When the machine was observed, on its own clock, in milliseconds since 1970, UTC.
    pub at_ms: i64,
}

impl Sender {
    /// Returns the first values of every row.
    fn values(&self) -> [Value; 3] {
        [Value::Text(self.report_id.clone()), Value::Text(self.host_id.clone()), Value::Time(self.at_ms)]
    }
}

/// Returns a figure's value, and the lower and the upper end of its interval.
fn with_ends(figure: Option<&Figure>) -> [Value; 3] {
    ends_of(figure.and_then(Figure::known))
}

fn ends_of(estimate: Option<&Estimate>) -> [Value; 3] {
    let number = |of: fn(&Estimate) -> Option<f64>| Value::Number(estimate.and_then(of).filter(|it| it.is_finite()));
    [number(|it| Some(it.value)), number(|it| it.lo), number(|it| it.hi)]
}

fn count(n: usize) -> Value {
    Value::Count(n as u64)
}
