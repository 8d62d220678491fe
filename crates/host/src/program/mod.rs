//! Runs the programs of running processes a second time, with other arguments, to get their configuration. looptax
//! executes the file that a process runs, as the process's user.
//!
//! A program gets no more rights than the owner of the process has. It does not get looptax's capabilities, terminal,
//! descriptors or environment. When its time is over, the program is ended together with its process group. A program
//! that root runs is also supervised (`supervise`): it cannot read files that users other than root can change, and it
//! changes nothing on the machine. Programs that looptax starts for itself are checked by [`trusted_program`]. Callers:
//! the modules that get information from web servers, and the modules that start servers. This module knows no program
//! by name.

mod ask;
mod child;
mod error;
mod subject;
mod supervise;
mod trust;

pub use crate::control::{Distrust, Why};
pub use ask::{Answer, Ask, Variables};
pub use error::ProgramError;
pub use subject::{Owner, Subject};
pub use trust::{find_program, is_executable, trusted_program};
