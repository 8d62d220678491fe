//! The rights of root that a command keeps if it only looks at the machine.

use looptax_host::{entrance, rights};
use looptax_model::failure::Failure;

/// Gives up all capabilities except those needed to look at the machine and to write a result. Another process keeps
/// the right to enter network namespaces. Call this while there is only one thread.
///
/// # Errors
/// The kernel's error.
pub(crate) fn keep_what_looking_needs() -> Result<(), Failure> {
    // For an ordinary user, or a service without the capability, other namespaces are reported as not seen.
    entrance::start().ok();
    rights::keep_only(rights::LOOKING | rights::WRITING)
        .map_err(|error| Failure::from(error).context("cannot give up capabilities"))
}
