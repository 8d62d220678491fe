//! `getsockname` and `getpeername`: returns the addresses that the program expects.
//!
//! Without these answers, Go programs believe that each socket is connected to itself, and connect twice more.

use super::{moved, outcome, read_length, write_answer};
use crate::supervisor::Supervisor;
use crate::tag;
use looptax_host::seccomp::{Answer, Call};

pub(crate) fn answer(supervisor: &Supervisor, call: &Call) -> Answer {
    let Some((_, tag)) = moved(call, supervisor.features) else {
        return Answer::GoOn;
    };
    let address = if i64::from(call.number) == libc::SYS_getpeername { tag.peer } else { tag.own() };
    let value = tag::raw(address);
    let room = match read_length(call, call.args[2]) {
        Ok(room) => room,
        Err(errno) => return Answer::Fail(errno),
    };
    // Do not write to another process that now has the thread's number.
    if !supervisor.listener.still_waits(call.id) {
        return Answer::GoOn;
    }
    // The returned length is that of the whole address, even if the address did not fit: getsockname(2).
    let length = (call.args[2], value.len());
    let written = write_answer(call, (call.args[1], &value), room, length);
    outcome(&written)
}
