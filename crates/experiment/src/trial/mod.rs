//! Measures how the socket would affect a user's own application, before anything is changed.
//!
//! The application runs under the redirect's supervisor. In each slice, this module decides whether the supervisor
//! moves the application's new connections to the socket or leaves them on TCP, and `bench` requests pages. [`Program`]
//! is the application, and reports its failures; `first_look` finds out how the arms can take turns, `arms` makes the
//! turns, and `record` writes the results. The caller decides what to try ([`Ask`]) and names the servers; this module
//! prints nothing.

mod arms;
mod ask;
mod behind;
mod counted;
mod first_look;
mod measure;
mod opener;
mod output;
pub mod pages;
mod program;
mod ready;
mod record;
mod shape;

pub use ask::{Account, Ask, Load, Server, Way};
pub use measure::measure;
pub use opener::Opener;
pub use program::{Begun, Program};
