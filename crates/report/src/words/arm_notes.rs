//! What an arm was made of, where its name does not say it all.

use looptax_model::record::{Arm, Comparison};

use crate::format::Text;

/// How an endpoint says what it goes through.
const THROUGH: &str = " through ";

/// A line for each arm that goes through something, or is sealed.
pub(super) fn notes(comparison: &Comparison, text: Text) -> Vec<String> {
    let arms = comparison.arms.iter();
    arms.filter_map(|arm| note(arm, text)).collect()
}

fn note(arm: &Arm, text: Text) -> Option<String> {
    let through = arm.endpoint.split_once(THROUGH).map(|(_, what)| what);
    let sealed = arm.proof.tls.as_deref();
    let parts: Vec<String> = { through.into_iter().chain(sealed) }.map(|it| text.clean(it)).collect();
    (!parts.is_empty()).then(|| format!("{}: {}", text.clean(&arm.name), parts.join("; ")))
}
