//! Private servers: find the binary, start in a scratch folder, stop, leave nothing.
//!
//! A [`PrivateServer`] listens on a Unix socket and on a free port of 127.0.0.1 at once (memcached
//! with several processes, for one cannot), and dies
//! with us however we go: its kernel death signal, the [`reaper`] process on a pipe, and at the next
//! start [`leftovers::sweep`] each cover what the one before cannot. This room touches nothing
//! outside its own `looptax-*` folders and measures nothing; cli calls it.

pub mod copies;
pub mod dataset;
pub mod echo;
pub mod leftovers;
pub mod publish;
pub mod reaper;
pub mod wordpress;

mod account;
mod binary;
mod certificate;
mod child;
mod deadline;
mod engine;
mod error;
mod kind;
pub mod pooler;
mod process;
mod ready;
mod scratch;
mod server;
mod spawn;
mod stopping;
mod sys;

pub(crate) use binary::unfit;
pub use binary::{find_binary, offers_tls_unasked};
pub use error::ServerError;
pub use kind::{protocol_of, startable};
pub use reaper::Reaper;
pub use server::{Config, Instance, Listening, PrivateServer};
