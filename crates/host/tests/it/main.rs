//! What this room does for root in folders of another user.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "lays out files as another user would; what fails there fails the test"
)]

mod output;
mod own;
mod reading;
mod rights;
mod walk;
mod world;
