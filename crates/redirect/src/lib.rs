//! Runs an unmodified program and moves its TCP connections to 127.0.0.1 onto a server's Unix socket.
//!
//! The kernel stops the program in `connect` (seccomp user notification); a supervisor connects a Unix
//! socket in its place and puts it under the program's own descriptor number. From then on the program
//! holds a native socket: nobody stands in its data path. A few calls that would show the difference
//! (names, TCP options, a second `connect`) are answered for it. Whatever is in doubt, the program's own
//! `connect` goes on over TCP, and the reason is counted.
//!
//! [`run`] is the whole of it, [`OwnThreads`] the same for some threads of the calling process, [`Programs`] for a
//! program that is started again and again while [`Steering`] says what is moved; [`probe()`] says beforehand what
//! the kernel allows. The caller gives a plain [`Mapping`]. This room reads `/proc` of the
//! program alone, decides nothing about databases, prints
//! nothing, and needs no root.
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests lay out files and start programs"
    )
)]

mod answers;
mod caller;
mod connect;
mod demands;
mod descendants;
mod error;
mod fallback;
mod filter;
mod guard;
mod launch;
mod mapping;
mod outcome;
mod own_threads;
mod page;
mod probe;
mod processes;
mod programs;
mod steering;
mod supervisor;
mod switches;
mod sys;
mod tag;
mod watchdog;
mod watches;

pub use error::RedirectError;
pub use fallback::FallbackReason;
pub use launch::{Program, Surroundings, User, exec};
pub use mapping::{Demand, Mapping, Owner, Route, SocketName};
pub use outcome::{Event, Stats};
pub use own_threads::OwnThreads;
pub use probe::{Features, Obstacle, probe};
pub use programs::{Programs, ProgramsConfig, Running};
pub use steering::{RouteCounts, SliceCounts, Steering};
pub use switches::{DieAt, Switches};
pub use watchdog::{Config, Ended, Exit, die_of, run};
