//! What the socket would bring a user's own application, before anything is changed.
//!
//! [`pages`] reads what the application is asked for, [`Opener`] connects to it.

mod opener;
pub mod pages;

pub use opener::{Address, Opener};
