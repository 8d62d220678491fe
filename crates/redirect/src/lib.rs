//! Runs an unmodified program and moves its TCP connections to 127.0.0.1 onto a server's Unix socket.
//!
//! The kernel stops the program in `connect` (seccomp user notification). A supervisor connects a Unix socket instead
//! and puts it under the program's own descriptor number. From then on the program holds a native socket, and no other
//! process is in its data path. A few calls that would reveal the difference (names, TCP options, a second `connect`)
//! are answered by the supervisor. In any case of doubt the program's own `connect` continues over TCP, and the reason
//! is counted.
//!
//! [`run`] does all of this; [`OwnThreads`] does it for some threads of the calling process; [`Programs`] does it for a
//! program that is started repeatedly while [`Steering`] says what is moved; [`probe()`] finds out beforehand what the
//! kernel allows. The caller passes a plain [`Mapping`]. This crate reads `/proc` only for the program's processes,
//! decides nothing about databases, prints nothing, and needs no root.
//!
//! # How it works
//!
//! `looptax run` is four processes: the watchdog, which is the process that the user started; its child, the
//! supervisor; the supervisor's child, the program; and the guard, a second child of the watchdog. The guard sleeps
//! until the watchdog is gone. If the watchdog was killed, the guard ends the program, unless `--keep-running` was
//! given; then the guard takes over the watchdog's task.
//!
//! Watchdog and supervisor are ancestors of the program, as Yama requires of a process that inspects another. The
//! program installs a seccomp filter, passes the filter's listener to both, and executes; its input and output,
//! terminal, process group and signals are the same as without looptax. The filter stops `connect`, the two calls for
//! names, options of TCP and IP, receiving with flags that a Unix socket does not support, calls that make event queues
//! and rings, and calls by which a thread gets other groups, another root or other namespaces, or confines itself. All
//! other calls run unchanged.
//!
//! For a `connect` to a mapped address the supervisor connects a Unix socket with the program's own user, groups and
//! capabilities, copies the settings that the program had made, and puts the new socket under the program's descriptor
//! number. Before this last step, while the exchange can still be undone, the supervisor finds the event queues that
//! watch the old socket, and makes them watch the new socket.
//!
//! The new socket's abstract name contains the addresses that the program believes its two ends have, so there is no
//! table that could be lost or grow. The kernel writes each call into memory that supervisor and watchdog share; if the
//! supervisor dies, the watchdog finishes those calls and takes the supervisor's place.
//!
//! The limits of this mechanism, which looptax reports:
//!
//! - Between the last check of a descriptor and its exchange, another thread of the program has less than a microsecond
//!   to close the number and open another file; the kernel cannot do both steps atomically.
//! - `recvfrom` and `sendto` with an address on a moved socket behave as on a Unix socket; stopping them would slow
//!   down every request.
//! - If a thread already waits in `poll` on a socket when another thread connects this socket, the first thread
//!   continues to wait on the old socket.
//! - If another process holds a copy of the descriptor that was made before `connect`, the connection stays on TCP.
//! - `connect` through `io_uring` is not seen, and stays on TCP.
#![cfg_attr(test, allow(clippy::disallowed_methods, reason = "tests create files and start programs"))]

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
