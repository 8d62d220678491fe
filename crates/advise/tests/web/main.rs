//! Web servers and what they hand requests to, followed: the real programs, their files moved by what is advised, and a
//! request that says by which way it came.
//!
//! Everything runs in a scratch folder on ports that the kernel chose; a program that is not installed is skipped with
//! a message.

#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "these are tests, and the programs are their own")]

mod backends;
mod dialects;
mod fronts;
mod http;
mod own_side;
mod place;
mod rights;
