//! The effect of the socket on a user's own application, before anything is changed.
//!
//! The application runs under the redirect's supervisor, which moves its new connections or leaves them on TCP as this
//! room says, slice by slice, while `bench` asks for its pages. [`Program`] is the application with all that can go
//! wrong with it, `first_look` finds out how its arms can take turns, `arms` takes them, `record` says what came of
//! it. The caller says what is asked ([`Ask`]) and which servers there are; nothing is shown here.

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
