//! The smallest part of each wire protocol that a load generator needs, over any byte stream.
//!
//! A connection has two phases. The first phase is blocking and checks everything: a `Connection` logs in over a
//! [`Stream`] that has its own time limits, queries the server and prepares the workload. In the second phase, a
//! [`Codec`] turns requests into bytes and bytes into replies, without I/O and allocation; the load engine calls it.
//! The peer is untrusted: each length that it states has a limit, and a wrong answer is a [`WireError`], never a panic.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests create files and start programs"))]

pub mod echo;
pub mod fastcgi;
pub mod http;
pub mod logins;
pub mod memcached;
pub mod mongodb;
pub mod mysql;
pub mod packets;
pub mod postgres;
pub mod redis;
pub mod site;

pub(crate) mod codec;
mod draws;
mod error;
mod io;
mod keyed;
mod lines;
mod login;
mod mixed;
mod pipelined;
mod random;
mod renewal;
mod scram;
mod secrets;
pub mod transaction;
pub mod upstream;

pub use codec::{Codec, Reply};
pub use draws::Draws;
pub use error::WireError;
pub use login::{Channel, Login, StartTls, Stream};
pub use mixed::Mixed;
pub use pipelined::Pipelined;
pub use renewal::{KeyForm, Renewal};
pub use scram::Salted;
pub use secrets::keep_out_of_words;
pub use transaction::Sent;
