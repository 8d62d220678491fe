//! The load engine: client threads that drive connections slice by slice.
//!
//! This folder holds the measured loop, for which the rest of the program exists. Inside a slice nothing allocates,
//! locks, logs or prints: buffers are sized before the epoch starts and are passed on from epoch to epoch. The
//! coordinator (in `requests`) sleeps while a slice runs.

mod alarm;
mod connection;
mod event;
mod failure;
mod one_shot;
mod open;
mod slice_barrier;
mod tally;
mod thread;
mod wait;

pub(crate) use connection::{AnswerLimits, Connection};
pub(crate) use slice_barrier::{Command, SliceBarrier, SliceSpec};
pub(crate) use thread::{ClientThread, Load, ThreadBuffers};
