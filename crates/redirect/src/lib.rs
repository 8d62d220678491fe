//! Runs an unmodified program and moves its TCP connections to 127.0.0.1 onto a server's Unix socket.
//!
//! The kernel stops the program in `connect` (seccomp user notification); a supervisor connects a Unix socket in its
//! place and puts it under the program's own descriptor number. From then on the program holds a native socket: no
//! other process is in its data path. A few calls that would show the difference (names, TCP options, a second
//! `connect`) are answered for it. Whatever is in doubt, the program's own `connect` goes on over TCP, and the reason
//! is counted.
//!
//! [`run`] is the whole of it, [`OwnThreads`] the same for some threads of the calling process, [`Programs`] for a
//! program that is started again and again while [`Steering`] says what is moved; [`probe()`] finds out beforehand what
//! the kernel allows. The caller gives a plain [`Mapping`]. This room reads `/proc` only of the program, decides
//! nothing about databases, prints nothing, and needs no root.
//!
//! # How it works
//!
//! `looptax run` is four processes: the watchdog, which is the one that the user started, its child the supervisor, the
//! supervisor's child the program, and the guard, a second child of the watchdog. The guard sleeps until the watchdog
//! is gone; if it was killed the guard ends the program, unless `--keep-running` was given, and answers calls in its
//! place. Watchdog and supervisor are ancestors of the program, as Yama requires of a process that looks into another.
//! The program puts a seccomp filter over itself, hands the filter's listener to both, and executes; its input and
//! output, terminal, process group and signals are those that it would have had. The filter stops `connect`, the two
//! names, options of TCP and IP, receiving with flags that a Unix socket does not know, the making of event queues and
//! rings, and calls that give a process other rights; everything else runs untouched. For a `connect` to a mapped
//! address the supervisor connects a Unix socket as the program's own user, groups and rights, copies what the program
//! had set, and puts it under the program's descriptor number; event queues that watch the old socket are made to watch
//! the new one first, while there is a way back. From there on the program has a native socket, and no other process is
//! in its data path. The new socket's abstract name says what the program believes its two ends to be, so there is no
//! table that could be lost or grow. Whatever is in doubt, the program's own `connect` goes on over TCP, and the reason
//! is counted. The kernel writes each call into memory that supervisor and watchdog share; when the supervisor dies,
//! the watchdog finishes those calls and goes on in its place.
//!
//! Its limits, which it reports:
//!
//! - Between the last look at a descriptor and its exchange another thread of the program has less than a
//!   microsecond to close the number and open something else; no kernel offers both at once.
//! - `recvfrom` and `sendto` with an address on a moved socket behave as on a Unix socket; trapping them would cost
//!   every request.
//! - A thread that already waits in `poll` on a socket while another connects it goes on waiting on the old one.
//! - A copy that was made of a descriptor before `connect` is found near its number, or not at all.
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
