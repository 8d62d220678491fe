//! The applications' configuration files, from outside.

#![allow(clippy::unwrap_used, reason = "these are tests")]

mod apps;
mod certain;
mod collection;
mod guess;
mod hba;
mod hostile;
