//! The effect of the socket on a user's own application, before anything is changed.
//!
//! The application runs under the redirect's supervisor, which moves its new connections to the socket or leaves them
//! on TCP, slice by slice, as this room decides, while `bench` requests its pages. [`Program`] is the application, with
//! the failures that it may have; `first_look` finds out how its arms can take turns, `arms` makes the turns, and
//! `record` notes the results. The caller decides what to try ([`Ask`]) and names the servers; this room shows nothing.

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
