//! The servers on this machine, the cost of TCP for their clients, and whether the switch to the socket would work:
//! find, check, dsn, and the list of what `run` would move.
//!
//! Reads only: it looks at the machine, logs in if a person asked for that, and changes nothing.

pub mod check;
pub mod dsn;
pub mod find;
pub(crate) mod gunicorn;
mod listener;
mod local;
pub mod moving;
mod ports;
pub mod socket_of;
mod unspoken;

pub use local::own_address;
