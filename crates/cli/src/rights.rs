//! The capabilities that a command keeps if it runs as root and only inspects the machine.

use looptax_host::{entrance, rights};
use looptax_model::failure::Failure;

/// Gives up all capabilities except those needed to inspect the machine and to write a result. A separate process keeps
/// the right to enter network namespaces. Call this while the process has only one thread.
///
/// # Errors
/// The kernel's error.
pub(crate) fn keep_what_looking_needs() -> Result<(), Failure> {
    // `start` fails for an ordinary user, or for a service without the capability; other namespaces are then reported
    // as not seen.
    entrance::start().ok();
    rights::keep_only(rights::LOOKING | rights::WRITING)
        .map_err(|error| Failure::from(error).context("cannot give up capabilities"))
}
