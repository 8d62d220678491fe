//! Private servers: looptax starts them in a scratch folder, and stops them without leaving anything behind.
//!
//! A [`PrivateServer`] listens both on a Unix socket and on a free port of 127.0.0.1. memcached needs several processes
//! for this, because one memcached process cannot listen on both.
//!
//! No matter how looptax ends, the server ends too. Three mechanisms ensure this: the kernel's death signal, the
//! [`reaper`] process on a pipe, and [`leftovers::sweep`] at the next start. Each mechanism handles cases that the
//! mechanism before it cannot handle. This module touches only its own `looptax-*` folders, and measures nothing.
//! Called by the other modules of this crate, and by cli.

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
