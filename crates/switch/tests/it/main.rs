//! Tests with real files: what a replaced file keeps, changes by other programs at the same time, and a killed looptax.

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
