//! `connect` without an address, by which a program dissolves a connection: a moved socket becomes a TCP socket again.

use std::io;
use std::os::fd::AsFd;

use super::{holders, settings};
use crate::caller::Caller;
use crate::page::Slot;
use crate::supervisor::Supervisor;
use crate::sys::{process, socket};
use crate::tag::Tag;
use crate::watches;
use looptax_host::seccomp::{Answer, Call};

/// Answers the call if it is on a moved socket; a call on another socket continues unchanged.
///
/// Copies of the descriptor in other processes keep the old connection.
pub(super) fn answer(supervisor: &Supervisor, call: &Call, slot: &Slot) -> Answer {
    let fd = call.args[0] as i32;
    let Ok((caller, old)) = Caller::with_file(call.tid, fd, supervisor.features) else {
        return Answer::GoOn;
    };
    let name = socket::own_name(old.as_fd());
    let Some(tag) = name.ok().and_then(|name| Tag::read(&name)) else {
        return Answer::GoOn;
    };
    let exchanged = || -> io::Result<()> {
        let new = socket::dissolved(tag.family())?;
        let flags = socket::status_flags(old.as_fd())?;
        settings::copy(&old, &new, flags, true)?;
        supervisor.options.carry_back(&old, &new);
        let pid = crate::caller::status(call.tid)?.pid;
        let features = supervisor.features;
        let known = supervisor.processes.descriptors(&caller, pid, features);
        let inode = process::inode(old.as_fd())?;
        let own = holders::own(call.tid, inode);
        let numbers: Vec<i32> = own.iter().map(|it| it.fd).collect();
        let mut found = Vec::new();
        for number in &numbers {
            let watches = watches::find(call.tid, &known.queues, *number, (old.as_fd(), inode), features.has_kcmp);
            found.extend(watches);
        }
        watches::renew(&caller, new.as_fd(), (&[], &found), &|_| true)?;
        slot.begin_replacing();
        for number in numbers {
            let is_cloexec = caller.is_cloexec(number)?;
            let listener = &supervisor.listener;
            listener.replace(call.id, new.as_fd(), number, is_cloexec)?;
        }
        Ok(())
    };
    match exchanged() {
        Ok(()) => Answer::Done,
        Err(error) => Answer::Fail(crate::sys::errno(&error)),
    }
}
