//! The report as a person reads it.
//!
//! The look of the whole is held by snapshots; single rules by tests of their own.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod commands;
mod formats;
mod found;
mod html;
mod made_up;
mod replay;
mod rules;
mod whole;
