//! Files replaced for real: what they keep, what somebody else wrote meanwhile, and a looptax that is killed.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "files of the test's own; what fails there fails the test"
)]

mod hurt;
mod kept;
mod killed;
mod others;
mod strangers;
