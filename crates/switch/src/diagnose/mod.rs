//! The commands `find`, `check` and `dsn`, and the list of connections that `run` would move: which servers are on this
//! machine, what TCP costs their clients, and whether a switch to the socket would work.
//!
//! Only reads: inspects the machine, logs in if a person requested it, and changes nothing.

pub mod check;
pub mod dsn;
pub mod find;
pub(crate) mod gunicorn;
mod listener;
mod local;
pub mod moving;
mod path_here;
mod ports;
pub mod socket_of;
mod unspoken;

pub use local::own_address;
