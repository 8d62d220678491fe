//! Notes about arms whose name does not show all parts of their path.

use looptax_model::record::{Arm, Comparison};

use crate::format::Text;

/// The word in an endpoint's text before the name of the program through which the arm passes.
const THROUGH: &str = " through ";

/// Returns a line for each arm that passes through another program or is encrypted.
pub(super) fn notes(comparison: &Comparison, text: Text) -> Vec<String> {
    let arms = comparison.arms.iter();
    arms.filter_map(|arm| note(arm, text)).collect()
}

/// Returns the addresses to which the arms of a running server lead, and the evidence that they lead to the same
/// server.
pub(super) fn ways(comparison: &Comparison, text: Text) -> Option<String> {
    let arms = || comparison.arms.iter();
    if comparison.target.private || comparison.is_of_program() || !arms().all(|arm| arm.verified) {
        return None;
    }
    let ways: Vec<String> = arms().map(|arm| text.clean(&format!("{} {}", arm.name, arm.endpoint))).collect();
    let identity = |arm: &Arm| arm.proof.server_identity.clone();
    let first = arms().find_map(identity);
    let is_one = first.is_some() && arms().all(|arm| identity(arm) == first);
    let by_its_word = if is_one { "; one server, which reports the same identity over each arm" } else { "" };
    Some(format!("{}{by_its_word}", ways.join(", ")))
}

fn note(arm: &Arm, text: Text) -> Option<String> {
    let through = arm.endpoint.split_once(THROUGH).map(|(_, what)| what);
    let sealed = arm.proof.tls.as_deref();
    let parts: Vec<String> = { through.into_iter().chain(sealed) }.map(|it| text.clean(it)).collect();
    (!parts.is_empty()).then(|| format!("{}: {}", text.clean(&arm.name), parts.join("; ")))
}
