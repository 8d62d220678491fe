//! Programs of running processes: asked for their configuration, by the file that runs and as the user whose it is.
//!
//! A program is executed with no more rights than the owner of the process has, without capabilities, terminal,
//! descriptors or environment of ours, and ended with its process group when its time is over. A program that root
//! runs is supervised besides (`supervise`): files that others than root can change are kept from it, and it changes
//! nothing on the machine. Programs that looptax starts itself are judged by [`trusted_program`]. Called by the rooms
//! that ask web servers and start servers; knows no program by name.

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
