//! The room's public behaviour, on this machine's own files and programs.

#![allow(
    clippy::unwrap_used,
    reason = "of a test that fails, the line says enough"
)]

mod program;
mod servers;
