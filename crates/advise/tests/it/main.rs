//! The applications' configuration files, tested by the public functions of the crate.

#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "these are tests, and the files are their own")]

mod apps;
mod calls;
mod certain;
mod collection;
mod formats;
mod guess;
mod hba;
mod hostile;
mod rules;
