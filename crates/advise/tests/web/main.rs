//! Tests with real web servers and the servers behind them: looptax changes their files as it advises, and a request
//! shows over which transport it came.
//!
//! Everything runs in a scratch folder, on ports that the kernel chose. A test whose program is not installed is
//! skipped with a message.

#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "these are tests, and the programs are their own")]

mod backends;
mod dialects;
mod fronts;
mod http;
mod own_side;
mod place;
mod rights;
