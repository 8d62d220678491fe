//! Tests how this crate works for root with folders and programs of other users.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "lays out files as another user would; what fails there fails the test"
)]

mod bytes;
mod eyes;
mod output;
mod own;
mod program;
mod reading;
mod rights;
mod servers;
mod walk;
mod world;
